// The tree of a flame graph, level by level: each row is arrays sorted by x, so that what is in sight is found by binary
// search and a tree of any depth is read without recursion.

import { AnyFrame, FlameFrames, FlameRow, Tree } from "./api";
import { functionOf } from "./names";

export interface Row {
  n: number;
  frame: number[];
  x: Float64Array;
  w: Float64Array;
  cum: number[];
  flat: number[];
  before: number[] | undefined;
  inline: number[] | undefined;
  parent: Int32Array; // in the row above
  rest?: Rest | undefined;
}

/** A Rest is the small calls of a row that an answer leaves out, in one box for all below the same call of the row above. */
export interface Rest {
  x: number[];
  w: number[];
  parent: number[];
  of: number[][]; // origin, width, origin, width, …: of all, the widest first; origins are places in those of the frames
}

export interface Model {
  frames: FlameFrames;
  rows: Row[];
  nodes: number;
  width: number; // of row 0
  compares: boolean; // nodes have values before
  callers: boolean; // below a call are its callers
}

/** A Place is a node of a model. */
export interface Place {
  row: number;
  i: number;
}

/** A Window is the part of a model that is drawn: what lies below one node. */
export interface Window {
  top: Place;
  x0: number;
  x1: number;
}

const models = new WeakMap<Tree, Model>();

/** decode returns the model of a tree, which is made once: zooming goes back and forth between a few answers. */
export function decode(tree: Tree & { inverted?: boolean }, callers = tree.inverted === true): Model {
  let model = models.get(tree);
  if (!model) models.set(tree, (model = modelOf(tree, callers)));
  return model;
}

function modelOf(tree: Tree, callers: boolean): Model {
  const rows: Row[] = [];
  let nodes = 0;
  let compares = false;
  for (const told of tree.rows ?? []) {
    const above = rows[rows.length - 1];
    const row = rowOf(told, above);
    row.rest = above && restOf(above, tree.rows[rows.length - 1], row);
    compares ||= told.before !== undefined && told.before.length > 0;
    rows.push(row);
    nodes += row.n;
  }
  return { frames: tree.frames, rows, nodes, width: rows[0]?.n ? rows[0].w[0] : 0, compares, callers };
}

// A function for each row, with nothing but arrays in its loops, is compiled after a few rows of the first picture. As a part of modelOf,
// this took about twice as long.
function rowOf({ frame, gap, cum, flat, before, inline, width }: FlameRow, above: Row | undefined): Row {
  const n = frame.length;
  const x = new Float64Array(n);
  const w = new Float64Array(n);
  const parent = new Int32Array(n);
  let at = 0;
  for (let i = 0; i < n; i++) {
    at += gap[i];
    x[i] = at;
    at += w[i] = (width && width[i]) || Math.abs(cum[i]);
  }
  if (above) {
    const { x: left, w: wide } = above;
    const last = above.n - 1;
    let p = 0;
    let end = left[0] + wide[0];
    for (let i = 0; i < n; i++) {
      while (p < last && end <= x[i]) {
        p++;
        end = left[p] + wide[p];
      }
      parent[i] = p;
    }
  }
  return { n, frame, x, w, cum, flat, before, inline, parent };
}

/** restOf puts what is left out of a row right of the calls that are in it. */
function restOf(above: Row, { left, left_of: of }: FlameRow, { n, x, w, parent }: Row): Rest | undefined {
  if (!left) return undefined;
  const out: Rest = { x: [], w: [], parent: [], of: of ?? [] };
  for (let p = 0, i = 0; p < left.length; p++) {
    if (left[p] <= 0) continue;
    while (i < n && parent[i] <= p) i++;
    out.x.push(i > 0 && parent[i - 1] === p ? x[i - 1] + w[i - 1] : above.x[p]);
    out.w.push(left[p]);
    out.parent.push(p);
  }
  return out;
}

/** flatAt returns what a function costs by itself in a call. Where callers are below it, their time is that of the function that they call. */
export function flatAt(m: Model, p: Place): number | undefined {
  const flat = m.rows[p.row].flat[p.i];
  return m.callers && flat === 0 ? undefined : flat;
}

/** A NamedFrame is a frame of a picture. */
export interface NamedFrame extends AnyFrame {
  name: string;
}

/** frameOf puts together what the columns say of a frame. Those who go through all frames read the columns: objects take longer to make. */
export function frameOf(frames: FlameFrames, f: number): NamedFrame | undefined {
  if (f < 0) return undefined;
  return { name: frames.name[f], file: frames.files[frames.file[f]], line: frames.line[f], package: frames.packages[frames.package[f]], origin: frames.origins[frames.origin[f]] };
}

export function frameAt(m: Model, p: Place): NamedFrame | undefined {
  return frameOf(m.frames, m.rows[p.row].frame[p.i]);
}

/** nameAt returns what stands in the box of a node. */
export function nameAt(m: Model, p: Place): string {
  const f = m.rows[p.row].frame[p.i];
  return f < 0 ? "all" : m.frames.name[f];
}

/** framesOf marks the frames of a function, which may be many where those of lines are told apart. */
export function framesOf(m: Model, fn: string): Uint8Array {
  // Most names do not even contain it, which takes a fraction of the time to see.
  return framesWhere(m, (name) => name.includes(fn) && functionOf(name) === fn);
}

/** framesWhere marks the frames with certain names. */
export function framesWhere(m: Model, wanted: (name: string) => boolean): Uint8Array {
  const { name } = m.frames;
  const out = new Uint8Array(name.length);
  for (let f = 0; f < name.length; f++) if (wanted(name[f])) out[f] = 1;
  return out;
}

/** from returns the first node of a row that ends right of x. */
export function from(r: Row, x: number): number {
  let lo = 0;
  let hi = r.n;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (r.x[mid] + r.w[mid] <= x) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

/** nodeAt returns the node of a row that x lies in, or -1. */
export function nodeAt(r: Row, x: number): number {
  const i = from(r, x);
  return i < r.n && r.x[i] <= x ? i : -1;
}

/** children returns the nodes below p, from and to. */
export function children(m: Model, p: Place): [number, number] {
  const below = m.rows[p.row + 1];
  if (!below) return [0, 0];
  // By parent, not by x: what costs nothing has no width.
  let lo = 0;
  let hi = below.n;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (below.parent[mid] < p.i) lo = mid + 1;
    else hi = mid;
  }
  let end = lo;
  while (end < below.n && below.parent[end] === p.i) end++;
  return [lo, end];
}

export function parentOf(m: Model, p: Place): Place | undefined {
  return p.row === 0 ? undefined : { row: p.row - 1, i: m.rows[p.row].parent[p.i] };
}

/** widest returns the widest of the nodes between lo and hi, or -1. */
export function widest(r: Row, lo: number, hi: number): number {
  let best = -1;
  for (let i = lo; i < hi; i++) if (best < 0 || r.w[i] > r.w[best]) best = i;
  return best;
}

/** ancestors returns p and what is above it, outermost first. */
export function ancestors(m: Model, p: Place): Place[] {
  const out: Place[] = [];
  for (let at: Place | undefined = p; at; at = parentOf(m, at)) out.push(at);
  return out.reverse();
}

/** follow goes down from the top by names and returns where it ends, or nothing when the way is not there. */
export function follow(m: Model, names: string[]): Place | undefined {
  if (m.rows.length === 0 || m.rows[0].n === 0) return undefined;
  let at: Place = { row: 0, i: 0 };
  for (const name of names) {
    const [lo, hi] = children(m, at);
    let found = -1;
    for (let i = lo; i < hi && found < 0; i++) if (nameAt(m, { row: at.row + 1, i }) === name) found = i;
    if (found < 0) return undefined;
    at = { row: at.row + 1, i: found };
  }
  return at;
}

/** wayTo returns the names from the root of the stacks to a place in a picture whose root path leads to. */
export function wayTo(m: Model, path: { name: string }[] | undefined, p: Place): string[] {
  return [...(path ?? []).map((s) => s.name), ...ancestors(m, p).slice(1).map((q) => nameAt(m, q))];
}

/** placeOf is where a way from the root of the stacks leads in a picture whose root path leads to, or nothing where that is not in it. */
export function placeOf(m: Model, path: { name: string }[] | undefined, way: string[]): Place | undefined {
  const have = path ?? [];
  return have.every((s, i) => s.name === way[i]) ? follow(m, way.slice(have.length)) : undefined;
}

export function windowOf(m: Model, top: Place): Window {
  const r = m.rows[top.row];
  return { top, x0: r.x[top.i], x1: r.x[top.i] + r.w[top.i] };
}

/** depth returns how many rows a window has. */
export function depth(m: Model, w: Window): number {
  let row = w.top.row;
  while (row + 1 < m.rows.length) {
    const r = m.rows[row + 1];
    const i = from(r, w.x0);
    if (i >= r.n || r.x[i] >= w.x1) break;
    row++;
  }
  return row - w.top.row + 1;
}

/** Matches are the places in a window whose frame is wanted. Whoever types wants to know how many there are; who steps through them, where. */
export class Matches {
  readonly count: number;
  private sorted: Place[] | undefined;

  constructor(private readonly model: Model, private readonly window: Window, private readonly wanted: Uint8Array) {
    let n = 0;
    this.each(() => n++);
    this.count = n;
  }

  /** places returns them, the widest first. */
  places(): Place[] {
    if (this.sorted) return this.sorted;
    const out: Place[] = [];
    const { rows } = this.model;
    this.each((row, i) => out.push({ row, i }));
    return (this.sorted = out.sort((a, b) => rows[b.row].w[b.i] - rows[a.row].w[a.i] || a.row - b.row || a.i - b.i));
  }

  /** rank returns how many of them come before p, or -1 where p is not one of them. */
  rank(p: Place): number {
    const { rows } = this.model;
    if (!this.wanted[rows[p.row].frame[p.i]] || !within(this.model, this.window, p)) return -1;
    const wide = rows[p.row].w[p.i];
    let n = 0;
    this.each((row, i) => {
      const d = rows[row].w[i] - wide || p.row - row || p.i - i;
      if (d > 0) n++;
    });
    return n;
  }

  private each(visit: (row: number, i: number) => void): void {
    const { rows } = this.model;
    for (let row = this.window.top.row; row < rows.length; row++) {
      const r = rows[row];
      for (let i = from(r, this.window.x0); i < r.n && r.x[i] < this.window.x1; i++) {
        if (r.frame[i] >= 0 && this.wanted[r.frame[i]]) visit(row, i);
      }
    }
  }
}

/** widestOf returns the widest place in a window whose frame is wanted. */
export function widestOf(m: Model, w: Window, wanted: Uint8Array): Place | undefined {
  return new Matches(m, w, wanted).places()[0];
}

/** within tells whether a place is in a window. */
export function within(m: Model, w: Window, p: Place): boolean {
  const at = m.rows[p.row].x[p.i];
  return p.row >= w.top.row && at >= w.x0 && at < w.x1;
}

/** matchedValue adds up the outermost wanted nodes of a window, so that nothing counts twice. */
export function matchedValue(m: Model, w: Window, wanted: Uint8Array): number {
  let sum = 0;
  let covered: Uint8Array | undefined;
  for (let row = w.top.row; row < m.rows.length; row++) {
    const r = m.rows[row];
    const now = new Uint8Array(r.n);
    for (let i = from(r, w.x0); i < r.n && r.x[i] < w.x1; i++) {
      if (covered?.[r.parent[i]]) now[i] = 1;
      else if (r.frame[i] >= 0 && wanted[r.frame[i]]) {
        now[i] = 1;
        sum += r.cum[i];
      }
    }
    covered = now;
  }
  return sum;
}

/** packagesOf returns the packages of a picture, those first that most of it is of, each by what its functions cost themselves. */
export function packagesOf(m: Model): string[] {
  const { package: of, packages } = m.frames;
  const sums = packages.map((name) => ({ name, sum: 0 }));
  for (const r of m.rows) {
    for (let i = 0; i < r.n; i++) {
      const p = r.frame[i] < 0 ? -1 : of[r.frame[i]];
      if (p >= 0) sums[p].sum += Math.abs(r.flat[i]);
    }
  }
  return sums.sort((a, b) => b.sum - a.sum || (a.name < b.name ? -1 : 1)).map((p) => p.name);
}
