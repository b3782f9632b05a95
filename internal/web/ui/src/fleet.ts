// What a store has: how refs to it are written, times on a clock, and ways between its pages.

import { busyCores, number, perSecond, sizePerSecond, value } from "./format";
import { Pair, State, get, put } from "./state";

export const prefix = "store:";

/** shelved begins refs to recordings on the shelf. */
export const shelved = "shelf:";

export const usualTime = "-24h";

export const ranges: [time: string, name: string][] = [
  ["-15m", "last 15 minutes"], ["-1h", "last hour"], ["-6h", "last 6 hours"], ["-24h", "last 24 hours"], ["-7d", "last 7 days"], ["-30d", "last 30 days"],
];

/** parts takes a ref apart into what selects profiles and their time. */
export function parts(ref: string): [selector: string, time: string] {
  const text = ref.startsWith(prefix) ? ref.slice(prefix.length) : ref;
  const at = text.lastIndexOf("@");
  // A time has no braces and quotes, so what stands in a label does not count.
  return at >= 0 && !/[}"]/.test(text.slice(at)) ? [text.slice(0, at), text.slice(at + 1)] : [text, ""];
}

export function refOf(selector: string, time: string): string {
  return prefix + selector + (time ? "@" + time : "");
}

/** selectorOf writes a selector for a service and labels that its profiles have. */
export function selectorOf(service: string, ...labels: [name: string, value: string][]): string {
  const plain = /^[\w.\/-]+$/.test(service);
  const rest = labels.map(([k, v]) => `${k}=${JSON.stringify(v)}`);
  if (!plain) rest.unshift(`service_name=${JSON.stringify(service)}`);
  return (plain ? service : "") + (rest.length > 0 ? `{${rest.join(", ")}}` : "");
}

/** timeOf returns the time that a page is about. */
export function timeOf(s: State): string {
  const ref = get(s, "ref");
  return (ref && !ref.startsWith(shelved) ? parts(ref)[1] || "-1h" : get(s, "ui.time")) || usualTime;
}

/** services returns the page of all services, of the same time. */
export function services(s: State): State {
  const time = timeOf(s);
  return { view: "services", pairs: time === usualTime ? [] : [["ui.time", time]] };
}

// What belongs to one selection only. Filters of the views stay: the same question is asked of another time.
const ownOf = new Set(["root", "at"]);

/** select returns s with another selection, or another base. */
export function select(s: State, key: "ref" | "base", ref: string): State {
  return put({ ...s, pairs: s.pairs.filter(([k]) => !ownOf.has(k)) }, key, ref);
}

/** about returns a page about a ref, without what another page was asked. */
export function about(view: string, ref: string, ...more: Pair[]): State {
  return { view, pairs: [["ref", ref], ...more] };
}

const two = (n: number) => String(n).padStart(2, "0");

export const dayOf = (ms: number) => {
  const d = new Date(ms);
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
};

const clockOf = (ms: number, seconds: boolean) => {
  const d = new Date(ms);
  return `${two(d.getHours())}:${two(d.getMinutes())}` + (seconds ? ":" + two(d.getSeconds()) : "");
};

/** when prints a moment in the time zone of the reader. */
export function when(ms: number, seconds = true): string {
  return dayOf(ms) + " " + clockOf(ms, seconds);
}

/** typed prints a moment as fields for times have it. */
export function typed(ms: number): string {
  return dayOf(ms) + "T" + clockOf(ms, true);
}

/** exact writes a time of a ref. */
export function exact(from: number, to: number): string {
  const text = (ms: number) => new Date(Math.round(ms / 1000) * 1000).toISOString().replace(".000Z", "Z");
  return text(from) + ".." + text(Math.max(to, from + 1000));
}

/** between prints a time from one moment to another, short. */
export function between(from: number, to: number): string {
  const short = to - from < 10 * 60e3;
  return when(from, short) + " to " + (dayOf(from) === dayOf(to) ? clockOf(to, short) : when(to, short));
}

/** long prints how long a time is: 15m, 6h, 7d. */
export function long(ms: number): string {
  const s = Math.round(ms / 1000);
  const all: [string, number][] = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]];
  const i = Math.max(0, all.findIndex(([, n]) => s >= n && (s % n === 0 || s >= 2 * n)));
  const [name, n] = all[s < 1 ? 3 : i];
  const whole = Math.floor(s / n);
  const rest = s - whole * n;
  const next = all[i + 1];
  const more = next ? Math.floor(rest / next[1]) : 0;
  return whole + name + (more > 0 ? more + next[0] : "");
}

/** timeText says in words which time is meant. */
export function timeText(time: string, from: number, to: number): string {
  const known = ranges.find(([t]) => time === t || time === t + "..now" || time === t + "..");
  return known ? known[1] : from ? between(from, to) : time;
}

/** amount prints a value of a measure. */
export function amount(v: number, unit: string): string {
  switch (unit) {
    case "cores":
      return busyCores(v);
    case "bytes":
      return value(Math.round(v), "bytes");
    case "bytes/s":
      return sizePerSecond(v);
    case "1/s":
      return perSecond(v);
  }
  return number(v);
}

const clockSteps = [1, 5, 10, 30, 60, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000].map((s) => s * 1000);

/** clockTicks returns where an axis is marked, in the time zone of the reader, and what stands there. */
export function clockTicks(from: number, to: number, most: number): [at: number, text: string][] {
  const step = clockSteps.find((s) => (to - from) / s <= most) ?? clockSteps[clockSteps.length - 1];
  const zone = (ms: number) => new Date(ms).getTimezoneOffset() * 60e3;
  const out: [number, string][] = [];
  let day = "";
  for (let t = Math.ceil((from - zone(from)) / step) * step + zone(from); t <= to; t += step) {
    const d = new Date(t);
    const date = d.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
    const midnight = d.getHours() === 0 && d.getMinutes() === 0 && d.getSeconds() === 0;
    out.push([t, step >= 86400e3 || (midnight && date !== day) ? date : clockOf(t, step < 60e3)]);
    day = date;
  }
  return out;
}
