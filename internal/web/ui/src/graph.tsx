// The call graph: a picture made by the server, moved and zoomed here.

import { useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Palette, isDark } from "./colors";
import { asked, useAnswer, useApp } from "./data";
import { Message, Problem, useActions } from "./parts";
import { Keys, useKeys } from "./keys";
import { get, go, put } from "./state";
import { PaletteContext } from "./theme";

const defaultNodes = 80;

export function GraphView() {
  const app = useApp();
  const { state } = app;
  const [limit, setLimit] = useState(Number(get(state, "limit")) || defaultNodes);
  const pairs = asked(app, "dot");
  const { data, error, waiting } = useAnswer<string>("/download/svg", [["view", "graph"], ...pairs], 0, "text");
  const svg = useMemo(() => (data === undefined ? undefined : clean(data)), [data]);
  const selected = get(state, "ui.sel");
  const actions = useActions(selected ? { frame: { name: selected }, name: selected } : undefined);
  const keys: Keys = {};
  for (const a of actions) keys[a.key] = a.run;
  useKeys(keys);
  useEffect(() => setLimit(Number(get(state, "limit")) || defaultNodes), [get(state, "limit")]);
  return (
    <div class="main page graph-page">
      <div class="tools">
        {!app.api.embedded && <label class="choice"><span>Functions</span>
          <input type="range" min={10} max={300} step={10} value={limit} onInput={(e) => setLimit(Number(e.currentTarget.value))}
            onChange={(e) => go(put(state, "limit", Number(e.currentTarget.value) === defaultNodes ? "" : e.currentTarget.value))} />
          <output>{limit}</output>
        </label>}
        <div class="group row-actions">
          {selected && <b title={selected}>{selected}</b>}
          {actions.map((a) => <button onClick={a.run} onPointerEnter={a.soon} onFocus={a.soon} title={`${a.doc} (${a.key})`}>{a.name}</button>)}
        </div>
      </div>
      {error && !waiting ? <Problem error={error} /> : svg === null ? (
        <Message title="The server's picture cannot be read"><p><code>hone graph -o graph.svg REF</code> writes it to a file.</p></Message>
      ) : svg ? <Picture svg={svg} /> : <div class="blank" aria-busy="true" />}
    </div>
  );
}

interface Drawing {
  root: SVGSVGElement;
  css: string;
}

const allowed = new Set("svg g path polygon polyline line rect circle ellipse text tspan title desc defs marker linearGradient radialGradient stop clipPath pattern a".split(" "));

/**
 * clean parses a picture and takes out whatever is not drawing: names from profiles are in it. Styles are renamed before
 * anything parses them, since the page allows no inline style, and applied through the DOM.
 */
function clean(text: string): Drawing | null {
  const inert = text.replace(/<(\/?)style\b/g, "<$1css").replace(/\sstyle=/g, " data-style=");
  const doc = new DOMParser().parseFromString(inert, "image/svg+xml");
  const from = doc.documentElement;
  if (from.localName !== "svg" || doc.querySelector("parsererror")) return null;
  let css = "";
  for (const e of [from, ...from.querySelectorAll("*")]) {
    if (e.localName === "css") css += e.textContent ?? "";
    if (!allowed.has(e.localName)) {
      e.remove();
      continue;
    }
    for (const a of [...e.attributes]) {
      if (/^on/i.test(a.name) || /href$/i.test(a.name) || /^\s*(javascript|data):/i.test(a.value)) e.removeAttribute(a.name);
    }
  }
  const root = document.importNode(from, true) as unknown as SVGSVGElement;
  for (const e of [root, ...root.querySelectorAll<SVGElement>("[data-style]")]) {
    for (const d of e.getAttribute("data-style")?.split(";") ?? []) {
      const colon = d.indexOf(":");
      if (colon > 0) e.style.setProperty(d.slice(0, colon).trim(), d.slice(colon + 1).trim());
    }
  }
  return { root, css };
}

function Picture({ svg }: { svg: Drawing }) {
  const { state } = useApp();
  const palette = useContext(PaletteContext);
  const host = useRef<HTMLDivElement>(null);
  const view = useRef({ x: 0, y: 0, scale: 1 });
  const drag = useRef<{ x: number; y: number; moved: boolean } | undefined>(undefined);
  const map = useRef<HTMLCanvasElement>(null);
  const boxes = useRef<Box[]>([]);
  const drawn = useRef<Drawing>(undefined);
  const placed = useRef<() => void>(undefined); // what placed the picture, as long as nobody has moved it since
  const latest = useRef(state);
  latest.current = state;

  const place = () => {
    const { x, y, scale } = view.current;
    svg.root.style.transform = `translate(${x}px, ${y}px) scale(${scale})`;
    svg.root.style.setProperty("--way", Math.max(2, 2 / scale) + "px");
    paintMap(map.current!, host.current!, svg.root.viewBox.baseVal, view.current, boxes.current, palette);
  };
  const size = () => {
    const box = svg.root.viewBox.baseVal;
    return { w: box?.width || svg.root.getBoundingClientRect().width || 1, t: box?.height || svg.root.getBoundingClientRect().height || 1 };
  };
  const fit = () => {
    const h = host.current!;
    const { w, t } = size();
    const scale = Math.min(largest, h.clientWidth / w, h.clientHeight / t);
    view.current = { scale, x: (h.clientWidth - w * scale) / 2, y: Math.max(0, (h.clientHeight - t * scale) / 2) };
    placed.current = fit;
    place();
  };
  /** begin shows all of it where that can be read, and else as much from where the heaviest path begins. */
  const begin = () => {
    fit();
    placed.current = begin;
    const scale = Math.min(largest, readable / smallestName(svg.root));
    const way = boxes.current.filter((b) => b.way).sort((a, b) => a.y - b.y);
    if (view.current.scale >= scale || way.length === 0) return;
    const h = host.current!;
    const { w, t } = size();
    const middle = way[0].x + way[0].w / 2;
    const within = (at: number, room: number, all: number) => (all < room ? (room - all) / 2 : Math.min(0, Math.max(room - all, at)));
    view.current = {
      scale, x: within(h.clientWidth / 2 - middle * scale, h.clientWidth, w * scale), y: within(around - way[0].y * scale, h.clientHeight, t * scale),
    };
    place();
  };
  /** look goes to the place under the pointer on the map. */
  const look = (e: PointerEvent) => {
    const box = map.current!.getBoundingClientRect();
    const h = host.current!;
    const { w, t } = size();
    const { scale } = view.current;
    view.current = {
      scale, x: h.clientWidth / 2 - ((e.clientX - box.left) / box.width) * w * scale, y: h.clientHeight / 2 - ((e.clientY - box.top) / box.height) * t * scale,
    };
    placed.current = undefined;
    place();
  };
  const zoom = (by: number, cx: number, cy: number) => {
    const v = view.current;
    const scale = Math.min(8, Math.max(0.02, v.scale * by));
    const k = scale / v.scale;
    view.current = { scale, x: cx - (cx - v.x) * k, y: cy - (cy - v.y) * k };
    placed.current = undefined;
    place();
  };
  const middle = (by: number) => zoom(by, host.current!.clientWidth / 2, host.current!.clientHeight / 2);
  const pan = (dx: number, dy: number) => {
    view.current.x += dx;
    view.current.y += dy;
    placed.current = undefined;
    place();
  };

  useEffect(() => {
    const h = host.current!;
    const shadow = h.shadowRoot ?? h.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    // Its own rules, as rules and not as text in the page; their reach ends with the shadow root.
    // Pictures follow the system; the page may not.
    const css = svg.css.replace(/@media *\(prefers-color-scheme: *dark\)/g, isDark(palette) ? "@media all" : "@media not all");
    // As wide as it is at any zoom: it is what a graph that is too large to be read as a whole is recognized by.
    const way = `.way path, .way polygon, .way rect { stroke: ${palette.accent}; stroke-width: var(--way); } .way polygon { fill: ${palette.accent}; }`;
    sheet.replaceSync(css + way + " svg { transform-origin: 0 0; max-width: none; }");
    shadow.adoptedStyleSheets = [sheet];
    const box = svg.root.viewBox.baseVal;
    if (box && box.width) {
      svg.root.setAttribute("width", String(box.width));
      svg.root.setAttribute("height", String(box.height));
    }
    svg.root.setAttribute("role", "img");
    svg.root.setAttribute("aria-label", "Call graph; the view Top has the same functions as a table");
    shadow.replaceChildren(svg.root);
    boxes.current = boxesOf(svg.root);
    if (drawn.current === svg) place(); // in other colors, where it was
    else begin();
    drawn.current = svg;
    const wheel = (e: WheelEvent) => {
      e.preventDefault();
      const r = h.getBoundingClientRect();
      zoom(Math.exp(-e.deltaY / 400), e.clientX - r.left, e.clientY - r.top);
    };
    h.addEventListener("wheel", wheel, { passive: false });
    let [width, height] = [h.clientWidth, h.clientHeight];
    const observer = new ResizeObserver(() => {
      const [dx, dy] = [h.clientWidth - width, h.clientHeight - height];
      if (dx === 0 && dy === 0 || !host.current) return; // it hears that it leaves the page, too
      [width, height] = [width + dx, height + dy];
      if (placed.current) placed.current();
      else pan(dx / 2, dy / 2); // what was in the middle stays there
    });
    observer.observe(h);
    return () => {
      h.removeEventListener("wheel", wheel);
      observer.disconnect();
    };
  }, [svg, palette]);

  const keys: Keys = {
    "+": () => middle(1.25), "=": () => middle(1.25), "-": () => middle(0.8), r: fit,
    ArrowLeft: () => pan(60, 0), ArrowRight: () => pan(-60, 0), ArrowUp: () => pan(0, 60), ArrowDown: () => pan(0, -60),
  };
  useKeys(keys);
  return (
    <div class="graph-box">
      <div class="graph" ref={host} tabIndex={0} role="group" aria-label="Call graph: drag to move, wheel or + and - to zoom"
        onPointerDown={(e) => { drag.current = { x: e.clientX, y: e.clientY, moved: false }; e.currentTarget.setPointerCapture(e.pointerId); }}
        onPointerMove={(e) => {
          const d = drag.current;
          if (!d) return;
          if (Math.abs(e.clientX - d.x) + Math.abs(e.clientY - d.y) < 4 && !d.moved) return;
          pan(e.clientX - d.x, e.clientY - d.y);
          drag.current = { x: e.clientX, y: e.clientY, moved: true };
        }}
        onPointerUp={(e) => {
          const d = drag.current;
          drag.current = undefined;
          if (d?.moved) return;
          const name = nodeName(host.current!.shadowRoot!.elementFromPoint(e.clientX, e.clientY));
          if (name) go(put(latest.current, "ui.sel", name), "replace");
        }}
      />
      <canvas class="graph-map" ref={map} role="img" aria-label="The whole graph, with the part in sight marked" title="the whole; click or drag to look elsewhere"
        onPointerDown={(e) => { e.currentTarget.setPointerCapture(e.pointerId); look(e); }}
        onPointerMove={(e) => { if (e.currentTarget.hasPointerCapture(e.pointerId)) look(e); }} />
      <div class="zoomer">
        <button onClick={begin} title="as much as can be read, from where the heaviest path begins">Heaviest path</button>
        <button onClick={() => middle(1.25)} aria-label="zoom in">+</button>
        <button onClick={() => middle(0.8)} aria-label="zoom out">−</button>
        <button onClick={fit} title="all of it (r)">Fit</button>
      </div>
    </div>
  );
}

const largest = 1.25; // zoom that a graph begins with
const readable = 10; // pixels; names that are smaller are gray lines
const around = 24; // pixels left above the heaviest path

const named = "g[data-name]"; // the boxes of functions

/** smallestName returns the size of the smallest name in a box, unzoomed. */
function smallestName(root: SVGSVGElement): number {
  let least = Infinity;
  for (const g of root.querySelectorAll(named)) {
    for (const t of g.querySelectorAll("text")) least = Math.min(least, Number(t.getAttribute("font-size")) || Infinity);
  }
  return least;
}

/** A Box is where a function is in the picture. */
interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
  way: boolean;
}

function boxesOf(root: SVGSVGElement): Box[] {
  return [...root.querySelectorAll<SVGGElement>(named)].map((g) => {
    const { x, y, width, height } = g.getBBox();
    return { x, y, w: width, h: height, way: g.classList.contains("way") };
  });
}

/** paintMap paints the whole graph small, with the part in sight marked. Nothing is painted where all of it is in sight. */
function paintMap(c: HTMLCanvasElement, host: HTMLElement, all: DOMRect, view: { x: number; y: number; scale: number }, boxes: Box[], palette: Palette): void {
  const inSight = view.x >= -1 && view.y >= -1 && view.x + all.width * view.scale <= host.clientWidth + 1 && view.y + all.height * view.scale <= host.clientHeight + 1;
  c.hidden = inSight || boxes.length === 0;
  c.dataset.paint = "done";
  if (c.hidden) return;
  const scale = Math.min((host.clientWidth * 0.28) / all.width, (host.clientHeight * 0.34) / all.height);
  const dpr = globalThis.devicePixelRatio || 1;
  c.style.width = all.width * scale + "px";
  c.style.height = all.height * scale + "px";
  c.width = Math.round(all.width * scale * dpr);
  c.height = Math.round(all.height * scale * dpr);
  const ctx = c.getContext("2d", { alpha: false });
  if (!ctx) return;
  ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
  ctx.fillStyle = palette.paper;
  ctx.fillRect(0, 0, c.width, c.height);
  for (const b of boxes) {
    ctx.fillStyle = b.way ? palette.accent : palette.run;
    ctx.fillRect(b.x * scale, b.y * scale, Math.max(2, b.w * scale), Math.max(2, b.h * scale));
  }
  ctx.strokeStyle = palette.quiet;
  ctx.lineWidth = 2;
  const k = scale / view.scale;
  const left = Math.max(1, -view.x * k);
  const top = Math.max(1, -view.y * k);
  ctx.strokeRect(left, top, Math.min(all.width * scale - 1, (host.clientWidth - view.x) * k) - left, Math.min(all.height * scale - 1, (host.clientHeight - view.y) * k) - top);
}

/** nodeName returns the function whose box e belongs to. */
function nodeName(e: Element | null): string {
  return e?.closest("g")?.dataset.name ?? "";
}
