// What is unusual about a run, each with a link to the view that shows it.

import { Symptom, Symptoms } from "./api";
import { asked, shows, timed, useAnswer, useApp } from "./data";
import { busyCores, count, percent, value } from "./format";
import { short } from "./names";
import { Link } from "./parts";
import { State, href, put, to } from "./state";

const bytes = (v?: number) => value(v ?? 0, "bytes");
const nanos = (v?: number) => value(v ?? 0, "nanoseconds");

function told(s: Symptom): string {
  const most = (how: string) => (s.where ? `${how} ${short(s.where)}` : "");
  switch (s.kind) {
    case "ended": return `The program ended: ${s.name}`;
    case "trouble": return s.name ?? "";
    case "limit": return `${bytes(s.part)} were resident at the peak, ${percent(s.part ?? 0, s.whole ?? 0)} of the ${s.name} of ${bytes(s.whole)}`;
    case "throttled": return `The kernel throttled the control group in ${count(s.part ?? 0)} of ${count(s.whole ?? 0)} periods (${percent(s.part ?? 0, s.whole ?? 0)}), for ${nanos(s.lost_ns)} in total over all cores${s.cores ? `: its limit is ${busyCores(s.cores)} cores` : ""}`;
    case "leaked": return `${count(s.part ?? 0)} leaked ${s.part === 1 ? "goroutine" : "goroutines"} (blocked forever${s.main_returned ? ", since main returned if not before" : ""})${most(", most in")}`;
    case "stuck": return `${count(s.part ?? 0)} goroutines were blocked the whole time in ${short(s.where ?? "")} (${s.name})`;
    case "goroutines": return `Goroutines grew from ${count(s.from ?? 0)} to ${count(s.to ?? 0)}${most(", most in")}`;
    case "memory": return `The live heap grew from ${bytes(s.from)} to ${bytes(s.to)}${most(", most of it allocated by")}`;
    case "gc": return `Garbage collection takes ${percent(s.part ?? 0, s.whole ?? 0)} of the CPU time`;
    case "cores": return `Threads waited ${nanos(s.part)} for a core while they ran for ${nanos(s.whole)}`;
    case "locks": return `Goroutines waited about ${nanos(s.part)} for locks in ${nanos(s.whole)}${most(", most in")}`;
  }
}

/** useSymptoms asks what is unusual, where that can be known. */
export function useSymptoms(): Symptoms | undefined {
  const app = useApp();
  const asks = app.api.has("/api/symptoms") && shows(app, "symptoms");
  return useAnswer<Symptoms>(asks ? "/api/symptoms" : "", asked(app, "symptoms")).data;
}

/** SymptomList stands at the head of an overview. It is not there where nothing is unusual, or nobody knows. */
export function SymptomList({ data }: { data: Symptoms | undefined }) {
  const app = useApp();
  const { state } = app;
  if (!data?.symptoms?.length) return null;
  const view = (s: Symptom): [State, string] | undefined => {
    const other = (name: string, title: string): [State, string] | undefined => (shows(app, name) ? [to(state, name), title] : timed(app) ? [to(state, "timeline"), "Timeline"] : undefined);
    switch (s.kind) {
      case "leaked": case "stuck": case "goroutines": return other("goroutines", "Goroutines");
      case "memory": case "limit": return other("mem", "Memory");
      case "gc": return other("gc", "GC");
      case "locks": return app.api.embedded ? undefined : [to(put(state, "metric", "mutex"), "flame"), "Flame graph of lock waits"];
      default: return other("timeline", "Timeline");
    }
  };
  return (
    <section class="card" aria-label="Unusual">
      <h2>Unusual about this run</h2>
      <ul class="symptoms">
        {data.symptoms.map((s) => {
          const at = view(s);
          return <li><span>{told(s)}</span> {at && <Link to={at[0]} href={href(at[0])}>{at[1]} ›</Link>}</li>;
        })}
      </ul>
    </section>
  );
}
