// Where a graph is looked at from: what a hand moved, the address, what is flown to, and what stays in the middle while the graph grows.
import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { PlacedGraphDoc } from "../api/types.ts";
import { anchored, between, cameraSaid, fitted, flownTo, saidCamera, type Camera } from "../logic/camera.ts";
import { clamp } from "../logic/scale.ts";
import { replaceParams, route, selected } from "../state/route.ts";
import type { Size } from "../widgets/Canvas.tsx";

const FLIGHT_MS = 260;
/** The address is told where a hand stayed. */
const PAUSE_MS = 250;
const isCalm = matchMedia("(prefers-reduced-motion: reduce)");

/** A graph, and what it is of: folded or grown it is still the same. */
export interface Seen {
  shape: string;
  graph: PlacedGraphDoc;
}

/** What the address says, until that is heeded; and a way to tell it something after a while, unless the view is left before. */
function useAddress() {
  const timer = useRef(0);
  const known = useRef("");
  const said = route.value.params["at"] ?? "";
  useEffect(() => () => window.clearTimeout(timer.current), []);
  const tell = (text: string) => {
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      known.current = text;
      if ((route.peek().params["at"] ?? "") !== text) replaceParams({ at: text });
    }, PAUSE_MS);
  };
  const heed = () => {
    const isNew = said !== known.current;
    known.current = said;
    return isNew;
  };
  return { said, heed, tell };
}

export function useCamera(data: Seen | undefined, size: Signal<Size>) {
  const camera = useSignal<Camera | undefined>(undefined);
  const flight = useRef(0);
  const seen = useRef<Seen | undefined>(undefined);
  /** What was last brought into sight; it is so once, and may be left. */
  const aimed = useRef("");
  const { said, heed, tell } = useAddress();
  const whole = (graph: PlacedGraphDoc) => fitted(graph, size.peek().width, size.peek().height);
  const view = (): Camera => camera.value ?? (data ? whole(data.graph) : { x: 0, y: 0, zoom: 1 });
  const moveTo = (next: Camera | undefined) => {
    cancelAnimationFrame(flight.current);
    camera.value = next;
    tell(next ? saidCamera(next, size.peek().width, size.peek().height) : "");
  };
  const fly = (from: Camera, to: Camera) => {
    cancelAnimationFrame(flight.current);
    tell("");
    const begun = performance.now();
    const next = () => {
      const share = isCalm.matches ? 1 : clamp((performance.now() - begun) / FLIGHT_MS, 0, 1);
      camera.value = between(from, to, share);
      if (share < 1) flight.current = requestAnimationFrame(next);
    };
    next();
  };

  useEffect(() => () => cancelAnimationFrame(flight.current), []);
  useEffect(() => {
    if (!data) return;
    const before = seen.current;
    seen.current = data;
    // Another graph is looked at from afar. The same one, grown or folded, is looked at from where it was: what is in the middle stays there.
    if (before && before.shape !== data.shape) moveTo(undefined);
    else if (before && before.graph !== data.graph) camera.value = anchored(before.graph, data.graph, camera.peek() ?? whole(before.graph), size.peek().width, size.peek().height);
  }, [data]);
  // A step that was chosen elsewhere is flown to when it is out of sight, unless the address says where to look.
  useEffect(() => {
    const { width, height } = size.peek();
    if (!data || width === 0) return;
    const aim = `${data.shape} ${selected.value}`;
    const told = heed() ? cameraSaid(said, width, height) : undefined;
    const node = data.graph.nodes.find((one) => one.step_ids.includes(selected.value));
    if (told) camera.value = told;
    else if (node && aim !== aimed.current) {
      const to = flownTo(view(), node.place, width, height);
      if (to) fly(view(), to);
    }
    if (told || node || selected.value === "") aimed.current = aim;
  }, [said, selected.value, data, size.value.width > 0]);
  return { camera, view, moveTo };
}
