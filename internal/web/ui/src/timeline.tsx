// How a run went over time: charts with one cursor, on which a part of the time is chosen that all other views then answer
// for; and the same as a strip above them.

import { ComponentChildren } from "preact";
import { useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { GC, GCCycle, TimeEvent, TimePoint, Timeline, Top } from "./api";
import { Axis, Lane, Line, during, paintLane, paintTimes, queryOf, rangeOf, ready, span } from "./chart";
import { Palette } from "./colors";
import { asked, profiled, shows, timed, useAnswer, useApp } from "./data";
import { count, busyCores, value } from "./format";
import { Keys, useKeys } from "./keys";
import { Rows } from "./overview";
import { Link, Message, Notes, Problem, amountOf } from "./parts";
import { state as current, get, go, href, put, to } from "./state";
import { PaletteContext } from "./theme";

const mostCycles = "3000";
const gutter = 62; // for the scale
const tableRows = 20;
const ledUp = 10e9; // nanoseconds before trouble

/** A Run is what is known about the time of a recording. */
interface Run {
  points: TimePoint[];
  events: TimeEvent[];
  cycles: GCCycle[];
  cut: number; // before when cycles are left out
  axis: { from: number; to: number };
  cpus: number;
  quota: number; // cores that the control group may use; 0 is no limit
}

function useRun() {
  const app = useApp();
  const has = timed(app);
  const gcLogged = has && shows(app, "gc");
  const times = useAnswer<Timeline>(has ? "/api/timeline" : "", asked(app, "timeline", ["at", ""]));
  const gc = useAnswer<GC>(gcLogged ? "/api/gc" : "", asked(app, "gc", ["at", ""], ["limit", mostCycles]));
  const run = useMemo((): Run | undefined => {
    const points = times.data?.points ?? [];
    if (points.length === 0) return undefined;
    const from = points[0].at_ns;
    const cycles = (gc.data?.cycles ?? []).filter((c) => c.start_nanos > 0); // old logs do not say when
    const cut = gc.data && gc.data.shown < gc.data.of ? (cycles[0]?.start_nanos ?? 0) : 0;
    return { points, events: times.data?.events ?? [], cycles, cut, axis: { from, to: Math.max(from + 1e6, points[points.length - 1].at_ns) }, cpus: times.data?.cpus ?? 0, quota: times.data?.cpu_quota ?? 0 };
  }, [times.data, gc.data]);
  const notes = [...(times.data?.notes ?? [])];
  if (run?.cut) notes.push(`only the last ${count(gc.data!.shown)} of ${count(gc.data!.of)} collections are here; hone gc lists all of them`);
  return { run, notes, error: times.waiting ? undefined : times.error };
}

/** nearest returns the point that is nearest to a time. */
function nearest(points: TimePoint[], t: number): number {
  let lo = 0;
  let hi = points.length - 1;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (points[mid].at_ns < t) lo = mid + 1;
    else hi = mid;
  }
  return lo > 0 && t - points[lo - 1].at_ns < points[lo].at_ns - t ? lo - 1 : lo;
}

/** useBrush is the cursor, and the part of the time that is chosen or being chosen. */
function useBrush(run: Run | undefined) {
  const { state, api } = useApp();
  const [hover, setHover] = useState(-1);
  // Keys may come faster than the page is made anew, so what they start from is here and not in what was drawn last.
  const now = useRef<{ cursor: number; draft: [number, number] | undefined }>({ cursor: -1, draft: undefined });
  const [{ cursor, draft }, draw] = useState(now.current);
  const change = (to: Partial<typeof now.current>) => draw((now.current = { ...now.current, ...to }));
  const setCursor = (cursor: number) => change({ cursor });
  // A saved page has answers about the whole run only.
  const setDraft = (draft: [number, number] | undefined) => change({ draft: api.embedded ? undefined : draft });
  useEffect(() => {
    change({ cursor: -1, draft: undefined });
    setHover(-1);
  }, [run?.points]);
  const at = get(state, "at");
  const applied = run && at !== "" ? rangeOf(at, run.axis) : undefined;
  const set = (v: string) => {
    setDraft(undefined);
    go(put(put(current(), "at", v), "root", ""));
  };
  const apply = (r = now.current.draft) => { if (r && run) set(queryOf(r[0], r[1], run.axis)); };
  const clear = () => {
    if (now.current.draft) setDraft(undefined);
    else if (get(current(), "at") !== "") set("");
    else setCursor(-1);
  };
  const move = (i: number, extend: boolean) => {
    if (!run) return;
    const last = run.points.length - 1;
    const { cursor, draft } = now.current;
    const was = cursor < 0 ? (i < 0 ? last : 0) : cursor;
    const next = Math.min(Math.max(cursor < 0 && Number.isFinite(i) ? was : was + i, 0), last);
    change({ cursor: next, draft: extend && !api.embedded ? [draft?.[0] ?? run.points[was].at_ns, run.points[next].at_ns] : draft });
    setHover(-1);
  };
  const step = Math.max(1, Math.round((run?.points.length ?? 0) / 200));
  const keys: Keys = {
    ArrowLeft: (e) => move(-step, e.shiftKey),
    ArrowRight: (e) => move(step, e.shiftKey),
    Home: (e) => move(-Infinity, e.shiftKey),
    End: (e) => move(Infinity, e.shiftKey),
    Enter: () => apply(),
    Escape: clear,
  };
  return { at, cursor: hover < 0 ? cursor : hover, setCursor, setHover, draft, setDraft, applied, range: draft ?? applied, apply, clear, keys };
}

type Brush = ReturnType<typeof useBrush>;

/** Plot lies over charts: it shows the cursor and the range, and takes the pointer and keys. */
function Plot({ run, brush, left, text }: { run: Run; brush: Brush; left: number; text: string }) {
  const { api } = useApp();
  const box = useRef<HTMLDivElement>(null);
  const drag = useRef<{ from: number; x: number; moved: boolean } | undefined>(undefined);
  const { from, to: end } = run.axis;
  const share = (t: number) => Math.min(Math.max((t - from) / (end - from), 0), 1) * 100 + "%";
  const timeAt = (e: PointerEvent) => {
    const b = box.current!.getBoundingClientRect();
    return from + Math.min(Math.max((e.clientX - b.left) / b.width, 0), 1) * (end - from);
  };
  const grab = 6; // pixels around the end of a range by which it is taken
  const range = brush.range && [...brush.range].sort((a, b) => a - b);
  return (
    <div class="plot" ref={box} style={{ left: left + "px" }} role="slider" tabIndex={0} aria-label="Time" aria-orientation="horizontal"
      aria-valuemin={Math.round(from / 1e6)} aria-valuemax={Math.round(end / 1e6)}
      aria-valuenow={Math.round((run.points[brush.cursor]?.at_ns ?? from) / 1e6)} aria-valuetext={text}
      onPointerDown={(e) => {
        if (e.button !== 0) return;
        e.currentTarget.setPointerCapture(e.pointerId);
        const t = timeAt(e);
        const wide = ((end - from) / box.current!.clientWidth) * grab;
        const held = brush.applied?.find((edge) => Math.abs(edge - t) < wide);
        const other = held === undefined ? undefined : brush.applied!.find((edge) => edge !== held);
        drag.current = { from: other ?? t, x: e.clientX, moved: false };
      }}
      onPointerMove={(e) => {
        const t = timeAt(e);
        brush.setHover(nearest(run.points, t));
        const d = drag.current;
        if (!d) return;
        d.moved ||= Math.abs(e.clientX - d.x) > 3;
        if (d.moved) brush.setDraft([d.from, t]);
      }}
      onPointerUp={(e) => {
        const d = drag.current;
        drag.current = undefined;
        if (!d) return;
        if (d.moved && !api.embedded) brush.apply([d.from, timeAt(e)]);
        else brush.setCursor(nearest(run.points, timeAt(e)));
      }}
      onPointerCancel={() => { drag.current = undefined; brush.setDraft(undefined); }}
      onPointerLeave={() => brush.setHover(-1)}
      onDblClick={brush.clear}
      onKeyDown={(e) => {
        const f = Object.hasOwn(brush.keys, e.key) ? brush.keys[e.key] : undefined;
        if (!f || e.ctrlKey || e.metaKey || e.altKey) return;
        e.preventDefault();
        f(e);
      }}>
      {range && (
        <>
          <div class="outside" style={{ left: "0", width: share(range[0]) }} />
          <div class="range" style={{ left: share(range[0]), width: `calc(${share(range[1])} - ${share(range[0])})` }} />
          <div class="outside" style={{ left: share(range[1]), right: "0" }} />
        </>
      )}
      {run.events.map((e) => <div class="event" style={{ left: share(e.at_ns) }} />)}
      {brush.cursor >= 0 && <div class="cursor" style={{ left: share(run.points[brush.cursor].at_ns) }} />}
    </div>
  );
}

/** useWidth returns how wide an element is. */
export function useWidth() {
  const ref = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    setWidth(ref.current!.clientWidth);
    const observer = new ResizeObserver(() => setWidth(ref.current!.clientWidth));
    observer.observe(ref.current!);
    return () => observer.disconnect();
  }, []);
  return [ref, width] as const;
}

export function Canvas({ height, width, paint, deps }: { height: number; width: number; paint: (ctx: CanvasRenderingContext2D) => void; deps: unknown[] }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const ctx = width > 0 && ready(canvas.current!, width, height);
    if (ctx) paint(ctx);
  }, [width, height, ...deps]);
  return <canvas ref={canvas} aria-hidden="true" style={{ width: width + "px", height: height + "px" }} />;
}

const bytes = (v: number) => value(Math.round(v), "bytes");

type Gauge = "rss" | "heap" | "goal" | "goroutines" | "threads";

/** rateLine draws what is known of the time between two points. */
function rateLine(run: Run, key: "cpus" | "gc_cpus", name: string, color: string): Line {
  const points: Line["points"] = [];
  run.points.forEach((p, i) => {
    if (i > 0) points.push([run.points[i - 1].at_ns, p[key] ?? 0], [p.at_ns, p[key] ?? 0]);
  });
  return { name, color, draw: "area", points, print: busyCores };
}

// None of these can be 0: that is a gap.
function gaugeLine(run: Run, key: Gauge, name: string, color: string, draw: Line["draw"], print: Line["print"]): Line {
  return { name, color, draw, points: run.points.map((p) => [p.at_ns, p[key] || NaN]), print };
}

const known = (l: Line) => l.points.some(([, v]) => v > 0);

function lanesOf(run: Run, p: Palette): Lane[] {
  const all: Lane[] = [
    { title: "Cores", unit: "", height: 92, rates: true, lines: [rateLine(run, "cpus", "busy", p.lines.busy), rateLine(run, "gc_cpus", "GC", p.lines.gc)] },
    {
      title: "Memory", unit: "bytes", height: 132, lines: [
        gaugeLine(run, "rss", "resident", p.lines.rss, "area", bytes), gaugeLine(run, "heap", "heap", p.lines.heap, "area", bytes),
        gaugeLine(run, "goal", "GC goal", p.lines.goal, "dash", bytes),
      ],
    },
    {
      title: "Collections", unit: "nanoseconds", height: 56,
      lines: [{ name: "stopped", color: p.lines.gc, draw: "bars", points: run.cycles.map((c) => [c.start_nanos, c.stopped_nanos, c.start_nanos + c.wall_nanos]), print: (v) => value(v, "nanoseconds") }],
    },
    { title: "Goroutines", unit: "count", height: 64, lines: [gaugeLine(run, "goroutines", "goroutines", p.lines.goroutines, "area", count)] },
    { title: "Threads", unit: "count", height: 48, lines: [gaugeLine(run, "threads", "threads", p.lines.threads, "area", count)] },
  ];
  return all.map((l) => ({ ...l, lines: l.lines.filter(known) })).filter((l) => l.lines.length > 0);
}

/** within returns the points of a range. */
function within(run: Run, range: readonly number[] | undefined): TimePoint[] {
  if (!range) return run.points;
  const [a, b] = [Math.min(range[0], range[1]), Math.max(range[0], range[1])];
  return run.points.filter((p) => p.at_ns >= a && p.at_ns <= b);
}

/** meanOf returns the mean of a rate over a range, or NaN if nothing was measured in it. An interval between two points counts for as long as it overlaps. */
function meanOf(points: TimePoint[], key: keyof TimePoint, a: number, b: number): number {
  let sum = 0;
  let time = 0;
  for (let i = 1; i < points.length; i++) {
    const overlap = Math.min(points[i].at_ns, b) - Math.max(points[i - 1].at_ns, a);
    if (overlap <= 0) continue;
    sum += (points[i][key] ?? 0) * overlap;
    time += overlap;
  }
  return sum / time;
}

/** mostOf returns the largest value of a gauge in a range, or NaN if it is not known. At the edges it is what the chart draws there: a line between two points. */
function mostOf(points: TimePoint[], key: keyof TimePoint, a: number, b: number): number {
  let most = 0; // which is a gap
  const take = (v: number) => { if (v > most) most = v; };
  const at = (i: number) => points[i][key] || NaN;
  for (let i = 0; i < points.length; i++) {
    const t = points[i].at_ns;
    if (t >= a && t <= b) take(at(i));
    if (i === 0) continue;
    const before = points[i - 1].at_ns;
    for (const edge of [a, b]) {
      if (edge > before && edge < t) take(at(i - 1) + ((at(i) - at(i - 1)) * (edge - before)) / (t - before));
    }
  }
  return most || NaN;
}

const fields: [title: string, key: keyof TimePoint, print: (v: number) => string, rate?: boolean][] = [
  ["busy", "cpus", busyCores, true],
  ["GC", "gc_cpus", busyCores, true],
  ["resident", "rss", bytes],
  ["heap", "heap", bytes],
  ["GC goal", "goal", bytes],
  ["goroutines", "goroutines", (v) => count(Math.round(v))],
  ["threads", "threads", (v) => count(Math.round(v))],
];

/** readings returns what the charts say at the cursor, or else in sum of a range: the mean of cores, the most of others. */
function readings(run: Run, brush: Brush): { when: string; values: Map<string, string> } {
  const values = new Map<string, string>();
  const p = run.points[brush.cursor];
  if (p) {
    for (const [name, key, print, rate] of fields) values.set(name, p[key] === undefined && !rate ? "–" : print(p[key] ?? 0));
    const before = run.points[brush.cursor - 1]?.at_ns ?? p.at_ns;
    const after = run.points[brush.cursor + 1]?.at_ns ?? p.at_ns;
    const near = run.cycles.filter((c) => c.start_nanos + c.wall_nanos >= (before + p.at_ns) / 2 && c.start_nanos < (p.at_ns + after) / 2);
    values.set("stopped", near.length === 0 ? (p.at_ns < run.cut ? "–" : "none") : several(near));
    return { when: span(Math.round(p.at_ns / 1e6) * 1e6), values };
  }
  const [a, b] = brush.range ? [...brush.range].sort((x, y) => x - y) : [run.axis.from, run.axis.to];
  for (const [name, key, print, rate] of fields) {
    const v = rate ? meanOf(run.points, key, a, b) : mostOf(run.points, key, a, b);
    values.set(name, Number.isNaN(v) ? "–" : (rate ? "mean " : "max ") + print(v));
  }
  const round = (t: number) => span(Math.round(t / 1e6) * 1e6);
  const cycles = run.cycles.filter((c) => c.start_nanos >= a && c.start_nanos <= b);
  values.set("stopped", (cycles.length === 0 ? "none" : several(cycles)) + (a < run.cut ? `; those before ${round(run.cut)} are left out` : ""));
  return { when: brush.range ? during(a, b) : `all ${round(b - a)}`, values };
}

const cycle = (c: GCCycle) => `gc ${c.gc}: stopped the world for ${value(c.stopped_nanos, "nanoseconds")}, heap ${bytes(c.end_bytes)} → ${bytes(c.live_bytes)}`;
const several = (list: GCCycle[]) => list.length === 1 ? cycle(list[0]) : `${count(list.length)}, each stopped the world for at most ${value(Math.max(...list.map((c) => c.stopped_nanos)), "nanoseconds")}`;

/** TimelineView is the charts, and what ran in the time that is chosen. */
export function TimelineView() {
  const app = useApp();
  const { run, notes, error } = useRun();
  const brush = useBrush(run);
  useKeys(run ? brush.keys : {});
  if (!timed(app)) {
    return (
      <Message title="This recording has no metrics over time">
        <p><code>hone record ./cmd/server</code> makes a recording with a timeline: cores, memory and goroutines.</p>
      </Message>
    );
  }
  if (error) return <Problem error={error} />;
  if (!run) return <div class="blank" aria-busy="true" />;
  return (
    <div class="main page scrolls timeline" tabIndex={0} role="region" aria-label="Timeline">
      <Charts run={run} brush={brush} />
      <Notes notes={notes} />
      <div class="cards">
        <Ran />
        <Trouble run={run} />
        <Values run={run} brush={brush} />
      </div>
    </div>
  );
}

function Charts({ run, brush }: { run: Run; brush: Brush }) {
  const { state, api } = useApp();
  const palette = useContext(PaletteContext);
  const [box, width] = useWidth();
  const lanes = useMemo(() => lanesOf(run, palette), [run, palette]);
  const { when, values } = readings(run, brush);
  const chosen = brush.cursor >= 0 && brush.draft ? readings(run, { ...brush, cursor: -1 }).when : "";
  const axis: Axis = { ...run.axis, left: gutter, right: width };
  const text = `${when}${chosen && `, ${chosen} chosen`}: ${lanes.flatMap((l) => l.lines.map((s) => `${s.name} ${values.get(s.name)}`)).join(", ")}`;
  return (
    <>
      <div class="tools when">
        <div class="group">
          <span class="moment">{brush.cursor >= 0 ? "at" : brush.draft ? "choosing" : brush.applied ? "time" : ""} <b>{when}</b></span>
          {chosen && <span>{chosen} chosen</span>}
          {!chosen && run.cpus > 0 && <span class="quiet">{run.cpus === 1 ? "one core" : run.cpus + " cores"}{run.quota > 0 && `, limited to ${busyCores(run.quota)} cores`}</span>}
        </div>
        <div class="group">
          {brush.draft && <button onClick={() => brush.apply()}>Apply <kbd>Enter</kbd></button>}
          {brush.at !== "" && <Link to={to(state, "flame")} href={href(to(state, "flame"))}>Flame graph of this time</Link>}
          {brush.at !== "" && <button class="small" onClick={brush.clear}>Whole run</button>}
          {brush.at === "" && !api.embedded && <span class="quiet">drag to select a time range; all views then show only that range</span>}
        </div>
      </div>
      <div class="charts" ref={box}>
        {lanes.map((l) => (
          <div class="lane" key={l.title}>
            <div class="lane-head">
              <h2>{l.title}</h2>
              {l.lines.map((s) => <span class="series"><Swatch line={s} />{l.lines.length > 1 && s.name} <b class="num">{values.get(s.name)}</b></span>)}
            </div>
            <Canvas width={width} height={l.height} deps={[l]} paint={(ctx) => paintLane(ctx, l, axis, palette)} />
          </div>
        ))}
        <Canvas width={width} height={20} deps={[run, palette]} paint={(ctx) => paintTimes(ctx, axis, palette)} />
        <Plot run={run} brush={brush} left={gutter} text={text} />
      </div>
    </>
  );
}

export function Swatch({ line }: { line: Line }) {
  return <i class={"swatch " + line.draw} aria-hidden="true" style={{ borderColor: line.color, background: line.draw === "dash" ? "none" : line.color }} />;
}

/** Trouble is what was looked out for, and the time that led up to each. */
function Trouble({ run }: { run: Run }): ComponentChildren {
  const { state, api } = useApp();
  if (run.events.length === 0) return null;
  const before = (e: TimeEvent) => put(put(state, "at", queryOf(Math.max(run.axis.from, e.at_ns - ledUp), e.at_ns, run.axis)), "root", "");
  return (
    <section class="card">
      <h2>Trouble</h2>
      <p class="quiet">profiles were taken at once{!api.embedded && "; choose one to see the time that led up to it"}</p>
      <ul class="next">
        {run.events.map((e) => (
          <li>{api.embedded ? <b>{span(Math.round(e.at_ns / 1e6) * 1e6)}</b> : <Link to={before(e)} href={href(before(e))}>{span(Math.round(e.at_ns / 1e6) * 1e6)}</Link>} <span class="quiet">{e.text}</span></li>
        ))}
      </ul>
    </section>
  );
}

/** Ran is what cost most in the time that is chosen. */
function Ran() {
  const app = useApp();
  return profiled(app) ? <Ranking /> : null;
}

function Ranking() {
  const app = useApp();
  const at = get(app.state, "at");
  const { data, error, waiting } = useAnswer<Top>("/api/top", asked(app, "top", ["sort", "flat"], ["limit", "10"]));
  if (error && !waiting) return <section class="card"><Problem error={error} /></section>;
  if (!data) return <section class="card" aria-busy="true" />;
  const rows = <Rows title={`${amountOf(data)} ${data.metric} in ${at === "" ? "all of the run" : "this time"}`} doc="flat: what functions cost without what they call" top={data} of={(r) => r.flat} more={to(app.state, "top")} />;
  return at === "" ? rows : <div class="ran">{rows}<Notes notes={data.notes} /></div>;
}

/** Values are some of the points as a table, for those who cannot see the charts or want the numbers. */
function Values({ run, brush }: { run: Run; brush: Brush }): ComponentChildren {
  const points = within(run, brush.applied);
  const n = Math.min(points.length, tableRows);
  const rows = Array.from({ length: n }, (_, i) => points[Math.floor(((i + 1) * points.length) / n) - 1]);
  const columns = fields.filter(([, key]) => run.points.some((p) => p[key]));
  return (
    <section class="card">
      <h2>Values</h2>
      {n === 0 ? <p class="quiet">no measurement lies within this time; the charts join those before and after it</p> : (
        <div class="values" tabIndex={0} role="region" aria-label="Values">
          <table class="plain">
            <thead><tr><th scope="col" class="num">at</th>{columns.map(([name]) => <th scope="col" class="num">{name}</th>)}</tr></thead>
            <tbody>
              {rows.map((p) => (
                <tr key={p.at_ns}>
                  <td class="num">{span(Math.round(p.at_ns / 1e6) * 1e6)}</td>
                  {columns.map(([, key, print, rate]) => <td class="num">{p[key] === undefined && !rate ? "–" : print(p[key] ?? 0)}</td>)}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

/** Strip is cores and memory over time, above every other view. */
export function Strip() {
  const { state } = useApp();
  const palette = useContext(PaletteContext);
  const { run } = useRun();
  const brush = useBrush(run);
  const [box, width] = useWidth();
  const lane = useMemo((): Lane | undefined => {
    if (!run) return undefined;
    const rss = gaugeLine(run, "rss", "resident", palette.lines.rss, "line", bytes);
    rss.max = Math.max(...run.points.map((p) => p.rss ?? 0));
    return { title: "", unit: "", height: 34, lines: [rateLine(run, "cpus", "busy", palette.lines.busy), rateLine(run, "gc_cpus", "GC", palette.lines.gc), rss].filter(known) };
  }, [run, palette]);
  const said = run && readings(run, brush);
  const text = said ? `${said.when}: ${lane!.lines.map((l) => `${l.name} ${said.values.get(l.name)}`).join(", ")}` : "";
  return (
    <div class="strip" role="region" aria-label="Time">
      <Link to={to(state, "timeline")} href={href(to(state, "timeline"))} title="the timeline (0)">time</Link>
      <div class="charts" ref={box}>
        {run && lane && (
          <>
            <Canvas width={width} height={34} deps={[lane]} paint={(ctx) => paintLane(ctx, lane, { ...run.axis, left: 0, right: width }, palette)} />
            <Plot run={run} brush={brush} left={0} text={text} />
          </>
        )}
      </div>
      <span class="said wide" title={text}>{said && <><b>{said.when}</b> · {lane!.lines.map((l) => <span class="series"><Swatch line={l} />{l.name} {said.values.get(l.name)} </span>)}</>}</span>
    </div>
  );
}
