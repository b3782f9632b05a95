// Calls in the order of time: a flame graph of each part of a recording, side by side, or the CPU samples of an execution trace on tracks
// of goroutines. Zooming is left to the page; a part of the time that is kept is asked for anew, and its parts are finer then.

import { useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ChartPart, FlameChart, FlameFrames, FlameRow } from "./api";
import { useFlagged } from "./advice";
import { FlameCanvas } from "./canvas";
import { during, nanosOf, span } from "./chart";
import { ColorMode } from "./colors";
import { asked, useAnswer, useApp } from "./data";
import { Choice, Legend, Toggle } from "./flame";
import { busyCores, count, many, percent, short, shortCores, value } from "./format";
import { Keys, useBack, useKeys } from "./keys";
import { Marks } from "./marks";
import { Item, itemsFor } from "./menu";
import { Matches, Model, Place, Row, Window, depth, frameAt, framesWhere, matchedValue, nameAt, parentOf } from "./model";
import { functionOf } from "./names";
import { Detail, Panel } from "./panel";
import { Message, Nothing, Notes, Problem, Remark, useActions } from "./parts";
import { rowHeight } from "./paint";
import { searchRule, searched } from "./search";
import { get, go, put, state as latest } from "./state";
import { PaletteContext } from "./theme";

export function FlameChartView() {
  const app = useApp();
  const { data, error, waiting } = useAnswer<FlameChart>("/api/flamechart", asked(app, "flamechart"));
  if (error && !waiting) return <Problem error={error} />;
  if (!data) return <div class="blank" aria-busy="true" />;
  if (data.unsampled) {
    return <Message title="No CPU samples in this trace">{data.notes?.map((n) => <p><Remark text={n} /></p>)}</Message>;
  }
  if (data.total === 0) return <Nothing head={data} />;
  return <Chart data={data} stale={waiting} />;
}

type Scale = "fill" | "rate";

const own = 2; // rows of the model above those of calls, where there are parts: all, and the parts

function rowOf(n: number): Row {
  return {
    n, frame: new Array<number>(n), x: new Float64Array(n), w: new Float64Array(n), cum: new Array<number>(n), flat: new Array<number>(n).fill(0),
    before: undefined, inline: new Array<number>(n).fill(0), parent: new Int32Array(n),
  };
}

const rateOf = (p: ChartPart, live: boolean) => (live ? p.total : p.total / Math.max(1, p.to_nanos - p.from_nanos));

/** partName says which part of the time one is, and what it comes to. */
function partName(data: FlameChart, p: ChartPart): string {
  return `${about(p.from_nanos, p.to_nanos)}: ${p.cores !== undefined ? busyCores(p.cores) + " cores" : value(p.total, data.unit)}`;
}

/** headName is what stands above the calls of a part, where there is little room. It has no dots, at which names are cut. */
function headName(data: FlameChart, p: ChartPart): string {
  return p.cores !== undefined ? shortCores(p.cores) : short(p.total, data.unit);
}

/** about is a part of the time as exactly as a glance needs it. */
function about(from: number, to: number): string {
  const step = to < 1e9 ? 1e6 : 1e7;
  const round = (t: number) => Math.round(t / step) * step;
  return `${span(round(from), to)} to ${span(round(to))}`;
}

/** withHeads returns frames with others after them, which are no functions. */
function withHeads(frames: FlameFrames, names: string[]): FlameFrames {
  const none = names.map(() => -1);
  return {
    ...frames, name: [...frames.name, ...names], line: [...frames.line, ...names.map(() => 0)],
    file: [...frames.file, ...none], package: [...frames.package, ...none], origin: [...frames.origin, ...none],
  };
}

/** partsModel puts the flame graphs of all parts beside each other. Where the scale is the rate, a part is as full as it was busy. */
function partsModel(data: FlameChart, scale: Scale): Model {
  const { parts, from_nanos: from, to_nanos: to } = data;
  const live = data.live === true;
  const most = Math.max(...parts.map((p) => rateOf(p, live)), 1e-12);
  const frames = withHeads(data.frames, parts.map((p) => headName(data, p)));
  const all = rowOf(1);
  Object.assign(all, { frame: [-1], cum: [data.total] });
  all.w[0] = to - from;
  const heads = rowOf(parts.length);
  const rows: Row[] = [all, heads];
  let nodes = 1 + parts.length;
  const levels = Math.max(0, ...parts.map((p) => p.rows?.length ?? 0));
  for (let d = 0; d < levels; d++) {
    rows.push(rowOf(parts.reduce((n, p) => n + (p.rows?.[d]?.frame.length ?? 0), 0)));
    nodes += rows[own + d].n;
  }
  const filled = new Int32Array(levels);
  parts.forEach((p, k) => {
    const wide = p.to_nanos - p.from_nanos;
    const sum = Math.max(1, (p.rows?.[0]?.cum ?? []).reduce((n, v) => n + Math.abs(v), 0), p.total);
    const unit = (wide / sum) * (scale === "fill" ? 1 : rateOf(p, live) / most);
    heads.frame[k] = data.frames.name.length + k;
    heads.x[k] = p.from_nanos - from;
    heads.w[k] = wide;
    heads.cum[k] = p.total;
    let above: { ends: number[]; first: number } = { ends: [sum], first: k };
    (p.rows ?? []).forEach((r, d) => {
      const row = rows[own + d];
      const first = filled[d];
      const ends: number[] = [];
      let at = 0;
      let up = 0;
      for (let i = 0; i < r.frame.length; i++) {
        at += r.gap[i];
        while (up + 1 < above.ends.length && above.ends[up] <= at) up++;
        const j = filled[d]++;
        const w = Math.abs(r.cum[i]);
        row.frame[j] = r.frame[i];
        row.x[j] = heads.x[k] + at * unit;
        row.w[j] = w * unit;
        row.cum[j] = r.cum[i];
        row.flat[j] = r.flat[i];
        row.inline![j] = r.inline?.[i] ?? 0;
        row.parent[j] = above.first + up;
        at += w;
        ends.push(at);
      }
      above = { ends, first };
    });
  });
  return { frames, rows, nodes, width: to - from, compares: false, callers: false };
}

/** trackModel is the samples of one track, whose boxes are times already. */
function trackModel(data: FlameChart, name: string, samples: number, list: FlameRow[]): Model {
  const all = rowOf(1);
  Object.assign(all, { frame: [data.frames.name.length], cum: [samples] });
  all.w[0] = data.to_nanos - data.from_nanos;
  const rows: Row[] = [all];
  let nodes = 1;
  for (const r of list) {
    const row = rowOf(r.frame.length);
    const above = rows[rows.length - 1];
    let at = 0;
    let up = 0;
    for (let i = 0; i < row.n; i++) {
      at += r.gap[i];
      while (up + 1 < above.n && above.x[up] + above.w[up] <= at) up++;
      row.x[i] = at;
      row.w[i] = r.width?.[i] ?? 0;
      row.parent[i] = up;
      at += row.w[i];
    }
    rows.push({ ...row, frame: r.frame, cum: r.cum, flat: r.flat, inline: r.inline });
    nodes += row.n;
  }
  return { frames: withHeads(data.frames, [name]), rows, nodes, width: all.w[0], compares: false, callers: false };
}

/** A Lane is a picture: of all parts, or of one track. */
interface Lane {
  marks: Marks;
  label: string;
}

function Chart({ data, stale }: { data: FlameChart; stale: boolean }) {
  const app = useApp();
  const { state } = app;
  const palette = useContext(PaletteContext);
  const scale: Scale = get(state, "ui.scale") === "rate" ? "rate" : "fill";
  const mode = (get(state, "ui.color") || "origin") as ColorMode;
  const upward = get(state, "ui.orient") === "flame";
  const lanes = useMemo((): Lane[] => {
    if (!data.sampled) return [{ marks: new Marks(partsModel(data, scale)), label: `Flame chart of ${data.metric}: what ran when` }];
    return (data.tracks ?? []).map((t) => {
      const of = t.goroutines === 1 ? "" : `${count(t.goroutines)} goroutines, `;
      return { marks: new Marks(trackModel(data, `${t.name} (${of}${many(t.samples, "sample")})`, t.samples, t.rows)), label: `Samples of ${t.name}` };
    });
  }, [data, scale]);
  const whole: [number, number] = [data.from_nanos, data.to_nanos];
  const seen = zoomOf(get(state, "ui.zoom"), whole);
  const x0 = seen[0] - data.from_nanos;
  const x1 = seen[1] - data.from_nanos;
  const w = useMemo((): Window => ({ top: { row: 0, i: 0 }, x0, x1 }), [x0, x1]);
  const firstRow = data.sampled ? 1 : own; // with calls

  const look = (a: number, b: number) => {
    const least = Math.max(1e5, (whole[1] - whole[0]) / 1e5);
    const wide = Math.min(Math.max(b - a, least), whole[1] - whole[0]);
    const from = Math.min(Math.max(a, whole[0]), whole[1] - wide);
    const all = wide >= (whole[1] - whole[0]) * 0.999;
    go(put(latest(), "ui.zoom", all ? "" : `${span(Math.round(from))}..${span(Math.round(from + wide))}`), "replace");
  };
  // A saved page has answers about the whole run only, so there a time is looked at and not kept.
  const keep = app.api.embedded ? (a: number, b: number) => look(Math.min(a, b), Math.max(a, b)) : (a: number, b: number) => {
    let [from, to] = a < b ? [a, b] : [b, a];
    if (!data.sampled) {
      // A part is as fine as it goes.
      from = data.parts.filter((p) => p.from_nanos <= from).pop()?.from_nanos ?? whole[0];
      to = data.parts.find((p) => p.to_nanos >= to)?.to_nanos ?? whole[1];
    }
    const ms = (t: number) => span(Math.round(t / 1e6) * 1e6);
    if (ms(from) === ms(to)) to += 1e6;
    go(put(put(put(latest(), "at", `${ms(from)}..${ms(to)}`), "ui.zoom", ""), "root", ""));
  };
  const timeOf = (m: Model, p: Place): [number, number] => {
    const r = m.rows[p.row];
    return [data.from_nanos + r.x[p.i], data.from_nanos + r.x[p.i] + r.w[p.i]];
  };
  const zoomBy = (factor: number, around?: number) => {
    const [a, b] = zoomOf(get(latest(), "ui.zoom"), whole);
    const lane = lanes.find((l) => l.marks.cursor);
    const at = around ?? (lane ? mean(timeOf(lane.marks.model, lane.marks.cursor!)) : (a + b) / 2);
    const mid = at < a || at > b ? (a + b) / 2 : at;
    look(mid - (mid - a) * factor, mid + (b - mid) * factor);
  };
  const pick = (lane: Lane, p: Place) => {
    const selected = p.row < firstRow ? "" : functionOf(frameAt(lane.marks.model, p)?.name ?? "");
    for (const l of lanes) l.marks.set(l === lane ? { cursor: p, selected } : { cursor: undefined, selected });
  };

  const search = useLocalSearch(lanes, w, data.frames.name.length);
  const step = (d: number) => {
    if (search.hits.length === 0) return;
    search.at.current = (search.at.current + d + search.hits.length) % search.hits.length;
    const [lane, p] = search.hits[search.at.current];
    pick(lanes[lane], p);
  };
  const box = useRef<HTMLInputElement>(null);
  const keys: Keys = {
    "/": () => { box.current?.focus(); box.current?.select(); },
    n: () => step(1),
    N: () => step(-1),
    "+": () => zoomBy(0.5),
    "=": () => zoomBy(0.5),
    "-": () => zoomBy(2),
    r: () => look(...whole),
    Escape: useBack(search.q, get(state, "ui.zoom"), () => look(...whole)),
    u: () => go(put(latest(), "ui.orient", upward ? "" : "flame")),
  };
  useKeys(keys);
  const menu = (lane: Lane) => (p: Place): Item[] => {
    const m = lane.marks.model;
    const frame = p.row < firstRow ? undefined : frameAt(m, p);
    const time = timeOf(m, p);
    const items: Item[] = app.api.embedded ? [] : [{ group: 0, name: "Keep only this time", of: about(...time), run: () => keep(...time) }];
    return [...items, ...itemsFor(app, frame, nameAt(m, p), () => look(...time), (s) => put(s, "ui.zoom", `${span(Math.round(time[0]))}..${span(Math.round(time[1]))}`))];
  };
  const onWheel = (e: WheelEvent) => {
    if (!e.ctrlKey) return;
    e.preventDefault();
    const b = (e.currentTarget as HTMLElement).getBoundingClientRect();
    zoomBy(e.deltaY > 0 ? 1.25 : 0.8, seen[0] + ((e.clientX - b.left) / b.width) * (seen[1] - seen[0]));
  };
  const zoomed = get(state, "ui.zoom") !== "";
  const flagged = useFlagged(lanes[0]?.marks.model ?? empty);
  return (
    <div class="with-panel flamechart">
      <div class="main">
        <div class="tools">
          <div class="search">
            <input ref={box} type="search" placeholder="Search functions  ( / )" aria-label="Search functions, a regular expression" title={searchRule} spellcheck={false} aria-invalid={search.bad !== ""}
              value={search.q} onInput={(e) => go(put(state, "ui.q", e.currentTarget.value), "replace")}
              onKeyDown={(e) => { if (e.key === "Enter") step(e.shiftKey ? -1 : 1); }} />
            <div class={search.q === "" ? "" : "results"}>
              <span class="matched" aria-live="polite">{search.bad ? <span class="bad">{search.bad}</span> : search.q !== "" && <><b>{percent(search.value, data.total)} matched</b> · {count(search.hits.length)} boxes</>}</span>
              {search.q !== "" && !search.bad && (
                <span class="stepper">
                  <button onClick={() => step(-1)} disabled={search.hits.length === 0} aria-label="previous match" title="previous match (N)">‹</button>
                  <button onClick={() => step(1)} disabled={search.hits.length === 0} aria-label="next match" title="next match (n)">›</button>
                </span>
              )}
            </div>
          </div>
          <div class="group">
            {!data.sampled && (
              <Choice label="Width of a part" value={scale} options={[["fill", "its time"], ["rate", data.live ? "its total" : "how busy it was"]]}
                onChange={(v) => go(put(latest(), "ui.scale", v === "rate" ? "rate" : ""))} />
            )}
            <Choice label="Color" value={mode} options={[["origin", "origin"], ["package", "package"], ["plain", "plain"]]} onChange={(v) => go(put(latest(), "ui.color", v === "origin" ? "" : v))} />
            <Toggle on={upward} onClick={() => keys.u(new KeyboardEvent("keydown"))} title="callers below callees (u)">Upward</Toggle>
          </div>
        </div>
        <div class="crumbs">
          <span><b>{during(...seen)}</b> {zoomed && <span class="quiet">of {during(...whole)}</span>}</span>
          <span class="group">
            <button class="small" onClick={() => zoomBy(0.5)} title="zoom in (+)" aria-label="zoom in">+</button>
            <button class="small" onClick={() => zoomBy(2)} disabled={!zoomed} title="zoom out (-)" aria-label="zoom out">−</button>
            {zoomed && <button class="small" onClick={() => look(...whole)} title="zoom out to all (Esc)">Zoom out</button>}
            {zoomed && !app.api.embedded && <button class="small" onClick={() => keep(...seen)} title="have all views answer for the time in sight">Keep this time</button>}
            {get(state, "at") !== "" && <button class="small" onClick={() => go(put(put(latest(), "at", ""), "ui.zoom", ""))}>All of the run</button>}
          </span>
          <span class="quiet">{data.sampled ? `${many(data.total, "CPU sample")} of the execution trace, ${data.total === 1 ? "" : "each "}at its time` : data.live ? "each part shows what there was at its end" : `${value(data.total, data.unit)} in ${count(data.parts.length)} ${data.parts.length === 1 ? "part" : "parts"}`}</span>
        </div>
        <div class="chart" onWheel={onWheel}>
          <Ruler data={data} seen={seen} verb={app.api.embedded ? "zoom into" : "keep"} onKeep={keep} />
          <div class={data.sampled ? "tracks" : "lane"}>
            {lanes.map((lane, k) => (
              <div class="lane" key={lane.label + k} style={data.sampled ? { height: (depth(lane.marks.model, w)) * rowHeight + 1 + "px" } : {}}>
                <FlameCanvas model={lane.marks.model} window={w} unit={data.unit} total={data.total} upward={upward} mode={mode} palette={palette} wanted={search.wanted[k]}
                  flagged={k === 0 ? flagged : undefined} marks={lane.marks} keys={k === 0} label={lane.label} onCursor={(p) => pick(lane, p)} onZoom={(p) => look(...timeOf(lane.marks.model, p))} menu={menu(lane)} />
              </div>
            ))}
          </div>
        </div>
        <div class="foot">
          <Legend mode={mode} palette={palette} flagged={flagged !== undefined} model={lanes[0] ? { ...lanes[0].marks.model, frames: data.frames } : empty} />
          <span class="hints quiet"><kbd>/</kbd>search <kbd>Enter</kbd>zoom <kbd>+</kbd><kbd>-</kbd>zoom <kbd>Esc</kbd>out <kbd>?</kbd>keys</span>
        </div>
        <Notes notes={data.notes} />
      </div>
      <Marked data={data} lanes={lanes} firstRow={firstRow} timeOf={timeOf} stale={stale} onZoom={(t) => look(...t)} onKeep={app.api.embedded ? undefined : (t) => keep(...t)} />
    </div>
  );
}

const noFrames: FlameFrames = { name: [], file: [], line: [], package: [], origin: [], files: [], packages: [], origins: [] };
const empty: Model = { frames: noFrames, rows: [], nodes: 0, width: 0, compares: false, callers: false };
const mean = ([a, b]: [number, number]) => (a + b) / 2;

/** zoomOf returns the time that a link has in sight. */
function zoomOf(text: string, whole: [number, number]): [number, number] {
  const [a, b] = text.split("..").map(nanosOf);
  if (a === undefined || b === undefined || !(b > a) || b <= whole[0] || a >= whole[1]) return whole;
  return [Math.max(a, whole[0]), Math.min(b, whole[1])];
}

interface Found {
  q: string;
  bad: string;
  wanted: (Uint8Array | undefined)[]; // frames, by lane
  hits: [lane: number, p: Place][];
  value: number;
  at: { current: number };
}

/** useLocalSearch finds what is searched for among the boxes that are here. Frames from functions on are names of parts and tracks. */
function useLocalSearch(lanes: Lane[], w: Window, functions: number): Found {
  const { state } = useApp();
  const q = get(state, "ui.q");
  const at = useRef(-1);
  useEffect(() => { at.current = -1; }, [q, lanes]);
  return useMemo(() => {
    const none = { q, bad: "", wanted: [], hits: [], value: 0, at };
    if (q === "") return none;
    const rx = searched(q);
    if (!rx) return { ...none, bad: "this is no regular expression" };
    const out: Found = { ...none, wanted: [], hits: [] };
    lanes.forEach(({ marks: { model } }, k) => {
      const wanted = framesWhere(model, (name) => rx.test(name)).fill(0, functions);
      out.wanted.push(wanted);
      for (const p of new Matches(model, w, wanted).places()) out.hits.push([k, p]);
      out.value += matchedValue(model, w, wanted);
    });
    return out;
  }, [q, lanes, w]);
}

/** Ruler is the time, with how busy each part was. Dragging over it chooses a part of the time, and so does a click on a part. */
function Ruler({ data, seen, verb, onKeep }: { data: FlameChart; seen: [number, number]; verb: string; onKeep: (a: number, b: number) => void }) {
  const box = useRef<HTMLDivElement>(null);
  const [draft, setDraft] = useState<[number, number]>();
  const drag = useRef<{ from: number; x: number; moved: boolean } | undefined>(undefined);
  const [from, to] = seen;
  const share = (t: number) => Math.min(Math.max((t - from) / (to - from), 0), 1) * 100;
  const timeAt = (e: PointerEvent) => {
    const b = box.current!.getBoundingClientRect();
    return from + Math.min(Math.max((e.clientX - b.left) / b.width, 0), 1) * (to - from);
  };
  const live = data.live === true;
  const most = Math.max(...data.parts.map((p) => rateOf(p, live)), 1e-12);
  const range = draft && [...draft].sort((a, b) => a - b);
  return (
    <div class="ruler" ref={box} role="group" aria-label="Time; drag to choose a part of it" title="drag to choose a part of the time"
      onPointerDown={(e) => {
        if (e.button === 0) drag.current = { from: timeAt(e), x: e.clientX, moved: false };
      }}
      onPointerMove={(e) => {
        const d = drag.current;
        if (!d) return;
        if (!d.moved && Math.abs(e.clientX - d.x) > 3) {
          d.moved = true;
          box.current!.setPointerCapture(e.pointerId);
        }
        if (d.moved) setDraft([d.from, timeAt(e)]);
      }}
      onPointerUp={(e) => {
        const d = drag.current;
        drag.current = undefined;
        setDraft(undefined);
        if (d?.moved) onKeep(d.from, timeAt(e));
      }}
      onPointerCancel={() => { drag.current = undefined; setDraft(undefined); }}>
      {data.parts.filter((p) => p.to_nanos > from && p.from_nanos < to).map((p) => (
        <button class="part" key={p.from_nanos} style={{ left: share(p.from_nanos) + "%", width: share(p.to_nanos) - share(p.from_nanos) + "%" }}
          aria-label={verb + " " + partName(data, p)} title={`${partName(data, p)}; click to ${verb} this time`} onClick={() => onKeep(p.from_nanos, p.to_nanos)}>
          <i style={{ height: (rateOf(p, live) / most) * 100 + "%" }} />
        </button>
      ))}
      {ticksOf(from, to).map((t) => <span class={"tick" + (share(t) > 94 ? " end" : "")} style={{ left: share(t) + "%" }} aria-hidden="true">{span(t)}</span>)}
      {range && <div class="range" style={{ left: share(range[0]) + "%", width: share(range[1]) - share(range[0]) + "%" }}><b>{about(range[0], range[1])}</b></div>}
    </div>
  );
}

/** ticksOf returns times that read well, some ten of them. */
function ticksOf(from: number, to: number): number[] {
  const rough = (to - from) / 10;
  const ten = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1e6, ([1, 2, 5, 10].find((n) => n * ten >= rough) ?? 10) * ten);
  const out: number[] = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) out.push(t);
  return out;
}

/** Marked is the panel of the box under the pointer, or the one that is selected. */
function Marked({ data, lanes, firstRow, timeOf, stale, onZoom, onKeep }: {
  data: FlameChart; lanes: Lane[]; firstRow: number; timeOf: (m: Model, p: Place) => [number, number]; stale: boolean;
  onZoom: (t: [number, number]) => void; onKeep: ((t: [number, number]) => void) | undefined;
}) {
  const [, again] = useState(0);
  useEffect(() => {
    const stop = lanes.map((l) => l.marks.follow(() => again((n) => n + 1)));
    return () => stop.forEach((f) => f());
  }, [lanes]);
  const hovered = lanes.find((l) => l.marks.hover);
  const chosen = lanes.find((l) => l.marks.cursor);
  const lane = hovered ?? chosen ?? lanes[0];
  const at = hovered?.marks.hover ?? chosen?.marks.cursor ?? { row: 0, i: 0 };
  const subject = chosen?.marks.cursor && chosen.marks.cursor.row >= firstRow ? { frame: frameAt(chosen.marks.model, chosen.marks.cursor), name: nameAt(chosen.marks.model, chosen.marks.cursor) } : undefined;
  const actions = useActions(subject);
  useKeys(Object.fromEntries(actions.map((a) => [a.key, a.run])));
  if (!lane) return null;
  const m = lane.marks.model;
  const r = m.rows[at.row];
  const up = parentOf(m, at);
  const part = data.sampled || at.row !== 1 ? undefined : data.parts[at.i];
  const detail: Detail = {
    frame: at.row < firstRow ? undefined : frameAt(m, at), name: part ? partName(data, part) : nameAt(m, at), flat: r.flat[at.i], cum: r.cum[at.i], before: undefined, inline: r.inline?.[at.i] === 1,
    ofView: data.total, ofParent: up ? m.rows[up.row].cum[up.i] : undefined, passing: hovered !== undefined,
  };
  const time = timeOf(m, at);
  const inside = chosen && chosen.marks.cursor!.row > 0 ? timeOf(chosen.marks.model, chosen.marks.cursor!) : undefined;
  return (
    <Panel detail={detail} unit={data.unit} total={data.total} whole={data.total} actions={actions} stale={stale || data.sampled === true}
      zoom={inside && (() => onZoom(inside))} more={
        <div class="when">
          <p>{about(...time)}{at.row >= firstRow && !data.sampled && <span class="quiet"> · its part of the time, by share</span>}</p>
          {inside && onKeep && <button class="small" onClick={() => onKeep(inside)}>Keep only {about(...inside)}</button>}
        </div>
      } />
  );
}
