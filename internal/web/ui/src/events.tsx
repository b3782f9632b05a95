// What happened to services, and the shelf of recordings.

import { EventCost, FleetEvent, FleetTime, RuleWithoutData } from "./api";
import { useAnswer, useApp } from "./data";
import { about, amount, exact, long, parts, refOf, selectorOf, services, shelved, timeOf, when } from "./fleet";
import { number, percent, value } from "./format";
import { Link, Message, Problem } from "./parts";
import { TimePicker } from "./selection";
import { State, get, go, href, put } from "./state";

interface Events {
  events: FleetEvent[] | null;
  more?: boolean;
  rules_without_data?: RuleWithoutData[];
}

const mostListed = "200";

/** useEvents asks for what happened to a service, or to all, in a time. A server that keeps no events has none. */
export function useEvents(service: string, from: number, to: number) {
  const text = (ms: number) => new Date(ms).toISOString();
  const asked = from > 0 && to > from;
  const { data, error, waiting } = useAnswer<Events>(asked ? "/api/v1/events" : "", asked ? [["service", service], ["from", text(from)], ["to", text(to)], ["limit", mostListed]] : []);
  const none = error?.status === 404;
  return { list: (none ? [] : data?.events) ?? [], more: data?.more ?? false, silent: data?.rules_without_data ?? [], error: none || waiting ? undefined : error, waiting: asked && !data && !error };
}

function cost(c: EventCost, e: FleetEvent): string {
  const unit = e.change!.type.unit;
  if (unit === "nanoseconds") return amount(c.value / 1e9, "cores") + " cores";
  return unit === "bytes" ? amount(c.value, "bytes/s") : value(c.value, unit);
}

/** titleOf says what happened. */
export function titleOf(e: FleetEvent): string {
  const { change, deploy, rule, process, capture } = e;
  if (change?.source === "growth") return `${change.type.type.startsWith("inuse_") ? "live heap grows" : "goroutines grow"} steadily, ${value(change.before.value, change.type.unit)} → ${value(change.after.value, change.type.unit)} in one process${change.function ? ", most of it in " + change.function : ""}`;
  if (change) return `${change.function || e.service} costs ${cost(change.after, e)} in place of ${cost(change.before, e)} (${change.share > 0 ? "+" : ""}${percent(change.share, 1)} of the service)`;
  if (deploy) return `deploy of ${deploy.version || deploy.build || "a build"}`;
  if (rule) {
    const who = e.labels?.instance ?? e.labels?.pod ?? e.labels?.version;
    const show = (v: number) => (rule.grown ? `${number(v)} times as large as usual` : measure(v, rule.unit));
    const later = rule.most ? `, later ${show(rule.most)}` : "";
    return `${rule.name}: ${rule.metric}${rule.function ? " of " + rule.function : ""}${who ? " in " + who : ""} is ${show(rule.value)}${later}, over ${rule.grown ? number(rule.limit) : show(rule.limit)}`;
  }
  const who = process?.instance || "a process";
  const times = process?.times ? ` ${process.times} times${e.ended ? " in " + long(Date.parse(e.ended) - Date.parse(e.time)) : ""}` : "";
  if (e.kind === "oom" && process?.likely) return `${who} was restarted${times}, probably for want of memory`;
  if (e.kind === "oom") return `${who} was killed${times} for want of memory`;
  if (process?.shared) return `${who} seems to be several that send profiles with the same labels: give each a label instance`;
  if (e.kind === "restart") return `${who} was restarted${times}`;
  if (capture) return capture.failed ? `no capture: ${capture.failed}` : `a recording of ${e.labels?.instance ?? "a process"} was taken`;
  return e.kind;
}

function measure(v: number, unit: string): string {
  if (unit === "share") return percent(v, 1);
  return unit === "percent" ? percent(v, 100) : unit === "cores" ? number(v) : unit === "bytes/s" ? amount(v, unit) : value(v, unit);
}

const sides = 60 * 60e3; // milliseconds before and after

/** waysOf returns where an event leads: before and after, the function, a recording. */
export function waysOf(e: FleetEvent): [title: string, s: State][] {
  const at = Date.parse(e.time);
  const all = selectorOf(e.service);
  const after = refOf(all, exact(at, at + sides));
  const before = refOf(all, exact(at - sides, at));
  const out: [string, State][] = [];
  const metric: [string, string][] = e.change && e.change.kind !== "cpu" ? [["metric", e.change.kind + ":" + e.change.type.type]] : [];
  if (e.kind === "change" || e.kind === "deploy" || e.kind === "rule") out.push(["the hour after against the hour before", about("diff", after, ["base", before], ["per", "second"], ...metric)]);
  if (e.deploy?.version && e.deploy.before) {
    const of = (v: string) => refOf(selectorOf(e.service, ["version", v]), exact(at - 24 * sides, at + 24 * sides));
    out.unshift([`${e.deploy.version} against ${e.deploy.before}`, about("diff", of(e.deploy.version), ["base", of(e.deploy.before)], ["per", "second"])]);
  }
  if (e.change?.source === "growth") out[0] = ["the last hour against the first", about("diff", refOf(all, exact(Date.parse(e.noticed) - sides, Date.parse(e.noticed))), ["base", after], ["per", "second"], ...metric)];
  if (e.change?.function) out.push(["callers", about("sandwich", after, ["arg", e.change.function], ["ui.sel", e.change.function], ...metric)]);
  if (e.process) out.push(["the last profiles before it", about("flame", refOf(selectorOf(e.service, ["instance", e.process.instance]), exact(at - sides / 4, at)), ["metric", "heap"])]);
  return out;
}

/** withWhat says what costs moved with, by source of a change. */
const withWhat: Record<string, string> = { traffic: "with the traffic", mix: "with the mix of requests" };

export function EventsView() {
  const { state } = useApp();
  const service = get(state, "ref") && !get(state, "ref").startsWith(shelved) ? (/^[^{@]*/.exec(parts(get(state, "ref"))[0])?.[0] ?? "") : "";
  const time = timeOf(state);
  const span = useAnswer<FleetTime>("/api/v1/fleet/time", [["time", time]]);
  const events = useEvents(service, span.data?.from_ms ?? 0, span.data?.to_ms ?? 0);
  const error = events.error ?? (span.waiting ? undefined : span.error);
  if (error) return <Problem error={error} />;
  if (!span.data || events.waiting) return <div class="blank" aria-busy="true" />;
  return (
    <div class="main page scrolls fleet" tabIndex={0} role="region" aria-label="Events">
      <div class="tools">
        <div class="group">
          {get(state, "ref") === "" && <TimePicker time={time} from={span.data.from_ms} to={span.data.to_ms} onPick={(t) => go(put(state, "ui.time", t))} />}
          {service !== "" && <span>of <b>{service}</b> <button class="small" onClick={() => go({ ...services(state), view: "events" })}>of all services</button></span>}
        </div>
        {events.more && <span class="quiet">the newest {mostListed} are shown</span>}
      </div>
      <Silent rules={events.silent} />
      {events.list.length === 0 ? (
        <Message title="Nothing was noticed in this time">
          <p>Deploys, functions that began to cost more, rules that were broken, restarts and kills are listed here once they happen. Deploys are told apart by the label <code>version</code>, or by builds.</p>
        </Message>
      ) : (
        <div class="wide-table">
          <table class="plain events">
            <thead><tr><th scope="col">when</th><th scope="col">kind</th><th scope="col">state</th><th scope="col">service</th><th scope="col">what</th></tr></thead>
            <tbody>
              {events.list.map((e) => {
                const at = Date.parse(e.time);
                const page = about("service", refOf(selectorOf(e.service), exact(at - 3 * sides, at + 3 * sides)));
                return (
                  <tr key={e.id}>
                    <td class="num">{when(at)}</td>
                    <td><i class={"mark " + e.kind} aria-hidden="true" /> {e.kind}</td>
                    <td class={e.state === "firing" ? "bad" : "quiet"}>{e.state}</td>
                    <td><Link to={page} href={href(page)}>{e.service}</Link></td>
                    <td>
                      {titleOf(e)}
                      {e.change?.also?.map((a) => <span class="quiet"> · {a.type.type} in {a.function} {a.share > 0 ? "+" : ""}{percent(a.share, 1)}</span>)}
                      {e.ended && !e.process && <span class="quiet"> for {long(Date.parse(e.ended) - at)}</span>}
                      {e.rule?.gone && <span class="quiet"> until it was gone</span>}
                      {e.change && <span class="quiet"> {withWhat[e.change.source] ?? ""}{e.change.version ? ` since ${e.change.version}` : ""}</span>}
                      {e.told?.map((t) => t.failed && <span class="quiet"> · telling {t.to}: {t.failed}</span>)}
                      <span class="ways-of">{waysOf(e).map(([title, s]) => <Link to={s} href={href(s)}>{title}</Link>)}
                        {e.capture?.recording && <Link to={opened(e.capture.recording)} href={href(opened(e.capture.recording))}>open the recording</Link>}</span>
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}

/** Silent lists rules that cannot fire, because the store never had what they measure. */
function Silent({ rules }: { rules: RuleWithoutData[] }) {
  if (rules.length === 0) return null;
  return (
    <div class="wide-table">
      <h2>Rules that cannot fire</h2>
      <table class="plain events">
        <thead><tr><th scope="col">rule</th><th scope="col">why</th></tr></thead>
        <tbody>{rules.map((r) => <tr key={r.rule}><td>{r.rule}</td><td>{r.text}</td></tr>)}</tbody>
      </table>
    </div>
  );
}

/** opened is the workbench with a recording on the shelf. */
const opened = (id: string) => about("overview", shelved + id);

interface Shelved {
  id: string;
  name: string;
  who?: string;
  note?: string;
  size: number;
  made: string;
  expires?: string;
  link?: string;
}

export function ShelfView() {
  const { data, error, waiting } = useAnswer<{ recordings: Shelved[] | null }>("/api/v1/shelf", []);
  if (error && !waiting && error.status !== 404) return <Problem error={error} />;
  if (!data && !error) return <div class="blank" aria-busy="true" />;
  const list = data?.recordings ?? [];
  if (list.length === 0) {
    return (
      <Message title="The shelf is empty">
        <p><code>hone push server.hone --to {location.origin}</code> puts a recording here, and answers with a link that opens it for everybody who may read.</p>
      </Message>
    );
  }
  return (
    <div class="main page scrolls fleet" tabIndex={0} role="region" aria-label="Shelf">
      <div class="wide-table">
        <table class="plain events">
          <thead><tr><th scope="col">recording</th><th scope="col" class="num">size</th><th scope="col">made</th><th scope="col">by</th><th scope="col">kept until</th><th scope="col"><span class="hidden">file</span></th><th scope="col">note</th></tr></thead>
          <tbody>
            {list.map((r) => (
              <tr key={r.id}>
                <td><Link to={opened(r.id)} href={href(opened(r.id))}>{r.name || r.id}</Link></td>
                <td class="num">{value(r.size, "bytes")}</td>
                <td class="num">{when(Date.parse(r.made), false)}</td>
                <td>{r.who}</td>
                <td class="num kept">{r.expires ? when(Date.parse(r.expires), false) : "it is removed"}</td>
                <td><a href={"/shelf/" + encodeURIComponent(r.id) + ".hone"} download>download</a></td>
                <td>{r.note}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
