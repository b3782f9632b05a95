// A service over time: what it costs, by labels, with what happened to it; and the ways to every view of what is chosen here.

import { ComponentChildren } from "preact";
import { useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { FleetEvent, FleetGraph, FleetMeasure, GraphLine, Top } from "./api";
import { ready, ticks } from "./chart";
import { Palette, isForced } from "./colors";
import { useAnswer, useApp } from "./data";
import { titleOf, useEvents, waysOf } from "./events";
import { about, amount, between, clockTicks, exact, long, parts, refOf, select, selectorOf, when } from "./fleet";
import { count, percent, value } from "./format";
import { Keys, useKeys } from "./keys";
import { Rows } from "./overview";
import { Link, Message, Problem } from "./parts";
import { LabelExplorer } from "./selection";
import { Pair, State, get, go, href, put, state as latest, to } from "./state";
import { PaletteContext } from "./theme";
import { useWidth } from "./timeline";

/** measured is which measure to ask for: the one chosen here, or else what is nearest to the metric of the other views. */
export function measured(s: State): Pair[] {
  return [["of", get(s, "ui.of")], ["metric", get(s, "metric")]];
}

/** Measures are buttons that choose one. */
export function Measures({ all, now }: { all: FleetMeasure[]; now: string }) {
  // Most are a metric of the other views, too. What profiles do not count, such as requests, is chosen for this view alone.
  const choose = (m: FleetMeasure) => go(put(m.metric ? put(put(latest(), "metric", m.metric), "ui.of", "") : put(latest(), "ui.of", m.name), "root", ""));
  return (
    <span class="group" role="group" aria-label="Measure">
      {all.map((m) => <button class={"toggle" + (m.name === now ? " on" : "")} aria-pressed={m.name === now} onClick={() => choose(m)}>{m.doc}</button>)}
    </span>
  );
}

export function ServiceView() {
  const { state } = useApp();
  const ref = get(state, "ref");
  const by = get(state, "ui.by");
  const { data, error, waiting } = useAnswer<FleetGraph>(ref && "/api/v1/fleet/graph", [["ref", ref], ...measured(state), ...(by ? [["by", by] as [string, string]] : [])]);
  const events = useEvents(data?.selection.service ?? "", data?.selection.from_ms ?? 0, data?.selection.to_ms ?? 0);
  if (ref === "") return <Message title="No service is chosen"><p>Choose one under <a href="/services">Services</a>.</p></Message>;
  if (error && !waiting) return <Problem error={error} />;
  if (!data) return <div class="blank" aria-busy="true" />;
  const of = data.selection;
  if (data.lines.length === 0 && data.profiles > 0) {
    return (
      <Message title="These profiles do not say what the service costs over time">
        <p>{count(data.profiles)} {data.profiles === 1 ? "profile" : "profiles"} of {of.selector} from {between(of.from_ms, of.to_ms)}. They have no duration, or count something other than CPU time, bytes and goroutines.</p>
        <Ways state={state} />
      </Message>
    );
  }
  if (data.lines.length === 0) {
    return (
      <Message title={`There are no profiles of ${of.selector} from ${between(of.from_ms, of.to_ms)}`}>
        <p>{data.any ? "Choose a longer time range above, or remove a label with its ×." : "Nothing has sent a profile yet: the page of services says how."}</p>
        {data.any && <p><button onClick={() => go(select(latest(), "ref", refOf(of.selector, "-30d")))}>Show the last 30 days</button></p>}
      </Message>
    );
  }
  const stacked = get(state, "ui.stack") !== "no";
  const time = parts(ref)[1];
  return (
    <div class="main page scrolls fleet" tabIndex={0} role="region" aria-label="Service">
      <div class="tools">
        <Measures all={data.measures} now={data.of} />
        <div class="group">
          <label class="choice"><span>by</span>
            <select value={by} onChange={(e) => go(put(latest(), "ui.by", e.currentTarget.value))}>
              <option value="">all together</option>
              {data.labels.map((l) => <option value={l} selected={l === by}>{l}</option>)}
              {by !== "" && !data.labels.includes(by) && <option value={by} selected>{by}</option>}
            </select>
          </label>
          {by !== "" && <button class={"toggle" + (stacked ? " on" : "")} aria-pressed={stacked} onClick={() => go(put(latest(), "ui.stack", stacked ? "no" : ""))}>stacked</button>}
          <span class="quiet">{count(data.profiles)} {data.profiles === 1 ? "profile" : "profiles"}, one point every {long(data.step_ms)}</span>
        </div>
      </div>
      <Graph data={data} stacked={by !== "" && stacked} events={events.list} />
      <div class="cards">
        <section class="card">
          <h2>All views of this selection</h2>
          <Ways state={state} />
          <h3>On the command line</h3>
          <p><code class="command">hone top '{ref}'</code></p>
          <p><code class="command">hone advise '{ref}' --source .</code></p>
        </section>
        <Hottest refText={ref} metric={data.measures.find((m) => m.name === data.of)?.metric ?? ""} />
        <section class="card">
          <h2>Labels</h2>
          <p class="quiet">the share of each value in {of.service || of.selector}; click a value to see only its profiles</p>
          <LabelExplorer of={ref} measure={data.of} onPick={(s) => go(select(latest(), "ref", refOf(s, time)))} />
        </section>
        <Happened data={data} events={events.list} />
        <Values data={data} />
      </div>
    </div>
  );
}

const ways: [view: string, title: string, doc: string][] = [
  ["flame", "Flame graph", "where the cost comes from, call by call"],
  ["top", "Top", "functions by what they cost"],
  ["sandwich", "Callers", "who asks for the work of a function"],
  ["source", "Source", "the lines that cost most"],
  ["graph", "Graph", "calls as boxes and arrows"],
  ["tags", "Tags", "which requests it is for"],
  ["traces", "Traces", "stacks one by one"],
  ["overview", "Overview", "all metrics at a glance"],
  ["heat", "Heat map", "single profiles: find the one at the spike"],
];

function Ways({ state }: { state: State }) {
  return (
    <ul class="next ways">
      {ways.map(([view, title, doc]) => <li><Link to={to(state, view)} href={href(to(state, view))}>{title}</Link> <span class="quiet">{doc}</span></li>)}
    </ul>
  );
}

/** Hottest is what costs most in the selection. Who asks for it has the selection added up, so that the other views are there at once. */
function Hottest({ refText, metric }: { refText: string; metric: string }) {
  const { state } = useApp();
  const { data, error, waiting } = useAnswer<Top>("/api/top", [["ref", refText], ...(metric ? [["metric", metric] as Pair] : []), ["sort", "flat"], ["limit", "10"]]);
  if (error && !waiting) return <section class="card"><h2>Hottest functions</h2><p class="bad">{error.message}</p></section>;
  if (!data) return <section class="card" aria-busy="true"><h2>Hottest functions</h2></section>;
  return <Rows title="Hottest functions" doc={`${value(data.total, data.unit)} ${data.metric} in all profiles; functions by flat cost, without what they call${data.uneven ? "; " + data.uneven.text : ""}`} top={data} of={(r) => r.flat} more={to(put(state, "sort", ""), "top")} />;
}

/** besides returns events without deploys that the profiles show themselves. */
function besides(data: FleetGraph, events: FleetEvent[]): FleetEvent[] {
  return events.filter((e) => e.kind !== "deploy" || !data.deploys?.length);
}

/** Happened is what happened to the service in this time, with ways to before and after. */
function Happened({ data, events }: { data: FleetGraph; events: FleetEvent[] }) {
  const time = parts(data.selection.ref)[1];
  const deploys = data.deploys ?? [];
  events = besides(data, events);
  const entries: [at: number, what: ComponentChildren][] = [
    ...deploys.map((d): [number, ComponentChildren] => {
      const diff = about("diff", refOf(d.selector, time), ["base", refOf(d.base, time)], ["per", "second"]);
      return [d.at_ms, (
        <li key={"deploy " + d.at_ms + d.version}>
          <i class="mark deploy" aria-hidden="true" /> <span class="num">{when(d.at_ms)}</span> deploy of <b>{d.version}</b>{" "}
          <Link to={diff} href={href(diff)}>{d.version} against {d.before || "what was before"}</Link>
        </li>
      )];
    }),
    ...events.map((e): [number, ComponentChildren] => [Date.parse(e.time), (
      <li key={e.id}>
        <i class={"mark " + e.kind} aria-hidden="true" /> <span class="num">{when(Date.parse(e.time))}</span> {titleOf(e)}{" "}
        {e.state && <span class={e.state === "firing" ? "bad" : "quiet"}>{e.state} </span>}
        {waysOf(e).map(([title, s]) => <><Link to={s} href={href(s)}>{title}</Link> </>)}
      </li>
    )]),
  ];
  entries.sort((a, b) => b[0] - a[0]); // as on the page of events
  return (
    <section class="card">
      <h2>What happened</h2>
      {entries.length === 0 && <p class="quiet">No version was deployed in this time, and nothing else was noticed. A label <code>version</code> on profiles shows deploys.</p>}
      <ul class="next">
        {entries.map(([, what]) => what)}
      </ul>
    </section>
  );
}

/** Values are the lines as a table, for those who do not see the chart or want the numbers. */
function Values({ data }: { data: FleetGraph }) {
  const palette = useContext(PaletteContext);
  const { state } = useApp();
  const time = parts(data.selection.ref)[1];
  return (
    <section class="card">
      <h2>{data.by ? `By ${data.by}` : "In numbers"}</h2>
      <table class="plain">
        <thead><tr><th scope="col" class="num">mean</th><th scope="col" class="num">most</th><th scope="col" class="num">share</th><th scope="col">{data.by || "of"}</th></tr></thead>
        <tbody>
          {data.lines.map((l, i) => {
            const only = select(state, "ref", refOf(l.selector ?? "", time));
            return (
              <tr>
                <td class="num">{amount(l.mean, data.unit)}</td>
                <td class="num">{amount(l.max, data.unit)}</td>
                <td class="num">{percent(l.share, 1)}</td>
                <td class="fn">
                  <i class="swatch" aria-hidden="true" style={{ background: colorOf(palette, data, i) }} />
                  {l.selector && data.by ? <Link to={only} href={href(only)}>{l.name}</Link> : l.name}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {(data.rest ?? 0) > 0 && <p class="quiet">“others” is the sum of {count(data.rest!)} smaller {data.rest === 1 ? "value" : "values"} of {data.by}.</p>}
    </section>
  );
}

function colorOf(p: Palette, data: FleetGraph, i: number): string {
  return data.lines[i].selector ? p.series[i % p.series.length] : p.series[p.series.length - 1];
}

const height = 250;
const gutter = 66;
const foot = 22;
const head = 16; // for the names of marks

interface Shape {
  times: number[]; // of all points
  at: (number | undefined)[][]; // by line and time
  most: number;
  gap: number;
}

function shapeOf(lines: GraphLine[], stacked: boolean): Shape {
  const times = [...new Set(lines.flatMap((l) => l.points.map(([t]) => t)))].sort((a, b) => a - b);
  const at = lines.map((l) => {
    const m = new Map(l.points.map(([t, v]) => [t, v]));
    return times.map((t) => m.get(t));
  });
  let most = 0;
  for (let k = 0; k < times.length; k++) {
    let sum = 0;
    for (const line of at) {
      sum = stacked ? sum + (line[k] ?? 0) : Math.max(sum, line[k] ?? 0);
    }
    most = Math.max(most, sum);
  }
  const apart = times.slice(1).map((t, i) => t - times[i]).sort((a, b) => a - b);
  return { times, at, most, gap: apart.length > 0 ? 2.6 * apart[Math.floor(apart.length / 2)] : Infinity };
}

function paint(ctx: CanvasRenderingContext2D, data: FleetGraph, s: Shape, stacked: boolean, width: number, p: Palette): void {
  const { from_ms: from, to_ms: end } = data.selection;
  const bottom = height - foot;
  const left = gutter;
  const x = (t: number) => left + ((t - from) / (end - from)) * (width - left);
  const y = (v: number) => bottom - (v / (s.most || 1)) * (bottom - head - 6);
  ctx.font = "11px system-ui, sans-serif";
  ctx.textBaseline = "middle";
  ctx.lineWidth = 1;
  ctx.strokeStyle = p.grid;
  ctx.fillStyle = p.quiet;
  const rule = (y0: number) => {
    ctx.beginPath();
    ctx.moveTo(left, y0);
    ctx.lineTo(width, y0);
    ctx.stroke();
  };
  ctx.textAlign = "right";
  rule(bottom + 0.5);
  for (const v of ticks(s.most, data.unit.startsWith("bytes") ? "bytes" : data.unit)) {
    rule(Math.round(y(v)) + 0.5);
    ctx.fillText(amount(v, data.unit), left - 6, y(v));
  }
  ctx.textAlign = "center";
  for (const [t, text] of clockTicks(from, end, Math.max(2, (width - left) / 80))) {
    ctx.beginPath();
    ctx.moveTo(Math.round(x(t)) + 0.5, bottom);
    ctx.lineTo(Math.round(x(t)) + 0.5, bottom + 4);
    ctx.stroke();
    const w = ctx.measureText(text).width / 2;
    ctx.fillText(text, Math.min(Math.max(x(t), left + w), width - w), bottom + 13);
  }
  // Runs of times without a gap between.
  const runs: [number, number][] = [];
  s.times.forEach((t, k) => {
    if (k > 0 && t - s.times[k - 1] <= s.gap) runs[runs.length - 1][1] = k;
    else runs.push([k, k]);
  });
  const below = s.times.map(() => 0);
  data.lines.forEach((_, i) => {
    ctx.strokeStyle = ctx.fillStyle = colorOf(p, data, i);
    ctx.lineWidth = 1.5;
    const top = s.times.map((_, k) => (stacked ? below[k] + (s.at[i][k] ?? 0) : (s.at[i][k] ?? NaN)));
    for (const [a, b] of runs) {
      let edge: [number, number][] = [];
      const draw = () => {
        if (edge.length === 1) edge = [[edge[0][0] - 2, edge[0][1]], [edge[0][0] + 2, edge[0][1]]];
        ctx.beginPath();
        edge.forEach(([px, py], n) => (n === 0 ? ctx.moveTo(px, py) : ctx.lineTo(px, py)));
        ctx.stroke();
        edge = [];
      };
      for (let k = a; k <= b; k++) {
        if (Number.isNaN(top[k])) draw();
        else edge.push([x(s.times[k]), y(top[k])]);
      }
      if ((stacked || data.lines.length === 1) && !isForced(p) && edge.length > 1) {
        ctx.globalAlpha = stacked ? 0.45 : p.wash;
        ctx.beginPath();
        edge.forEach(([px, py], n) => (n === 0 ? ctx.moveTo(px, py) : ctx.lineTo(px, py)));
        for (let k = b; k >= a; k--) ctx.lineTo(x(s.times[k]), y(stacked ? below[k] : 0));
        ctx.fill();
        ctx.globalAlpha = 1;
      }
      draw();
    }
    if (stacked) top.forEach((v, k) => { below[k] = v; });
  });
}

/** Chosen is what is under the pointer and the cursor, by the number of a point, and the part of the time that is being chosen. */
interface Chosen {
  of: FleetGraph | undefined;
  hover: number;
  cursor: number;
  draft: [number, number] | undefined;
}

const nothing: Chosen = { of: undefined, hover: -1, cursor: -1, draft: undefined };

/** Graph is the lines over time, on which a part of the time is chosen. */
function Graph({ data, stacked, events }: { data: FleetGraph; stacked: boolean; events: FleetEvent[] }) {
  const palette = useContext(PaletteContext);
  const [box, width] = useWidth();
  const canvas = useRef<HTMLCanvasElement>(null);
  const shape = useMemo(() => shapeOf(data.lines, stacked), [data, stacked]);
  const { from_ms: from, to_ms: end } = data.selection;
  // Keys may come faster than the page is drawn, so what they start from is here and not in what was drawn last. It is of the points of one answer.
  const now = useRef<Chosen>({ ...nothing, of: data });
  if (now.current.of !== data) now.current = { ...nothing, of: data };
  const [, draw] = useState(now.current);
  const change = (next: Partial<Chosen>) => draw((now.current = { ...now.current, ...next }));
  const { hover, cursor, draft } = now.current;
  useEffect(() => {
    const ctx = width > 0 && ready(canvas.current!, width, height);
    if (ctx) paint(ctx, data, shape, stacked, width, palette);
  }, [data, shape, stacked, width, palette]);
  const [selector] = parts(data.selection.ref);
  const chosen = draft && ([...draft].sort((a, b) => a - b) as [number, number]);
  const of = (view: string, r: [number, number]) => to(select(latest(), "ref", refOf(selector, exact(r[0], r[1]))), view);
  const zoom = (r = now.current.draft) => {
    if (r && r[0] !== r[1]) go(of("service", [Math.min(...r), Math.max(...r)]));
  };
  const step = Math.max(1, Math.round(shape.times.length / 120));
  const move = (by: number, extend: boolean) => {
    const last = shape.times.length - 1;
    const { cursor, draft } = now.current;
    const was = cursor < 0 ? (by < 0 ? last : 0) : cursor;
    const next = Math.min(Math.max(cursor < 0 && Number.isFinite(by) ? was : was + by, 0), last);
    change({ hover: -1, cursor: next, draft: extend ? [draft?.[0] ?? shape.times[was], shape.times[next]] : draft });
  };
  const keys: Keys = {
    ArrowLeft: (e) => move(-step, e.shiftKey),
    ArrowRight: (e) => move(step, e.shiftKey),
    Home: (e) => move(-Infinity, e.shiftKey),
    End: (e) => move(Infinity, e.shiftKey),
    Enter: () => zoom(),
    Escape: () => change(now.current.draft ? { draft: undefined } : { cursor: -1 }),
  };
  useKeys(keys);
  const at = hover >= 0 ? hover : cursor;
  const print = (i: number) => (at < 0 ? data.lines[i].mean : shape.at[i][at]);
  const text = at < 0 ? "" : `${when(shape.times[at])}: ${data.lines.map((l, i) => `${l.name} ${print(i) === undefined ? "none" : amount(print(i)!, data.unit)}`).join(", ")}`;
  const share = (t: number) => Math.min(Math.max((t - from) / (end - from), 0), 1) * 100 + "%";
  const drag = useRef<{ t: number; x: number; moved: boolean } | undefined>(undefined);
  const plot = useRef<HTMLDivElement>(null);
  const timeAt = (e: PointerEvent) => {
    const b = plot.current!.getBoundingClientRect();
    return from + Math.min(Math.max((e.clientX - b.left) / b.width, 0), 1) * (end - from);
  };
  const nearest = (t: number) => {
    let best = -1;
    shape.times.forEach((u, k) => { if (best < 0 || Math.abs(u - t) < Math.abs(shape.times[best] - t)) best = k; });
    return best;
  };
  const marks: [at: number, kind: string, name: string, doc: string][] = [
    ...(data.deploys ?? []).map((d): [number, string, string, string] => [d.at_ms, "deploy", d.version, `deploy of ${d.version}, before ${d.before}`]),
    ...besides(data, events).map((e): [number, string, string, string] => [Date.parse(e.time), e.kind, e.kind, titleOf(e)]),
  ];
  marks.sort((a, b) => a[0] - b[0]);
  // Of marks that stand close together, the first has its name; the others have it as a tooltip.
  const part = (t: number) => (t - from) / (end - from);
  let named = -1;
  const names = marks.map(([t, , name]) => {
    if (named >= 0 && part(t) - named < 90 / Math.max(width - gutter, 1)) return "";
    named = part(t);
    return name;
  });
  return (
    <section class="graph-card" aria-label="Over time">
      <div class="tools when">
        <div class="group legend-lines">
          <b class="moment">{at >= 0 ? when(shape.times[at]) : chosen ? between(chosen[0], chosen[1]) : "mean"}</b>
          {data.lines.map((l, i) => (
            <span class="series"><i class="swatch" aria-hidden="true" style={{ background: colorOf(palette, data, i) }} />{data.by ? l.name : l.name.toLowerCase() === "cpu" ? "cores" : l.name.toLowerCase()} <b class="num">{print(i) === undefined ? "–" : amount(print(i)!, data.unit)}</b></span>
          ))}
        </div>
      </div>
      <div class="charts graph-chart" ref={box}>
        <canvas ref={canvas} aria-hidden="true" style={{ width: width + "px", height: height + "px" }} />
        <div class="plot" ref={plot} style={{ left: gutter + "px", bottom: foot + "px" }} role="slider" tabIndex={0} aria-label="Time" aria-orientation="horizontal"
          aria-valuemin={Math.round(from / 1e3)} aria-valuemax={Math.round(end / 1e3)} aria-valuenow={Math.round((shape.times[at] ?? from) / 1e3)} aria-valuetext={text || "no point"}
          onPointerDown={(e) => {
            if (e.button !== 0) return;
            e.currentTarget.setPointerCapture(e.pointerId);
            drag.current = { t: timeAt(e), x: e.clientX, moved: false };
          }}
          onPointerMove={(e) => {
            const t = timeAt(e);
            change({ hover: nearest(t) });
            const d = drag.current;
            if (!d) return;
            d.moved ||= Math.abs(e.clientX - d.x) > 3;
            if (d.moved) change({ draft: [d.t, t] });
          }}
          onPointerUp={(e) => {
            const d = drag.current;
            drag.current = undefined;
            if (d && !d.moved) change({ cursor: nearest(timeAt(e)), draft: undefined });
          }}
          onPointerCancel={() => { drag.current = undefined; change({ draft: undefined }); }}
          onPointerLeave={() => change({ hover: -1 })}
          onDblClick={() => change({ draft: undefined })}
          onKeyDown={(e) => {
            const f = Object.hasOwn(keys, e.key) ? keys[e.key] : undefined;
            if (!f || e.ctrlKey || e.metaKey || e.altKey) return;
            e.preventDefault();
            f(e);
          }}>
          {chosen && (
            <>
              <div class="outside" style={{ left: "0", width: share(chosen[0]) }} />
              <div class="range" style={{ left: share(chosen[0]), width: `calc(${share(chosen[1])} - ${share(chosen[0])})` }} />
              <div class="outside" style={{ left: share(chosen[1]), right: "0" }} />
            </>
          )}
          {marks.map(([t, kind, , doc], i) => <div class={`flagline ${kind}${part(t) > 0.85 ? " late" : ""}`} style={{ left: share(t) }} title={doc}>{names[i] && <span>{names[i]}</span>}</div>)}
          {at >= 0 && <div class="cursor" style={{ left: share(shape.times[at]) }} />}
        </div>
      </div>
      <div class="tools chosen" role="status">
        {chosen ? (
          <div class="group">
            <b>{between(chosen[0], chosen[1])}</b> <span class="quiet">{long(chosen[1] - chosen[0])}</span>
            <button onClick={() => zoom()}>Zoom in <kbd>Enter</kbd></button>
            <Go to={of("flame", chosen)}>Flame graph of it</Go>
            <Go to={of("top", chosen)}>Top</Go>
            <Go to={put(put(of("diff", chosen), "base", refOf(selector, exact(2 * chosen[0] - chosen[1], chosen[0]))), "per", "second")}>Compare with the {long(chosen[1] - chosen[0])} before</Go>
            <button class="small" onClick={() => change({ draft: undefined })}>clear <kbd>Esc</kbd></button>
          </div>
        ) : <span class="quiet">drag over the chart, or press ← → with Shift, to choose a part of the time</span>}
      </div>
    </section>
  );
}

function Go({ to: s, children }: { to: State; children: ComponentChildren }) {
  return <Link to={s} href={href(s)}>{children}</Link>;
}

/** serviceRef returns a ref to a service and labels at a time. */
export function serviceRef(service: string, labels: [string, string][], from: number, end: number): string {
  return refOf(selectorOf(service, ...labels), exact(from, end));
}
