// The controls of a replay.
import { duration } from "../logic/words.ts";
import { endReplay, isPlaying, pause, play, playAt, playedMs, speed, SPEEDS } from "../state/replay.ts";
import { spanNs } from "../state/timeline.ts";

export function Replay() {
  const at = playedMs.value;
  if (at === undefined) return <button title="Play the session along its time (p)" onClick={play} disabled={spanNs.value === 0}>▶ Replay</button>;
  return (
    <div class="replay" role="group" aria-label="Replay">
      <button class="small" aria-label={isPlaying.value ? "Pause" : "Play"} onClick={() => (isPlaying.value ? pause() : play())}>{isPlaying.value ? "❚❚" : "▶"}</button>
      <input type="range" aria-label="Moment" min={0} max={Math.ceil(spanNs.value / 1e6)} value={at} onInput={(event) => playAt(Number(event.currentTarget.value) * 1e6)} />
      <span class="replay-at">{duration(at)}</span>
      <select class="small" aria-label="Speed" value={String(speed.value)} onChange={(event) => (speed.value = Number(event.currentTarget.value))}>
        {SPEEDS.map((one) => <option key={one} value={one}>{one}×</option>)}
      </select>
      <button class="small" aria-label="End the replay" onClick={endReplay}>×</button>
    </div>
  );
}
