// What stands above every view: what is looked at, the views, and the filters that were applied.

import { useEffect, useRef, useState } from "preact/hooks";
import { App, asked, baseOf, expectCallers, lasting, metricOf, profiled, recordingOf, shows, useAnswer, useApp, useExpected } from "./data";
import { Check, Failure, FlameChart, Recording } from "./api";
import { during, nanosOf, span } from "./chart";
import { duration, many, value } from "./format";
import { sheet, useKeys } from "./keys";
import { OpenFiles, SavedViews } from "./files";
import { readable, shortest } from "./names";
import { Icon, Link, copy, useDropdown } from "./parts";
import { services, shelved } from "./fleet";
import { filtersHere } from "./saved";
import { Pair, State, add, change, get, go, href, ofFleet, put, queryString, settle, state as latest, steps, to, without } from "./state";
import { Theme } from "./colors";

export interface View {
  name: string;
  title: string;
  needs: string; // what has to be answerable for it to be offered
  of: string; // the view of hone that has to have something to show
  key?: string; // else it is a number
  fleet?: "all" | "one"; // it is about a store: all of it, or what is selected
}

export const views: View[] = [
  { name: "services", title: "Services", needs: "", of: "", key: "g", fleet: "all" },
  { name: "events", title: "Events", needs: "", of: "", key: "e", fleet: "all" },
  { name: "shelf", title: "Shelf", needs: "", of: "", key: "k", fleet: "all" },
  { name: "service", title: "Service", needs: "", of: "", key: "0", fleet: "one" },
  { name: "heat", title: "Heat map", needs: "", of: "", key: "m", fleet: "one" },
  { name: "overview", title: "Overview", needs: "/api/top", of: "top" },
  { name: "compare", title: "Compare", needs: "/api/compare", of: "compare", key: "v" },
  { name: "bench", title: "Benchmarks", needs: "/api/bench", of: "bench", key: "b" },
  { name: "load", title: "Load", needs: "/api/load", of: "load", key: "o" },
  { name: "timeline", title: "Timeline", needs: "/api/timeline", of: "timeline", key: "0" },
  { name: "goroutines", title: "Goroutines", needs: "/api/goroutines", of: "goroutines", key: "G" },
  { name: "holders", title: "Holders", needs: "/api/holders", of: "holders", key: "H" },
  { name: "mem", title: "Memory", needs: "/api/mem", of: "mem", key: "M" },
  { name: "gc", title: "GC", needs: "/api/gc", of: "gc", key: "C" },
  { name: "trace", title: "Trace", needs: "/api/lanes", of: "lanes", key: "x" },
  { name: "flame", title: "Flame", needs: "/api/flame", of: "flame" },
  { name: "flamechart", title: "Flame chart", needs: "/api/flamechart", of: "flamechart", key: "F" },
  { name: "calltree", title: "Call tree", needs: "/api/calltree", of: "calltree", key: "w" },
  { name: "sandwich", title: "Callers", needs: "/api/sandwich", of: "sandwich" },
  { name: "top", title: "Top", needs: "/api/top", of: "top" },
  { name: "graph", title: "Graph", needs: "/download/svg", of: "dot" },
  { name: "source", title: "Source", needs: "/api/list", of: "list" },
  { name: "diff", title: "Diff", needs: "/api/diff", of: "diff" },
  { name: "tags", title: "Tags", needs: "/api/tags", of: "tags" },
  { name: "traces", title: "Traces", needs: "/api/traces", of: "traces" },
];

/** compares tells whether a view shows what something is compared with, too. */
export function compares({ session, state }: App, view: string): boolean {
  const of = views.find((v) => v.name === view)?.of;
  return session.views.some((v) => v.name === of && v.uses.includes(get(state, "base-tag") === "" ? "base" : "base-tag"));
}

/** switched returns s about another recording, without what that does not have. */
function switched(s: State, rec: Recording): State {
  let out = put(put(put(s, "ref", rec.ref), "root", ""), "at", "");
  const metric = get(s, "metric");
  if (!rec.metrics.some((m) => m.type === metric || m.names?.includes(metric))) out = put(out, "metric", "");
  const offered = (v: View) => rec.views.includes(v.of);
  const view = views.find((v) => v.name === s.view);
  if (!view || view.fleet || offered(view)) return out;
  const instead = views.find((v) => v.name === "overview" && offered(v)) ?? views.find(offered);
  return instead ? to(out, instead.name) : out;
}

export function Header({ theme, onTheme }: { theme: Theme; onTheme: () => void }) {
  const app = useApp();
  const { state, session, api } = app;
  const recordings = session.recordings;
  const ref = get(state, "ref") || recordings[0]?.ref || "";
  const rec = recordingOf(app);
  const metrics = rec?.metrics ?? [];
  const now = metricOf(app);
  const metric = now?.type ?? get(state, "metric");
  const others = recordings.filter((r) => r.ref !== ref);
  const base = baseOf(app);
  const at = api.embedded || !profiled(app) ? "" : get(state, "at");
  const { data: part, error: none } = useAnswer<{ total: number; unit: string; duration_nanos?: number }>(
    at && "/api/top", [["limit", "1"], ...state.pairs.filter(([k]) => k === "ref" || k === "metric" || k === "at")]);
  // A flame chart of an execution trace is of the CPU samples in it, and not of the time of its goroutines.
  const { data: chart } = useAnswer<FlameChart>(
    state.view === "flamechart" && shows(app, "lanes") && api.has("/api/flamechart") ? "/api/flamechart" : "", state.pairs.filter(([k]) => k === "ref" || k === "metric" || k === "at"));
  const long = at ? part?.duration_nanos : rec?.duration_nanos;
  const headline = chart?.sampled ? [
    many(chart.total, "CPU sample"),
    long ? duration(long) + " long" : "",
  ].filter(Boolean).join(" · ") : at ? (part && !none ? [
    value(part.total, part.unit),
    part.duration_nanos ? duration(part.duration_nanos) + " long" : "",
  ] : []).filter(Boolean).join(" · ") : [
    now && value(now.total, now.unit),
    rec?.duration_nanos ? duration(rec.duration_nanos) + " long" : "",
    now && (now.taken ? many(now.taken, "sample") : now.samples ? many(now.samples, "stack") : ""),
  ].filter(Boolean).join(" · ");
  const home = ofFleet ? services(state) : to(state, "overview");
  return (
    <header class="head">
      <h1 class="hidden">{views.find((v) => v.name === state.view)?.title ?? "hone"}</h1>
      <Link to={home} href={href(home)} class="brand">hone</Link>
      {!ofFleet && <label class="pick"><span class="hidden">Recording</span>
        <select value={ref} title={ref} onChange={(e) => go(switched(state, recordings.find((r) => r.ref === e.currentTarget.value)!))} disabled={api.embedded}>
          {recordings.map((r) => <option value={r.ref} selected={r.ref === ref} title={r.ref}>{describe(r, recordings)}</option>)}
        </select>
      </label>}
      {metrics.length > 0 && <label class="pick narrow"><span class="hidden">Metric</span>
        <select value={metric} onChange={(e) => go(put(put(state, "metric", e.currentTarget.value), "root", ""))} disabled={api.embedded}>
          {!now && <option value={metric} selected>{metric}</option>}
          {metrics.map((m) => <option value={m.type} selected={m === now}>{m.type.replace(/_/g, " ")}</option>)}
        </select>
      </label>}
      {!ofFleet && profiled(app) && (others.length > 0 || base !== "") && (
        <label class="pick narrow"><span class="hidden">Compare with</span>
          <select value={base} onChange={(e) => go(put(put(e.currentTarget.value === "" || compares(app, state.view) ? state : to(state, "diff"), "base", e.currentTarget.value), "root", ""))} disabled={api.embedded}>
            <option value="" selected={base === ""}>compare with…</option>
            {base !== "" && base === ref && <option value={base} selected>against other labels</option>}
            {others.map((r) => <option value={r.ref} selected={r.ref === base} title={r.ref}>against {shortest(r.ref, recordings)}</option>)}
            {api.embedded && <option value={base} selected title={base}>against {shortest(base, recordings)}</option>}
          </select>
        </label>
      )}
      <span class="headline-text">{headline}</span>
      <span class="head-end">
        {!api.embedded && <OpenFiles />}
        {!api.embedded && <SavedViews />}
        {!api.embedded && <button onClick={() => { settle(); copy(location.href, ofFleet ? "link copied: it opens this view in any browser that reaches this server" : "link copied: it opens this view in this browser while hone web runs; for others, download the page"); }} title="copy a link to this view"><Icon name="share" /><span class="wide">Share</span></button>}
        {!api.embedded && !(ofFleet && recordings.length === 0) && <Download />}
        <button onClick={onTheme} title={`theme: ${theme} (t)`} aria-label={`theme: ${theme}`}><Icon name={theme} /></button>
        <Help />
      </span>
    </header>
  );
}

/** describe names a recording and its program. */
function describe({ program, ref }: Recording, all: Recording[]): string {
  const name = shortest(ref, all);
  return program && !name.includes(program) ? `${program} · ${name}` : name;
}

const downloads: [format: string, doc: string, ending: string][] = [
  ["hone", "the recording, with all that is in it", ".hone"],
  ["pprof", "profile as loaded", ".pb.gz"],
  ["pprof-filtered", "profile as filtered", ".pb.gz"],
  ["html", "these tabs as one page, which needs no server", ".html"],
  ["svg", "flame graph", ".svg"],
  ["png", "flame graph", ".png"],
  ["folded", "stacks as text, for flamegraph.pl and similar tools", ".txt"],
  ["speedscope", "stacks for speedscope.app", ".json"],
  ["csv", "this view as a table", ".csv"],
  ["json", "this view as data", ".json"],
  ["markdown", "this view for a ticket", ".md"],
  ["spans", "all spans as a table", ".csv"],
  ["parquet", "all spans, for SQL", ".parquet"],
  ["perfetto", "all spans, for ui.perfetto.dev", ".pftrace"],
];

// Formats that have no place for what something is compared with, and what says that.
const ofOneSide = new Set(["hone", "pprof", "pprof-filtered"]);
const ofBase = new Set(["base", "base-tag", "normalize", "per"]);

const ofStacks = new Set([...ofOneSide, "folded", "speedscope"]);

const tables = new Set(["csv", "json", "markdown"]);
const spans = new Set(["spans", "parquet", "perfetto"]); // of execution traces

// The views that a table or data can be had of, by what the server calls them. The overview is made of several.
const written: Record<string, string> = Object.fromEntries([
  ..."top flame flamechart calltree sandwich graph diff tags traces timeline goroutines mem gc compare bench load".split(" ").map((v) => [v, v]),
  ["source", "list"],
  ["trace", "lanes"],
]);

// Those that are of one function, which has to be chosen first.
const ofFunction = new Set(["sandwich", "list"]);

function Download() {
  const app = useApp();
  const menu = useDropdown();
  const [open, setOpen] = useState(false); // the links follow the state, which changes with every key
  const link = (format: string): string => {
    const table = tables.has(format);
    const arg = get(app.state, "arg");
    const own = written[app.state.view];
    const view = spans.has(format) ? "spans" : table ? (ofFunction.has(own) && arg === "" ? "top" : own) : format === "svg" || format === "png" ? (app.state.view === "graph" ? "graph" : "flame") : format === "html" ? app.state.view : "";
    const grammar = view === "graph" ? "dot" : format === "html" ? "flame" : view || (ofStacks.has(format) ? "folded" : "flame");
    const picture = grammar === "flame" && !table && get(app.state, "base") !== "" && get(app.state, "ui.gone") !== "no";
    const extra: Pair[] = [...(view ? [["view", view] as Pair] : []), ...(picture ? [["gone", "true"] as Pair] : [])];
    const question = asked(app, grammar, ["arg", ofFunction.has(view) ? arg : ""]).filter(([k]) => (k !== "root" || grammar === "flame") && (k !== "metric" || view !== "goroutines") && !(ofOneSide.has(format) && ofBase.has(k)));
    return "/download/" + format + queryString([...extra, ...question]);
  };
  const offered = (format: string): boolean => {
    if (format === "hone") return recordingOf(app)?.whole === true;
    if (spans.has(format)) return app.state.view === "trace";
    if (format === "csv" && app.state.view === "trace") return false; // lanes are no table, and spans are
    return tables.has(format) ? app.state.view in written : profiled(app);
  };
  const ref = recordingOf(app)?.ref ?? "";
  const said = (format: string, doc: string): string => doc + (baseOf(app) !== "" && ofOneSide.has(format) ? `, only of ${shortest(ref, app.session.recordings)}` : "");
  return (
    <details class="menu" ref={menu} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary title="download"><Icon name="download" /><span class="wide">Download</span></summary>
      <ul>
        {open && downloads.filter(([format]) => offered(format)).map(([format, doc, ending]) => <li><a href={link(format)} download onClick={() => { menu.current!.open = false; }}>{said(format, doc)} ({ending})</a></li>)}
      </ul>
    </details>
  );
}

function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  const offered = offeredBy(useApp());
  useKeys({ "?": () => dialog.current?.showModal() });
  return (
    <>
      <button onClick={() => dialog.current?.showModal()} title="keys (?)" aria-label="keys">?</button>
      <dialog ref={dialog} aria-label="Keys" onClick={(e) => { if (e.target === e.currentTarget) dialog.current?.close(); }}>
        {/* Without autofocus the button at its end would have the focus, and be scrolled to. */}
        <div class="sheet" tabIndex={-1} autofocus>
          <h2>Keys</h2>
          <div class="columns">
            {[["Views", offered.map((v): [string, string] => [v.key, v.title])] as const, ...sheet].map(([title, keys]) => (
              <section>
                <h3>{title}</h3>
                <dl>{keys.map(([k, doc]) => <div><dt>{k.split(/ +/).map((x) => <kbd>{x}</kbd>)}</dt><dd>{doc}</dd></div>)}</dl>
              </section>
            ))}
          </div>
          <button onClick={() => dialog.current?.close()}>Close</button>
        </div>
      </dialog>
    </>
  );
}

/** offeredBy returns the views that there are, each with its key. */
function offeredBy(app: App): (View & { key: string })[] {
  const { state, api, session } = app;
  const ref = get(state, "ref");
  const chosen = ref !== "" && !ref.startsWith(shelved); // from the store
  // What a selection has is not known before it is added up.
  const unknown = ofFleet && chosen && session.recordings.length === 0;
  let numbered = 0; // those that only some recordings have do not change the keys of the others
  return views.filter((v) => (v.fleet ? ofFleet && (v.fleet === "all" || chosen) : unknown ? !v.key : api.has(v.needs) && shows(app, v.of)))
    .map((v) => ({ ...v, key: v.key ?? String(++numbered) }));
}

export function Tabs() {
  const app = useApp();
  const { state } = app;
  const offered = offeredBy(app);
  const keys: Record<string, () => void> = {};
  const target = (v: View, from: State) => (v.name === "services" ? services(from) : to(from, v.name));
  for (const v of offered) keys[v.key] = () => go(target(v, latest()));
  useKeys(keys);
  useExpected();
  const strip = useRef<HTMLElement>(null);
  useEffect(() => {
    // Where not all tabs are in sight, the current one is, also after a phone was turned.
    const s = strip.current!;
    const observer = new ResizeObserver(() => {
      const at = s.querySelector<HTMLElement>("[aria-current]");
      if (at && (at.offsetLeft < s.scrollLeft || at.offsetLeft + at.offsetWidth > s.scrollLeft + s.clientWidth)) {
        s.scrollLeft = at.offsetLeft - (s.clientWidth - at.offsetWidth) / 2;
      }
    });
    observer.observe(s); // tells the first size as well
    return () => observer.disconnect();
  }, [state.view, offered.length]);
  return (
    <nav class="tabs" aria-label="Views" ref={strip}>
      {offered.map((v) => (
        <Link to={target(v, state)} href={href(target(v, state))} current={v.name === state.view} title={`${v.title} (${v.key})`} class={v.name === "service" ? "apart" : ""}
          soon={v.name === "sandwich" ? () => expectCallers(app, get(latest(), "ui.sel")) : undefined}>{v.title}</Link>
      ))}
    </nav>
  );
}

// Keys that have a control of their own, or that say what is looked at and not how.
const controlled = new Set([
  "ref", "base", "metric", "root", "arg", "by", "sort", "limit", "min", "invert", "collapse", "normalize", "per", "tag-root",
]);

// Views that no filter changes.
const unfiltered = new Set(["compare", "bench", "load", "mem", "gc"]);

/** Pills are the steps that were applied, each with a × that takes it back. */
export function Pills() {
  const app = useApp();
  const { state, api, session } = app;
  const titleOf = (k: string, v: string) => [`${k}=${v}`, session.keys.find((key) => key.name === k)?.doc].filter(Boolean).join(": ");
  const ref = get(state, "ref") || recordingOf(app)?.ref || "";
  const [adding, setAdding] = useState(false);
  const [editing, setEditing] = useState(-1); // the filter that is being edited, as a place in the state
  const shown = state.pairs.map(([k, v], i) => ({ k, v, i })).filter(({ k }) => !controlled.has(k) && !k.startsWith("ui."));
  const fixed = lasting(app);
  if (unfiltered.has(state.view) && shown.length === 0 && fixed.length === 0) return null;
  return (
    <div class="pills" role="region" aria-label="Filters">
      <span class="quiet">filters</span>
      {fixed.map(([k, v]) => (
        <span class="pill fixed" title={titleOf(k, v) + "; this file was saved with it and has nothing else"}>
          <span>{describeStep(k)} <b>{readableStep(k, v)}</b></span>
        </span>
      ))}
      {shown.map(({ k, v, i }) => i === editing && state.pairs[i]?.[0] === k ? (
        <FilterForm key={"edit" + i} was={{ key: k, text: v, at: i }} onDone={() => setEditing(-1)} />
      ) : (
        <span class="pill" key={k + v} title={titleOf(k, v)}>
          {!api.embedded && steps.includes(k) ? (
            <button class="edit" onClick={() => setEditing(i)} title={titleOf(k, v) + "; click to edit"} aria-label={`edit the filter ${k} ${readable(v)}`}>{describeStep(k)} <b>{readableStep(k, v)}</b></button>
          ) : <span>{describeStep(k)} <b>{readableStep(k, v)}</b></span>}
          <button onClick={() => go(k === "base-tag" && get(state, "base") === ref ? put(without(state, i), "base", "") : without(state, i))} aria-label={`remove the filter ${k} ${readable(v)}`}>×</button>
        </span>
      ))}
      {shown.length > 1 && <button class="small" onClick={() => go({ ...state, pairs: state.pairs.filter(([k]) => controlled.has(k) || k.startsWith("ui.")) })}>remove all</button>}
      {adding ? <FilterForm onDone={() => setAdding(false)} /> : <button class="small" onClick={() => setAdding(true)}><Icon name="plus" />add</button>}
    </div>
  );
}

/** describeStep names a filter as the notes, the form and the command line do, or else what is compared or looked at. */
function describeStep(key: string): string {
  switch (key) {
    case "base-tag":
      return "compared with label";
    case "at":
      return "time";
    default:
      return key;
  }
}

function readableStep(key: string, v: string): string {
  if (v === "true") return "";
  if (key === "at") return readableTime(v);
  const at = key.startsWith("tag") || key === "base-tag" ? v.indexOf("=") + 1 : 0;
  return v.slice(0, at) + readable(v.slice(at));
}

/** readableTime prints a part of the time as the charts do. */
function readableTime(at: string): string {
  const [from, to] = at.split("..");
  if (to === undefined) return at;
  if (from === "") return "up to " + span(nanosOf(to));
  return to === "" ? span(nanosOf(from)) + " on" : during(nanosOf(from), nanosOf(to));
}

/** FilterForm is where a filter is typed, or edited where it stands. What no view can answer is told there, and the view stays. */
function FilterForm({ was, onDone }: { was?: { key: string; text: string; at: number }; onDone: () => void }) {
  const { api, session } = useApp();
  const [key, setKey] = useState(was?.key ?? "focus");
  const [text, setText] = useState(was?.text ?? "");
  const [refused, setRefused] = useState(""); // why what was entered is not taken
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    box.current?.focus();
    if (was) box.current?.select();
  }, []);
  const typed = useAnswer<Check>(text === "" ? "" : "/api/check", [[key, text]], 120);
  const bad = refused || (typed.waiting ? "" : typed.data?.error ?? "");
  const said = was ? "edit-said" : "add-said";
  const about = (name: string) => session.keys.find((k) => k.name === name);
  const enter = async () => {
    if (text === "" || (was && key === was.key && text === was.text)) return onDone();
    // It may have been entered sooner than what was typed is known to be right.
    let error: string | undefined;
    try {
      ({ error } = await api.json<Check>("/api/check", [[key, text]], new AbortController().signal));
    } catch (e) {
      error = e instanceof Failure ? e.message : String(e);
    }
    if (error) return setRefused(error);
    go(was ? change(latest(), was.at, key, text) : add(latest(), key, text));
    onDone();
  };
  return (
    <form class="add" onSubmit={(e) => { e.preventDefault(); void enter(); }} onKeyDown={(e) => { if (e.key === "Escape") { e.preventDefault(); onDone(); } }}>
      <select aria-label="Kind of filter" value={key} onChange={(e) => { setKey(e.currentTarget.value); setRefused(""); }}>
        {(api.embedded ? filtersHere : steps.filter((s) => s !== "tag-root")).map((s) => <option value={s}>{s}</option>)}
      </select>
      <input ref={box} aria-label="What to filter by" placeholder={about(key)?.value ?? "RX"} value={text} spellcheck={false}
        aria-invalid={bad !== ""} aria-describedby={said} onInput={(e) => { setText(e.currentTarget.value); setRefused(""); }} />
      <button type="submit">Apply</button>
      <button type="button" onClick={onDone}>Cancel</button>
      <span id={said} class={bad === "" ? "quiet" : "bad"} aria-live="polite">{bad || about(key)?.doc}</span>
    </form>
  );
}
