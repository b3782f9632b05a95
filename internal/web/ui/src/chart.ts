// Charts over time on a canvas: lanes below each other that share one axis.

import { isForced, Palette } from "./colors";
import { fixed, number, value } from "./format";

export interface Line {
  name: string;
  color: string;
  draw: "area" | "line" | "dash" | "bars";
  points: [at: number, v: number, until?: number][]; // NaN is a gap; bars last until a time
  max?: number; // where it has a scale of its own
  print: (v: number) => string;
}

export interface Lane {
  title: string;
  unit: string; // of its scale
  lines: Line[];
  height: number;
  rates?: boolean; // what lasts a moment may be above the scale: a rate over some milliseconds says little
}

/** An Axis is the part of the time that is in sight, and where on the canvas. */
export interface Axis {
  from: number;
  to: number;
  left: number;
  right: number;
}

const font = "11px system-ui, sans-serif";

export const xOf = (a: Axis, t: number): number => a.left + ((t - a.from) / (a.to - a.from)) * (a.right - a.left);

/** ready makes a canvas as sharp as the screen is. */
export function ready(c: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | null {
  const dpr = globalThis.devicePixelRatio || 1;
  c.width = Math.round(width * dpr);
  c.height = Math.round(height * dpr);
  const ctx = c.getContext("2d");
  ctx?.setTransform(dpr, 0, 0, dpr, 0, 0);
  c.dataset.paint = "done";
  return ctx;
}

/** paintLane draws the lines of a lane, the first at the back, with a scale at the left if there is room for one. */
export function paintLane(ctx: CanvasRenderingContext2D, lane: Lane, axis: Axis, p: Palette): void {
  const top = 6;
  const bottom = lane.height - 1;
  const most = topOf(lane);
  const scale = (max: number) => (v: number) => bottom - (v / (max || 1)) * (bottom - top);
  ctx.font = font;
  ctx.textBaseline = "middle";
  ctx.textAlign = "right";
  for (const v of axis.left > 0 ? ticks(most, lane.unit) : []) {
    const y = Math.round(scale(most)(v)) + 0.5;
    ctx.strokeStyle = p.grid;
    ctx.lineWidth = 1;
    stroke(ctx, [[axis.left, y], [axis.right, y]]);
    ctx.fillStyle = p.quiet;
    ctx.fillText(lane.unit === "bytes" || lane.unit === "nanoseconds" ? value(v, lane.unit) : number(v), axis.left - 6, Math.max(y, 6));
  }
  ctx.strokeStyle = p.grid;
  ctx.lineWidth = 1;
  stroke(ctx, [[axis.left, bottom + 0.5], [axis.right, bottom + 0.5]]);
  ctx.save();
  ctx.beginPath();
  ctx.rect(axis.left, 0, axis.right - axis.left, lane.height);
  ctx.clip();
  for (const l of lane.lines) paintLine(ctx, l, axis, scale(l.max ?? most), bottom, p);
  ctx.restore();
}

const shortest = 0.01; // of the time: what a rate exceeds for less than that does not stretch the scale
const headroom = 1.15;

/** topOf returns the largest value on the scale of a lane. */
export function topOf(lane: Lane): number {
  const lines = lane.lines.filter((l) => !l.max);
  const most = Math.max(...lines.flatMap((l) => l.points.map(([, v]) => v || 0)), 0);
  if (!lane.rates) return most;
  let steady = 0;
  for (const l of lines) {
    const steps: [v: number, time: number][] = [];
    for (let i = 1; i < l.points.length; i++) {
      const time = l.points[i][0] - l.points[i - 1][0];
      if (time > 0 && l.points[i][1] > 0) steps.push([l.points[i][1], time]);
    }
    steps.sort((a, b) => b[0] - a[0]);
    const all = l.points.length === 0 ? 0 : l.points[l.points.length - 1][0] - l.points[0][0];
    let above = 0;
    for (const [v, time] of steps) {
      above += time;
      if (above < all * shortest) continue;
      steady = Math.max(steady, v);
      break;
    }
  }
  return steady > 0 && most > steady * headroom ? steady * headroom : most;
}

function paintLine(ctx: CanvasRenderingContext2D, l: Line, axis: Axis, y: (v: number) => number, bottom: number, p: Palette): void {
  ctx.strokeStyle = ctx.fillStyle = l.color;
  if (l.draw === "bars") {
    for (const [at, v, until = at] of l.points) {
      const x = xOf(axis, at);
      const h = Math.max(2, bottom - y(v)); // what is short is there, too
      ctx.fillRect(x, bottom - h, Math.max(1.5, xOf(axis, until) - x), h);
    }
    return;
  }
  ctx.lineWidth = l.points.length > axis.right - axis.left ? 0.75 : 1.5; // many of them fill the area
  ctx.lineJoin = "round";
  ctx.setLineDash(l.draw === "dash" ? [5, 3] : []);
  let run: [number, number][] = [];
  const end = () => {
    if (run.length === 1) run.push([run[0][0] + 2, run[0][1]]);
    if (run.length > 0 && l.draw === "area" && !isForced(p)) {
      ctx.globalAlpha = p.wash;
      ctx.beginPath();
      ctx.moveTo(run[0][0], bottom);
      for (const [x, at] of run) ctx.lineTo(x, at);
      ctx.lineTo(run[run.length - 1][0], bottom);
      ctx.fill();
      ctx.globalAlpha = 1;
    }
    stroke(ctx, run);
    run = [];
  };
  for (const [at, v] of l.points) {
    if (Number.isNaN(v)) end();
    else run.push([xOf(axis, at), y(v)]);
  }
  end();
  ctx.setLineDash([]);
}

function stroke(ctx: CanvasRenderingContext2D, points: [number, number][]): void {
  ctx.beginPath();
  points.forEach(([x, y], i) => (i === 0 ? ctx.moveTo(x, y) : ctx.lineTo(x, y)));
  ctx.stroke();
}

/** paintTimes draws the axis that all lanes share. */
export function paintTimes(ctx: CanvasRenderingContext2D, axis: Axis, p: Palette): void {
  ctx.font = font;
  ctx.textBaseline = "middle";
  ctx.fillStyle = p.quiet;
  ctx.strokeStyle = p.grid;
  const step = timeStep(((axis.to - axis.from) / Math.max(1, axis.right - axis.left)) * 90);
  for (let t = Math.ceil(axis.from / step) * step; t <= axis.to; t += step) {
    const x = Math.round(xOf(axis, t)) + 0.5;
    stroke(ctx, [[x, 0], [x, 4]]);
    const w = ctx.measureText(span(t)).width / 2;
    ctx.textAlign = "center";
    ctx.fillText(span(t), Math.min(Math.max(x, axis.left + w), axis.right - w), 12);
  }
}

/** ticks returns one to four round values up to max. */
export function ticks(max: number, unit: string): number[] {
  if (!(max > 0)) return [];
  const base = unit === "bytes" ? 1024 ** Math.floor(Math.log(max) / Math.log(1024)) : 1;
  let step = nice(max / 4 / base) * base;
  if (unit === "count") step = Math.max(1, step);
  const out = [];
  for (let v = step; v <= max; v += step) out.push(v);
  return out;
}

/** nice returns the smallest of 1, 2, 5, 10, … and their tenths that is not below x. */
function nice(x: number): number {
  const ten = 10 ** Math.floor(Math.log10(x));
  return [1, 2, 5, 10].map((n) => n * ten).find((n) => n >= x * 0.999) ?? 10 * ten;
}

const second = 1e9;

function timeStep(least: number): number {
  const found = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200].find((s) => s * second >= least);
  return least < second ? nice(least) : (found ?? Math.ceil(least / second / 86400) * 86400) * second;
}

/** span prints nanoseconds as queries have them: 1m30s, 15m, 9.5s, 500ms. Beside times that are at least a second, less is in seconds, too: 0.5s. */
export function span(nanos: number, beside = nanos): string {
  const decimal = (v: number, digits: number) => String(Number(fixed(v, digits))); // to the nanosecond
  if (nanos > 0 && beside < second) return decimal(nanos / 1e6, 6) + "ms";
  const m = Math.floor(nanos / 60e9);
  const s = decimal((nanos - m * 60e9) / second, 9) + "s";
  if (m === 0) return s;
  return ((m < 60 ? "" : Math.floor(m / 60) + "h") + (m % 60) + "m" + s).replace(/m0s$/, "m").replace(/h0m$/, "h");
}

const units: Record<string, number> = { h: 3600e9, m: 60e9, s: 1e9, ms: 1e6, us: 1e3, µs: 1e3, ns: 1, "": 1e9 };

/** nanosOf reads a time as queries have it. */
export function nanosOf(text: string): number {
  let sum = 0;
  for (const [, n, unit] of text.matchAll(/([\d.]+)(h|ms|m|s|us|µs|ns|)/g)) sum += Number(n) * units[unit];
  return sum;
}

/** grain returns what times are rounded to where so much time is in sight. */
export function grain(length: number): number {
  return Math.max(1, 10 ** Math.floor(Math.log10(length / 2000)));
}

/** moment prints a time as exactly as a part of the time of some length needs it. */
export function moment(nanos: number, length: number, beside = nanos): string {
  const step = grain(length);
  return span(Math.round(nanos / step) * step, beside);
}

/** during prints a part of the time: 6.6359s to 7.3857s. */
export function during(from: number, to: number): string {
  const length = to - from;
  return `${moment(from, length, to)} to ${moment(to, length)}`;
}

/** rangeOf reads a part of the time as queries have it. */
export function rangeOf(at: string, axis: { from: number; to: number }): [number, number] | undefined {
  const [from, to] = at.split("..");
  if (to === undefined) return undefined;
  return [from === "" ? axis.from : nanosOf(from), to === "" ? axis.to : nanosOf(to)];
}

/** queryOf is the inverse of rangeOf, for a range as somebody drew it: rounded to what a hand can mean. */
export function queryOf(a: number, b: number, axis: { from: number; to: number }): string {
  const step = Math.max(1e6, 10 ** Math.floor(Math.log10((axis.to - axis.from) / 100)));
  const round = (t: number) => Math.round(t / step) * step;
  const from = Math.max(0, round(Math.min(a, b)));
  const to = Math.max(from + step, round(Math.max(a, b)));
  const first = from <= axis.from;
  const last = to >= axis.to;
  if (first && last) return "";
  return (first ? "" : span(from)) + ".." + (last ? "" : span(to));
}
