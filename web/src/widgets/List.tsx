// A list of which only the rows that can be seen exist.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { mostSeen, Reveal, seenRows, type Seen } from "../logic/rows.ts";

interface Props {
  total: number;
  rowPx: number;
  label: string;
  row(n: number): ComponentChildren;
  /** Told which rows can be seen. */
  onSeen?(seen: Seen, scrollTop: number): void;
  /** A row to be brought into sight when this changes. */
  reveal?: number | undefined;
  onKeyDown?(event: KeyboardEvent): void;
  role?: "list" | "treegrid" | "listbox";
  /** The id of the row the keyboard is at. */
  active?: string | undefined;
}

export function List({ total, rowPx, label, row, onSeen, reveal, onKeyDown, active, role = "list" }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState({ top: 0, height: 600 });
  const latestRowPx = useRef(rowPx);
  latestRowPx.current = rowPx;
  const revealed = useRef(new Reveal()).current;
  const seen = seenRows(place.top, place.height, rowPx, total);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const look = () => setPlace({ top: element.scrollTop, height: element.clientHeight });
    look();
    const watch = new ResizeObserver(() => {
      element.scrollTop = revealed.resized(element.scrollTop, element.clientHeight, latestRowPx.current);
      revealed.isAt(element.scrollTop);
      look();
    });
    watch.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      watch.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, []);

  useEffect(() => onSeen?.(seen, place.top), [seen.first, seen.end, total]);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element || reveal === undefined) return;
    element.scrollTop = revealed.to(reveal, element.scrollTop, element.clientHeight, rowPx);
    revealed.isAt(element.scrollTop);
  }, [reveal, rowPx]);

  const rows: ComponentChildren[] = [];
  // What is scrolled away becomes what comes into sight: to change its words is cheaper than to make it anew.
  const most = mostSeen(place.height, rowPx);
  for (let n = seen.first; n < seen.end; n += 1) {
    rows.push(
      <div key={n % most} class="list-row" role={role === "list" ? "listitem" : "presentation"} style={{ top: `${n * rowPx}px`, height: `${rowPx}px` }}>
        {row(n)}
      </div>,
    );
  }
  return (
    <div ref={box} class="list" tabIndex={0} role={role} aria-label={label} aria-activedescendant={active} aria-rowcount={role === "treegrid" ? total : undefined} onKeyDown={onKeyDown}>
      <div class="list-room" role="presentation" style={{ height: `${total * rowPx}px` }}>
        {rows}
      </div>
    </div>
  );
}
