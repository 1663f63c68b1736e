// Work that is done again when what it reads changes, once a frame at most: many changes between two frames cost as much as one.
import { effect } from "@preact/signals";

/** Works at once, and then in the frame after every change; until the answer is called. */
export function eachFrame(work: () => void): () => void {
  let [frame, forget] = [0, () => {}];
  const begin = () => {
    let isDone = false;
    forget = effect(() => {
      // The second time something has changed; what it reads is listened to anew in the next frame.
      if (isDone) frame = requestAnimationFrame(again);
      else {
        isDone = true;
        work();
      }
    });
  };
  const again = () => {
    forget();
    begin();
  };
  begin();
  return () => {
    cancelAnimationFrame(frame);
    forget();
  };
}
