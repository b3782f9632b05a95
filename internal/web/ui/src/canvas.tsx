// A picture of a tree on a canvas as large as what is in sight, and its twin for those who do not see it: the frames around
// the cursor as a tree in the page, moved through by the arrow keys.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { ColorMode, Palette } from "./colors";
import { Flagged, titleOf } from "./advice";
import { percent, value } from "./format";
import { Model, Place, Window, ancestors, children, depth, flatAt, nameAt, nodeAt, parentOf, widest } from "./model";
import { Brush, rowHeight } from "./paint";
import { Keys, useKeys } from "./keys";
import { Item, Menu } from "./menu";
import { Box, Tip } from "./tip";
import { Marks, useMark } from "./marks";
import { printing } from "./theme";

export interface Canvas {
  model: Model;
  window: Window;
  unit: string;
  total: number;
  upward: boolean;
  mode: ColorMode;
  palette: Palette;
  wanted: Uint8Array | undefined;
  flagged: Flagged | undefined;
  marks: Marks;
  label: string;
  keys: boolean; // arrows move the cursor without a click first
  onCursor: (p: Place) => void;
  onZoom: (p: Place) => void;
  menu?: (p: Place) => Item[]; // what can be done with a box
}

// Brushes by model: whoever zooms out again finds the colors and labels of before.
const brushes = new WeakMap<Model, Brush>();
let pictures = 0;

const spare = 80; // how much of a canvas may be out of sight at the bottom: more than a minimap
const patience = 4; // milliseconds of a frame after which what is left to be written waits for the next one

/**
 * standing returns how many rows a box of some height shows, and how much of the first one is above it. A picture that grows up stands on
 * the bottom of its box, whether it fills that or not.
 */
function standing(rows: number, height: number, upward: boolean): { shown: number; above: number } {
  if (!upward || rows * rowHeight >= height) return { shown: rows, above: 0 };
  const shown = Math.ceil(height / rowHeight);
  return { shown, above: shown * rowHeight - height };
}

export function FlameCanvas(props: Canvas) {
  const { model, window: w, upward, marks, unit, total } = props;
  const cursor = useMark(marks, (m) => m.cursor);
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const brush = useMemo(() => brushes.get(model) ?? new Brush(model), [model]);
  const number = useMemo(() => ++pictures, [model]); // tells pictures apart that one brush paints
  brushes.set(model, brush);
  const rows = useMemo(() => depth(model, w), [model, w]);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const latest = useRef(props);
  latest.current = props;
  const frame = useRef(0);
  const shown = useRef(0); // the picture that was painted last
  const measured = useRef<{ width: number; height: number } | undefined>(undefined);
  const scrolled = useRef(0);

  const paint = () => {
    frame.current = 0;
    const c = canvas.current;
    const s = scroller.current;
    const ctx = c?.getContext("2d", { alpha: false });
    if (!c || !s || !ctx) return;
    const start = performance.now();
    const dpr = globalThis.devicePixelRatio || 1;
    // Asking for these has the page laid out first, so it is done only where nothing else says what they are.
    const { width, height } = measured.current ?? { width: s.clientWidth, height: s.clientHeight };
    if (width === 0 || height === 0) return;
    const p = latest.current;
    // The minimap below the picture comes and goes as one zooms. The canvas stays as it is meanwhile: with another size, all of it
    // would be painted anew.
    const had = c.width === Math.round(width * dpr) && !p.upward && !printing() ? parseFloat(c.style.height) || 0 : 0;
    const tall = had > height && had - height <= spare ? had : height;
    if (c.width !== Math.round(width * dpr) || c.height !== Math.round(tall * dpr)) {
      c.width = Math.round(width * dpr);
      c.height = Math.round(tall * dpr);
      c.style.width = width + "px";
      c.style.height = tall + "px";
      brush.forget();
    }
    ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
    const look = { palette: p.palette, mode: p.mode, upward: p.upward, wanted: p.wanted, flagged: p.flagged?.frames, selected: p.marks.selected, cursor: p.marks.cursor, hover: p.marks.hover };
    const { shown: n, above } = standing(depth(p.model, p.window), height, p.upward);
    // A picture that was not there before appears at once; only what moves must not wait.
    const until = printing() || shown.current !== number ? Infinity : start + patience;
    if (shown.current !== number) brush.forget(); // another brush has painted since, or this one elsewhere
    shown.current = number;
    const done = brush.paint({ ctx, width, height: tall, ratio: dpr, scroll: scrolled.current + above, rows: n }, p.window, look, until);
    if (!done) soon();
    // For those who wait or measure. Only the last entry stays: nobody looks at the others.
    c.dataset.paint = done ? "done" : "part";
    c.dataset.labels = String(brush.labeled);
    performance.clearMeasures("hone.paint");
    performance.measure("hone.paint", { start, detail: { picture: number, nodes: p.model.nodes, done } });
  };
  const soon = () => {
    frame.current ||= requestAnimationFrame(() => brushNow.current());
  };
  const brushNow = useRef(paint);
  brushNow.current = paint;

  useEffect(() => {
    const s = scroller.current!;
    const observer = new ResizeObserver(() => {
      measured.current = { width: s.clientWidth, height: s.clientHeight };
      setSize(measured.current);
    });
    observer.observe(s);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    // What a browser has thrown away has to be painted as a whole.
    const c = canvas.current!;
    const again = () => {
      brush.forget();
      soon();
    };
    c.addEventListener("contextrestored", again);
    return () => c.removeEventListener("contextrestored", again);
  }, [brush]);
  useLayoutEffect(() => marks.follow(soon), [marks]);
  useEffect(() => () => cancelAnimationFrame(frame.current), []);
  useLayoutEffect(() => {
    // Where the picture begins is what is seen first.
    const s = scroller.current!;
    if (upward || scrolled.current !== 0) s.scrollTop = upward ? s.scrollHeight : 0; // setting it lays out the page
  }, [model, w.top.row, w.x0, upward, upward ? size.height : 0]);
  useLayoutEffect(() => {
    cancelAnimationFrame(frame.current);
    // The answer to a question is there as soon as it can be; all else has time until the next frame.
    if (printing() || shown.current !== number) brushNow.current();
    else frame.current = requestAnimationFrame(() => brushNow.current());
  });
  useEffect(() => {
    const s = scroller.current!;
    if (!cursor) return;
    const d = cursor.row - w.top.row;
    const { shown, above } = standing(rows, size.height, upward);
    const y = (upward ? shown - 1 - d : d) * rowHeight - above;
    if (y < s.scrollTop) s.scrollTop = y;
    else if (y + rowHeight > s.scrollTop + s.clientHeight) s.scrollTop = y + rowHeight - s.clientHeight;
  }, [cursor]);

  const placeAt = (e: MouseEvent): Place | undefined => {
    const s = scroller.current!;
    const box = s.getBoundingClientRect();
    const { shown, above } = standing(rows, s.clientHeight, upward);
    const line = Math.floor((e.clientY - box.top + s.scrollTop + above) / rowHeight);
    const d = upward ? shown - 1 - line : line;
    const x = w.x0 + ((e.clientX - box.left) / s.clientWidth) * (w.x1 - w.x0);
    const r = d >= 0 && d < rows ? model.rows[w.top.row + d] : undefined;
    const i = r && x < w.x1 ? nodeAt(r, x) : -1;
    return i < 0 ? undefined : { row: w.top.row + d, i };
  };
  const point = (p: Place | undefined) => {
    if (p?.row !== marks.hover?.row || p?.i !== marks.hover?.i) marks.set({ hover: p });
  };

  const at = cursor ?? w.top;
  const hover = useMark(marks, (m) => m.hover);
  const pointer = useRef({ x: 0 });
  const [keyed, setKeyed] = useState(false); // the cursor was moved by keys last
  const [menu, setMenu] = useState<{ p: Place; x: number; y: number }>();
  useLayoutEffect(() => setMenu(undefined), [model]);
  /** boxOf is where a node is on the page, cut to what is in sight; nothing where it is not in sight. */
  const boxOf = (p: Place): (Box & { right: number }) | undefined => {
    const s = scroller.current!;
    const r = model.rows[p.row];
    if (!r || p.i >= r.n) return undefined;
    const box = s.getBoundingClientRect();
    const { shown, above } = standing(rows, s.clientHeight, upward);
    const d = p.row - w.top.row;
    const top = box.top + (upward ? shown - 1 - d : d) * rowHeight - above - s.scrollTop;
    const scale = s.clientWidth / (w.x1 - w.x0);
    const left = box.left + Math.max(0, (r.x[p.i] - w.x0) * scale);
    if (d < 0 || top + rowHeight <= box.top || top >= box.bottom) return undefined;
    return { left, top, bottom: top + rowHeight, right: Math.min(box.right, box.left + (r.x[p.i] + r.w[p.i] - w.x0) * scale) };
  };
  const openMenu = (p: Place, x: number, y: number) => {
    point(undefined);
    props.onCursor(p);
    if (props.menu?.(p).length) setMenu({ p, x, y });
  };
  const openAtCursor = () => {
    const b = boxOf(at);
    if (b && props.menu) openMenu(at, b.left + 8, b.bottom);
  };
  const move = (p: Place | undefined) => {
    if (!p || p.row < w.top.row) return;
    setKeyed(true);
    point(undefined);
    props.onCursor(p);
  };
  const down = () => {
    const [lo, hi] = children(model, at);
    const i = hi > lo ? widest(model.rows[at.row + 1], lo, hi) : -1;
    if (i >= 0) move({ row: at.row + 1, i });
  };
  const up = () => move(at.row > w.top.row ? parentOf(model, at) : undefined);
  const beside = (d: number) => {
    const i = at.i + d;
    const r = model.rows[at.row];
    if (at.row > w.top.row && i >= 0 && i < r.n && r.x[i] + r.w[i] > w.x0 && r.x[i] < w.x1) move({ row: at.row, i });
  };
  const keys: Keys = {
    ArrowDown: upward ? up : down,
    ArrowUp: upward ? down : up,
    ArrowLeft: () => beside(-1),
    ArrowRight: () => beside(1),
    Enter: () => props.onZoom(at),
    ...(props.menu ? { ".": openAtCursor, ContextMenu: openAtCursor } : {}),
  };
  useKeys(props.keys ? keys : {});

  const id = useMemo(() => "tree" + ++trees, []);
  return (
    <div class="picture">
      <div class="scroller" ref={scroller} onScroll={(e) => { scrolled.current = e.currentTarget.scrollTop; soon(); }} role="tree" tabIndex={0} aria-label={props.label} aria-activedescendant={itemID(id, at)}
        onMouseMove={(e) => { pointer.current.x = e.clientX; setKeyed(false); point(placeAt(e)); }} onMouseLeave={() => point(undefined)}
        onContextMenu={(e) => {
          if (!props.menu) return;
          e.preventDefault();
          // The key for menus says nothing of a place.
          if (e.button !== 2) return openAtCursor();
          const p = placeAt(e);
          if (p) openMenu(p, e.clientX, e.clientY);
        }}
        onClick={(e) => { const p = placeAt(e); if (p) props.onCursor(p); }}
        onDblClick={(e) => { const p = placeAt(e); if (p) props.onZoom(p); }}
        onKeyDown={(e) => {
          const f = Object.hasOwn(keys, e.key) ? keys[e.key] : undefined;
          if (!f || e.ctrlKey || e.metaKey || e.altKey) return;
          e.preventDefault();
          f(e);
        }}>
        <div class="sight" aria-hidden="true"><canvas ref={canvas} /></div>
        <div class="spacer" aria-hidden="true" style={{ height: Math.max(0, rows * rowHeight - size.height) + "px" }} />
        <Twin {...props} at={at} id={id} />
      </div>
      {!menu && (hover ? (
        <Tip model={model} at={hover} unit={unit} total={total} box={() => { const b = boxOf(hover); return b && { ...b, left: Math.max(b.left, pointer.current.x) }; }} />
      ) : keyed && cursor && <Tip model={model} at={cursor} unit={unit} total={total} box={() => boxOf(cursor)} />)}
      {menu && props.menu && <Menu title={nameAt(model, menu.p)} items={props.menu(menu.p)} x={menu.x} y={menu.y} onClose={() => setMenu(undefined)} />}
    </div>
  );
}

let trees = 0;

const itemID = (tree: string, p: Place) => `${tree}-${p.row}-${p.i}`;

const near = 8; // neighbors to either side that the twin has

/** Twin is the frames around the cursor: what is above it, its neighbors, and what is below it. */
function Twin({ model, window: w, unit, total, flagged, at, id: tree }: Canvas & { at: Place; id: string }) {
  const id = (p: Place) => itemID(tree, p);
  const top = w.top.row;
  const above = ancestors(model, at).slice(top, -1);
  const parent = at.row > top ? parentOf(model, at) : undefined;
  const [lo, hi] = parent ? children(model, parent) : [at.i, at.i + 1];
  const beside: Place[] = [];
  for (let i = Math.max(lo, at.i - near); i < Math.min(hi, at.i + near + 1); i++) beside.push({ row: at.row, i });
  const [from, to] = children(model, at);
  const below: Place[] = [];
  for (let i = from; i < Math.min(to, from + 2 * near); i++) below.push({ row: at.row + 1, i });
  const item = (p: Place, first: number, n: number) => {
    const r = model.rows[p.row];
    if (!r) return null;
    const [a, b] = children(model, p);
    const flat = flatAt(model, p);
    return (
      <div role="treeitem" id={id(p)} key={id(p)} aria-level={p.row - top + 1} aria-setsize={n} aria-posinset={p.i - first + 1}
        aria-selected={p.row === at.row && p.i === at.i} aria-expanded={b > a ? true : undefined}>
        {nameAt(model, p)}, cum {value(r.cum[p.i], unit)}, {percent(r.cum[p.i], total)}{flat !== undefined && `, flat ${value(flat, unit)}`}
        {flagged?.of(r.frame[p.i]).map((f) => "; " + titleOf(f))}
      </div>
    );
  };
  return (
    <div class="twin">
      {above.map((p) => item(p, p.i, 1))}
      {beside.map((p) => item(p, lo, hi - lo))}
      {below.map((p) => item(p, from, to - from))}
    </div>
  );
}
