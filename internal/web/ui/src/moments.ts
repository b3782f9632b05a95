// Times of an execution trace as text, and ways to them.

import { grain } from "./chart";
import { value } from "./format";
import { go, put, state as current, to } from "./state";

const least = 100; // nanoseconds in sight

/** exact prints nanoseconds as queries have them, and loses none. */
function exact(nanos: number): string {
  const n = Math.round(nanos);
  return n % 1e6 === 0 ? n / 1e6 + "ms" : n % 1e3 === 0 ? n / 1e3 + "us" : n + "ns";
}

export const ns = (v: number) => value(Math.round(v), "nanoseconds");

export type Window = [from: number, to: number];

/** show has the page answer for a window, or for all of the trace. Where there are several traces, the time says which one it is. */
export function show([a, b]: Window, [begin, end]: Window, how: "push" | "replace", several = false): void {
  const width = Math.min(end - begin, Math.max(least, b - a));
  const from = Math.min(Math.max(begin, a), end - width);
  const step = grain(width);
  const round = (t: number) => Math.round(t / step) * step;
  const all = width >= (end - begin) * 0.999 && !several;
  const at = all ? "" : `${exact(round(from))}..${from + width >= end && !several ? "" : exact(round(from + width))}`;
  go(put(put(current(), "at", at === ".." ? "" : at), "root", ""), how);
}

/** select chooses a goroutine at a time. */
export function select(goroutine: number, at: number): void {
  go(put(put(put(current(), "ui.g", String(goroutine)), "ui.t", String(Math.round(at))), "ui.req", ""));
}

export function selectRequest(number: number): void {
  go(put(put(put(to(current(), "trace"), "ui.req", String(number)), "ui.g", ""), "ui.t", ""));
}
