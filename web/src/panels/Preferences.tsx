// What somebody likes: theme, density, the first view, arrows. Everything takes effect at once and is remembered in the browser.
import { VIEWS, type View } from "../logic/route.ts";
import { plain } from "../logic/words.ts";
import { isPreferencesOpen } from "../state/commands.ts";
import { prefer, preferences, USUAL, type Arrows, type Density, type Theme } from "../state/preferences.ts";
import { Dialog } from "../widgets/Dialog.tsx";

const THEMES: [Theme, string][] = [["system", "as the system"], ["light", "light"], ["dark", "dark"]];
const DENSITIES: [Density, string][] = [["comfortable", "comfortable"], ["compact", "compact"]];
const ARROWS: [keyof Arrows, string][] = [["tool", "what a call led to"], ["spawn", "starts of agents"], ["return", "answers of agents"], ["error", "errors"]];

function Choice<T extends string>({ title, name, all, value, choose }: { title: string; name: string; all: [T, string][]; value: T; choose(value: T): void }) {
  return (
    <fieldset>
      <legend>{title}</legend>
      {all.map(([one, words]) => <label key={one} class="check"><input type="radio" name={name} checked={value === one} onChange={() => choose(one)} /> {words}</label>)}
    </fieldset>
  );
}

export function Preferences() {
  const { theme, density, view, arrows, path } = preferences.value;
  return (
    <Dialog open={isPreferencesOpen} label="Preferences">
      <h2>Preferences</h2>
      <div class="preferences">
        <Choice title="Theme" name="theme" all={THEMES} value={theme} choose={(one) => prefer({ theme: one })} />
        <Choice title="Density" name="density" all={DENSITIES} value={density} choose={(one) => prefer({ density: one })} />
        <Choice<View> title="A session opens with" name="view" all={VIEWS.map((one) => [one, plain(one)])} value={view} choose={(one) => prefer({ view: one })} />
        <fieldset>
          <legend>Arrows of the timeline</legend>
          {ARROWS.map(([name, words]) => <label key={name} class="check"><input type="checkbox" checked={arrows[name]} onChange={() => prefer({ arrows: { ...arrows, [name]: !arrows[name] } })} /> {words}</label>)}
          <label class="check"><input type="checkbox" checked={path} onChange={() => prefer({ path: !path })} /> the critical path</label>
        </fieldset>
      </div>
      <p class="dialog-foot"><span class="quiet">Kept in this browser.</span><span class="grow" /><button onClick={() => prefer(USUAL)}>As at first</button><button autofocus onClick={() => (isPreferencesOpen.value = false)}>Done</button></p>
    </Dialog>
  );
}
