// The state of the page is its URL: the path is the view, the query string is the question as hone spells it everywhere, and
// what concerns only the page begins with "ui.". Back is undo, and a link shows what its sender saw.

export type Pair = [key: string, value: string];

export interface State {
  view: string;
  pairs: Pair[]; // in order, because filters apply in the order in which they stand
}

/** steps are the keys that filter; each of them shows as a pill. */
export const steps = [
  "focus", "ignore", "hide", "show", "show-from", "prune-from", "collapse-package", "collapse-recursion",
  "tag", "tag-ignore", "tag-show", "tag-hide", "tag-root", "tag-leaf",
];

/** ofFleet is true where the page is of a store of profiles: what it looks at is in its URL. */
export const ofFleet = document.getElementById("hone-session")?.dataset.fleet !== undefined;

export function parse(view: string, search: string): State {
  const pairs: Pair[] = [];
  for (const [k, v] of new URLSearchParams(search)) pairs.push([k, v]);
  const chosen = pairs.some(([k, v]) => k === "ref" && v !== "");
  return { view: view || (ofFleet && !chosen ? "services" : "overview"), pairs };
}

export function queryString(pairs: Pair[]): string {
  if (pairs.length === 0) return "";
  return "?" + pairs.map(([k, v]) => encode(k) + "=" + encode(v)).join("&");
}

// What needs no escape stays as it is: people read these.
function encode(s: string): string {
  if (/^[\w.]*$/.test(s)) return s;
  return encodeURIComponent(s).replace(/%(2F|3A|2C|40|24)/g, (m) => decodeURIComponent(m)).replace(/%20/g, "+");
}

export function get(s: State, key: string): string {
  return s.pairs.find(([k]) => k === key)?.[1] ?? "";
}

/** put returns s with key set to value, or without it when value is "". */
export function put(s: State, key: string, value: string): State {
  const at = s.pairs.findIndex(([k]) => k === key);
  const pairs = s.pairs.filter(([k], i) => k !== key || (i === at && value !== ""));
  if (value !== "") {
    if (at < 0) pairs.push([key, value]);
    else pairs[pairs.findIndex(([k]) => k === key)] = [key, value];
  }
  return { ...s, pairs };
}

/** add returns s with one more filter. The zoom is dropped: the frame it is at may be gone. */
export function add(s: State, key: string, value: string): State {
  const there = s.pairs.some(([k, v]) => k === key && v === value);
  return there ? s : put({ ...s, pairs: [...s.pairs, [key, value]] }, "root", "");
}

/** change returns s with another filter in place of its pair number i. */
export function change(s: State, i: number, key: string, value: string): State {
  return put({ ...s, pairs: s.pairs.map((p, j) => (j === i ? [key, value] : p)) }, "root", "");
}

/** without returns s without its pair number i. */
export function without(s: State, i: number): State {
  return put({ ...s, pairs: s.pairs.filter((_, j) => j !== i) }, "root", "");
}

/** to returns s in another view. What belongs to one view only stays behind. */
export function to(s: State, view: string, ...set: Pair[]): State {
  let out: State = { view, pairs: s.pairs.filter(([k]) => k !== "arg" && k !== "ui.finding" && (view === s.view || (k !== "limit" && k !== "ui.of"))) };
  for (const [k, v] of set) out = put(out, k, v);
  return out;
}

// A page that was saved as a file has no paths of its own; there the state is behind the #.
const saved = document.getElementById("hone-data");
const inHash = saved !== null;

export function href(s: State): string {
  return (inHash ? "#/" : "/") + s.view + queryString(s.pairs);
}

function read(): State {
  if (!inHash) return parse(location.pathname.slice(1), location.search);
  const hash = location.hash.replace(/^#?\/?/, "") || saved?.dataset.first || "flame";
  const at = hash.indexOf("?");
  return at < 0 ? parse(hash, "") : parse(hash.slice(0, at), hash.slice(at));
}

let current = read();
const listeners = new Set<() => void>();
let owed: { push: boolean; url: string }[] = []; // what the URL does not say yet; the last one is of the current state
let later: ReturnType<typeof setTimeout> | undefined; // when it will
let unheard = false; // whether those who listen are behind, too

/** state returns the state as it is now. What components were made with may be older by a moment, see drift. */
export function state(): State {
  return current;
}

export function subscribe(f: () => void): () => void {
  listeners.add(f);
  return () => listeners.delete(f);
}

/**
 * go makes s the state. A step that one may want to undo is pushed; what follows the pointer or the typing is not. The URL says it when there is
 * a pause, or before somebody can see it: a new URL keeps the browser busy for longer than two frames, while the next picture comes.
 */
export function go(s: State, how: "push" | "replace" = "push"): void {
  if (href(s) === href(current)) return;
  owe(how === "push", how === "push" ? sight : pause);
  current = s;
  unheard = false;
  for (const f of listeners) f();
}

const moment = 120; // milliseconds; a key that is held down repeats sooner
const pause = 400; // milliseconds; who types goes on sooner
const sight = 250; // milliseconds; nobody sees a picture and goes back sooner

/**
 * drift makes s the state, and lets the URL and those who listen know a moment later. It is for what a key that is held
 * down changes thirty times a second: the page around the picture need not be made anew as often, and browsers do not
 * let the URL change as often.
 */
export function drift(s: State): void {
  if (href(s) === href(current)) return;
  owe(false, moment);
  current = s;
  unheard = true;
}

/** owe has the URL say after some milliseconds what the state will be. */
function owe(push: boolean, after: number): void {
  const last = owed.at(-1);
  if (last !== undefined) last.url = href(current);
  if (push || last === undefined) owed.push({ push, url: "" });
  clearTimeout(later);
  later = setTimeout(settle, after);
}

/** settle has the URL say what the state is, if it does not yet. */
export function settle(): void {
  const last = owed.at(-1);
  if (last === undefined) return;
  last.url = href(current);
  const all = forget();
  for (const { push, url } of all) {
    if (push) history.pushState(null, "", url);
    else history.replaceState(null, "", url);
  }
  if (!unheard) return;
  unheard = false;
  for (const f of listeners) f();
}

/** forget takes back that the URL will say something. */
function forget(): typeof owed {
  const all = owed;
  owed = [];
  clearTimeout(later);
  return all;
}

window.addEventListener("pagehide", settle);
// Links and controls are made of the state that the page was made with. Before one of them is used, the page shows the latest. Who leaves the page
// with the pointer, or holds down a key for shortcuts of the browser, is about to look at the URL or to go back.
for (const event of ["pointerdown", "click"]) window.addEventListener(event, settle, true);
document.documentElement.addEventListener("mouseleave", settle);
window.addEventListener("keydown", (e) => { if (e.altKey || e.ctrlKey || e.metaKey) settle(); }, true);
for (const event of inHash ? ["popstate", "hashchange"] : ["popstate"]) {
  window.addEventListener(event, () => {
    const early = forget().some((o) => o.push); // somebody went back from what the browser did not know of, and so one too far
    unheard = false;
    current = read();
    for (const f of listeners) f();
    if (early) history.forward();
  });
}
