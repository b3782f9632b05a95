// Memory and the garbage collector of a run: what memory is used for, what grows, and what collecting costs.

import { useContext, useMemo } from "preact/hooks";
import { GC, GCFinding, Mem, MemRow, TimePoint, Timeline } from "./api";
import { Axis, Lane, Line, paintLane, paintTimes } from "./chart";
import { asked, shows, timed, useAnswer, useApp } from "./data";
import { column, count, number, percent, unitOf, value } from "./format";
import { exactly, short } from "./names";
import { Bar, Link, Notes, Problem, Remark } from "./parts";
import { href, put, to } from "./state";
import { PaletteContext } from "./theme";
import { Canvas, Swatch, useWidth } from "./timeline";

const gutter = 62; // for the scale
const mostCycles = "3000";
const cyclesListed = 20;
const bytes = (v: number) => value(Math.round(v), "bytes");
const nanos = (v: number) => value(Math.round(v), "nanoseconds");
const rate = (v: number) => bytes(v) + "/s";

/** Lanes are charts below each other over one axis. */
function Lanes({ lanes, from, to: end }: { lanes: Lane[]; from: number; to: number }) {
  const palette = useContext(PaletteContext);
  const [box, width] = useWidth();
  const axis: Axis = { from, to: end, left: gutter, right: width };
  return (
    <div class="charts" ref={box}>
      {lanes.map((l) => (
        <div class="lane" key={l.title}>
          <div class="lane-head"><h2>{l.title}</h2>{l.lines.map((s) => <span class="series"><Swatch line={s} />{s.name}</span>)}</div>
          <Canvas width={width} height={l.height} deps={[l, end]} paint={(ctx) => paintLane(ctx, l, axis, palette)} />
        </div>
      ))}
      <Canvas width={width} height={20} deps={[from, end, palette]} paint={(ctx) => paintTimes(ctx, axis, palette)} />
    </div>
  );
}

const known = (lanes: Lane[]) => lanes.map((l) => ({ ...l, lines: l.lines.filter((x) => x.points.some(([, v]) => v > 0)) })).filter((l) => l.lines.length > 0);

/** Uses are rows of memory, at the end and at the peak. */
function Uses({ rows, size }: { rows: MemRow[]; size: (v: number) => string }) {
  return (
    <table class="plain">
      <thead><tr><th scope="col" class="num">at the end</th><th scope="col" class="num">at the peak</th><th scope="col">use</th></tr></thead>
      <tbody>
        {rows.map((r) => <tr><td class="num">{size(r.end)}</td><td class="num">{size(r.peak)}</td><td title={r.doc}>{r.part ? <span class="quiet">· {r.use}</span> : r.use}{r.bound && `, ${r.bound}`} <span class="quiet roomy">{r.doc}</span></td></tr>)}
      </tbody>
    </table>
  );
}

export function MemoryView() {
  const app = useApp();
  const { state } = app;
  const palette = useContext(PaletteContext);
  const { data, error, waiting } = useAnswer<Mem>("/api/mem", asked(app, "mem"));
  const times = useAnswer<Timeline>(timed(app) ? "/api/timeline" : "", asked(app, "timeline"));
  const points = times.data?.points ?? [];
  const lanes = useMemo(() => {
    const p = palette.lines;
    const line = (name: string, color: string, draw: Line["draw"], of: (p: TimePoint) => number | undefined, print = bytes): Line => ({ name, color, draw, print, points: points.map((x) => [x.at_ns, of(x) || NaN]) });
    return known([
      { title: "Memory", unit: "bytes", height: 132, lines: [line("resident", p.rss, "area", (x) => x.rss), line("heap", p.heap, "area", (x) => x.heap), line("GC goal", p.goal, "dash", (x) => x.goal)] },
      { title: "Live heap, after each collection", unit: "bytes", height: 72, lines: [line("live", p.heap, "area", (x) => x.live)] },
      { title: "Allocated each second", unit: "bytes", height: 64, lines: [line("allocated", p.busy, "area", (x) => x.alloc_bytes_per_second, rate)] },
    ]);
  }, [times.data, palette]);
  if (error && !waiting) return <Problem error={error} />;
  if (!data) return <div class="blank" aria-busy="true" />;
  const grown = data.grown ?? [];
  const most = Math.max(...grown.map((g) => g.to - g.from), 0);
  const one = unitOf([], data.peak_rss, "bytes");
  const size = (v: number) => value(v, "bytes", one); // as hone mem prints them
  const flame = (metric: string) => to(put(state, "metric", metric), "flame");
  return (
    <div class="main page scrolls timeline" tabIndex={0} role="region" aria-label="Memory">
      <div class="hero">
        <p class="big">{bytes(data.rss)} <span>{data.held ? "held by Go" : "resident"} at the end</span></p>
        <p class="quiet">
          {bytes(data.peak_rss)} at most, after {nanos(data.peak_ns)}
          {(data.limits ?? []).map((l) => <> · {l.name} {bytes(l.bytes)} ({percent(data.peak_rss, l.bytes)} of it at the peak)</>)}
        </p>
      </div>
      <Notes notes={data.notes} />
      {points.length > 1 && <Lanes lanes={lanes} from={points[0].at_ns} to={points[points.length - 1].at_ns} />}
      <div class="cards">
        {grown.length > 0 && (
          <section class="card">
            <h2>What grew</h2>
            <p class="quiet">
              live memory by the function that allocated it, in the heap profiles taken at {nanos(data.first_ns ?? 0)} and {nanos(data.last_ns ?? 0)}
              {data.last_as_of && <>; the last shows what was live after gc {data.last_as_of.gc}, which began at {nanos(data.last_as_of.at_ns)} and left {bytes(data.last_as_of.live)}: heap profiles in Go lag by up to two collections</>}
            </p>
            <table class="plain">
              <thead><tr><th scope="col" class="num">grew by</th><th scope="col" class="num">from</th><th scope="col" class="num">to</th><th scope="col" class="gauge"><span class="hidden">share</span></th><th scope="col">function</th></tr></thead>
              <tbody>
                {grown.map((g) => {
                  const at = to(put(state, "metric", "heap:inuse_space"), "source", ["arg", exactly(g.function)], ["ui.sel", g.function]);
                  return (
                    <tr>
                      <td class="num">{size(g.to - g.from)}</td><td class="num">{size(g.from)}</td><td class="num">{size(g.to)}</td>
                      <td class="gauge"><Bar part={g.to - g.from} whole={most} /></td>
                      <td class="fn">{app.api.embedded ? <span title={g.function}>{short(g.function)}</span> : <Link to={at} href={href(at)} title={g.function}>{short(g.function)}</Link>}</td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          </section>
        )}
        {data.resident && (
          <section class="card">
            <h2>What is resident</h2>
            <p class="quiet">at the end, and when most was resident</p>
            <Uses rows={data.resident} size={size} />
          </section>
        )}
        {data.rows.length > 0 && <section class="card">
          <h2>What Go uses memory for</h2>
          <p class="quiet">
            as Go counts it, at the end and when most was {data.held ? "held" : "resident"}
            {(data.absent || data.peak_absent) && <>; {data.resident?.[0].bound && "at least "}{size(data.absent ?? 0)} and {size(data.peak_absent ?? 0)} of it are not resident: pages that were never touched, or were swapped out</>}
          </p>
          <Uses rows={data.rows} size={size} />
        </section>}
        {shows(app, "top") && !app.api.embedded && (
          <section class="card">
            <h2>Try next</h2>
            <ul class="next">
              <li><Link to={flame("heap:inuse_space")} href={href(flame("heap:inuse_space"))}>Live memory</Link> <span class="quiet">where it was allocated, call by call</span></li>
              <li><Link to={flame("heap:alloc_space")} href={href(flame("heap:alloc_space"))}>Allocations</Link> <span class="quiet">what makes the heap grow and the collector run</span></li>
            </ul>
          </section>
        )}
      </div>
    </div>
  );
}

const rules: Record<string, string> = {
  "gc-share": "The collector takes much of the CPU time", killed: "The program was killed", "memory-limit": "The memory limit makes the collector run all the time",
  "live-heap-grows": "The live heap grows", assist: "Goroutines that allocate do the collector's work", pauses: "Pauses are long", forced: "The program forces collections",
  overshoot: "The heap outgrew its goal",
};

// Numbers of findings that are parts of a whole.
const shares = new Set(["share", "share_of_all_time", "runtime_share", "time_collecting"]);

function told(f: GCFinding): string {
  return f.numbers.map((n) => {
    if (shares.has(n.name)) return `${n.name.replaceAll("_", " ")} ${percent(n.value, 1)}`;
    if (n.name === "cycles") return `${count(n.value)} ${n.value === 1 ? "cycle" : "cycles"}`;
    const v = n.unit === "nanoseconds" || n.unit === "bytes" ? value(Math.round(n.value), n.unit) : n.unit === "percent" ? number(n.value) + "%" : number(n.value) + (n.unit ? " " + n.unit : "");
    return `${n.name.replaceAll("_", " ")} ${v}`;
  }).join(", ");
}

export function GCView() {
  const app = useApp();
  const palette = useContext(PaletteContext);
  const { data, error, waiting } = useAnswer<GC>("/api/gc", asked(app, "gc", ["limit", mostCycles]));
  const cycles = data?.cycles ?? [];
  const dated = cycles.filter((c) => c.start_nanos > 0);
  const lanes = useMemo(() => {
    const p = palette.lines;
    const line = (name: string, color: string, draw: Line["draw"], of: (c: (typeof cycles)[number]) => number, print = bytes): Line => ({ name, color, draw, print, points: dated.map((c) => [c.start_nanos, of(c) || NaN]) });
    return known([
      {
        title: "Heap", unit: "bytes", height: 132,
        lines: [line("at the start of a cycle", p.rss, "area", (c) => c.before_bytes), line("live after it", p.heap, "area", (c) => c.live_bytes), line("goal", p.goal, "dash", (c) => c.goal_bytes)],
      },
      { title: "World stopped", unit: "nanoseconds", height: 64, lines: [{ name: "by each cycle", color: p.gc, draw: "bars", print: nanos, points: dated.map((c) => [c.start_nanos, c.stopped_nanos, c.start_nanos + c.wall_nanos]) }] },
      { title: "CPU of a cycle", unit: "nanoseconds", height: 64, lines: [line("all", p.gc, "area", (c) => c.cpu_nanos, nanos), line("of goroutines that allocate", p.busy, "line", (c) => c.assist_cpu_nanos, nanos)] },
    ]);
  }, [data, palette]);
  if (error && !waiting) return <Problem error={error} />;
  if (!data) return <div class="blank" aria-busy="true" />;
  const share = data.cpu_nanos && data.capacity_nanos ? percent(data.cpu_nanos, data.capacity_nanos) : data.runtime_cpu_percent ? data.runtime_cpu_percent + "%" : "";
  const facts: [string, string | undefined][] = [
    ["cycles", count(data.of) + (data.forced_by_program ? `, ${count(data.forced_by_program)} forced` : "") + (data.forced_by_time ? `, ${count(data.forced_by_time)} after two idle minutes` : "")],
    ["CPU of the collector", data.cpu_nanos ? nanos(data.cpu_nanos) : undefined],
    ["of that, by goroutines that allocate", data.assist_nanos ? percent(data.assist_nanos, data.cpu_nanos!) : undefined],
    ["pauses", `${count(data.stops)}, ${nanos(data.pause_nanos)} in all`],
    ["a pause", `p50 ${nanos(data.pause_p50_nanos)}, p99 ${nanos(data.pause_p99_nanos)}, max ${nanos(data.pause_max_nanos)}`],
    ["allocated", data.allocated_bytes ? bytes(data.allocated_bytes) + (data.alloc_bytes_per_second ? `, ${rate(data.alloc_bytes_per_second)}` : "") : undefined],
    ["largest heap", data.peak_heap_bytes ? bytes(data.peak_heap_bytes) : undefined],
    ["live heap", data.live_heap_bytes ? `${bytes(data.live_heap_bytes)} at the end, ${bytes(data.max_live_heap_bytes ?? 0)} at most` : undefined],
    ["goal", data.goal_bytes ? bytes(data.goal_bytes) : undefined],
  ];
  const last = cycles.slice(-cyclesListed).reverse();
  const times = (values: number[]) => column(values.map(Math.round), "nanoseconds");
  const [start, stopped, took, cpu] = [last.map((c) => c.start_nanos), last.map((c) => c.stopped_nanos), last.map((c) => c.wall_nanos), (data.what_if ?? []).map((w) => w.cpu_nanos)].map(times);
  const largest = column((data.what_if ?? []).map((w) => w.goal_bytes), "bytes");
  const sizes = (of: (c: (typeof cycles)[number]) => number) => column(last.map(of), "bytes");
  const [end, live, goal] = [sizes((c) => c.end_bytes), sizes((c) => c.live_bytes), sizes((c) => c.goal_bytes)];
  return (
    <div class="main page scrolls timeline" tabIndex={0} role="region" aria-label="Garbage collection">
      <div class="hero">
        <p class="big">{share || count(data.of)} <span>{share ? "of the available CPU time for garbage collection" : data.of === 1 ? "cycle" : "cycles"}</span></p>
        <p class="quiet">{count(data.of)} cycles{data.wall_nanos ? ` in ${nanos(data.wall_nanos)}` : ""} · pauses up to {nanos(data.pause_max_nanos)} · log of {data.format}</p>
      </div>
      {(data.findings ?? []).length > 0 && (
        <ul class="symptoms">{data.findings!.map((f) => <li><b>{rules[f.rule] ?? f.rule}:</b> <span>{told(f)}</span><p class="quiet"><Remark text={f.next} /></p></li>)}</ul>
      )}
      <Notes notes={data.notes} />
      {dated.length > 1 && <Lanes lanes={lanes} from={data.from_nanos ?? 0} to={(data.from_nanos ?? 0) + (data.wall_nanos ?? 0)} />}
      <div class="cards">
        <section class="card">
          <h2>Summary</h2>
          <dl class="facts">{facts.filter(([, v]) => v).map(([k, v]) => <div><dt>{k}</dt><dd title={v}>{v}</dd></div>)}</dl>
        </section>
        {(data.what_if ?? []).length > 0 && (
          <section class="card">
            <h2>With another GOGC</h2>
            <p class="quiet">if the CPU time of the collector is proportional to 1/GOGC</p>
            <table class="plain">
              <thead><tr><th scope="col" class="num">GOGC</th><th scope="col" class="num">GC CPU</th><th scope="col" class="num">largest goal</th><th scope="col"><span class="hidden">now</span></th></tr></thead>
              <tbody>{data.what_if!.map((w) => <tr><td class="num">{w.gogc}</td><td class="num">{data.capacity_nanos ? percent(w.cpu_nanos, data.capacity_nanos) : cpu(Math.round(w.cpu_nanos))}</td><td class="num">{largest(w.goal_bytes)}</td><td>{w.now ? "now" : ""}</td></tr>)}</tbody>
            </table>
          </section>
        )}
        <section class="card">
          <h2>{last.length < data.of ? `The last ${count(last.length)} cycles` : "Cycles"}</h2>
          <div class="wide-table" tabIndex={0} role="region" aria-label="Cycles">
            <table class="plain">
              <thead><tr><th scope="col" class="num">cycle</th><th scope="col" class="num">at</th><th scope="col" class="num">stopped</th><th scope="col" class="num">took</th><th scope="col" class="num">heap</th><th scope="col" class="num">live</th><th scope="col" class="num">goal</th></tr></thead>
              <tbody>{last.map((c) => <tr><td class="num">{c.gc}</td><td class="num">{start(c.start_nanos)}</td><td class="num">{stopped(c.stopped_nanos)}</td><td class="num">{took(c.wall_nanos)}</td><td class="num">{end(c.end_bytes)}</td><td class="num">{live(c.live_bytes)}</td><td class="num">{goal(c.goal_bytes)}</td></tr>)}</tbody>
            </table>
          </div>
        </section>
      </div>
    </div>
  );
}
