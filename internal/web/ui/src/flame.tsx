// The flame graph. The server computes and sends what is large enough to be seen from the frame that is zoomed into; the
// zoom is shown at once from what is there already, and made finer when the answer arrives.

import { useContext, useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { Flame, AnyFrame, FlameStep, Search } from "./api";
import { ColorMode, Palette, colorOf, originNames } from "./colors";
import { Keys, useBack, useKeys } from "./keys";
import { Marks, choiceOf, chosen, useMark } from "./marks";
import {
  Matches, Model, Place, Window, ancestors, decode, flatAt, frameAt, framesWhere, matchedValue, nameAt, packagesOf, parentOf, placeOf, wayTo, windowOf,
} from "./model";
import { FlameCanvas } from "./canvas";
import { useFlagged } from "./advice";
import { Detail, Panel } from "./panel";
import { Dot, Icon, Nothing, Notes, Problem, useActions } from "./parts";
import { filterOf, searchRule, searched } from "./search";
import { Pair, State, add, drift, get, go, put, queryString, state as latest } from "./state";
import { Item, itemsFor } from "./menu";
import { Minimap, paintAhead } from "./minimap";
import { SideBySide, besideBase } from "./beside";
import { App, asked, idle, peek, recordingOf, useAhead, useAnswer, useApp, useFirst } from "./data";
import { count, percent, value } from "./format";
import { PaletteContext, safeColors, setSafeColors } from "./theme";
import { short } from "./names";

/** FlameView is the flame graph with all that steers it. Where there is a base it is colored by change. */
export function FlameView() {
  const app = useApp();
  return besideBase(app) ? <SideBySide /> : <OneFlame />;
}

const restful = 100; // milliseconds after a picture in which nobody does anything; most people look at it for longer

function OneFlame() {
  const app = useApp();
  const { state } = app;
  const share = app.api.embedded ? 0 : recordingOf(app)?.first ?? 0;
  const { data: answer, error, waiting } = useFirst<Flame>("/api/flame", question(app), share, pictured(app));
  // Where nobody answers, what was sent of the whole is worth a look closer.
  const data = error?.away && !waiting ? peek<Flame>("/api/flame", question({ ...app, state: put(state, "root", "") })) : answer;
  const model = useMemo(() => data && decode(data), [data]);
  if (error && !waiting && !(error.away && data)) {
    const scaled = state.view === "flame" && scaleOf(state) !== ""; // another scale may be possible
    return <>{scaled && <div class="tools"><Scales /></div>}<Problem error={error} /></>;
  }
  if (!data || !model) return <div class="blank" aria-busy="true" />;
  if (model.rows.length === 0 || (model.width === 0 && !data.path?.length)) return <Nothing head={data} />;
  return <Zoomed data={data} model={model} state={state} stale={waiting} />;
}

/** pictured names the picture that a state is about, wherever it is zoomed into. */
function pictured(app: App): string {
  return queryString(question(app).filter(([k]) => k !== "root"));
}

/** question returns what is asked for a state. Where nothing is computed anew, zooming is left to the page. */
function question(app: App): Pair[] {
  const { state, api } = app;
  const gone: Pair[] = get(state, "base") !== "" && get(state, "ui.gone") !== "no" ? [["gone", "true"]] : [];
  return asked(app, "flame", ...gone).filter(([k]) => !api.embedded || k !== "root");
}

/** rootOf returns the names of the frames that the state is zoomed into. */
export function rootOf(s: State): string[] {
  const root = get(s, "root");
  return root === "" ? [] : root.split(";");
}

/** zoomed returns the window that the state asks for, as far as the model has it. */
export function zoomed(data: Flame, model: Model, root: string[]): Window {
  return windowOf(model, placeOf(model, data.path, root) ?? { row: 0, i: 0 });
}

function Zoomed({ data, model, state, stale }: { data: Flame; model: Model; state: State; stale: boolean }) {
  const app = useApp();
  const palette = useContext(PaletteContext);
  const root = rootOf(state);
  const w = useMemo(() => zoomed(data, model, root), [data, model, get(state, "root")]);
  const marks = useMemo(() => new Marks(model), [model]);
  const upward = get(state, "ui.orient") === "flame";
  const mode = (get(state, "ui.color") || (model.compares ? "change" : "origin")) as ColorMode;

  const search = useSearch(model, w, root.length > 0);
  const hits = useMemo(() => search.wanted && new Matches(model, w, search.wanted), [model, w, search.wanted]);
  const flagged = useFlagged(model);
  const stepped = useRef(-1); // to this match, from which the cursor may have moved since
  useEffect(() => { stepped.current = -1; }, [search.wanted]);
  const call = useRef<string | undefined>(undefined); // as the state had it last
  useLayoutEffect(() => {
    const selected = get(latest(), "ui.sel");
    const way = get(latest(), "ui.call");
    if (selected === marks.selected && way === call.current) return;
    call.current = way;
    marks.set({ selected, cursor: choiceOf(latest(), model, data.path, w) ?? marks.cursor });
  }, [model, get(state, "ui.sel"), get(state, "ui.call")]);

  const above: FlameStep[] = [...(data.path ?? [])];
  for (const p of ancestors(model, w.top).slice(1)) {
    const r = model.rows[p.row];
    above.push({ name: nameAt(model, p), cum: r.cum[p.i], flat: r.flat[p.i] });
  }
  const namesTo = (p: Place): string[] => wayTo(model, data.path, p);
  const into = (s: State, names: string[]) => put(s, "root", names.join(";"));
  const zoomTo = (names: string[]) => go(into(latest(), names));
  // What is drawn may still be from before the last step; names with semicolons are told apart only by what is drawn.
  const names = above.map((s) => s.name);
  const way = names.join(";") === get(state, "root") ? names : root;
  const zoom = (p: Place) => zoomTo(namesTo(p));
  const select = (p: Place) => {
    const s = chosen(latest(), model, data.path, w, p);
    call.current = get(s, "ui.call");
    marks.set({ cursor: p, selected: get(s, "ui.sel") });
    drift(s);
  };
  const step = (d: number) => {
    if (!hits?.count) return;
    const now = marks.cursor ? hits.rank(marks.cursor) : -1;
    const from = now < 0 ? stepped.current : now;
    stepped.current = from < 0 ? (d > 0 ? 0 : hits.count - 1) : (from + d + hits.count) % hits.count;
    select(hits.places()[stepped.current]);
  };
  // From where the cursor is, which may have moved since.
  const advised = (d: number) => {
    const places = flagged ? new Matches(model, w, flagged.frames).places() : [];
    if (places.length === 0) return;
    const now = places.findIndex((p) => p.row === marks.cursor?.row && p.i === marks.cursor.i);
    select(places[now < 0 ? (d > 0 ? 0 : places.length - 1) : (now + d + places.length) % places.length]);
  };
  const toggle = (key: string, on = "true") => go(put(put(latest(), key, get(latest(), key) ? "" : on), "root", ""));
  const keys: Keys = {
    n: () => step(1),
    N: () => step(-1),
    r: () => zoomTo([]),
    Escape: useBack(search.q, get(state, "root"), () => zoomTo(way.slice(0, -1))),
    i: () => toggle("invert"),
    l: () => toggle("collapse"),
    u: () => go(put(latest(), "ui.orient", upward ? "" : "flame")),
    a: () => advised(1),
    A: () => advised(-1),
  };
  useKeys(keys);

  const crumbs = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (way.length > 0) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let left = false;
    void idle().then(() => {
      if (left) return;
      timer = setTimeout(() => {
        if (crumbs.current) paintAhead(model, crumbs.current, mode, palette); // else the view has gone meanwhile
      }, restful);
    });
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [model, mode, palette, way.length > 0]);

  const menu = (p: Place): Item[] => {
    const { frame, name } = subjectAt(model, p, above);
    const to = namesTo(p);
    return itemsFor(app, frame, name, p.row > w.top.row ? () => zoom(p) : undefined, (s) => (frame ? into(s, to) : s));
  };
  const viewValue = model.rows[w.top.row].cum[w.top.i];
  const left = (data.dropped ?? 0) + data.of - data.shown; // calls
  return (
    <div class="with-panel">
      <div class="main">
        <div class="tools">
          <SearchBox search={search} hits={hits} marks={marks} onStep={step} />
          <div class="group">
            <Choice label="Color" value={mode} options={[
              ...(model.compares ? [["change", "change"] as [string, string]] : []),
              ["origin", "origin"], ["package", "package"], ["plain", "plain"],
            ]} onChange={(v) => go(put(latest(), "ui.color", v === (model.compares ? "change" : "origin") ? "" : v))} />
            <Choice label="Orientation" value={upward ? "flame" : "icicle"} options={[["icicle", "icicle"], ["flame", "flame"]]}
              onChange={(v) => go(put(latest(), "ui.orient", v === "flame" ? v : ""))} />
            <SafeColors />
            {!app.api.embedded && <LabelFrames />}
            {model.compares && !app.api.embedded && <Toggle on={false} title="a flame graph of each, with the same call lit in both" onClick={() => go(put(latest(), "ui.side", "yes"))}>Side by side</Toggle>}
            {model.compares && !app.api.embedded && (
              <Toggle on={get(state, "ui.gone") !== "no"} title="calls that are no more keep the width that they had"
                onClick={() => go(put(latest(), "ui.gone", get(latest(), "ui.gone") === "no" ? "" : "no"))}>Gone</Toggle>
            )}
            {model.compares && !app.api.embedded && state.view === "flame" && (
              <Scales />
            )}
            <Toggle on={get(state, "invert") !== ""} onClick={() => toggle("invert")} title="callers below callees (i)">Invert</Toggle>
            {!app.api.embedded && <Toggle on={get(state, "collapse") !== ""} onClick={() => toggle("collapse")} title="a cycle of recursive calls once (l)">Collapse recursion</Toggle>}
          </div>
        </div>
        <div class="crumbs" ref={crumbs}>
          <Breadcrumb steps={above} whole={data.whole} onZoom={(n) => zoomTo(above.slice(0, n).map((s) => s.name))} />
          <span class="quiet">
            {percent(viewValue, data.total)} of {value(data.total, data.unit)}
            {data.whole !== data.total && <> · {percent(viewValue, data.whole)} of the whole profile</>}
            {data.inverted && " · inverted"}
            {left > 0 && <span title={`each below ${value(data.below ?? 0, data.unit)}; zoom in to see them`}> · {count(left)} small calls not drawn one by one</span>}
          </span>
        </div>
        <FlameCanvas model={model} window={w} unit={data.unit} total={data.total} upward={upward} mode={mode} palette={palette}
          wanted={search.wanted} flagged={flagged} marks={marks} keys label={`Flame graph of ${data.metric}: what each call costs in its context`}
          onCursor={select} onZoom={zoom} menu={menu} />
        {way.length > 0 && <Whole model={model} names={way} mode={mode} palette={palette} onZoom={zoomTo} />}
        <div class="foot">
          <Legend mode={mode} palette={palette} flagged={flagged !== undefined} model={model} />
          <span class="hints quiet"><kbd>/</kbd>search <kbd>Enter</kbd>zoom <kbd>Esc</kbd>out <kbd>f</kbd>focus <kbd>h</kbd>hide <kbd>?</kbd>keys</span>
        </div>
        <Notes notes={data.notes} />
      </div>
      <Marked data={data} model={model} window={w} above={above} marks={marks} stale={stale} onZoom={zoom}
        zoomed={(p) => into(state, namesTo(p))} wayTo={single(state) ? namesTo : undefined} />
    </div>
  );
}

/** Whole is the minimap. A saved page has the whole anyway; else it was mostly asked for before, since one begins there. */
function Whole({ model, ...rest }: { model: Model; names: string[]; mode: ColorMode; palette: Palette; onZoom: (names: string[]) => void }) {
  const app = useApp();
  const { data } = useAnswer<Flame>(app.api.embedded ? "" : "/api/flame", question({ ...app, state: put(app.state, "root", "") }));
  const whole = useMemo(() => (app.api.embedded ? model : data && decode(data)), [data, model]);
  return whole && whole.width > 0 ? <Minimap model={whole} {...rest} /> : null;
}

/** SafeColors chooses the colors that people with color blindness can tell apart. */
export function SafeColors() {
  useContext(PaletteContext); // which changes with it
  return <Toggle on={safeColors()} title="colors that people with color blindness can tell apart" onClick={() => setSafeColors(!safeColors())}>Color-blind safe</Toggle>;
}

/** single tells whether each box is one call of a function, and the way to it the names from the root of the stacks. */
function single(s: State): boolean {
  return ["", "function"].includes(get(s, "by")) && get(s, "invert") === "" && get(s, "collapse") === "";
}

/** Marked is the panel of what is marked in the picture, with what can be done with it. */
function Marked({ data, model, window: w, above, marks, stale, onZoom, zoomed, wayTo }: {
  data: Flame; model: Model; window: Window; above: FlameStep[]; marks: Marks; stale: boolean; onZoom: (p: Place) => void;
  zoomed: (p: Place) => State; wayTo: ((p: Place) => string[]) | undefined;
}) {
  const app = useApp();
  const hover = useMark(marks, (m) => m.hover);
  const cursor = useMark(marks, (m) => m.cursor);
  const actions = useActions(subjectAt(model, cursor ?? w.top, above));
  useKeys(Object.fromEntries(actions.map((a) => [a.key, a.run])));
  const inside = cursor && cursor.row > w.top.row ? cursor : undefined;
  // Whoever selects a call often zooms into it next: the second click of two does.
  useAhead(inside && !stale && !app.api.embedded ? "/api/flame" : "", inside ? question({ ...app, state: zoomed(inside) }) : []);
  const at = hover ?? cursor ?? w.top;
  return (
    <Panel detail={{ ...detailOf(data, model, w, at, above, hover !== undefined), way: wayTo?.(at) }} unit={data.unit} total={data.total}
      whole={data.whole} actions={actions} stale={stale} zoom={inside && (() => onZoom(inside))} />
  );
}

export function subjectAt(model: Model, p: Place, above: FlameStep[]): { frame: AnyFrame | undefined; name: string } {
  const frame = frameAt(model, p);
  return { frame, name: frame ? (frame.name ?? "") : p.row === 0 && above.length ? above[above.length - 1].name : "all" };
}

/** detailOf puts together what the panel shows of a node. */
export function detailOf(data: { total: number }, model: Model, w: Window, p: Place, above: FlameStep[], passing: boolean): Detail {
  const r = model.rows[p.row];
  const up = parentOf(model, p);
  const { frame, name } = subjectAt(model, p, above);
  return {
    frame,
    name,
    flat: flatAt(model, p),
    cum: r.cum[p.i],
    before: r.before?.[p.i],
    inline: r.inline?.[p.i] === 1,
    ofView: model.rows[w.top.row].cum[w.top.i],
    ofParent: up ? model.rows[up.row].cum[up.i] : above.length > 1 ? above[above.length - 2].cum : above.length ? data.total : undefined,
    passing,
  };
}

interface Found {
  q: string;
  zoomed: boolean;
  wanted: Uint8Array | undefined;
  found: Iterable<string>; // names
  text: string;
  title: string;
  bad: string;
  known: boolean; // what was typed last is answered, so it is a regexp
}

/**
 * useSearch marks the frames that match what is searched for. The share that matched is exact: the server counts it. It is of the whole profile.
 * Where the picture is zoomed, that is said, since the matches to step through are those in view.
 */
export function useSearch(model: Model, w: Window, zoomed: boolean): Found {
  const app = useApp();
  const q = get(app.state, "ui.q");
  const remote = q !== "" && !app.api.embedded;
  const pairs = asked(app, "search", ["rx", q]);
  const { data, error, for: answered } = useAnswer<Search>(remote ? "/api/search" : "", pairs, 120);
  const current = answered === "/api/search" + queryString(pairs);
  // Boxes stay marked for what was typed before until the next answer is there, so they are not marked again for each letter.
  const marked = useMemo(() => {
    if (!data) return undefined;
    const found = new Set(data.names ?? []);
    return { found, wanted: framesWhere(model, (name) => found.has(name)) };
  }, [data, model]);
  return useMemo(() => {
    const none = { q, zoomed, wanted: undefined, found: [], text: "", title: "", bad: "", known: false };
    if (q === "") return none;
    if (app.api.embedded) return searchHere(model, w, q, zoomed);
    if (error) return { ...none, bad: error.message };
    if (!data || !marked) return none;
    return {
      ...marked, q, bad: "", known: current, zoomed,
      text: current ? `${percent(data.value, data.total)}${zoomed ? " of all" : ""} matched` : "",
      title: `${count(data.count)} ${data.count === 1 ? "function" : "functions"}`,
    };
  }, [q, data, marked, error, current, model, w, zoomed]);
}

function searchHere(model: Model, w: Window, q: string, zoomed: boolean): Found {
  const rx = searched(q);
  if (!rx) return { q, zoomed, wanted: undefined, found: [], text: "", title: "", bad: "this is no regular expression", known: false };
  const wanted = framesWhere(model, (name) => rx.test(name));
  const n = wanted.reduce((sum, is) => sum + is, 0);
  const whole = model.rows[w.top.row].cum[w.top.i];
  return { q, zoomed, wanted, found: model.frames.name.filter((_, f) => wanted[f] === 1), bad: "", known: true, text: `${percent(matchedValue(model, w, wanted), whole)}${zoomed ? " of the view" : ""} matched`, title: `${count(n)} functions of those drawn` };
}

export function SearchBox({ search, hits, marks, onStep }: { search: Found; hits: Matches | undefined; marks: Marks; onStep: (d: number) => void }) {
  const { state } = useApp();
  const none = !hits?.count;
  const box = useRef<HTMLInputElement>(null);
  useKeys({ "/": () => { box.current?.focus(); box.current?.select(); } });
  const filter = (key: string) => go(add(put(state, "ui.q", ""), key, filterOf(search.q, search.found)));
  return (
    <div class="search">
      <input ref={box} type="search" placeholder="Search functions  ( / )" aria-label="Search functions, a regular expression" title={searchRule} spellcheck={false}
        aria-invalid={search.bad !== ""} value={search.q} onInput={(e) => go(put(state, "ui.q", e.currentTarget.value), "replace")}
        onKeyDown={(e) => { if (e.key === "Enter") onStep(e.shiftKey ? -1 : 1); }} />
      <div class={search.q === "" ? "" : "results"}>
        <span class="matched" aria-live="polite">
          {search.bad !== "" ? <span class="bad">{search.bad}</span> : search.text && <><b>{search.text}</b> · {search.title}</>}
        </span>
        {search.q !== "" && search.bad === "" && (
          <>
            <span class="stepper">
              <button onClick={() => onStep(-1)} disabled={none} aria-label="previous match" title="previous match (N)">‹</button>
              <span class="num">{!search.known ? "…" : none ? (search.zoomed ? "none in view" : "– / 0") : <><MatchAt hits={hits} marks={marks} />{search.zoomed && " in view"}</>}</span>
              <button onClick={() => onStep(1)} disabled={none} aria-label="next match" title="next match (n)">›</button>
            </span>
            <button disabled={!search.known} onClick={() => filter("focus")} title="keep only samples with a match">Focus</button>
            <button disabled={!search.known} onClick={() => filter("hide")} title="take matches out of the stacks">Hide</button>
            <button disabled={!search.known} onClick={() => filter("show")} title="take all else out of the stacks">Show only</button>
          </>
        )}
      </div>
    </div>
  );
}

/** MatchAt says which match the cursor is at. */
function MatchAt({ hits, marks }: { hits: Matches; marks: Marks }) {
  const cursor = useMark(marks, (m) => m.cursor);
  const at = useMemo(() => (cursor ? hits.rank(cursor) : -1), [hits, cursor]);
  return <>{at < 0 ? "–" : at + 1} / {hits.count}</>;
}

export function Choice({ label, value: v, options, onChange }: {
  label: string; value: string; options: [string, string][]; onChange: (v: string) => void;
}) {
  return (
    <label class="choice">
      <span>{label}</span>
      <select value={v} onChange={(e) => onChange(e.currentTarget.value)}>
        {options.map(([k, name]) => <option value={k} selected={k === v}>{name}</option>)}
      </select>
    </label>
  );
}

export function Toggle({ on, onClick, title, children }: { on: boolean; onClick: () => void; title?: string; children: string }) {
  return <button class={"toggle" + (on ? " on" : "")} aria-pressed={on} onClick={onClick} title={title}>{children}</button>;
}

/** scaleOf is how the sides of a comparison are scaled; "" is not at all. */
export function scaleOf(s: State): "" | "second" | "normal" {
  return get(s, "normalize") !== "" ? "normal" : get(s, "per") !== "" ? "second" : "";
}

/** Scales are buttons that choose how the sides of a comparison are scaled. */
export function Scales() {
  const { state } = useApp();
  const now = scaleOf(state);
  const choose = (normal: string, per: string) => go(put(put(put(latest(), "normalize", normal), "per", per), "root", ""));
  return (
    <div class="group" role="group" aria-label="Scale">
      <Toggle on={now === ""} title="compare what was recorded" onClick={() => choose("", "")}>Absolute</Toggle>
      <Toggle on={now === "second"} title="compare what one process costs in a second, and of live memory and goroutines what one has" onClick={() => choose("", "second")}>Per second</Toggle>
      <Toggle on={now === "normal"} title="compare shares, not amounts: before is scaled to the total of after" onClick={() => choose("true", "")}>Normalized</Toggle>
    </div>
  );
}

/** LabelFrames puts the values of a label on top of the stacks. */
function LabelFrames() {
  const { state, session } = useApp();
  const ref = get(state, "ref");
  const rec = session.recordings.find((r) => r.ref === ref) ?? session.recordings[0];
  const labels = rec?.labels ?? [];
  const now = get(state, "tag-root");
  if (labels.length === 0) return null;
  const known = now === "" || labels.includes(now) ? labels : [...labels, now]; // several with commas, from the command line
  return (
    <Choice label="Labels" value={now} options={[["", "not shown"], ...known.map((l) => [l, `by ${l.replaceAll(",", ", ")}`] as [string, string])]}
      onChange={(v) => go(put(put(state, "tag-root", v), "root", ""))} />
  );
}

export function Breadcrumb({ steps, whole, onZoom }: { steps: FlameStep[]; whole: number; onZoom: (n: number) => void }) {
  // The way down may be a hundred frames long; its ends are what tells where one is.
  const shown = steps.length > 5 ? [0, -1, steps.length - 3, steps.length - 2, steps.length - 1] : steps.map((_, i) => i);
  return (
    <nav class="breadcrumb" aria-label="Zoom">
      <ol>
        <li>{steps.length === 0 ? <b aria-current="true">all</b> : <button class="link" onClick={() => onZoom(0)} title="zoom out to the whole (r)">all</button>}</li>
        {shown.map((i) =>
          i < 0 ? <li><span class="quiet">… {count(steps.length - 4)} more</span></li> : (
            <li>
              {i === steps.length - 1 ? (
                <b aria-current="true" title={steps[i].name}>{short(steps[i].name)}</b>
              ) : (
                <button class="link" onClick={() => onZoom(i + 1)} title={`${steps[i].name}: ${percent(steps[i].cum, whole)} of the whole profile`}>{short(steps[i].name)}</button>
              )}
            </li>
          ))}
      </ol>
      {steps.length > 0 && <button class="small" onClick={() => onZoom(steps.length - 1)} title="zoom out by one frame (Esc)"><Icon name="close" /><span class="hidden">zoom out</span></button>}
    </nav>
  );
}

const mostPackages = 6; // that a legend names

export function Legend({ mode, palette, flagged, model }: { mode: ColorMode; palette: Palette; flagged: boolean; model: Model }) {
  const packages = useMemo(() => (mode === "package" ? packagesOf(model).slice(0, mostPackages) : []), [model, mode]);
  const others = useMemo(() => model.frames.origins.includes("other") || model.frames.origin.includes(-1), [model]);
  const mark = flagged && <li><span class="flag" aria-hidden="true" />has a finding</li>;
  if (mode === "origin") {
    return (
      <ul class="legend" aria-label="Colors">
        {(["own", "std", "dep", "runtime", ...(others ? ["other" as const] : [])] as const).map((o) => <li><Dot origin={o} />{originNames[o]}</li>)}
        {mark}
      </ul>
    );
  }
  if (mode === "change") {
    const swatch = (color: string) => <span class="dot" style={{ backgroundColor: color }} />;
    return (
      <ul class="legend" aria-label="Colors">
        <li>{swatch(palette.less[2])}▼ less</li>
        <li>{swatch(palette.same)}same</li>
        <li>{swatch(palette.more[2])}▲ more</li>
        <li><span class="dot rising" style={{ backgroundColor: palette.isNew }} />+ new</li>
        <li><span class="dot falling" style={{ backgroundColor: palette.isGone }} />− gone</li>
        {mark}
      </ul>
    );
  }
  const swatch = (color: string) => <span class="dot" style={{ backgroundColor: color }} />;
  return (
    <ul class="legend" aria-label="Colors">
      {packages.map((name) => <li title={name}>{swatch(colorOf(palette, mode, { package: name }))}{short(name)}</li>)}
      {mode === "package" ? <li>other packages in colors of their own</li> : <li>{swatch(palette.plain)}every function</li>}
      {mark}
    </ul>
  );
}

