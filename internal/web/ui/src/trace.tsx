// What an execution trace shows over time: lanes of Ps, the collector, requests, kinds of goroutines and single goroutines. What is in
// sight is the part of the time that all views answer for.

import { ComponentChildren } from "preact";
import { useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { GoroutineStory, Lane, LaneKind, Lanes, RequestLine, RequestPath, StackCall, TraceTime } from "./api";
import { Axis, during, moment, paintTimes, rangeOf, xOf } from "./chart";
import { isForced, Palette } from "./colors";
import { asked, useAnswer, useApp } from "./data";
import { count, number, percent } from "./format";
import { Keys, useKeys } from "./keys";
import { exactly } from "./names";
import { Bar, Notes, Problem } from "./parts";
import { ns, select, selectRequest, show, Window } from "./moments";
import { RequestsInSight } from "./requests";
import { add, get, go, put, state as current } from "./state";
import { PaletteContext } from "./theme";
import { Canvas, useWidth } from "./timeline";

const gutters = [232, 112]; // for names: usually, and where there is little room
const heights = { processors: 16, collector: 13, requests: 13, kinds: 30, goroutines: 14 };
export function TraceView() {
  const { state } = useApp();
  // A part of the same trace may stand until the next one is there, but not a trace of another recording.
  return <TraceOf key={get(state, "ref")} />;
}

function TraceOf() {
  const app = useApp();
  const { data, error, waiting } = useAnswer<Lanes>("/api/lanes", asked(app, "lanes"), 25);
  if (error && !data) return <Problem error={error} />;
  if (!data) return <div class="blank" aria-busy="true" />;
  return (
    <div class="with-panel">
      <Picture data={data} waiting={waiting} error={error && !waiting ? <Problem error={error} /> : null} />
      <Details data={data} />
    </div>
  );
}

function Picture({ data, waiting, error }: { data: Lanes; waiting: boolean; error: ComponentChildren }) {
  const { state } = useApp();
  const palette = useContext(PaletteContext);
  const [box, width] = useWidth();
  const gutter = gutters[Number(width < 560)];
  const all: Window = [data.begin_nanos ?? 0, data.trace_nanos];
  const at = get(state, "at");
  const view = useMemo((): Window => {
    const r = at === "" ? undefined : rangeOf(at, { from: all[0], to: all[1] });
    return r ? [Math.max(r[0], all[0]), Math.max(r[0] + 1, Math.min(r[1], all[1]))] : all;
  }, [at, all[0], all[1]]);
  const [cursor, setCursor] = useState(-1);
  const [draft, setDraft] = useState<Window>();
  const drag = useRef<{ x: number; t: number; moved: boolean } | undefined>(undefined);
  const axis: Axis = { from: view[0], to: view[1], left: 0, right: Math.max(1, width - gutter) };
  const length = view[1] - view[0];

  const reach = (w: Window, how: "push" | "replace") => show(w, all, how, !!data.traces?.length);
  const here = cursor >= view[0] && cursor <= view[1] ? cursor : (view[0] + view[1]) / 2;
  const zoom = (factor: number, at = here, how: "push" | "replace" = "push") =>
    reach([at - (at - view[0]) * factor, at + (view[1] - at) * factor], how);
  const pan = (share: number, how: "push" | "replace" = "push") => {
    const by = Math.min(Math.max(share * length, all[0] - view[0]), all[1] - view[1]);
    reach([view[0] + by, view[1] + by], how);
  };
  const timeAt = (e: { clientX: number }) => {
    const r = box.current!.getBoundingClientRect();
    return view[0] + (Math.min(Math.max(0, e.clientX - r.left - gutter), axis.right) / axis.right) * length;
  };
  const move = (steps: number, extend: boolean) => {
    const next = Math.min(Math.max(here + (steps * length) / 100, view[0]), view[1]);
    if (extend) setDraft([draft?.[0] ?? here, next]);
    setCursor(next);
  };
  const chosen = Number(get(state, "ui.g") || 0);
  const row = (by: number) => {
    const i = data.goroutines.findIndex((l) => l.id === chosen);
    const l = data.goroutines[i < 0 ? (by > 0 ? 0 : data.goroutines.length - 1) : Math.min(Math.max(0, i + by), data.goroutines.length - 1)];
    if (l) look(l);
  };
  /** look selects a goroutine at the cursor, or, where it is not there then, at the time closest to it. */
  const look = (l: Lane) => {
    const t = closest(data, l, here);
    select(l.id, t);
    if (t !== here) setCursor(t);
  };
  const keys: Keys = {
    ArrowLeft: (e) => move(-1, e.shiftKey),
    ArrowRight: (e) => move(1, e.shiftKey),
    ArrowDown: () => row(1),
    ArrowUp: () => row(-1),
    "+": () => zoom(0.5),
    "=": () => zoom(0.5),
    "-": () => zoom(2),
    "[": () => pan(-0.5),
    "]": () => pan(0.5),
    Home: () => reach(all, "push"),
    Enter: () => {
      if (draft) apply(draft);
      else if (chosen) select(chosen, cursor);
    },
    Escape: () => (draft ? setDraft(undefined) : reach(all, "push")),
  };
  const apply = (r: Window) => {
    setDraft(undefined);
    reach([Math.min(...r), Math.max(...r)], "push");
  };
  useKeys(keys);

  // Browsers take the wheel for themselves unless they are told before.
  const wheel = useRef<(e: WheelEvent) => void>(() => {});
  wheel.current = (e) => {
    if (e.ctrlKey || e.metaKey) {
      e.preventDefault();
      zoom(Math.exp(Math.min(Math.max(e.deltaY, -60), 60) / 100), timeAt(e), "replace");
    } else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
      e.preventDefault();
      pan((e.deltaX || e.deltaY) / axis.right, "replace");
    }
  };
  useEffect(() => {
    const listen = (e: WheelEvent) => wheel.current(e);
    const el = box.current!;
    el.addEventListener("wheel", listen, { passive: false });
    return () => el.removeEventListener("wheel", listen);
  }, []);

  const paint = (lane: Lane, height: number) => (ctx: CanvasRenderingContext2D) => paintRuns(ctx, data, lane, axis, height, palette);
  const deps = [data, palette, view[0], view[1]];
  const pick = (e: PointerEvent) => {
    const el = (e.target as HTMLElement).closest<HTMLElement>("[data-lane]");
    if (!el) return;
    const t = timeAt(e);
    const i = Number(el.dataset.lane);
    if (el.dataset.group === "goroutines") select(data.goroutines[i].id, t);
    if (el.dataset.group === "requests") {
      const n = requestAt(data, data.requests[i], t);
      if (n) selectRequest(n);
    }
    setCursor(t);
  };
  const span = draft ? [Math.min(...draft), Math.max(...draft)] : undefined;
  const left = (t: number) => `${gutter + xOf(axis, t)}px`;
  const lanes = (title: string, key: keyof typeof heights, list: Lane[], name: (l: Lane) => ComponentChildren, doc?: ComponentChildren) => list.length > 0 && (
    <section class="lane-group" aria-label={`${title} over time`}>
      <h2>{title} {doc && <span class="quiet">{doc}</span>}</h2>
      {list.map((l, i) => (
        <div class={"lane-row" + (key === "goroutines" && l.id === chosen ? " on" : "")} data-group={key} data-lane={i}>
          <span class="lane-name" title={l.name}>{name(l)}</span>
          <Canvas width={axis.right} height={heights[key]} deps={[...deps, l]} paint={paint(l, heights[key])} />
        </div>
      ))}
      {key === "goroutines" && data.wakes.length > 0 && (
        <div class="arrows" style={{ left: gutter + "px" }}>
          <Canvas width={axis.right} height={list.length * (heights.goroutines + 2)} deps={deps} paint={(ctx) => paintWakes(ctx, data, axis, palette)} />
        </div>
      )}
    </section>
  );
  return (
    <div class="main page scrolls lanes" tabIndex={0} role="region" aria-label="Trace" aria-busy={waiting || undefined}>
      <div class="tools">
        <div class="group">
          <span class="moment">in sight <b>{ns(length)}</b> <span class="quiet">{during(view[0], view[1])} of {ns(all[1] - all[0])}</span></span>
          {cursor >= view[0] && cursor <= view[1] && <span class="quiet">at {moment(cursor, length, view[1])}</span>}
          {span && <span>{ns(span[1] - span[0])} chosen <button class="small" onClick={() => apply(span as Window)}>Zoom in <kbd>Enter</kbd></button></span>}
        </div>
        <div class="group">
          <span class="stepper"><button onClick={() => zoom(2)} title="zoom out (-)" aria-label="zoom out">−</button><button onClick={() => zoom(0.5)} title="zoom in (+)" aria-label="zoom in">+</button></span>
          <button class="small" disabled={at === ""} onClick={() => reach(all, "push")}>Whole trace</button>
        </div>
      </div>
      <Legend data={data} palette={palette} />
      {error}
      <div class="lanes-box" ref={box} style={{ "--gutter": gutter + "px" }}
        onPointerDown={(e) => {
          if (e.button !== 0 || e.clientX - box.current!.getBoundingClientRect().left < gutter) return;
          drag.current = { x: e.clientX, t: timeAt(e), moved: false };
        }}
        onPointerMove={(e) => {
          const d = drag.current;
          if (!d) return;
          if (!d.moved && Math.abs(e.clientX - d.x) > 3) {
            d.moved = true;
            box.current!.setPointerCapture(e.pointerId);
          }
          if (d.moved) setDraft([d.t, timeAt(e)]);
        }}
        onPointerUp={(e) => {
          const d = drag.current;
          drag.current = undefined;
          if (!d) return;
          if (d.moved) apply([d.t, timeAt(e)]);
          else pick(e);
        }}
        onPointerCancel={() => { drag.current = undefined; setDraft(undefined); }}>
        <div class="lane-row times"><span class="lane-name" /><Canvas width={axis.right} height={20} deps={deps} paint={(ctx) => paintTimes(ctx, axis, palette)} /></div>
        {lanes("Ps", "processors", data.processors, (l) => l.id)}
        {lanes("Collector", "collector", data.collector, (l) => l.name)}
        {lanes("Requests", "requests", data.requests, () => "", (data.small_requests ?? 0) > 0 && `the longest; ${count(data.small_requests!)} more have no room, zoom in to see them`)}
        <section class="lane-group" aria-label="Goroutines by kind">
          <h2>Goroutines by kind {(data.more_kinds ?? 0) > 0 && <span class="quiet">and {count(data.more_kinds!)} kinds more</span>}</h2>
          {data.kinds.map((k) => (
            <div class="lane-row">
              <span class="lane-name tall">
                <button class="link" title={`${k.started_as}: show only these goroutines below`} onClick={() => go(add(current(), "focus", exactly(k.started_as)))}>{k.started_as}</button>
                <span class="quiet" title="goroutines, and how many there were at a time at most">{count(k.goroutines)}, max {count(k.most)}</span>
              </span>
              <Canvas width={axis.right} height={heights.kinds} deps={[...deps, k]} paint={(ctx) => paintKind(ctx, data, k, axis, heights.kinds, palette)} />
            </div>
          ))}
        </section>
        {lanes("Goroutines", "goroutines", data.goroutines, (l) => <button class="link" tabIndex={-1} onClick={() => look(l)}><b>{l.id}</b> {l.name}</button>, data.goroutines.length < data.of_goroutines && (
          <>the most active {count(data.goroutines.length)} of {count(data.of_goroutines)} <button class="small" onClick={() => go(put(current(), "limit", String(Math.min(1000, 2 * data.goroutines.length))))}>show more</button></>
        ))}
        {cursor >= view[0] && cursor <= view[1] && <div class="cursor" style={{ left: left(cursor) }} />}
        {span && <div class="range" style={{ left: left(span[0]), width: `calc(${left(span[1])} - ${left(span[0])})` }} />}
      </div>
      <p class="quiet hints">drag to zoom in; with <kbd>Ctrl</kbd> the wheel zooms, with <kbd>Shift</kbd> it moves; click a goroutine or a request to see what it waited for</p>
      {data.traces && <p class="quiet of-traces">traces of this recording: {data.traces.map((t, i) => (
        <>{i > 0 && ", "}{t.read ? <b>{spell(t)}</b> : <button class="link" onClick={() => go(put(put(current(), "at", spell(t)), "ui.req", ""))}>{spell(t)}</button>}</>
      ))}</p>}
      <Notes notes={data.notes} />
      <Table data={data} />
    </div>
  );
}

const spell = (t: TraceTime): string => `${t.from_nanos / 1e6}ms..${t.to_nanos / 1e6}ms`;

const colorOf = (p: Palette, state: string): string => p.states[state] ?? p.quiet;

function Legend({ data, palette }: { data: Lanes; palette: Palette }) {
  const there = new Set([...data.mixes.flatMap((m) => m.filter((_, i) => i % 2 === 0)), ...data.kinds.flatMap((k) => k.states)]);
  return (
    <div class="legend">
      {data.states.map((s, i) => there.has(i) && <span><i class="dot" style={{ background: colorOf(palette, s) }} />{s}</span>)}
    </div>
  );
}

/** startOf is where a pixel begins. The first and the last may be cut by what is in sight. */
const startOf = (data: Lanes, px: number): number => Math.min(Math.max(data.first_nanos + px * data.pixel_nanos, data.from_nanos), data.to_nanos);

/** closest returns t if the lane has something there, and else the middle of the run that is closest. */
function closest(data: Lanes, lane: Lane, t: number): number {
  let [best, away] = [t, Infinity];
  let px = 0;
  for (let i = 0; i < lane.at.length; i++) {
    px += lane.at[i];
    const from = startOf(data, px);
    px += lane.width[i];
    const to = startOf(data, px);
    if (from <= t && t < to) return t;
    const d = t < from ? from - t : t - to;
    if (d < away) [best, away] = [(from + to) / 2, d];
  }
  return best;
}

/** paintRuns draws a lane. What is in sight may have moved since the answer came. */
function paintRuns(ctx: CanvasRenderingContext2D, data: Lanes, lane: Lane, axis: Axis, height: number, p: Palette): void {
  ctx.clearRect(0, 0, axis.right, height);
  let px = 0;
  for (let i = 0; i < lane.at.length; i++) {
    px += lane.at[i];
    const x = xOf(axis, startOf(data, px));
    px += lane.width[i];
    const end = xOf(axis, startOf(data, px));
    // What is wide goes on below the edge of what follows: where both have a part of a pixel, the ground would shine through.
    const w = Math.max(0.75, (end - x > 1.5 && !lane.request ? Math.ceil(end) : end) - x - (lane.request ? 0.5 : 0));
    if (x + w < 0 || x > axis.right) continue;
    const mix = data.mixes[lane.mix[i]];
    let y = height;
    for (let k = 0; k < mix.length; k += 2) {
      const h = (height * mix[k + 1]) / 16;
      ctx.fillStyle = colorOf(p, data.states[mix[k]]);
      ctx.fillRect(x, y - h, w, h);
      if (isForced(p)) {
        ctx.strokeStyle = p.text;
        ctx.strokeRect(x + 0.5, y - h + 0.5, w, h - 1);
      }
      y -= h;
    }
    if (lane.request && w > 34 && !isForced(p)) {
      ctx.font = "10px system-ui, sans-serif";
      ctx.textBaseline = "middle";
      ctx.fillStyle = p.text;
      const from = Math.max(x, 0);
      const text = String(lane.request[i]);
      if (ctx.measureText(text).width + 6 < x + w - from) ctx.fillText(text, from + 3, height / 2 + 0.5);
    }
  }
}

function paintKind(ctx: CanvasRenderingContext2D, data: Lanes, k: LaneKind, axis: Axis, height: number, p: Palette): void {
  ctx.clearRect(0, 0, axis.right, height);
  if (k.top === 0) return;
  const top = 3;
  for (let i = 0; i < k.levels[0].length; i++) {
    // On whole pixels of the page, or there would be stripes.
    const x = Math.round(xOf(axis, startOf(data, i * data.stretch_pixels)));
    const w = Math.round(xOf(axis, startOf(data, (i + 1) * data.stretch_pixels))) - x;
    if (x + w < 0 || x > axis.right) continue;
    let y = height;
    k.levels.forEach((l, level) => {
      const h = Math.min(1, l[i] / k.top) * (height - top);
      ctx.fillStyle = colorOf(p, data.states[k.states[level]]);
      ctx.fillRect(x, y - h, w, h);
      y -= h;
    });
  }
}

function paintWakes(ctx: CanvasRenderingContext2D, data: Lanes, axis: Axis, p: Palette): void {
  const pitch = heights.goroutines + 2;
  ctx.clearRect(0, 0, axis.right, data.goroutines.length * pitch);
  ctx.strokeStyle = ctx.fillStyle = p.text === "CanvasText" ? p.text : p.quiet;
  ctx.lineWidth = 0.8;
  for (const w of data.wakes) {
    const x = xOf(axis, w.at_nanos);
    if (x < 0 || x > axis.right) continue;
    const from = w.from * pitch + pitch / 2;
    const to = w.to * pitch + pitch / 2 + (w.to > w.from ? -3 : 3);
    ctx.beginPath();
    ctx.moveTo(x, from);
    ctx.lineTo(x, to);
    ctx.stroke();
    ctx.beginPath();
    ctx.moveTo(x, to + (w.to > w.from ? 3 : -3));
    ctx.lineTo(x - 2.5, to);
    ctx.lineTo(x + 2.5, to);
    ctx.fill();
  }
}

/** requestAt returns the number of the request of a lane at a time. */
function requestAt(data: Lanes, lane: Lane, t: number): number {
  const px = (t - data.first_nanos) / data.pixel_nanos;
  let at = 0;
  for (let i = 0; i < lane.at.length; i++) {
    at += lane.at[i];
    if (px >= at - 1 && px < at + lane.width[i] + 1) return lane.request?.[i] ?? 0;
    at += lane.width[i];
  }
  return 0;
}

/** Table is what the areas show, for those who cannot see them or want the numbers. */
function Table({ data }: { data: Lanes }) {
  if (data.kinds.length === 0) return null;
  const mean = (v: number | undefined) => (v ? number(v) : "");
  const states = data.states.map((_, i) => i).filter((i) => data.kinds.some((k) => k.states.includes(i)));
  return (
    <section class="card">
      <h2>Goroutines in sight, on average</h2>
      <div class="values" tabIndex={0} role="region" aria-label="Goroutines in sight, on average">
        <table class="plain">
          <thead><tr><th scope="col" class="num">goroutines</th>{states.map((i) => <th scope="col" class="num">{data.states[i]}</th>)}<th scope="col">started as</th></tr></thead>
          <tbody>
            {data.kinds.map((k) => (
              <tr key={k.started_as}><td class="num">{count(k.goroutines)}</td>{states.map((i) => <td class="num">{k.states.includes(i) && mean(k.means[k.states.indexOf(i)])}</td>)}<td><code>{k.started_as}</code></td></tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** Details is what is known of what was clicked. */
function Details({ data }: { data: Lanes }) {
  const { state } = useApp();
  const request = get(state, "ui.req");
  const goroutine = get(state, "ui.g");
  return (
    <aside class="panel story" aria-label="Details">
      {request !== "" ? <Request number={request} within={data} /> : goroutine !== "" ? <Goroutine id={goroutine} at={Number(get(state, "ui.t") || data.from_nanos)} />
        : (
          <>
            <p class="quiet">Click a goroutine or a request to see what it did and what it waited for.</p>
            <RequestsInSight />
          </>
        )}
    </aside>
  );
}

function Goroutine({ id, at }: { id: string; at: number }) {
  const app = useApp();
  const palette = useContext(PaletteContext);
  const t = Math.max(0, Math.round(at));
  const { data, error, waiting } = useAnswer<GoroutineStory>("/api/goroutine", asked(app, "goroutine", ["arg", id], ["at", `${t}ns..${t + 1}ns`]));
  if (error && !waiting) return <p class="quiet">{error.message}</p>;
  if (!data || String(data.goroutine) !== id) return <p class="quiet">…</p>;
  return (
    <>
      <h2>goroutine {id}</h2>
      <p class="name">{data.started_as}</p>
      {data.created_in && <p class="quiet">created in {data.created_in}{data.creator ? <> by <GoroutineLink id={data.creator} at={data.from_nanos} /></> : null}</p>}
      {data.spans.map((s) => (
        <section>
          <h3><i class="dot" style={{ background: colorOf(palette, s.state) }} />{s.state} for {ns(s.took_nanos)}{s.begun_before && ", or longer"}{s.still_so && ", and still so at the end"}</h3>
          <p class="quiet">from {moment(s.at_nanos, s.took_nanos)} on</p>
          <Stack calls={s.stack} />
          {s.ended_by && (
            <>
              <p>ended by {s.waker ? <><GoroutineLink id={s.waker} at={s.at_nanos + s.took_nanos} /> in</> : "the"} <b>{s.ended_by}</b></p>
              {s.waker && <Stack calls={s.waker_stack} />}
            </>
          )}
        </section>
      ))}
      <RequestLinks list={data.requests} />
    </>
  );
}

function GoroutineLink({ id, at }: { id: number; at: number }) {
  return <button class="link accent" onClick={() => select(id, at)}>goroutine {id}</button>;
}

function RequestLinks({ list }: { list?: RequestLine[] | null | undefined }) {
  if (!list?.length) return null;
  return (
    <section>
      <h3>request{list.length > 1 && "s"} that it answered then</h3>
      <ul>{list.map((r) => <li><button class="link accent" onClick={() => selectRequest(r.number)}>{r.number}</button> {ns(r.took_nanos)} <span class="quiet">{r.handler}</span></li>)}</ul>
    </section>
  );
}

function Stack({ calls }: { calls?: StackCall[] | null | undefined }) {
  if (!calls?.length) return <p class="quiet">no stack is known</p>;
  return <ol class="stack">{calls.map((c) => <li title={c.file}><code>{c.function}</code> <span class="quiet">{c.file.replace(/^.*\//, "")}:{c.line}</span></li>)}</ol>;
}

/** ofTrace is a moment of the trace in sight, where a recording has several. */
const ofTrace = (data: Lanes): string => (data.traces ? Math.round((data.from_nanos + data.to_nanos) / 2) + "ns" : "");

function Request({ number, within }: { number: string; within: Lanes }) {
  const app = useApp();
  const palette = useContext(PaletteContext);
  const { data, error, waiting } = useAnswer<RequestPath>("/api/request", asked(app, "request", ["arg", number], ["at", ofTrace(within)]));
  if (error && !waiting) return <p class="quiet">{error.message}</p>;
  if (!data || String(data.number) !== number) return <p class="quiet">…</p>;
  const end = data.at_nanos + data.took_nanos;
  return (
    <>
      <h2>request {number}</h2>
      <p class="name">{data.handler || "(no handler seen)"}</p>
      <p>took <b>{ns(data.took_nanos)}</b>, {percent(data.most_nanos, data.took_nanos)} of it {data.most}; answered by <GoroutineLink id={data.goroutine} at={data.at_nanos} />
        {" "}<button class="small" onClick={() => show([data.at_nanos - data.took_nanos / 10, end + data.took_nanos / 10], [0, Number.MAX_SAFE_INTEGER], "push")}>Zoom to it</button></p>
      <h3>critical path{data.segments.length < data.of && `: the longest ${count(data.segments.length)} of ${count(data.of)} parts`}</h3>
      <ol class="path">
        {data.segments.map((s) => (
          <li style={{ marginLeft: Math.min(s.depth, 4) * 10 + "px" }}>
            <button class="link" onClick={() => select(s.goroutine, data.at_nanos + s.at_nanos + s.took_nanos / 2)} title={`goroutine ${s.goroutine}, ${s.started_as}`}>
              <i class="dot" style={{ background: colorOf(palette, s.what) }} /><span class="num">{ns(s.took_nanos)}</span> <Bar part={s.took_nanos} whole={data.took_nanos} /> {s.what}
              <span class="quiet"> {s.depth > 0 && <>in {s.started_as || "goroutine " + s.goroutine} </>}</span>
              <code>{s.function}</code>
            </button>
          </li>
        ))}
      </ol>
    </>
  );
}
