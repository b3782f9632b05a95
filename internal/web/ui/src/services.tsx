// All services of a store: what each costs, and how that went over time.

import { useMemo, useState } from "preact/hooks";
import { FleetService, FleetServices, Targets } from "./api";
import { useAnswer, useApp } from "./data";
import { about, amount, between, long, refOf, timeOf, usualTime, when } from "./fleet";
import { count, relative } from "./format";
import { useKeys } from "./keys";
import { Bar, Link, Message, Problem } from "./parts";
import { TimePicker } from "./selection";
import { matcher, searchRule } from "./search";
import { go, href, put } from "./state";

const measures: [of: string, name: string, unit: string][] = [
  ["cores", "cores", "cores"], ["allocated", "allocated", "bytes/s"], ["live", "live heap", "bytes"], ["goroutines", "goroutines", "count"],
];

const averages: Record<string, (s: FleetService) => number> = {
  cores: (s) => s.cores, allocated: (s) => s.allocated, live: (s) => s.live, goroutines: (s) => s.goroutines,
};

export function ServicesView() {
  const { state } = useApp();
  const time = timeOf(state);
  const { data, error, waiting } = useAnswer<FleetServices>("/api/v1/fleet/services", [["time", time]]);
  const [sort, setSort] = useState("cores");
  const [search, setSearch] = useState("");
  useKeys({ "/": () => document.querySelector<HTMLInputElement>(".tools input[type=search]")?.focus(), Escape: () => setSearch("") });
  const rows = useMemo(() => {
    const by = averages[sort];
    const found = matcher(search);
    const all = (data?.services ?? []).filter((s) => found(s.service));
    return by ? all.sort((a, b) => by(b) - by(a)) : all.sort((a, b) => (a.service < b.service ? -1 : 1));
  }, [data, sort, search]);
  if (error && !waiting) return <Problem error={error} />;
  if (!data) return <div class="blank" aria-busy="true" />;
  const pick = (t: string) => go(put(state, "ui.time", t === usualTime ? "" : t));
  if (data.services.length === 0 && data.filling) {
    return (
      <Message title="The demo is still making its profiles">
        <p>This takes a minute or two. <button onClick={() => location.reload()}>Look again</button></p>
      </Message>
    );
  }
  if (data.services.length === 0 && !data.any) return <First />;
  const most = Math.max(...data.services.map((s) => s.cores), 0);
  return (
    <div class="main page scrolls fleet" tabIndex={0} role="region" aria-label="Services">
      <div class="tools">
        <div class="group">
          <TimePicker time={time} from={data.from_ms} to={data.to_ms} onPick={pick} />
          <input type="search" aria-label="Find a service" title={searchRule} placeholder="find a service  ( / )" value={search} onInput={(e) => setSearch(e.currentTarget.value)} />
        </div>
        <span class="quiet">{count(data.services.length)} {data.services.length === 1 ? "service" : "services"}, {amount(data.cores, "cores")} cores · {between(data.from_ms, data.to_ms)}</span>
      </div>
      {data.services.length === 0 ? (
        <Message title="No service sent a profile in this time">
          <p>There are profiles of other times. <button onClick={() => pick("-30d")}>Show the last 30 days</button></p>
        </Message>
      ) : (
        <div class="wide-table">
          <table class="plain services">
            <thead>
              <tr>
                <th scope="col" aria-sort={sort === "service" ? "ascending" : undefined}><button class="link" onClick={() => setSort("service")}>service{sort === "service" ? " ▴" : ""}</button></th>
                {measures.map(([of, name]) => (
                  <>
                    <th scope="col" colSpan={2} aria-sort={sort === of ? "descending" : undefined}><button class="link" onClick={() => setSort(of)}>{name}{sort === of ? " ▾" : ""}</button></th>
                    {of === "cores" && <th scope="col" class="num">change</th>}
                  </>
                ))}
                <th scope="col" class="num">processes</th>
                <th scope="col">versions</th>
                <th scope="col">last profile</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((s) => {
                const page = about("service", refOf(s.selector, time));
                return (
                  <tr key={s.service} onClick={(e) => { if (!(e.target as Element).closest("a, button")) go(page); }}>
                    <th scope="row"><Link to={page} href={href(page)}>{s.service}</Link>{most > 0 && <Bar part={s.cores} whole={most} />}</th>
                    {measures.map(([of, name, unit]) => {
                      const line = s.lines.find((l) => l.of === of);
                      return (
                        <>
                          {line ? <td class="num">{amount(averages[of](s), unit)}</td> : <td class="num quiet">–</td>}
                          <td>{line && <Sparkline points={line.points} from={data.from_ms} to={data.to_ms} marks={(s.deploys ?? []).map((d) => d.at_ms)} label={`${name} of ${s.service}`} />}</td>
                          {of === "cores" && <td class="num" title="CPU against the time before, of the same length">{s.cores_before > 0 && s.cores > 0 ? relative(s.cores / s.cores_before) : "–"}</td>}
                        </>
                      );
                    })}
                    <td class="num">{s.processes > 0 ? count(s.processes) : "–"}</td>
                    <td class="versions-of" title={(s.deploys ?? []).map((d) => `${d.version} at ${when(d.at_ms)}`).join("\n")}>{(s.replaced ? s.replaced + " → " : "") + (s.versions ?? []).slice(-(s.running ?? 0)).join(", ")}</td>
                    <td class="quiet">{long(Math.max(0, data.to_ms - Date.parse(s.last)))} ago</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
      {rows.length === 0 && data.services.length > 0 && <p class="quiet">No service has “{search}” in its name.</p>}
      {data.services.some((s) => s.deploys?.length) && <p class="quiet legend-line"><i class="mark deploy" aria-hidden="true" /> a deploy: a version or a build that was not there before</p>}
      {data.services.some((s) => s.cores_before > 0 && s.cores > 0) && <p class="quiet">change: CPU against the time before, of the same length</p>}
      <FailingTargets />
    </div>
  );
}

/** FailingTargets lists the targets from which the server cannot fetch profiles, and the jobs that fail. */
function FailingTargets() {
  const { data, error, waiting } = useAnswer<Targets>("/api/v1/fleet/targets", []);
  if (error && !waiting) return <p class="bad">{error.message}</p>;
  if (!data || (data.failing === 0 && !data.jobs?.length)) return null;
  const since = (t: string | undefined) => long(Math.max(0, Date.parse(data.time) - Date.parse(t!)));
  return (
    <section class="card targets" aria-label="Targets that fail">
      <h2>{data.failing > 0 ? `${count(data.failing)} of ${count(data.found)} ${data.found === 1 ? "target" : "targets"} ${data.failing === 1 ? "fails" : "fail"}` : "Jobs that fail"}</h2>
      {data.targets.length > 0 && (
        <table class="plain">
          <thead><tr><th scope="col">job</th><th scope="col">target</th><th scope="col">why</th><th scope="col">profiles</th><th scope="col">failing for</th><th scope="col">last profile</th></tr></thead>
          <tbody>
            {data.targets.map((t) => (
              <tr>
                <td>{t.job}</td><td>{t.address}</td><td>{t.why}</td><td>{t.all ? "all" : t.kinds.join(", ")}</td>
                <td class="quiet">{t.since ? since(t.since) : "–"}</td><td class="quiet">{t.good ? since(t.good) + " ago" : "never"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {(data.jobs ?? []).map((j) => <p class="quiet">job <b>{j.job}</b>{j.source && <>, <code>{j.source}</code></>}: {j.why}</p>)}
    </section>
  );
}

const sparkWidth = 110;
const sparkHeight = 26;

const tenth = (x: number) => Math.round(x * 10) / 10; // of a pixel

/** Sparkline draws a line from zero. Beside it stands the mean, so it is a picture only. */
function Sparkline({ points, from, to, marks, label }: { points: number[][]; from: number; to: number; marks: number[]; label: string }) {
  const most = Math.max(...points.map(([, v]) => v), 0) || 1;
  const x = (t: number) => tenth(((t - from) / (to - from)) * sparkWidth);
  const y = (v: number) => tenth(sparkHeight - 1 - (v / most) * (sparkHeight - 3));
  // Where a point is missing nothing is drawn.
  const gap = gapOf(points);
  let d = "";
  points.forEach(([t, v], i) => { d += (i > 0 && t - points[i - 1][0] <= gap ? "L" : "M") + x(t) + " " + y(v); });
  return (
    <svg class="spark" viewBox={`0 0 ${sparkWidth} ${sparkHeight}`} width={sparkWidth} height={sparkHeight} role="img" aria-label={`${label} over time`}>
      {marks.map((t) => <line class="deploy" x1={x(t)} x2={x(t)} y1="0" y2={sparkHeight} />)}
      <path d={d} />
      {points.length === 1 && <circle cx={x(points[0][0])} cy={y(points[0][1])} r="1.6" />}
    </svg>
  );
}

/** gapOf returns how far apart points may be that belong together. */
export function gapOf(points: number[][]): number {
  const apart = points.slice(1).map(([t], i) => t - points[i][0]).sort((a, b) => a - b);
  return apart.length > 0 ? 2.6 * apart[Math.floor(apart.length / 2)] : Infinity;
}

/** First says how profiles get here. */
function First() {
  const here = location.origin;
  return (
    <div class="main page scrolls" tabIndex={0} role="region" aria-label="Services">
      <div class="message first">
        <h2>There are no profiles yet</h2>
        <p>Send one by hand, of a program that serves <code>net/http/pprof</code>:</p>
        <pre>{`curl -s localhost:6060/debug/pprof/profile?seconds=10 |\n  curl --data-binary @- '${here}/api/v1/profiles?service=shop'`}</pre>
        <p>Or have a program send them by itself, with Pyroscope’s SDK:</p>
        <pre>{`pyroscope.Start(pyroscope.Config{\n\tApplicationName: "shop",\n\tServerAddress:   "${here}",\n\tTags:            map[string]string{"version": "v1"},\n})`}</pre>
        <p>Or have the server ask programs, as Prometheus does: <code>hone serve --config hone.yml</code> with</p>
        <pre>{`scrape_configs:\n  - job_name: shop\n    static_configs:\n      - targets: ["localhost:6060"]`}</pre>
        <p>Where tokens are needed, add <code>-H "Authorization: Bearer TOKEN"</code>, or <code>BasicAuthPassword</code> in the SDK; <code>hone serve token</code> makes one.</p>
        <p><button onClick={() => location.reload()}>Look again</button></p>
      </div>
      <FailingTargets />
    </div>
  );
}

