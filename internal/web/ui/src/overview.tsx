// The first look: what the recording is, what costs most, and where to go from here.

import { Holders, Top, TopRow, Waits } from "./api";
import { asked, baseOf, metricOf, recordingOf, shows, useAnswer, useApp, waiting } from "./data";
import { Findings } from "./findings";
import { count, duration, moment, percent, busyCores, unitOf, value } from "./format";
import { Who, holdersFacts } from "./holders";
import { exactly, nameOf, short, shortest, unqualified } from "./names";
import { Bar, Delta, Dot, Link, Nothing, Notes, Problem, amountOf, leftOf } from "./parts";
import { RequestsInSight } from "./requests";
import { SymptomList, useSymptoms } from "./symptoms";
import { State, go, href, put, to } from "./state";

const rowsShown = "10";

export function OverviewView() {
  const app = useApp();
  const { state, session } = app;
  const flat = useAnswer<Top>("/api/top", asked(app, "top", ["sort", "flat"], ["limit", rowsShown]));
  const cum = useAnswer<Top>("/api/top", asked(app, "top", ["sort", "cum"], ["limit", rowsShown]));
  const symptoms = useSymptoms();
  const rec = recordingOf(app);
  const metric = metricOf(app);
  const held = metric?.held === true; // what its functions are, they hold and do not cost
  const holders = useAnswer<Holders>(held && app.api.has("/api/holders") ? "/api/holders" : "", asked(app, "holders", ["limit", rowsShown]));
  const waits = waiting(app);
  if (flat.error && !flat.waiting) return <Problem error={flat.error} />;
  if (!flat.data) return <div class="blank" aria-busy="true" />;
  const d = flat.data;
  const hottest = held ? undefined : d.rows?.[0];
  const first = holders.data?.holders[0];
  const filtered = d.left !== undefined;
  const cores = d.cores ?? 0; // of all, whatever the filters leave
  const facts: [string, string][] = [];
  const fact = (name: string, text: string | undefined) => { if (text) facts.push([name, text]); };
  fact("recording", rec?.ref);
  fact("program", rec?.program ?? d.file);
  fact("kind", rec?.kind);
  fact("taken", rec?.time_nanos ? moment(rec.time_nanos) : undefined);
  fact("length", rec?.duration_nanos ? duration(rec.duration_nanos) : undefined);
  fact("samples", metric?.taken ? count(metric.taken) : undefined);
  fact("stacks", metric?.samples ? count(metric.samples) : undefined);
  fact("build id", rec?.build_id);
  return (
    <div class="main page scrolls overview" tabIndex={0} role="region" aria-label="Overview">
      <div class="hero">
        <p class="big">{amountOf(d)} <span>{d.metric}</span></p>
        {d.before && <p>before: {amountOf(d.before)}, <Delta from={leftOf(d.before)} to={leftOf(d)} unit={d.unit} /> <span class="quiet" title={baseOf(app)}>against {shortest(baseOf(app), session.recordings)}</span></p>}
        <p class="quiet">
          {filtered && value(leftOf(d), d.unit)}
          {d.duration_nanos ? `${filtered ? " " : ""}in ${duration(d.duration_nanos)}` : ""}
          {cores > 0 && !filtered ? `, ${cores > 1 ? busyCores(cores) + " cores" : percent(cores, 1) + " of one core"}` : ""}
          {hottest && <>{d.duration_nanos || filtered ? " · " : ""}hottest function: <b>{short(nameOf(hottest))}</b>, flat {percent(hottest.flat, d.total)}</>}
          {first && !d.before && <>{filtered ? " · " : ""}most is held by <b><Who of={first} /></b>, {percent(first.value, d.total)}</>}
        </p>
        {holders.data && <p class="quiet">{holdersFacts(holders.data)}</p>}
      </div>
      <Notes notes={[...(rec?.notes ?? []), ...(d.notes ?? []).filter((n) => !rec?.notes?.includes(n))]} />
      <SymptomList data={symptoms} />
      {!waits && !(held && rec?.metrics.every((m) => m.held)) && <Findings />}
      {!d.rows?.length ? <Nothing head={d} /> : (
        <div class={d.before ? "cards comparing" : "cards"}>
          {waits && <section class="card"><RequestsInSight /></section>}
          {held && holders.data && <HeldBy data={holders.data} />}
          {waits ? <WaitPlaces /> : <Rows title="Flat" doc={held ? "what objects take by themselves" : "what functions cost without what they call"} top={d} of={(r) => r.flat} brief={held ? unqualified : short} more={to(put(state, "sort", ""), "top")} />}
          {cum.data && !(held && holders.data) && <Rows title="Cum" doc={held ? "what is held, by all that leads to it" : "what functions cost with all that they call"} top={cum.data} of={(r) => r.cum} brief={held ? unqualified : short} more={to(put(state, "sort", "cum"), "top")} />}
          <section class="card">
            <h2>What there is</h2>
            <dl class="facts">{facts.map(([k, v]) => <div><dt>{k}</dt><dd title={v}>{v}</dd></div>)}</dl>
            <h3>Metrics</h3>
            <ul class="choices">
              {(rec?.metrics ?? []).map((m) => (
                <li><button class="link" aria-current={m === metric ? "true" : undefined} onClick={() => go(put(put(state, "metric", m.type), "root", ""))}>{m.type}</button> <span class="num">{value(m.total, m.unit)}</span></li>
              ))}
            </ul>
            {(rec?.labels?.length ?? 0) > 0 && (
              <>
                <h3>Labels</h3>
                <ul class="choices">{rec!.labels!.map((l) => <li><Link to={to(state, "tags")} href={href(to(state, "tags"))}>{l}</Link></li>)}</ul>
              </>
            )}
          </section>
          <section class="card">
            <h2>Try next</h2>
            <ul class="next">
              {waits && <Next to={to(state, "trace")} title="Trace">Ps, requests and goroutines over time</Next>}
              {shows(app, "holders") && <Next to={to(state, "holders")} title="Holders">who keeps memory alive</Next>}
              <Next to={to(state, "flame")} title="Flame graph">{held ? "which objects hold which, step by step" : "where the cost comes from, call by call"}</Next>
              {hottest?.name && <Next to={to(state, "source", ["arg", exactly(hottest.name)], ["ui.sel", hottest.name])} title={`Source of ${short(hottest.name)}`}>the lines that cost most</Next>}
              {hottest?.name && <Next to={to(state, "sandwich", ["arg", hottest.name], ["ui.sel", hottest.name])} title={`Callers of ${short(hottest.name)}`}>who asks for the work</Next>}
              {!held && <Next to={to(put(state, "by", "package"), "top")} title="Ranking by package">which part of the program it is</Next>}
              {(rec?.labels?.length ?? 0) > 0 && <Next to={to(state, "tags")} title="Labels">{held ? "kinds of holders, and who made what they hold" : "which requests it is for"}</Next>}
              {session.recordings.length > 1 && <Next to={to(state, "diff")} title="Diff">what changed between two recordings</Next>}
            </ul>
          </section>
        </div>
      )}
    </div>
  );
}

/** HeldBy are those who hold most. */
function HeldBy({ data }: { data: Holders }) {
  const { state } = useApp();
  const most = Math.max(...data.holders.map((h) => Math.abs(h.value)), 0);
  const more = to(state, "holders");
  return (
    <section class="card">
      <h2>Held by</h2>
      <p class="quiet">what would be freed without each of them</p>
      <table class="plain held-by">
        <thead class="hidden"><tr><th scope="col">value</th><th scope="col">{data.before ? "change" : "of total"}</th><th scope="col">share</th><th scope="col">holder</th></tr></thead>
        <tbody>
          {data.holders.map((h) => (
            <tr>
              <td class="num">{value(h.value, data.unit)}</td>
              {data.before ? <td class="num"><Delta from={h.before ?? 0} to={h.value} unit={data.unit} /></td> : <td class="num">{percent(h.value, data.total)}</td>}
              <td class="gauge"><Bar part={h.value} whole={most} /></td>
              <td class="fn"><Who of={h} /></td>
            </tr>
          ))}
        </tbody>
      </table>
      <p><Link to={more} href={href(more)}>all of them ›</Link></p>
    </section>
  );
}

/** WaitPlaces are where goroutines waited, in what is not of the runtime. */
function WaitPlaces() {
  const app = useApp();
  const { data } = useAnswer<Waits>("/api/waits", asked(app, "waits", ["limit", rowsShown]));
  return (
    <section class="card">
      <h2>Where goroutines waited</h2>
      <p class="quiet">for something other than work</p>
      <table class="plain">
        <thead class="hidden"><tr><th scope="col">value</th><th scope="col">of total</th><th scope="col">for</th><th scope="col">function</th></tr></thead>
        <tbody>
          {(data?.places ?? []).map((p) => (
            <tr>
              <td class="num">{value(p.total_nanos, "nanoseconds")}</td>
              <td class="num">{percent(p.total_nanos, data!.blocked_nanos)}</td>
              <td>{p.reason}</td>
              <td class="fn"><button class="link" title={`${p.function} ${p.file}:${p.line}`} onClick={() => go(to(app.state, "sandwich", ["arg", p.function], ["ui.sel", p.function]))}>{short(p.function)}</button></td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Next({ to: s, title, children }: { to: State; title: string; children: string }) {
  return <li><Link to={s} href={href(s)}>{title}</Link> <span class="quiet">{children}</span></li>;
}

export function Rows({ title, doc, top, of, more, brief = short }: { title: string; doc: string; top: Top; of: (r: TopRow) => number; more: State; brief?: (name: string) => string }) {
  const { state } = useApp();
  const rows = (top.rows ?? []).filter((r) => of(r) !== 0 || r.before); // callers that cost nothing by themselves only fill up the list
  const most = Math.max(...rows.map((r) => Math.abs(of(r))), 0);
  const unit = unitOf(rows.map(of), top.total, top.unit);
  return (
    <section class="card">
      <h2>{title}</h2>
      <p class="quiet">{doc}</p>
      <table class="plain">
        <thead class="hidden"><tr><th scope="col">value</th><th scope="col">{top.before ? "change" : "of total"}</th><th scope="col">share</th><th scope="col">function</th></tr></thead>
        <tbody>
          {rows.map((r) => (
            <tr>
              <td class="num">{value(of(r), top.unit, unit)}</td>
              {top.before ? <td class="num"><Delta from={r.before ? of({ ...r, ...r.before }) : 0} to={of(r)} unit={top.unit} chosen={unit} /></td> : <td class="num">{percent(of(r), top.total)}</td>}
              <td class="gauge"><Bar part={of(r)} whole={most} /></td>
              <td class="fn"><Dot origin={r.origin} /><button class="link" title={nameOf(r)} onClick={() => go(to(state, "flame", ["ui.sel", r.name ?? ""]))}>{brief(nameOf(r))}</button></td>
            </tr>
          ))}
        </tbody>
      </table>
      <p><Link to={more} href={href(more)}>all of them ›</Link></p>
    </section>
  );
}
