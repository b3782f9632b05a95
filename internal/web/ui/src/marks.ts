// What is marked in a picture: the box under the pointer, the one that was picked, and the function that is selected. All
// of it changes with every move of a hand, and the page around the picture does not. So it is no state of the page: only
// those who follow a Marks look again.

import { useLayoutEffect, useReducer, useRef } from "preact/hooks";
import { Model, Place, Window, frameAt, framesOf, placeOf, wayTo, widestOf, within } from "./model";
import { functionOf } from "./names";
import { State, get, put } from "./state";

export class Marks {
  hover: Place | undefined;
  cursor: Place | undefined;
  selected = ""; // the name of a function
  private readonly followers = new Set<() => void>();

  constructor(readonly model: Model) {}

  set(change: Partial<Pick<Marks, "hover" | "cursor" | "selected">>): void {
    Object.assign(this, change);
    for (const f of this.followers) f();
  }

  /** follow calls f when a mark moves, until what it returns is called. */
  follow(f: () => void): () => void {
    this.followers.add(f);
    return () => void this.followers.delete(f);
  }
}

/** useMark returns something about marks, and has the component made anew when that is not the same any more. */
export function useMark<T>(marks: Marks, of: (m: Marks) => T): T {
  const [, again] = useReducer((n: number, _: void) => n + 1, 0);
  const now = of(marks);
  const shown = useRef(now);
  shown.current = now;
  useLayoutEffect(() => {
    const look = () => {
      if (!Object.is(of(marks), shown.current)) again();
    };
    look(); // it may have moved since
    return marks.follow(look);
  }, [marks]);
  return now;
}

/** chosen returns the state in which the call at p is selected: by its function, and by the way to it where that has a wider box in the window. */
export function chosen(s: State, m: Model, path: { name: string }[] | undefined, w: Window, p: Place): State {
  const name = functionOf(frameAt(m, p)?.name ?? "");
  const widest = name === "" ? undefined : widestOf(m, w, framesOf(m, name));
  const way = name === "" || (widest?.row === p.row && widest.i === p.i) ? "" : wayTo(m, path, p).join(";");
  return put(put(s, "ui.sel", name), "ui.call", way);
}

/** choiceOf returns the call that a state selects in a window, or nothing where no box is of its function. */
export function choiceOf(s: State, m: Model, path: { name: string }[] | undefined, w: Window): Place | undefined {
  const name = get(s, "ui.sel");
  const way = get(s, "ui.call");
  // Other views select functions only, so the call may still be one of the function before.
  const p = way === "" ? undefined : placeOf(m, path, way.split(";"));
  if (p && functionOf(frameAt(m, p)?.name ?? "") === name && within(m, w, p)) return p;
  return name === "" ? undefined : widestOf(m, w, framesOf(m, name));
}
