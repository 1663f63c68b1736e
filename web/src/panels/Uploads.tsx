// Files that are dropped anywhere or chosen, and what became of them.
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { plural } from "../logic/words.ts";
import { openSession } from "../state/route.ts";
import { chooseWith, clearGiven, given, isBusy, sendFiles, type Given } from "../state/uploads.ts";

const isOver = signal(false);

function hasFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes("Files") ?? false;
}

function Line({ one }: { one: Given }) {
  const { name, receipt, sessions, failed } = one;
  if (failed !== undefined) return <p class="errors">{name}: {failed}</p>;
  if (!receipt) return <p>{name}: sending…</p>;
  if (!receipt.format) return <p class="errors">{name}: {receipt.reason}</p>;
  const open = (id: string) => (event: MouseEvent) => {
    event.preventDefault();
    openSession(id);
  };
  return (
    <p>
      {name}: read as {receipt.format}, {plural(receipt.records, "record")}{receipt.rejected > 0 && <span class="errors">, {receipt.rejected} not readable</span>}
      {!sessions && " · linking…"}
      {sessions?.length === 0 && <span class="quiet"> · nothing in it belongs to a session</span>}
      {sessions?.map((row) => <span key={row.id}> · <a href={`/sessions/${row.id}`} onClick={open(row.id)}>{row.title ?? row.native_ids[0] ?? row.id}</a></span>)}
    </p>
  );
}

export function Uploads() {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    chooseWith(() => input.current?.click());
    const over = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      isOver.value = true;
    };
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) isOver.value = false;
    };
    const drop = (event: DragEvent) => {
      isOver.value = false;
      if (!hasFiles(event)) return;
      event.preventDefault();
      void sendFiles([...(event.dataTransfer?.files ?? [])]);
    };
    const heard: [string, (event: DragEvent) => void][] = [["dragover", over], ["dragleave", leave], ["drop", drop]];
    heard.forEach(([name, hear]) => addEventListener(name, hear as EventListener));
    return () => heard.forEach(([name, hear]) => removeEventListener(name, hear as EventListener));
  }, []);
  const choose = (event: Event & { currentTarget: HTMLInputElement }) => {
    const files = [...(event.currentTarget.files ?? [])];
    event.currentTarget.value = "";
    void sendFiles(files);
  };
  return (
    <>
      <input ref={input} type="file" multiple hidden aria-label="Open files" onChange={choose} />
      {isOver.value && <div class="drop-veil" aria-hidden="true"><span>Drop to open</span></div>}
      {given.value.length > 0 && (
        <div class="uploads" role="status">
          <div>{given.value.map((one, n) => <Line key={n} one={one} />)}</div>
          {!isBusy.value && <button class="small" onClick={clearGiven}>Close</button>}
        </div>
      )}
    </>
  );
}
