// What a page that was saved as one file answers by itself. It has the calls of the flame graph; call trees, callers and what filters leave
// are made from them, and from nothing else. Calls that were too narrow to save are known by what they cost together, below the call that
// made them.

import { CallTree, CallTreeRow, Check, Failure, Flame, FlameRow, Sandwich, Source, SourceFunction, Top, TopRow, Tree } from "./api";
import { decode, frameOf } from "./model";
import { regexp } from "./search";
import { Pair, queryString } from "./state";

/** filtersHere are the filters that need no more than the names on stacks. */
export const filtersHere = ["focus", "ignore", "hide", "show", "show-from"];

/** A Part is what some samples cost that have one stack. */
interface Part {
  stack: number[]; // calls of Calls, the outermost first
  flat: number;
  rest: number; // of calls below it that were not saved
  before: number;
}

/** A Call is a node of a tree that was made here. */
interface Call {
  frame: number; // -1 is the root
  inline: boolean;
  flat: number;
  cum: number;
  before: number;
  width: number; // what is gone keeps that which it had
  below: Map<number, Call>;
}

function call(frame: number, inline: boolean): Call {
  return { frame, inline, flat: 0, cum: 0, before: 0, width: 0, below: new Map() };
}

export class Calls {
  private readonly frame: number[] = []; // of each call
  private readonly inline: boolean[] = [];
  private readonly parts: Part[] = [];
  private readonly compares: boolean;
  private whole = false; // nothing was left out when the page was saved

  constructor(private readonly flame: Flame) {
    const m = decode(flame);
    this.compares = m.compares;
    const first: number[] = []; // number of the first call of each row
    for (const r of m.rows) {
      first.push(this.frame.length);
      for (let i = 0; i < r.n; i++) {
        this.frame.push(r.frame[i]);
        this.inline.push(r.inline?.[i] === 1);
      }
    }
    let rest = 0;
    m.rows.forEach((r, row) => {
      const below = m.rows[row + 1];
      const cum = new Float64Array(r.n);
      const before = new Float64Array(r.n);
      for (let i = 0; below && i < below.n; i++) {
        cum[below.parent[i]] += below.cum[i];
        before[below.parent[i]] += below.before?.[i] ?? 0;
      }
      for (let i = 0; i < r.n; i++) {
        const p: Part = { stack: [], flat: r.flat[i], rest: r.cum[i] - r.flat[i] - cum[i], before: (r.before?.[i] ?? 0) - before[i] };
        if (p.flat === 0 && p.rest === 0 && p.before === 0) continue;
        rest += Math.abs(p.rest);
        for (let at = row, j = i; at > 0; j = m.rows[at].parent[j], at--) p.stack.unshift(first[at] + j);
        this.parts.push(p);
      }
    });
    this.whole = rest === 0;
  }

  /** matching tells of each frame whether a filter means it: by its name, or by the file that it is in. */
  private matching(rx: RegExp): (at: number) => boolean {
    const { name, file, files } = this.flame.frames;
    const inside = files.map((f) => rx.test(f));
    const is = name.map((n, f) => rx.test(n) || (inside[file[f]] ?? rx.test("")));
    return (at) => is[this.frame[at]] === true;
  }

  /** filtered returns what filters leave. */
  private filtered(steps: Pair[]): Part[] {
    let parts = this.parts;
    for (const [key, text] of steps) {
      const is = this.matching(regexp(text));
      const cut = (f: (stack: number[]) => number[]) => parts.map((p) => ({ ...p, stack: f(p.stack) })).filter((p) => p.stack.length > 0);
      switch (key) {
        case "focus":
          parts = parts.filter((p) => p.stack.some(is));
          break;
        case "ignore":
          parts = parts.filter((p) => !p.stack.some(is));
          break;
        case "hide":
          parts = cut((s) => s.filter((at) => !is(at)));
          break;
        case "show":
          parts = cut((s) => s.filter(is));
          break;
        case "show-from":
          parts = cut((s) => { const i = s.findIndex(is); return i < 0 ? [] : s.slice(i); });
          break;
      }
    }
    return parts;
  }

  /** grown makes a tree of parts. Inverted, only the calls below the root cost something by themselves, as in what a server sends. */
  private grown(parts: Part[], inverted: boolean): Call {
    const root = call(-1, false);
    for (const p of parts) {
      const add = (c: Call) => {
        c.cum += p.flat + p.rest;
        c.before += p.before;
        c.width = this.compares ? c.width + Math.max(Math.abs(p.flat + p.rest), p.before) : Math.abs(c.cum);
      };
      let c = root;
      add(c);
      const n = p.stack.length;
      for (let i = 0; i < n; i++) {
        const at = p.stack[inverted ? n - 1 - i : i];
        let next = c.below.get(this.frame[at]);
        if (!next) c.below.set(this.frame[at], (next = call(this.frame[at], this.inline[at])));
        c = next;
        add(c);
        if (inverted && i === 0) c.flat += p.flat;
      }
      if (!inverted) c.flat += p.flat;
    }
    return root;
  }

  private children(c: Call): Call[] {
    const name = (x: Call) => this.flame.frames.name[x.frame] ?? "";
    return [...c.below.values()].sort((a, b) => b.width - a.width || (name(a) < name(b) ? -1 : 1));
  }

  /** columns are a tree as a server sends it. */
  private columns(root: Call): Tree {
    const rows: FlameRow[] = [];
    for (let level: [Call, number][] = [[root, 0]]; level.length > 0;) {
      const r: FlameRow = { frame: [], gap: [], cum: [], flat: [], inline: [] };
      if (this.compares) [r.width, r.before] = [[], []];
      const next: [Call, number][] = [];
      let end = 0;
      for (const [c, x] of level) {
        r.frame.push(c.frame);
        r.gap.push(x - end);
        r.cum.push(c.cum);
        r.flat.push(c.flat);
        r.inline.push(c.inline ? 1 : 0);
        r.width?.push(c.width);
        r.before?.push(c.before);
        end = x + c.width;
        let at = x;
        for (const below of this.children(c)) {
          if (below.width === 0) continue;
          next.push([below, at]);
          at += below.width;
        }
      }
      rows.push(r);
      level = next;
    }
    return { frames: this.flame.frames, rows };
  }

  private notes(of: string[] | undefined, steps: Pair[]): string[] | undefined {
    if (this.whole || steps.length === 0) return of;
    return [...(of ?? []), "this file has no calls that are too narrow to see: filters count what they cost with the call that made them"];
  }

  /** picture answers as /api/flame. */
  picture(steps: Pair[], inverted: boolean): Flame {
    const root = this.grown(this.filtered(steps), inverted);
    return {
      ...this.flame, ...this.columns(root), inverted: inverted || undefined, notes: this.notes(this.flame.notes, steps),
    };
  }

  /** listed answers as /api/calltree, of the picture that is shown. */
  static listed(flame: Flame): CallTree {
    const m = decode(flame);
    const rows: CallTreeRow[] = [];
    const first = m.rows.map((r, row) => {
      const at = new Int32Array(r.n + 1); // where the calls below each begin, in the row below
      const below = m.rows[row + 1];
      for (let i = 0; below && i < below.n; i++) at[below.parent[i] + 1]++;
      for (let i = 0; i < r.n; i++) at[i + 1] += at[i];
      return at;
    });
    for (const todo: [number, number][] = m.rows.length > 0 && m.rows[0].n > 0 ? [[0, 0]] : []; todo.length > 0;) {
      const [row, i] = todo.pop()!;
      const r = m.rows[row];
      const [lo, hi] = [first[row][i], first[row][i + 1]];
      rows.push({
        ...(frameOf(m.frames, r.frame[i]) ?? { name: "" }), depth: row, inline: r.inline?.[i] === 1 || undefined, flat: flame.inverted ? undefined : r.flat[i], cum: r.cum[i],
        cum_before: r.before?.[i], calls: hi - lo,
      } as CallTreeRow);
      for (let j = hi - 1; j >= lo; j--) todo.push([row + 1, j]);
    }
    const { frames: _, rows: __, path: ___, ...head } = flame;
    return { ...head, rows };
  }

  /** ranking answers as /api/top, by function. */
  ranking(top: Top, steps: Pair[], sort: string): Top {
    const rows = new Map<number, TopRow & { before: { flat: number; cum: number } }>();
    const known = new Map(top.rows.map((r) => [r.name, r]));
    for (const p of this.filtered(steps)) {
      const seen = new Set<number>();
      p.stack.forEach((at, i) => {
        const f = this.frame[at];
        let r = rows.get(f);
        if (!r) {
          const { file: _, line: __, ...frame } = frameOf(this.flame.frames, f)!;
          rows.set(f, (r = { ...frame, inline: known.get(frame.name)?.inline, flat: 0, cum: 0, before: { flat: 0, cum: 0 } }));
        }
        if (i === p.stack.length - 1) {
          r.flat += p.flat;
          if (p.rest === 0) r.before.flat += p.before;
        }
        if (seen.has(f)) return;
        seen.add(f);
        r.cum += p.flat + p.rest;
        r.before.cum += p.before;
      });
    }
    const key = sort === "cum" ? "cum" : "flat";
    const list = [...rows.values()].sort((a, b) => Math.abs(b[key]) - Math.abs(a[key]) || Math.abs(b.cum) - Math.abs(a.cum) || (a.name! < b.name! ? -1 : 1));
    return {
      ...top, shown: list.length, of: list.length, dropped: undefined, accounted: sum(this.filtered(steps)),
      rows: top.before ? list : list.map(({ before: _, ...r }) => r), notes: this.notes(top.notes, steps),
    };
  }

  /** between answers as /api/sandwich. Of a function that is on a stack several times, the outermost call counts. */
  between(arg: string, steps: Pair[]): Sandwich {
    const parts = this.filtered(steps);
    const cost = new Map<number, number>();
    for (const p of parts) for (const f of new Set(p.stack.map((at) => this.frame[at]))) cost.set(f, (cost.get(f) ?? 0) + p.flat + p.rest);
    const { name: names } = this.flame.frames;
    let found = [...cost.keys()].filter((f) => names[f] === arg);
    if (found.length === 0) {
      const rx = regexp(arg);
      found = [...cost.keys()].filter((f) => rx.test(names[f]));
    }
    if (found.length === 0) throw new Failure(`no function of this file matches ${arg}`, "it has no calls that are too narrow to see; hone web REF opens the recording with all of them");
    found.sort((a, b) => Math.abs(cost.get(b)!) - Math.abs(cost.get(a)!) || (names[a] < names[b] ? -1 : 1));
    const frame = found[0];
    const [callees, callers]: [Part[], Part[]] = [[], []];
    let flat = 0;
    for (const p of parts) {
      const i = p.stack.findIndex((at) => this.frame[at] === frame);
      if (i < 0) continue;
      if (this.frame[p.stack[p.stack.length - 1]] === frame) flat += p.flat;
      callees.push({ ...p, stack: p.stack.slice(i) });
      callers.push({ ...p, stack: p.stack.slice(0, i + 1), flat: 0, rest: p.flat + p.rest }); // what the function costs by itself is not told of its callers
    }
    const below = this.only(this.grown(callees, false));
    const above = this.only(this.grown(callers, true));
    const { frames: _, rows: __, path: ___, ...head } = this.flame;
    const { name, file, line, origin } = frameOf(this.flame.frames, frame)!;
    return {
      ...head, before: this.compares ? { flat: 0, cum: below.before } : undefined, base: head.before, frame: { name, file, line }, origin, flat, cum: below.cum,
      matches: found.slice(1).map((f) => names[f]), notes: this.notes(head.notes, steps), callees: this.columns(below), callers: this.columns(above),
    };
  }

  /** only is the one call below the root. */
  private only(root: Call): Call {
    return root.below.values().next().value ?? root;
  }
}

function sum(parts: Part[]): number {
  return parts.reduce((n, p) => n + p.flat + p.rest, 0);
}

/** Saved answers what a saved page is asked. */
export class Saved {
  private readonly made: Calls | undefined;

  constructor(private readonly answers: Record<string, unknown>) {
    const flame = answers["/api/flame"] as Flame | undefined;
    this.made = flame && new Calls(flame);
  }

  has(path: string): boolean {
    if (this.made && (path === "/api/calltree" || path === "/api/sandwich")) return true;
    return Object.keys(this.answers).some((k) => k === path || k.startsWith(path + "?"));
  }

  /** answer returns what was saved, or what can be made of it, or else undefined. */
  answer(path: string, pairs: Pair[]): unknown {
    if (path === "/api/check") return checked(pairs);
    const said = pairs.filter(([k, v]) => !says(path, k, v));
    const steps = said.filter(([k]) => filtersHere.includes(k));
    const others = said.filter(([k]) => !filtersHere.includes(k));
    const kept = this.answers[path + queryString([...said].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))];
    if (kept !== undefined) return path === "/api/top" ? first(kept as Top, pairs) : kept;
    if (steps.length > 0 && wholes.includes(path)) {
      throw new Failure("a saved page has this view only as it was saved", "without the filters added since it is shown; hone web REF opens the recording with every view");
    }
    if (!this.made) return undefined;
    const option = (key: string) => others.find(([k]) => k === key)?.[1] ?? "";
    const only = (...keys: string[]) => others.every(([k]) => keys.includes(k));
    switch (path) {
      case "/api/flame":
        return only("invert") ? this.picture(steps, option("invert") !== "") : undefined;
      case "/api/calltree":
        return only("invert") ? Calls.listed(this.picture(steps, option("invert") !== "")) : undefined;
      case "/api/sandwich":
        return only("arg", "invert") ? this.made.between(option("arg"), steps) : undefined;
      case "/api/top": {
        const top = this.answers["/api/top"] as Top | undefined;
        return top && only("sort") ? first(this.made.ranking(top, steps, option("sort")), pairs) : undefined;
      }
      case "/api/list":
        return this.source(option("arg"), steps);
    }
    return undefined;
  }

  private picture(steps: Pair[], inverted: boolean): Flame {
    const kept = this.answers["/api/flame" + (inverted ? "?invert=true" : "")] as Flame | undefined;
    return steps.length === 0 && kept ? kept : this.made!.picture(steps, inverted);
  }

  /** source answers as /api/list, from the listings that were saved. */
  private source(arg: string, steps: Pair[]): Source | undefined {
    const all = this.answers["/api/list"] as Source | undefined;
    if (!all) return undefined;
    if (steps.length > 0) throw new Failure("a saved page has source lines only as they were saved", "without the filters added since they are shown; hone web REF opens the recording with every view");
    const rx = regexp(arg);
    const functions: SourceFunction[] = all.functions.filter((f) => rx.test(f.name));
    if (functions.length === 0) throw new Failure("this page was saved without the source of that function", `the functions whose source it has are listed at the left; hone web REF opens the recording with all of them`);
    return { ...all, functions };
  }
}

// Answers that a saved page has as they are.
const wholes = ["/api/flamechart", "/api/goroutines", "/api/holders", "/api/traces", "/api/tags", "/api/diff", "/download/svg"];

// What only narrows the view is done by the page itself, and a ranking is by flat unless it says otherwise.
function says(path: string, k: string, v: string): boolean {
  return ["root", "ref", "limit", "min", "depth", "base", "gone"].includes(k) || (path === "/api/top" && ((k === "sort" && v === "flat") || (k === "by" && v === "function")));
}

function first(top: Top, pairs: Pair[]): Top {
  const limit = Number(pairs.find(([k]) => k === "limit")?.[1]);
  if (!(limit > 0)) return top;
  const rows = (top.rows ?? []).slice(0, limit);
  return { ...top, rows, shown: rows.length };
}

function checked(pairs: Pair[]): Check {
  for (const [k, v] of pairs) {
    if (!filtersHere.includes(k)) return { error: `a saved page cannot filter by ${k}` };
    try {
      regexp(v);
    } catch {
      return { error: "not a valid regular expression" };
    }
  }
  return {};
}
