// A load run: how long answers took, over time and by percentile, what came of requests, and what each cost the server.

import { useContext, useMemo } from "preact/hooks";
import { FunctionCost, Load, LoadServer } from "./api";
import { Axis, Lane, Line, paintLane, paintTimes, xOf } from "./chart";
import { Palette } from "./colors";
import { asked, useAnswer, useApp } from "./data";
import { count, number, percent, share, value } from "./format";
import { Notes, Problem } from "./parts";
import { PaletteContext } from "./theme";
import { Canvas, Swatch, useWidth } from "./timeline";

const gutter = 62; // for the scale
const nanos = (v: number) => value(Math.round(v), "nanoseconds");
const bytes = (v: number) => value(Math.round(v), "bytes");

export function LoadView() {
  const app = useApp();
  const { data, error, waiting } = useAnswer<Load>("/api/load", asked(app, "load"));
  if (error && !waiting) return <Problem error={error} />;
  if (!data) return <div class="blank" aria-busy="true" />;
  const open = (data.rate ?? 0) > 0 || (data.stages ?? []).length > 0;
  const outcomes: [what: string, n: number][] = [
    ...Object.entries(data.status ?? {}).map(([code, n]): [string, number] => ["status " + code, n]),
    ...Object.entries(data.errors ?? {}), ["not finished", data.unfinished ?? 0], ["not sent", data.unsent ?? 0],
  ];
  return (
    <div class="main page scrolls timeline" tabIndex={0} role="region" aria-label="Load">
      <div class="hero">
        <p class="big">{number(data.answered_per_second)} <span>answers a second, {count(data.good)} of {count(data.asked)} good</span></p>
        <p class="quiet">{data.method} {data.target} · {open ? "by a schedule" : "closed loop"} · {data.conns} {data.conns === 1 ? "connection" : "connections"} · {data.engine}</p>
      </div>
      <Notes notes={[...(data.doubts ?? []), ...(data.notes ?? []), ...(data.server?.doubts ?? [])]} />
      <Times load={data} />
      <div class="cards">
        <section class="card">
          <h2>Latency</h2>
          <Percentiles load={data} open={open} />
        </section>
        <section class="card">
          <h2>Outcomes</h2>
          <table class="plain">
            <thead><tr><th scope="col" class="num">requests</th><th scope="col" class="num">share</th><th scope="col">what</th></tr></thead>
            <tbody>
              {outcomes.filter(([, n]) => n > 0).map(([what, n]) => <tr><td class="num">{count(n)}</td><td class="num">{percent(n, data.asked)}</td><td>{what}</td></tr>)}
            </tbody>
          </table>
        </section>
        {data.server && <Server of={data.server} />}
      </div>
    </div>
  );
}

/** Times are charts of the run by the second. */
function Times({ load }: { load: Load }) {
  const palette = useContext(PaletteContext);
  const [box, width] = useWidth();
  const lanes = useMemo(() => lanesOf(load, palette), [load, palette]);
  const rows = load.rows ?? [];
  const last = rows[rows.length - 1];
  if (rows.length < 3 || !last) return null;
  const axis: Axis = { from: 0, to: last.from_ns + last.for_ns, left: gutter, right: width };
  return (
    <div class="charts" ref={box}>
      {lanes.map((l) => (
        <div class="lane" key={l.title}>
          <div class="lane-head"><h2>{l.title}</h2>{l.lines.map((s) => <span class="series"><Swatch line={s} />{s.name}</span>)}</div>
          <Canvas width={width} height={l.height} deps={[l]} paint={(ctx) => paintLane(ctx, l, axis, palette)} />
        </div>
      ))}
      <Canvas width={width} height={20} deps={[load, palette]} paint={(ctx) => paintTimes(ctx, axis, palette)} />
    </div>
  );
}

function lanesOf(load: Load, p: Palette): Lane[] {
  const rows = (load.rows ?? []).filter((r) => r.for_ns >= 100e6);
  const line = (name: string, color: string, draw: Line["draw"], of: (r: (typeof rows)[number]) => number, print: Line["print"]): Line => ({
    name, color, draw, print, points: rows.flatMap((r): Line["points"] => [[r.from_ns, of(r)], [r.from_ns + r.for_ns, of(r)]]),
  });
  const known = (v: number) => v || NaN;
  return [
    {
      title: "Latency", unit: "nanoseconds", height: 132, lines: [
        line("longest", p.lines.rss, "area", (r) => known(r.max_ns), nanos), line("99%", p.lines.gc, "line", (r) => known(r.p99_ns), nanos),
        line("50%", p.lines.busy, "area", (r) => known(r.p50_ns), nanos),
      ],
    },
    {
      title: "Answers a second", unit: "count", height: 64, lines: [
        line("answered", p.lines.heap, "area", (r) => r.answered / (r.for_ns / 1e9), count), line("errors", p.lines.gc, "line", (r) => r.errors / (r.for_ns / 1e9), count),
      ],
    },
  ];
}

/** Percentiles are drawn so that each step to the right leaves a tenth of the requests before it. */
function Percentiles({ load, open }: { load: Load; open: boolean }) {
  const palette = useContext(PaletteContext);
  const [box, width] = useWidth();
  const list = load.percentiles ?? [];
  const x = (p: number) => -Math.log10(1 - p / 100);
  const lane = useMemo((): Lane => {
    const line = (name: string, color: string, of: (i: number) => number): Line => ({ name, color, draw: "line", print: nanos, points: list.map((p, i) => [x(p.percent), of(i)]) });
    const lines = [line("service", palette.lines.busy, (i) => list[i].service_ns)];
    if (open) lines.unshift(line("response", palette.lines.gc, (i) => list[i].response_ns ?? 0));
    return { title: "", unit: "nanoseconds", height: 110, lines };
  }, [load, palette]);
  return (
    <>
      <div ref={box}>
        {list.length > 1 && <Canvas width={width} height={110} deps={[lane]} paint={(ctx) => paintLane(ctx, lane, { from: x(list[0].percent), to: x(list[list.length - 1].percent), left: gutter, right: width }, palette)} />}
        {list.length > 1 && <div class="percents" aria-hidden="true">{list.map((p) => <span style={{ left: `${xOf({ from: x(list[0].percent), to: x(list[list.length - 1].percent), left: gutter, right: width }, x(p.percent))}px` }}>{p.percent}%</span>)}</div>}
      </div>
      <table class="plain">
        <thead><tr><th scope="col" class="num">share</th><th scope="col" class="num"><i class="swatch line" aria-hidden="true" style={{ background: palette.lines.busy }} />service</th>{open && <th scope="col" class="num"><i class="swatch line" aria-hidden="true" style={{ background: palette.lines.gc }} />response</th>}<td /></tr></thead>
        <tbody>
          {list.map((p) => <tr><td class="num">{p.percent}%</td><td class="num">{nanos(p.service_ns)}</td>{open && <td class="num">{nanos(p.response_ns ?? 0)}</td>}<td /></tr>)}
        </tbody>
      </table>
    </>
  );
}

/** Server is what a request costs. */
function Server({ of: s }: { of: LoadServer }) {
  return (
    <>
      {s.cpu && (
        <section class="card">
          <h2>A request</h2>
          <table class="plain">
            <tbody>
              <tr><td class="num">{nanos(s.cpu.all_ns)}</td><td>CPU</td></tr>
              {s.memory && <tr><td class="num">{bytes(s.memory.bytes)}</td><td>allocated in {number(s.memory.objects)} objects</td></tr>}
              {s.gc && <tr><td class="num">{share(s.gc.share)}</td><td>of the CPU time, in {count(s.gc.cycles)} garbage {s.gc.cycles === 1 ? "collection" : "collections"}</td></tr>}
              {(s.leak_suspects ?? []).map((x) => <tr><td class="num bad">a leak?</td><td>{x.what} from {x.what === "memory" ? bytes(x.from) : count(x.from)} to {x.what === "memory" ? bytes(x.to) : count(x.to)} {x.where}</td></tr>)}
            </tbody>
          </table>
          {(s.balance ?? []).length > 0 && (
            <table class="plain">
              <thead><tr><th scope="col" class="num">time</th><th scope="col" class="num">share</th><th scope="col">where the mean request's time went</th></tr></thead>
              <tbody>{s.balance!.map((b) => <tr><td class="num">{nanos(b.ns)}</td><td class="num">{share(b.share)}</td><td>{b.what}</td></tr>)}</tbody>
            </table>
          )}
        </section>
      )}
      {(s.functions ?? []).length > 0 && <Costs title="By function, for each request" rows={s.functions!} of={s} calls />}
      {(s.library_calls ?? []).length > 0 && <Costs title="Of that, through the standard library" rows={s.library_calls!} of={s} />}
    </>
  );
}

function Costs({ title, rows, of: s, calls }: { title: string; rows: FunctionCost[]; of: LoadServer; calls?: boolean }) {
  const waiting = s.waiting && !s.waiting.off; // what is not known is not shown
  return (
    <section class="card">
      <h2>{title}</h2>
      <div class="wide-table" tabIndex={0} role="region" aria-label={title}>
        <table class="plain">
          <thead>
            <tr>
              <th scope="col" class="num">CPU</th>{calls && <th scope="col" class="num">with calls</th>}{s.memory && <><th scope="col" class="num">bytes</th><th scope="col" class="num">objects</th></>}
              {waiting && <th scope="col" class="num">waiting</th>}<th scope="col">function</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((f) => (
              <tr>
                <td class="num">{nanos(f.cpu_ns)}</td>{calls && <td class="num">{nanos(f.with_calls_cpu_ns)}</td>}{s.memory && <><td class="num">{bytes(f.bytes)}</td><td class="num">{number(f.objects)}</td></>}
                {waiting && <td class="num">{nanos(f.blocked_ns)}</td>}<td>{f.name}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
