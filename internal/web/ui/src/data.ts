// Asking from inside a component: the last answer stays until the next one is there, and a question that nobody waits for
// any more is taken back.

import { createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";
import { Api, Failure, Metric, Recording, Session } from "./api";
import { Pair, State, get, ofFleet, parse, queryString, steps } from "./state";

export interface App {
  api: Api;
  session: Session;
  state: State;
}

export const AppContext = createContext<App>(null as unknown as App);

export function useApp(): App {
  return useContext(AppContext);
}

/** recordingOf returns the recording that is looked at. */
export function recordingOf({ session, state }: App): Recording | undefined {
  return session.recordings.find((r) => r.ref === get(state, "ref")) ?? session.recordings[0];
}

/** metricOf returns the metric that is looked at, by whichever of its names it is asked for. */
export function metricOf(app: App): Metric | undefined {
  const metrics = recordingOf(app)?.metrics ?? [];
  const name = get(app.state, "metric");
  if (name === "") return metrics.find((m) => m.default) ?? metrics[metrics.length - 1];
  return metrics.find((m) => m.type === name) ?? metrics.find((m) => m.names?.includes(name));
}

/** baseOf returns what the recording is compared with, or "". A saved page is of one comparison, or of none. */
export function baseOf({ api, session, state }: App): string {
  return get(state, "base") || (api.embedded ? session.base ?? "" : "");
}

/** lasting returns the filters that a saved page was made with: none of its answers is without them. */
export function lasting({ session }: App): Pair[] {
  return parse("", session.filters ?? "").pairs;
}

/** shows tells whether a view has something to show of the recording that is looked at. */
export function shows(app: App, view: string): boolean {
  return recordingOf(app)?.views.includes(view) ?? false;
}

/** profiled tells whether there is a profile. */
export function profiled(app: App): boolean {
  return shows(app, "top");
}

/** waiting tells whether what is looked at is where goroutines of an execution trace spent their time, and more of that can be asked for. */
export function waiting(app: App): boolean {
  return app.api.has("/api/waits") && shows(app, "waits") && ["blocked", "waits", "ready", "syscall", "running", "idle"].includes(metricOf(app)?.type ?? "");
}

/** timed tells whether a recording says how its run went over time, and that can be asked for. */
export function timed(app: App): boolean {
  return app.api.has("/api/timeline") && shows(app, "timeline");
}

/** asked returns the pairs of the state that change the answer of a view: it refuses all others. */
export function asked(app: App, view: string, ...extra: Pair[]): Pair[] {
  const like = app.session.views.find((v) => v.name === view) ?? app.session.views.find((v) => v.name === "flame");
  const uses = new Set(like?.uses ?? ["ref", "metric", ...steps]);
  // What narrows a picture or a ranking would make the numbers of these incomplete.
  if (view === "search" || view === "sandwich") for (const k of ["root", "limit", "min"]) uses.delete(k);
  if (view === "list") uses.delete("by");
  if (get(app.state, "base-tag") !== "" && !uses.has("base-tag")) uses.delete("base"); // it would be the same
  const set = new Set(extra.map(([k]) => k));
  const ref = get(app.state, "ref");
  const pairs = app.state.pairs.filter(([k]) => uses.has(k) && !set.has(k) && !k.startsWith("ui."));
  if (ref === "" && view === "diff" && app.session.recordings[0]) pairs.unshift(["ref", app.session.recordings[0].ref]);
  return [...extra.filter(([, v]) => v !== ""), ...pairs];
}

export interface Answer<T> {
  data: T | undefined; // the last answer, perhaps to an earlier question
  for: string; // the question that data answers
  error: Failure | undefined;
  waiting: boolean;
}

// Why nobody answers, as long as that is so. What is there is then worth more than what is not.
let away: Failure | undefined;
let tries = 0; // that somebody asked for since
const attending = new Set<() => void>();

function attend(now: Failure | undefined): void {
  if (now?.message === away?.message) return;
  away = now;
  for (const f of attending) f();
}

/** tryAgain asks whether somebody answers again. Then it has asked anew what nobody has answered. */
export async function tryAgain(api: Api): Promise<void> {
  try {
    await api.text("/api/session", [], new AbortController().signal);
  } catch (e) {
    if (e instanceof Failure && e.away) return attend(e);
  }
  tries++;
  away = undefined;
  for (const f of attending) f();
}

/** useAway tells why nobody answers, if so. */
export function useAway(): Failure | undefined {
  const [, again] = useReducer((n: number, _: void) => n + 1, 0);
  useEffect(() => {
    const look = () => again();
    attending.add(look);
    return () => void attending.delete(look);
  }, []);
  return away;
}

// Profiles do not change while they are open, so an answer stays true. A few are kept to make going back instant.
const kept = new Map<string, unknown>();
const most = 40;

function keep(key: string, data: unknown): void {
  kept.set(key, data);
  if (kept.size > most) kept.delete(kept.keys().next().value!);
}

/** peek returns an answer that was kept, without asking for it. */
export function peek<T>(path: string, pairs: Pair[]): T | undefined {
  return kept.get(path + queryString(pairs)) as T | undefined;
}

// What useAhead asks for now. Whoever asks for the same waits for that answer, and whoever asks for something else takes
// it back: the server should not be busy with what may never be wanted.
let coming: { key: string; got: Promise<unknown>; stop: AbortController } | undefined;

// What says which part of an answer is in sight. The page zooms into what it has, so an answer about another part still stands.
const parts: Record<string, Set<string>> = {
  "/api/lanes": new Set(["at", "limit"]),
  "/api/timeline": new Set(["at"]),
};
const usualParts = new Set(["root", "depth", "limit", "min"]);

/** stands tells whether what answers one question is true of another one, as far as it goes. */
function stands(answered: string, asked: string): boolean {
  const subject = (key: string): string => {
    const [path, query = ""] = key.split("?", 2);
    return path + queryString(parse("", query).pairs.filter(([k]) => !(parts[path] ?? usualParts).has(k)));
  };
  return subject(answered) === subject(asked);
}

/** useAnswer asks path for T. Without a path nothing is asked. */
export function useAnswer<T>(path: string, pairs: Pair[], delay = 0, kind: "json" | "text" = "json"): Answer<T> {
  const { api } = useApp();
  const key = path && path + queryString(pairs);
  const [answer, setAnswer] = useState<Answer<T>>({ data: undefined, for: "", error: undefined, waiting: key !== "" });
  const lost = useRef(""); // what nobody has answered
  const [attempt, setAttempt] = useState(tries);
  useEffect(() => {
    const look = () => {
      if (lost.current !== "") setAttempt(tries);
    };
    attending.add(look);
    return () => void attending.delete(look);
  }, []);
  // Not after the next frame, as other effects: that would be the time of a frame lost.
  useLayoutEffect(() => {
    if (key === "") {
      setAnswer({ data: undefined, for: "", error: undefined, waiting: false });
      return;
    }
    if (kept.has(key)) {
      setAnswer({ data: kept.get(key) as T, for: key, error: undefined, waiting: false });
      return;
    }
    let stop = new AbortController();
    setAnswer((a) => ({ ...a, waiting: true }));
    const ask = () => {
      busy(1);
      let got: Promise<unknown>;
      if (coming?.key === key) {
        ({ got, stop } = coming);
        coming = undefined;
      } else {
        // What waits before it is asked for, such as the lines in the panel, comes with a selection and does not say that something else is wanted.
        if (delay === 0) {
          coming?.stop.abort();
          coming = undefined;
        }
        got = kind === "json" ? api.json<T>(path, pairs, stop.signal) : api.text(path, pairs, stop.signal);
      }
      (got as Promise<T>)
        .then(
          (data) => {
            if (stop.signal.aborted) return;
            lost.current = "";
            attend(undefined);
            keep(key, data);
            setAnswer({ data, for: key, error: undefined, waiting: false });
          },
          (e: unknown) => {
            if (stop.signal.aborted) return;
            const error = e instanceof Failure ? e : new Failure(String(e));
            lost.current = error.away ? key : "";
            attend(error.away ? error : undefined);
            // Where nobody answers, what was there before stays, unless the page now says that it is of something else.
            setAnswer((a) => ({ ...a, error: error.away && a.data !== undefined && stands(a.for, key) ? undefined : error, waiting: false }));
          },
        )
        .finally(() => busy(-1));
    };
    const timer = delay > 0 ? setTimeout(ask, delay) : undefined;
    if (timer === undefined) ask();
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [key, attempt]);
  // What was kept is there before the effect has run.
  if (key !== "" && answer.for !== key && kept.has(key)) {
    return { data: kept.get(key) as T, for: key, error: undefined, waiting: false };
  }
  // Nor has it when the question is new.
  return { ...answer, waiting: answer.waiting || (key !== "" && answer.for !== key && !answer.error && lost.current !== key) };
}

/**
 * useFirst asks path for T as useAnswer does, but of a large profile first for calls of at least a share of the whole: those that are wide enough
 * to be read, which are there sooner. It asks for all when they are on the screen. Questions about the same subject need no such first answer again.
 * Where the share is 0, there is none at all.
 */
export function useFirst<T>(path: string, pairs: Pair[], share: number, subject: string): Answer<T> {
  const [seen, setSeen] = useState<string | undefined>(undefined); // the subject whose first answer is on the screen
  const all = path === "" || share === 0 || seen === subject || pairs.some(([k]) => k === "min") || peek(path, pairs) !== undefined;
  const first = useAnswer<T>(all ? "" : path, [...pairs, ["min", String(share)]]);
  const answer = useAnswer<T>(all ? path : "", pairs);
  const now = all ? answer : first;
  const shown = useRef<Answer<T> | undefined>(undefined);
  if (now.data !== undefined) shown.current = now;
  const there = !all && first.data !== undefined && !first.waiting;
  useLayoutEffect(() => {
    if (!there) return;
    following++;
    tell();
    void idle().then(() => setSeen(subject));
    return () => {
      following--;
      tell();
    };
  }, [there, subject]);
  return now.data !== undefined || now.error || !shown.current ? now : { ...shown.current, waiting: true };
}

const restful = 40; // milliseconds; a key that is held down repeats sooner

/** useAhead asks path for what will probably be wanted next, so that useAnswer has it at once. Without a path nothing is asked. */
export function useAhead(path: string, pairs: Pair[]): void {
  const { api } = useApp();
  const key = path && path + queryString(pairs);
  useEffect(() => {
    if (key === "" || kept.has(key)) return;
    let timer: ReturnType<typeof setTimeout>;
    const ask = () => {
      if (coming?.key === key || kept.has(key)) return; // the panel may have been made anew meanwhile
      if (asking > 0) { // such as the lines in the panel, which come first
        timer = setTimeout(ask, restful);
        return;
      }
      coming?.stop.abort();
      const stop = new AbortController();
      const mine = { key, got: api.json<unknown>(path, pairs, stop.signal), stop };
      coming = mine;
      const done = () => {
        if (coming === mine) coming = undefined;
      };
      mine.got.then((data) => keep(key, data), () => {}).finally(done); // what is wrong will be said to whoever asks for it
    };
    timer = setTimeout(ask, restful);
    return () => clearTimeout(timer);
  }, [key]);
}

const manySamples = 100_000; // the callers of fewer take no time that anybody notices
let expected = ""; // what the server was told last

/** expectCallers has the server find the callers of a function while nobody asks for anything. */
export function expectCallers(app: App, name: string): void {
  if (name === "" || ofFleet || app.state.view === "sandwich" || !shows(app, "sandwich") || (recordingOf(app)?.samples ?? 0) < manySamples) return;
  const pairs = asked(app, "sandwich", ["arg", name]);
  const key = "/api/sandwich" + queryString(pairs);
  if (key === expected || kept.has(key)) return;
  expected = key;
  app.api.expect("/api/sandwich", pairs);
}

const thoughtful = 200; // milliseconds; the second click of two comes sooner

/** useExpected expects that whoever has selected a function, and then looks at it, goes to its callers next. */
export function useExpected(): void {
  const app = useApp();
  const { state } = app;
  const name = get(state, "ui.sel");
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let left = false;
    void idle().then(() => {
      if (!left) timer = setTimeout(() => expectCallers(app, name), thoughtful);
    });
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [state.view, queryString(state.pairs)]);
}

let asking = 0;
let following = 0; // answers that are asked for when the ones before are on the screen
const watchers = new Set<(n: number) => void>();

function busy(d: number): void {
  asking += d;
  tell();
  for (const w of watchers) w(asking);
}

/** tell says how much is awaited, for those who wait for the page to be done. */
function tell(): void {
  document.documentElement.dataset.asking = String(asking + following);
}

/** idle waits until no answer is awaited and what came is painted, for what has time until then. */
export function idle(): Promise<void> {
  return new Promise((done) => {
    const watch = (n: number) => {
      if (n > 0) return;
      watchers.delete(watch);
      requestAnimationFrame(() => setTimeout(done));
    };
    watchers.add(watch);
    watch(asking);
  });
}

/** useBusy is true while answers have been awaited for long enough that one may wonder. */
export function useBusy(): boolean {
  const [shown, show] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => {
    const watch = (n: number) => {
      if (n > 0) {
        timer.current ??= setTimeout(() => show(true), 150);
        return;
      }
      clearTimeout(timer.current);
      timer.current = undefined;
      show(false);
    };
    watchers.add(watch);
    return () => void watchers.delete(watch);
  }, []);
  return shown;
}
