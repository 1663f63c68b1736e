// Something that lies over the page until it is closed.
import type { ComponentChildren } from "preact";
import type { Signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

export function Dialog({ open, label, children }: { open: Signal<boolean>; label: string; children: ComponentChildren }) {
  const box = useRef<HTMLDialogElement>(null);
  // Before anything else is pressed: what is typed right behind a key belongs in here.
  useLayoutEffect(() => {
    box.current?.showModal();
  }, []);
  return (
    <dialog ref={box} aria-label={label} onClose={() => (open.value = false)} onClick={(event) => event.target === box.current && (open.value = false)}>
      {children}
    </dialog>
  );
}
