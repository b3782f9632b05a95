// What hone advise finds, and what of a picture or a listing it is about. Packages have to be loaded for it, so it is asked
// for when the first picture is there, and of each recording once.

import { useEffect, useMemo, useReducer } from "preact/hooks";
import { Advice, Api, Failure, Finding, Progress, SourceFile } from "./api";
import { App, idle, profiled, recordingOf, useApp } from "./data";
import { share } from "./format";
import { Model } from "./model";
import { functionOf } from "./names";

/** Advised is how far looking for findings has come. */
export interface Advised {
  advice: Advice | undefined;
  error: Failure | undefined;
  looking: boolean;
  stopped: boolean; // by the user
  progress: Progress | undefined;
}

const nothing: Advised = { advice: undefined, error: undefined, looking: false, stopped: false, progress: undefined };
const known = new Map<string, Advised>(); // by ref
const watchers = new Set<() => void>();

function keep(ref: string, a: Advised): void {
  known.set(ref, a);
  const looking = [...known.values()].filter((k) => k.looking).length;
  document.documentElement.dataset.advising = String(looking); // for those who wait for it
  for (const w of watchers) w();
}

/** ask has a recording looked through, again if need be. */
export async function ask(api: Api, ref: string): Promise<void> {
  keep(ref, { ...nothing, looking: true });
  await idle();
  const follow = setInterval(() => {
    api.json<Progress>("/api/advise/progress", [["ref", ref]], new AbortController().signal)
      .then((progress) => known.get(ref)?.looking && keep(ref, { ...nothing, looking: true, progress }), () => {});
  }, 1000);
  try {
    keep(ref, { ...nothing, advice: await api.json<Advice>("/api/advise", [["ref", ref]], new AbortController().signal) });
  } catch (e) {
    const error = e instanceof Failure ? e : new Failure(String(e));
    keep(ref, { ...nothing, error: error.status === stoppedStatus ? undefined : error, stopped: error.status === stoppedStatus });
  } finally {
    clearInterval(follow);
  }
}

const stoppedStatus = 409;

/** stop ends looking through a recording. */
export function stop(api: Api, ref: string): void {
  void api.stop("/api/advise", [["ref", ref]]);
}

/** subjectOf returns the ref of the recording that findings can be asked about, or "". */
export function subjectOf(app: App): string {
  return app.session.advises && profiled(app) ? (recordingOf(app)?.ref ?? "") : "";
}

/** useAdvice returns what was found in the recording that is looked at, and has it looked for unless that takes long. */
export function useAdvice(): Advised {
  const app = useApp();
  const [, again] = useReducer((n: number, _: void) => n + 1, 0);
  const ref = subjectOf(app);
  const unasked = ref !== "" && !recordingOf(app)?.many;
  useEffect(() => {
    if (ref === "") return;
    const look = () => again();
    watchers.add(look);
    if (known.has(ref)) look(); // it may have come since
    else if (unasked) void ask(app.api, ref);
    return () => void watchers.delete(look);
  }, [ref]);
  return known.get(ref) ?? (unasked ? { ...nothing, looking: true } : nothing);
}

/** isOf tells whether a function is the one that a finding is in, or was written inside of it. */
export function isOf(name: string, of: string | undefined): boolean {
  return of !== undefined && of !== "" && name.startsWith(of) && (name.length === of.length || /^(\.|\[|-)/.test(name.slice(of.length)));
}

/** findingsOf returns the findings in a function, which has a name without what there may be beside it. */
export function findingsOf(advice: Advice | undefined, name: string): Finding[] {
  return (advice?.findings ?? []).filter((f) => isOf(name, f.where.function));
}

/** A Flagged says which frames of a picture have findings. */
export interface Flagged {
  frames: Uint8Array;
  of: (frame: number) => Finding[];
}

/** useFlagged returns the frames of a picture that have findings, or nothing when none has. */
export function useFlagged(model: Model): Flagged | undefined {
  const { advice } = useAdvice();
  return useMemo(() => {
    if (!advice?.findings?.length) return undefined;
    const found = new Map<number, Finding[]>();
    const { name } = model.frames;
    const frames = new Uint8Array(name.length);
    for (let f = 0; f < name.length; f++) {
      const list = findingsOf(advice, functionOf(name[f]));
      if (list.length === 0) continue;
      found.set(f, list);
      frames[f] = 1;
    }
    return found.size === 0 ? undefined : { frames, of: (i) => found.get(i) ?? [] };
  }, [model, advice]);
}

/** useFindings returns the findings in a function of the recording that is looked at. */
export function useFindings(name: string): Finding[] {
  const { advice } = useAdvice();
  return useMemo(() => findingsOf(advice, name), [advice, name]);
}

/**
 * atLines returns findings by the line of a listing. Findings are of the sources as they are now, and a listing may be of what
 * was recorded; so where the text of a line is another, the next line with the right text is it.
 */
export function atLines(findings: Finding[], file: SourceFile): Map<number, Finding[]> {
  const out = new Map<number, Finding[]>();
  const lines = file.lines ?? [];
  for (const f of findings) {
    for (const spot of [f.where, ...(f.also ?? [])]) {
      if (!sameFile(spot.file, file)) continue;
      const text = file.error ? "" : (spot.text?.trim() ?? "");
      const like = lines.filter((l) => (text === "" ? l.line === spot.line : l.text.trim() === text));
      if (like.length === 0) continue;
      const { line } = like.reduce((a, l) => (Math.abs(l.line - spot.line) < Math.abs(a.line - spot.line) ? l : a));
      const there = out.get(line) ?? [];
      if (!there.includes(f)) out.set(line, [...there, f]);
    }
  }
  return out;
}

/** sameFile compares by the end of the path: one is relative to a folder, the other as the program was built. */
function sameFile(name: string, file: SourceFile): boolean {
  const slashed = (s: string) => s.replaceAll("\\", "/");
  const end = "/" + slashed(name).replace(/^\//, "");
  return [file.found, file.file].some((f) => f !== undefined && ("/" + slashed(f)).endsWith(end));
}

/** saves says what mending could save, as the command line does. */
export function saves(f: Finding): string {
  return f.savings.map((s) => `${share(s.share)} ${s.short}`).join(", ");
}

/** titleOf says in a line what was found. */
export function titleOf(f: Finding): string {
  return `finding ${f.number}: ${f.title}, at most ${saves(f)}`;
}
