// Colors of boxes. All of them carry dark text at 4.5:1 or better, and neighbors differ in lightness too, not only in hue.

import { AnyFrame, Origin } from "./api";
import { Model, packagesOf } from "./model";

export type ColorMode = "origin" | "package" | "plain" | "change";

export interface Palette {
  dark: boolean;
  paper: string;
  edge: string; // between boxes, where the paper is too light to be seen beside them; "" where it is not
  text: string; // on boxes
  origin: Record<Origin, string>;
  all: string; // the root
  run: string; // what is too narrow to draw by itself
  plain: string;
  place: (n: number) => string; // of packages, the first ones as different as possible
  less: string[]; // a little, more, a lot
  more: string[];
  same: string;
  isNew: string;
  isGone: string;
  fade: number; // how much of a color is left where a search did not match
  accent: string;
  quiet: string; // small text on paper
  grid: string;
  wash: number; // how much of its color is below a line
  lines: Record<"busy" | "gc" | "rss" | "heap" | "goal" | "goroutines" | "threads", string>; // of charts, 3:1 on paper
  series: string[]; // of charts with a line for each of several names, 3:1 on paper, the last for all others
  states: Record<string, string>; // of goroutines and Ps in a trace
}

// In an order in which neighbors, and the first few of all, look different.
const hues = [28, 208, 120, 285, 52, 172, 335, 235, 85, 3];

/** hued returns the color at a place: each hue with the first saturation and lightness, then each with the next ones. */
function hued(n: number, rounds: [number, number][]): string {
  const [saturation, lightness] = rounds[Math.floor(n / hues.length) % rounds.length];
  return `hsl(${hues[n % hues.length]} ${saturation}% ${lightness}%)`;
}

const light: Palette = {
  dark: false,
  edge: "#5f5c56",
  paper: "#fcfcfb",
  text: "#16181d",
  origin: { own: "#f4a55c", std: "#a9d3a0", dep: "#cdb8e6", runtime: "#a3bad6", other: "#d3d0c8" },
  all: "#e3e1dc",
  run: "#c9c7c2",
  plain: "#efc48f",
  place: (n) => hued(n, [[66, 79], [70, 87], [36, 78]]),
  less: ["#cfe0f3", "#9cc3ec", "#68a5e3"],
  more: ["#fbdcbc", "#f7b877", "#f0923b"],
  same: "#dddbd6",
  isNew: "#f0923b",
  isGone: "#68a5e3",
  fade: 0.28,
  accent: "#1a5fb4",
  quiet: "#5b5f68",
  grid: "#e2e0da",
  wash: 0.22,
  lines: { busy: "#2f74c0", gc: "#c25a10", rss: "#7d828c", heap: "#3d8a45", goal: "#a3490a", goroutines: "#8250b8", threads: "#7d828c" },
  series: ["#2f74c0", "#c25a10", "#3d8a45", "#8250b8", "#0e8388", "#b8336a", "#8a6d1a", "#5560c8", "#7d828c"],
  states: {
    running: "#3d8f4a", ready: "#e39a1f", syscall: "#4f7fc9", network: "#8fbbe8", lock: "#c23b3b", channel: "#9b78c9", select: "#bfa3e3", sleep: "#cdbf85", "wait group": "#d080ab", condition: "#e8b9d2",
    GC: "#8a4b12", scheduler: "#8b8d93", other: "#c3bcd2", "waiting for work": "#eceae5",
  },
};

const dark: Palette = {
  dark: true,
  edge: "",
  paper: "#14161a",
  text: "#0f1114",
  origin: { own: "#ea9644", std: "#84bd7c", dep: "#b79ddb", runtime: "#8aa8cc", other: "#a5a39d" },
  all: "#8d8f94",
  run: "#4b4f57",
  plain: "#d9a566",
  place: (n) => hued(n, [[52, 67], [34, 60], [60, 78]]),
  less: ["#a4b8cf", "#80aadb", "#5f9de6"],
  more: ["#d8b796", "#e2a263", "#ee9036"],
  same: "#9a9c9f",
  isNew: "#ee9036",
  isGone: "#5f9de6",
  fade: 0.3,
  accent: "#78b0ff",
  quiet: "#a2a8b3",
  grid: "#2e323a",
  wash: 0.28,
  lines: { busy: "#78b0ff", gc: "#f0a058", rss: "#8d94a1", heap: "#84c07c", goal: "#f2a35c", goroutines: "#c3a2ec", threads: "#8d94a1" },
  series: ["#78b0ff", "#f0a058", "#84c07c", "#c3a2ec", "#4fc3c3", "#f08aae", "#d9c04f", "#9aa4ff", "#8d94a1"],
  states: {
    running: "#5fb56b", ready: "#f0b04a", syscall: "#6f9be0", network: "#3f6fa3", lock: "#e06060", channel: "#a384d4", select: "#7a62a8", sleep: "#8d8355", "wait group": "#c46d9b", condition: "#8f5374",
    GC: "#c9803f", scheduler: "#7d8089", other: "#575064", "waiting for work": "#23272e",
  },
};

// Colors that the reader has chosen leave no room for ours: boxes are outlines then.
const forced: Palette = {
  ...light,
  edge: "", // they have outlines
  paper: "Canvas",
  text: "CanvasText",
  origin: { own: "Canvas", std: "Canvas", dep: "Canvas", runtime: "Canvas", other: "Canvas" },
  all: "Canvas",
  run: "GrayText",
  plain: "Canvas",
  place: () => "Canvas",
  less: ["Canvas", "Canvas", "Canvas"],
  more: ["Canvas", "Canvas", "Canvas"],
  same: "Canvas",
  isNew: "Canvas",
  isGone: "Canvas",
  accent: "Highlight",
  quiet: "CanvasText",
  grid: "GrayText",
  lines: { busy: "CanvasText", gc: "Highlight", rss: "GrayText", heap: "CanvasText", goal: "Highlight", goroutines: "CanvasText", threads: "GrayText" },
  series: ["CanvasText", "Highlight", "GrayText"],
  states: {
    running: "CanvasText", ready: "Highlight", syscall: "Canvas", network: "Canvas", lock: "Mark", channel: "Canvas", select: "Canvas", sleep: "Canvas", "wait group": "Canvas", condition: "Canvas",
    GC: "GrayText", scheduler: "Canvas", other: "Canvas", "waiting for work": "Canvas",
  },
};

export type Theme = "auto" | "light" | "dark";

// Colors that people with any kind of color blindness can tell apart: by Okabe and Ito, as light as text on them needs. The style
// sheet has them for dots.
const safeHues = ["#f0b545", "#8fd0f5", "#e9e389", "#d9a0c0", "#66c8a8", "#e8a27c", "#7fb4dd", "#c9c9c9"];

const safeLight: Palette = {
  ...light,
  origin: { own: "#f5b33b", std: "#efe9a7", dep: "#d9a3c3", runtime: "#7db8e8", other: "#d3d0c8" },
  plain: "#f5b33b",
  place: (n) => safeHues[n % safeHues.length],
};

const safeDark: Palette = {
  ...dark,
  origin: { own: "#e69f00", std: "#e6dd83", dep: "#cc79a7", runtime: "#56a4dc", other: "#a5a39d" },
  plain: "#e69f00",
  place: (n) => safeHues[n % safeHues.length],
};

export function palette(theme: Theme, safe: boolean): Palette {
  if (matchMedia("(forced-colors: active)").matches) return forced;
  const isDark = theme === "auto" ? matchMedia("(prefers-color-scheme: dark)").matches : theme === "dark";
  if (safe) return isDark ? safeDark : safeLight;
  return isDark ? dark : light;
}

export function isDark(p: Palette): boolean {
  return p.dark;
}

export function isForced(p: Palette): boolean {
  return p === forced;
}

export const originNames: Record<Origin, string> = {
  own: "your code",
  std: "standard library",
  dep: "dependencies",
  runtime: "runtime / GC",
  other: "other",
};

/** colorOf returns the color of a frame where it does not depend on its values. */
export function colorOf(p: Palette, mode: ColorMode, f: AnyFrame | undefined): string {
  if (!f) return p.all;
  switch (mode) {
    case "origin":
      return p.origin[f.origin ?? "other"];
    case "package":
      return p.place(placeOf(f.package || f.object || f.file || f.name || ""));
    default:
      return p.plain;
  }
}

/** colorsOf returns the colors of all frames. Most of them share a few. */
export function colorsOf(p: Palette, mode: ColorMode, m: Model): string[] {
  const { frames } = m;
  const { name, file, origin } = frames;
  if (mode === "origin") {
    const known = frames.origins.map((o) => p.origin[o]);
    return origin.map((o) => known[o] ?? p.origin.other);
  }
  if (mode === "package") {
    packagesOf(m).forEach(placeOf); // those first that need a color most
    const known = frames.packages.map((of) => colorOf(p, mode, { package: of }));
    return frames.package.map((of, f) => known[of] ?? colorOf(p, mode, { file: frames.files[file[f]], name: name[f] }));
  }
  return name.map(() => p.plain);
}

/** changeColor returns the color of a change: blue for less, orange for more, stronger for larger shares. */
export function changeColor(p: Palette, before: number, after: number): string {
  const most = Math.max(Math.abs(before), Math.abs(after));
  if (most === 0 || before === after) return p.same;
  const share = Math.abs(after - before) / most;
  if (share < 0.02) return p.same;
  const strength = share < 0.15 ? 0 : share < 0.5 ? 1 : 2;
  return (after > before ? p.more : p.less)[strength];
}

// Packages in the order in which the page met them: colors made of their names alone would often be alike. Each keeps its color for as long as the page
// is open, whatever the picture is of.
const places = new Map<string, number>();

function placeOf(pkg: string): number {
  let n = places.get(pkg);
  if (n === undefined) places.set(pkg, (n = places.size));
  return n;
}
