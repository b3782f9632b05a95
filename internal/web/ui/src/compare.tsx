// Two versions that were run against each other: what changed, how sure that is, and why; and what benchmarks measured.

import { ComponentChildren } from "preact";
import { Bench, BenchMeasure, Benchmark, Compare, CompareAbsent, CompareRow, CompareSide, CompareWhy } from "./api";
import { asked, useAnswer, useApp } from "./data";
import { count, difference, interval, measured, number, relative, share } from "./format";
import { Link, Notes, Problem } from "./parts";
import { href, put, to } from "./state";

export function CompareView() {
  const app = useApp();
  const { data, error, waiting } = useAnswer<Compare>("/api/compare", asked(app, "compare"));
  if (error && !waiting) return <Problem error={error} />;
  if (!data) return <div class="blank" aria-busy="true" />;
  const whats = [...new Set(data.rows.map((r) => r.what))];
  const several = new Set(data.rows.map((r) => r.pkg)).size > 1;
  const worse = data.rows.filter((r) => r.verdict === "worse").length;
  const better = data.rows.filter((r) => r.verdict === "better").length;
  const open = data.rows.filter((r) => r.verdict === "undecided").length;
  const absent = (a: CompareAbsent) => `${a.name === "*" ? a.pkg : a.name} ${a.why}`;
  const notes = [
    ...(data.identical ?? []).map((p) => `${p}: the same program on both sides, byte for byte; there is nothing to measure`),
    ...(data.failed ?? []).map(absent), ...(data.missing ?? []).map(absent),
    ...new Set(data.rows.flatMap((r) => (r.warnings ?? []).map((w) => `${r.name}: ${w}`))),
    ...(data.notes ?? []),
  ];
  return (
    <div class="main page scrolls versions" tabIndex={0} role="region" aria-label="Comparison">
      <div class="hero">
        <p class="big">
          {better > 0 && <b class="good">{better} better</b>} {worse > 0 && <b class="bad">{worse} worse</b>}
          {better + worse === 0 && "no change was found"} <span>{open > 0 && `${open} undecided`}</span>
        </p>
        <p class="quiet">
          new: <Side side={data.new} /> · old: <Side side={data.old} />
        </p>
        {data.built_once && <p class="quiet">both sides are one program{data.new.go && `, built once with ${data.new.go}`}</p>}
        {data.paired && (data.noise_pairs ?? 0) > 0 && (
          <p class="quiet">
            single runs of the same program differ by {share(data.noise!)} here ({data.noise_pairs} pairs); many pairs together show changes down
            to {share(data.within)}, and smaller ones count as none; at most {share(data.alpha)} of verdicts are false
          </p>
        )}
      </div>
      <Notes notes={notes} />
      {whats.map((what) => <Rows what={what} several={several} compare={data} />)}
      {(data.why ?? []).map((w) => <Why why={w} />)}
    </div>
  );
}

function Side({ side }: { side: CompareSide }) {
  const rev = side.rev && !side.rev.startsWith(side.name) ? side.rev.slice(0, 12) : "";
  return <><b>{side.name}</b>{rev && ` (${rev}${side.dirty ? " and changes" : ""})`}</>;
}

const good = new Set(["better"]);
const bad = new Set(["worse"]);

function Rows({ what, several, compare }: { what: string; several: boolean; compare: Compare }) {
  const rows = compare.rows.filter((r) => r.what === what);
  const mean = compare.geometric_means?.find((m) => m.what === what && m.of > 1);
  // All intervals on one scale, which no single wide one shall spoil.
  const reach = Math.min(1, Math.max(0.02, 2 * compare.within, ...rows.map((r) => Math.abs(r.change ?? 0) * 1.3)));
  return (
    <section class="card">
      <h2>{what}</h2>
      <div class="wide-table" tabIndex={0} role="region" aria-label={what}>
        <table class="plain">
          <thead>
            <tr>
              {several && <th scope="col">package</th>}
              <th scope="col">benchmark</th><th scope="col" class="num">old</th><th scope="col" class="num">new</th><th scope="col" class="num">change</th>
              <th scope="col"><span class="hidden">picture</span></th><th scope="col" class="num">interval</th><th scope="col" class="num" title="p-value: how likely a difference at least this large would be without a change">p</th><th scope="col" class="num" title="runs of each side">n</th><th scope="col">verdict</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((r) => (
              <tr>
                {several && <td>{r.pkg}</td>}
                <td>{r.name}</td><td class="num">{measured(r.old, r.unit)}</td><td class="num">{measured(r.new, r.unit)}</td>
                <td class="num">{relative(r.change === null ? null : 1 + r.change)}</td>
                <td class="gauge">{!r.exact && <Whiskers row={r} reach={reach} within={compare.within} />}</td>
                <td class="num">{r.exact ? "" : interval(r.low, r.high)}</td>
                <td class="num">{r.p === undefined ? "" : r.p < 0.001 ? "<0.001" : number(r.p)}</td><td class="num">{r.n}</td>
                <td class={good.has(r.verdict) ? "good" : bad.has(r.verdict) ? "bad" : r.verdict === "undecided" ? "quiet" : ""}>{r.words}</td>
              </tr>
            ))}
            {mean && (
              <tr>
                {several && <td />}
                <td class="quiet">geometric mean of {count(mean.of)}</td><td /><td /><td class="num">{relative(1 + mean.change)}</td><td /><td /><td /><td /><td />
              </tr>
            )}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** Whiskers show where a change lies around no change, and what counts as none. The numbers beside say the same. */
function Whiskers({ row, reach, within }: { row: CompareRow; reach: number; within: number }) {
  const at = (share: number) => 50 + 50 * Math.max(-1, Math.min(1, share / reach));
  const lo = at(row.low ?? -1);
  const hi = at(row.high ?? 1);
  const kind = good.has(row.verdict) ? "good" : bad.has(row.verdict) ? "bad" : "";
  return (
    <svg class={"whiskers " + kind} viewBox="0 0 100 16" width="120" height="16" preserveAspectRatio="none" aria-hidden="true">
      <rect class="none" x={at(-within)} y="1" width={at(within) - at(-within)} height="14" />
      <line class="zero" x1="50" x2="50" y1="0" y2="16" />
      <rect class="span" x={lo} y="5" width={Math.max(1, hi - lo)} height="6" />
      {row.change !== null && <rect class="middle" x={at(row.change) - 0.9} y="2" width="1.8" height="12" />}
    </svg>
  );
}

function Why({ why }: { why: CompareWhy }) {
  const { state, session } = useApp();
  const open = session.recordings.some((r) => r.ref === why.new_profile) && session.recordings.some((r) => r.ref === why.old_profile);
  const diff = put(put({ view: "diff", pairs: [] }, "ref", why.new_profile ?? ""), "base", why.old_profile ?? "");
  return (
    <section class="card">
      <h2>why {why.name}: {why.what} of functions, per operation</h2>
      <div class="wide-table" tabIndex={0} role="region" aria-label={`why ${why.name}, ${why.what}`}>
        <table class="plain">
          <thead>
            <tr>
              <th scope="col" class="num">old cum</th><th scope="col" class="num">new cum</th><th scope="col" class="num">cum delta</th><th scope="col" class="num">flat delta</th>
              <th scope="col">function</th>
            </tr>
          </thead>
          <tbody>
            {why.rows.map((r) => (
              <tr>
                <td class="num">{measured(r.cum_before, why.unit)}</td><td class="num">{measured(r.cum, why.unit)}</td>
                <Delta v={r.cum - r.cum_before} unit={why.unit} /><Delta v={r.flat - r.flat_before} unit={why.unit} />
                <td>{open ? <Link to={put(diff, "ui.sel", r.function)} href={href(put(diff, "ui.sel", r.function))}>{r.function}</Link> : r.function}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {(why.code ?? []).map((c, i) => (
        <details class="code-change" open={i === 0}>
          <summary>the code of {c.function}</summary>
          <pre tabIndex={0}>
            {(c.diff ?? "").split("\n").map((l) => <span class={/^(\+\+\+|---|@@)/.test(l) ? "quiet" : l[0] === "+" ? "new" : l[0] === "-" ? "old" : ""}>{l + "\n"}</span>)}
            {(c.lost ?? []).map((m) => <span class="quiet">{"no longer: " + m + "\n"}</span>)}
            {(c.gained ?? []).map((m) => <span class="quiet">{"now: " + m + "\n"}</span>)}
          </pre>
        </details>
      ))}
      {open && <p><Link to={to(diff, "diff")} href={href(to(diff, "diff"))} title={`from ${state.view}`}>Flame graph of the difference</Link></p>}
    </section>
  );
}

function Delta({ v, unit }: { v: number; unit: string }) {
  return <td class={"num " + (v > 0 ? "more" : v < 0 ? "less" : "")}>{difference(v, unit)}</td>;
}

export function BenchView() {
  const app = useApp();
  const { data, error, waiting } = useAnswer<Bench>("/api/bench", asked(app, "bench", ["limit", "1000"]));
  if (error && !waiting) return <Problem error={error} />;
  if (!data) return <div class="blank" aria-busy="true" />;
  const units = [...new Set(data.benchmarks.flatMap((b) => b.measured.map((m) => m.unit)))];
  const keys = [...new Set(data.benchmarks.flatMap((b) => (b.facts ?? []).map((f) => f.key)))];
  const notes = [...(data.read ?? []).map((n) => `${n.grade}: ${n.what} (${count(n.count)})`), ...(data.notes ?? [])];
  if (data.benchmarks.length < data.of) notes.push(`the first ${count(data.benchmarks.length)} of ${count(data.of)} benchmarks`);
  return (
    <div class="main page scrolls versions" tabIndex={0} role="region" aria-label="Benchmarks">
      <div class="hero">
        <p class="big">{count(data.of)} <span>{data.of === 1 ? "benchmark" : "benchmarks"}, {count(data.lines)} {data.lines === 1 ? "result" : "results"}</span></p>
        <p class="quiet">{(data.facts ?? []).map((f) => `${f.key}: ${f.value}`).join(", ")}</p>
      </div>
      <Notes notes={notes} />
      <section class="card">
        <div class="wide-table" tabIndex={0} role="region" aria-label="What benchmarks measured">
          <table class="plain">
            <thead>
              <tr>
                {keys.map((k) => <th scope="col">{k}</th>)}
                <th scope="col">benchmark</th>
                {units.map((u) => <><th scope="col" class="num">{heading(u)}</th><th scope="col" class="num"><span class="hidden">interval of {heading(u)}</span></th></>)}
                <th scope="col" class="num" title="how often the benchmark was run">runs</th>
              </tr>
            </thead>
            <tbody>{data.benchmarks.map((b) => <Measures of={b} units={units} keys={keys} />)}</tbody>
          </table>
        </div>
      </section>
    </div>
  );
}

function Measures({ of: b, units, keys }: { of: Benchmark; units: string[]; keys: string[] }) {
  const cells: ComponentChildren[] = units.map((u) => {
    const m = b.measured.find((x) => x.unit === u);
    return <><td class="num">{m && measured(m.center, scaleOf(u))}</td><td class="num quiet">{m && around(m)}</td></>;
  });
  return (
    <tr>
      {keys.map((k) => <td>{b.facts?.find((f) => f.key === k)?.value}</td>)}
      <td>{b.name}{b.gomaxprocs ? "-" + b.gomaxprocs : ""}</td>{cells}<td class="num">{b.n}</td>
    </tr>
  );
}

/** around prints where a median lies, as a change of it. */
function around(m: BenchMeasure): string {
  if (m.low === null || m.high === null || m.low === m.high || m.center <= 0 || m.low <= 0) return "";
  return interval(m.low / m.center - 1, m.high / m.center - 1);
}

function heading(unit: string): string {
  return unit === "sec/op" ? "time/op" : unit === "B/s" ? "speed" : unit;
}

/** scaleOf is the unit that values are shown in: of cpu-sec/op it is seconds, since the heading has the rest. */
function scaleOf(unit: string): string {
  const [all, per] = unit.split("/");
  const what = all.slice(all.lastIndexOf("-") + 1);
  if (what === "sec" || (what === "B" && per !== "s")) return what;
  return what === "B" ? "B/s" : unit;
}
