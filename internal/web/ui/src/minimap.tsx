// A small picture of the whole, with the part that is zoomed into marked. It lies below the large one and has the same width.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { ColorMode, Palette, colorsOf } from "./colors";
import { percent } from "./format";
import { Model, Place, ancestors, follow, from, nameAt, nodeAt } from "./model";

const height = 44;
const border = 1;

// The picture of each whole, as painted last. It takes longer than all else of the first zoom, so it is painted ahead.
const wholes = new WeakMap<Model, Whole>();

interface Whole { canvas: HTMLCanvasElement; width: number; ratio: number; mode: ColorMode; palette: Palette }

/** paintAhead paints the picture of the whole for a page where nothing is zoomed into yet, to lie below something. */
export function paintAhead(model: Model, below: HTMLElement, mode: ColorMode, palette: Palette): void {
  if (model.width > 0) wholeOf(model, below.clientWidth - 2 * border, mode, palette);
}

function wholeOf(model: Model, width: number, mode: ColorMode, palette: Palette): HTMLCanvasElement | undefined {
  if (width <= 0) return undefined;
  const ratio = globalThis.devicePixelRatio || 1;
  const known = wholes.get(model);
  if (known && known.width === width && known.ratio === ratio && known.mode === mode && known.palette === palette) return known.canvas;
  const canvas = paintWhole(model, width, mode, palette);
  wholes.set(model, { canvas, width, ratio, mode, palette });
  return canvas;
}

const lineOf = (model: Model) => height / Math.max(model.rows.length, 8);

export function Minimap({ model, names, mode, palette, onZoom }: {
  model: Model; names: string[]; mode: ColorMode; palette: Palette; onZoom: (names: string[]) => void;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(wholes.get(model)?.width ?? 0);
  useEffect(() => {
    const observer = new ResizeObserver(() => canvas.current && setWidth(canvas.current.clientWidth));
    observer.observe(canvas.current!);
    return () => observer.disconnect();
  }, []);
  // What is zoomed into may be too narrow for the picture of the whole; then what it lies in is marked.
  const at = useMemo(() => {
    for (let n = names.length; n > 0; n--) {
      const p = follow(model, names.slice(0, n));
      if (p) return p;
    }
    return { row: 0, i: 0 };
  }, [model, names.join(";")]);
  const rows = model.rows.length;
  const line = lineOf(model);
  const scale = model.width > 0 ? width / model.width : 0;
  const whole = wholeOf(model, width, mode, palette);
  useLayoutEffect(() => {
    const c = canvas.current!;
    const ctx = c.getContext("2d", { alpha: false });
    if (!ctx || !whole) return;
    c.width = whole.width;
    c.height = whole.height;
    ctx.drawImage(whole, 0, 0);
    const dpr = globalThis.devicePixelRatio || 1;
    ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
    const r = model.rows[at.row];
    const left = Math.min(r.x[at.i] * scale, width - 3);
    const wide = Math.max(r.w[at.i] * scale, 3);
    ctx.fillStyle = palette.paper;
    ctx.globalAlpha = 0.6;
    ctx.fillRect(0, 0, left, height);
    ctx.fillRect(left + wide, 0, width, height);
    ctx.globalAlpha = 1;
    ctx.strokeStyle = palette.accent;
    ctx.lineWidth = 2;
    ctx.strokeRect(left + 1, 1, Math.max(wide - 2, 1), height - 2);
    c.dataset.paint = "done";
  }, [whole, at]);
  const r = model.rows[at.row];
  const zoom = (e: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const d = Math.min(rows - 1, Math.floor((e.clientY - box.top) / line));
    for (let row = d; row >= 0; row--) { // below the deepest box of a column, that is meant
      const i = nodeAt(model.rows[row], (e.clientX - box.left) / scale);
      if (i >= 0) return onZoom(way(model, { row, i }));
    }
  };
  return (
    <canvas class="minimap" ref={canvas} role="img" onClick={zoom} style={{ height: height + "px" }}
      aria-label={`The whole profile; zoomed into ${percent(r.cum[at.i], model.rows[0].cum[0])} of it, from ${percent(r.x[at.i], model.width)} on`} title="the whole; click to zoom elsewhere" />
  );
}

function way(model: Model, p: Place): string[] {
  return ancestors(model, p).slice(1).map((q) => nameAt(model, q));
}

/** paintWhole paints the whole model once: zooming only moves what is marked in it. */
function paintWhole(model: Model, width: number, mode: ColorMode, palette: Palette): HTMLCanvasElement {
  const c = document.createElement("canvas");
  const dpr = globalThis.devicePixelRatio || 1;
  c.width = Math.round(width * dpr);
  c.height = Math.round(height * dpr);
  const ctx = c.getContext("2d", { alpha: false });
  if (!ctx) return c;
  ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
  ctx.fillStyle = palette.paper;
  ctx.fillRect(0, 0, width, height);
  const shown = mode === "change" ? "origin" : mode;
  const line = lineOf(model);
  const scale = model.width > 0 ? width / model.width : 0;
  const colors = colorsOf(palette, shown, model);
  for (const [d, r] of model.rows.entries()) {
    // One box of each pixel is enough, and neighbors of one color are one box.
    let color = "";
    let left = 0;
    let right = 0;
    const fill = () => {
      if (color === "") return;
      ctx.fillStyle = color;
      ctx.fillRect(left, d * line, right - left, Math.max(line, 0.5));
    };
    for (let i = 0; i < r.n; i = Math.max(i + 1, from(r, r.x[i] + 1 / scale))) {
      const own = r.frame[i] < 0 ? palette.all : colors[r.frame[i]];
      const x = r.x[i] * scale;
      if (own !== color || x - right >= 1) {
        fill();
        color = own;
        left = x;
      }
      right = x + Math.max(r.w[i] * scale, 0.5);
    }
    fill();
  }
  return c;
}
