// What is marked in a picture: the box under the pointer, the one that was picked, and the function that is selected. All
// of it changes with every move of a hand, and the page around the picture does not. So it is no state of the page: only
// those who follow a Marks look again.

import { useLayoutEffect, useReducer, useRef } from "preact/hooks";
import { Model, Place } from "./model";

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
