// Two flame graphs beside each other: what is compared, and what it is compared with. A call that is marked in one is marked in the
// other, too, where it is there.

import { useContext, useEffect, useMemo } from "preact/hooks";
import { Flame, FlameStep } from "./api";
import { useFlagged } from "./advice";
import { FlameCanvas } from "./canvas";
import { ColorMode } from "./colors";
import { App, Answer, asked, baseOf, useAnswer, useApp } from "./data";
import { Breadcrumb, Choice, Legend, SafeColors, SearchBox, Toggle, rootOf, scaleOf, subjectAt, useSearch } from "./flame";
import { growth, percent, signed, value } from "./format";
import { Keys, useBack, useKeys } from "./keys";
import { Marks, choiceOf, chosen, useMark } from "./marks";
import { Item, itemsFor } from "./menu";
import { Matches, Model, Place, Window, decode, flatAt, framesWhere, placeOf, wayTo } from "./model";
import { readable, shortest } from "./names";
import { Notes, Problem, useActions } from "./parts";
import { searched } from "./search";
import { Pair, drift, get, go, put, state as latest } from "./state";
import { PaletteContext } from "./theme";

/** besideBase tells whether there are to be two pictures. */
export function besideBase(app: App): boolean {
  return !app.api.embedded && baseOf(app) !== "" && get(app.state, "ui.side") === "yes";
}

interface Side {
  name: string; // of the recording
  data: Flame;
  model: Model;
  marks: Marks;
}

function useSide(answer: Answer<Flame>, name: string): Side | undefined {
  const { data } = answer;
  return useMemo(() => {
    if (!data) return undefined;
    const model = decode(data);
    return { name, data, model, marks: new Marks(model) };
  }, [data, name]);
}

/** wayIn returns the names from the root of the stacks to a place in a side. */
const wayIn = (s: Side, p: Place): string[] => wayTo(s.model, s.data.path, p);

export function SideBySide() {
  const app = useApp();
  const { state, session } = app;
  const base = baseOf(app);
  const ref = get(state, "ref") || session.recordings[0]?.ref || "";
  const question = (of: string): Pair[] => [["ref", of], ...asked(app, "flame").filter(([k]) => k !== "ref" && k !== "base" && k !== "base-tag" && k !== "normalize" && k !== "per" && k !== "gone")];
  const mine = useAnswer<Flame>("/api/flame", question(ref));
  const scaled = scaleOf(state) !== "";
  const other = useAnswer<Flame>(scaled ? "/api/before" : "/api/flame", scaled ? asked(app, "flame").filter(([k]) => k !== "gone") : withBaseTags(question(base), state.pairs));
  const after = useSide(mine, ref);
  const before = useSide(other, base);
  const failed = [mine, other].find((a) => a.error && !a.waiting && !a.data);
  if (failed && !after && !before) return <Problem error={failed.error!} />;
  if ((!after && !mine.error) || (!before && !other.error)) return <div class="blank" aria-busy="true" />;
  return <Both before={other.error && !other.waiting ? undefined : before} after={mine.error && !mine.waiting ? undefined : after} names={[labeled(shortest(base, app.session.recordings), state.pairs, "base-tag"), labeled(shortest(ref, app.session.recordings), state.pairs, "tag")]} stale={mine.waiting || other.waiting} />;
}

/** labeled returns the name of a side, with its labels where these are what tells it from the other. */
function labeled(name: string, pairs: Pair[], key: string): string {
  if (!pairs.some(([k]) => k === "base-tag")) return name;
  return [name, ...pairs.filter(([k]) => k === key).map(([, v]) => { const at = v.indexOf("=") + 1; return v.slice(0, at) + readable(v.slice(at)); })].join(" ");
}

/** withBaseTags has the labels of the base in place of those that both are filtered by. */
function withBaseTags(pairs: Pair[], all: Pair[]): Pair[] {
  const tags = all.filter(([k]) => k === "base-tag");
  return tags.length === 0 ? pairs : [...pairs.filter(([k]) => k !== "tag"), ...tags.map(([, v]): Pair => ["tag", v])];
}

function Both({ before, after, names, stale }: { before: Side | undefined; after: Side | undefined; names: [string, string]; stale: boolean }) {
  const app = useApp();
  const { state } = app;
  const palette = useContext(PaletteContext);
  const sides = useMemo(() => [before, after].filter((s) => s !== undefined), [before, after]);
  const common = get(state, "ui.scale") === "common";
  const mode = (["origin", "package", "plain"].includes(get(state, "ui.color")) ? get(state, "ui.color") : "origin") as ColorMode;
  const upward = get(state, "ui.orient") === "flame";
  const root = rootOf(state);
  const largest = Math.max(...sides.map((s) => s.model.width), 0);
  const windowFor = (s: Side): Window => ({ top: { row: 0, i: 0 }, x0: 0, x1: common ? largest : s.model.width });
  const windows = useMemo(() => new Map(sides.map((s) => [s, windowFor(s)])), [sides, common, largest]);
  const main = after ?? before!;
  const search = useSearch(main.model, windows.get(main)!, root.length > 0);
  const rx = useMemo(() => (search.q === "" ? undefined : searched(search.q)), [search.q]);
  const wanted = useMemo(() => new Map(sides.map((s) => {
    if (s === main || !rx) return [s, search.wanted];
    return [s, framesWhere(s.model, (name) => rx.test(name))];
  })), [sides, search.wanted, rx]);

  // What is marked in one is marked in the other.
  useEffect(() => {
    let busy = false;
    const stop = sides.map((s) => s.marks.follow(() => {
      const o = sides.find((x) => x !== s);
      if (busy || !o) return;
      busy = true;
      const twin = (p: Place | undefined) => p && placeOf(o.model, o.data.path, wayIn(s, p));
      const hover = twin(s.marks.hover);
      const cursor = twin(s.marks.cursor);
      if (!same(hover, o.marks.hover) || !same(cursor, o.marks.cursor) || s.marks.selected !== o.marks.selected) o.marks.set({ hover, cursor, selected: s.marks.selected });
      busy = false;
    }));
    return () => stop.forEach((f) => f());
  }, [sides]);
  useEffect(() => {
    const selected = get(latest(), "ui.sel");
    if (selected === "" || selected === main.marks.selected) return;
    main.marks.set({ selected, cursor: choiceOf(latest(), main.model, main.data.path, windows.get(main)!) ?? main.marks.cursor });
  }, [main, get(state, "ui.sel")]);

  const zoomTo = (way: string[]) => go(put(latest(), "root", way.join(";")));
  const select = (s: Side, p: Place) => {
    const now = chosen(latest(), s.model, s.data.path, windows.get(s)!, p);
    s.marks.set({ cursor: p, selected: get(now, "ui.sel") });
    drift(now);
  };
  const hits = useMemo(() => search.wanted && new Matches(main.model, windows.get(main)!, search.wanted), [main, search.wanted]);
  const step = (d: number) => {
    const places = hits?.places() ?? [];
    if (places.length === 0) return;
    const c = main.marks.cursor;
    const now = places.findIndex((p) => same(p, c));
    select(main, places[now < 0 ? (d > 0 ? 0 : places.length - 1) : (now + d + places.length) % places.length]);
  };
  const keys: Keys = {
    n: () => step(1),
    N: () => step(-1),
    r: () => zoomTo([]),
    Escape: useBack(search.q, get(state, "root"), () => zoomTo(root.slice(0, -1))),
    i: () => go(put(put(latest(), "invert", get(latest(), "invert") ? "" : "true"), "root", "")),
    u: () => go(put(latest(), "ui.orient", upward ? "" : "flame")),
  };
  useKeys(keys);
  const steps: FlameStep[] = main.data.path ?? [];
  const menu = (s: Side) => (p: Place): Item[] => {
    const { frame, name } = subjectAt(s.model, p, s.data.path ?? []);
    return itemsFor(app, frame, name, p.row > 0 ? () => zoomTo(wayIn(s, p)) : undefined, (to) => put(to, "root", wayIn(s, p).join(";")));
  };
  const flagged = useFlagged(main.model);
  const picture = (s: Side | undefined, name: string, title: string) => (
    <section class="side" aria-label={title}>
      <h2>{title} <b>{name}</b> {s && <span class="quiet">{value(s.data.total, s.data.unit)}{root.length > 0 && s.model.rows[0]?.n > 0 && ` · ${percent(s.model.rows[0].cum[0], s.data.total)} in sight`}</span>}</h2>
      {s && s.model.width > 0 ? (
        <FlameCanvas model={s.model} window={windows.get(s)!} unit={s.data.unit} total={s.data.total} upward={upward} mode={mode} palette={palette} wanted={wanted.get(s)} flagged={s === main ? flagged : undefined}
          marks={s.marks} keys={s === main} label={`Flame graph of ${name}`} onCursor={(p) => select(s, p)} onZoom={(p) => zoomTo(wayIn(s, p))} menu={menu(s)} />
      ) : <p class="quiet none">{root.length > 0 ? "There is no such call here." : "There are no samples here."} {root.length > 0 && <button class="small" onClick={() => zoomTo(root.slice(0, -1))}>zoom out</button>}</p>}
    </section>
  );
  return (
    <div class="with-panel beside">
      <div class="main">
        <div class="tools">
          <SearchBox search={search} hits={hits} marks={main.marks} onStep={step} />
          <div class="group">
            <Toggle on onClick={() => go(put(put(latest(), "ui.side", ""), "ui.scale", ""))} title="one flame graph, colored by change">Side by side</Toggle>
            <Choice label="Width" value={common ? "common" : "own"} options={[["own", "each its own total"], ["common", "one scale for both"]]} onChange={(v) => go(put(latest(), "ui.scale", v === "common" ? v : ""))} />
            <Choice label="Color" value={mode} options={[["origin", "origin"], ["package", "package"], ["plain", "plain"]]} onChange={(v) => go(put(latest(), "ui.color", v))} />
            <SafeColors />
            <Toggle on={get(state, "invert") !== ""} onClick={() => keys.i(new KeyboardEvent("keydown"))} title="callers below callees (i)">Invert</Toggle>
          </div>
        </div>
        <div class="crumbs"><Breadcrumb steps={steps} whole={main.data.whole} onZoom={(n) => zoomTo(root.slice(0, n))} /></div>
        <div class="pair">
          {picture(before, names[0], "before")}
          {picture(after, names[1], "after")}
        </div>
        <div class="foot">
          <Legend mode={mode} palette={palette} flagged={flagged !== undefined} model={main.model} />
          <span class="hints quiet"><kbd>/</kbd>search <kbd>Enter</kbd>zoom <kbd>Esc</kbd>out <kbd>?</kbd>keys</span>
        </div>
        <Notes notes={[...(before?.data.notes ?? []), ...(after?.data.notes ?? [])].filter((n, i, all) => all.indexOf(n) === i)} />
      </div>
      <Marked before={before} after={after} stale={stale} />
    </div>
  );
}

const same = (a: Place | undefined, b: Place | undefined) => a?.row === b?.row && a?.i === b?.i;

/** Marked says what the call that is marked costs on both sides. */
function Marked({ before, after, stale }: { before: Side | undefined; after: Side | undefined; stale: boolean }) {
  const main = (after ?? before)!;
  const second = before ?? main;
  const at = (m: Marks) => m.hover ?? m.cursor;
  const now = useMark(main.marks, at);
  const was = useMark(second.marks, at);
  const over = useMark(main.marks, (m) => m.hover);
  const overSecond = useMark(second.marks, (m) => m.hover);
  const passing = over ?? overSecond;
  const cursor = useMark(main.marks, (m) => m.cursor);
  const nothing = !now && !was;
  const a = after && (nothing ? { row: 0, i: 0 } : now);
  const b = before && (nothing ? { row: 0, i: 0 } : was);
  const of = a && after ? { s: after, p: a } : b && before ? { s: before, p: b } : undefined;
  const actions = useActions(cursor ? subjectAt(main.model, cursor, main.data.path ?? []) : undefined);
  useKeys(Object.fromEntries(actions.map((x) => [x.key, x.run])));
  if (!of) return <aside class="panel" aria-label="Details" />;
  const cost = (s: Side | undefined, p: Place | undefined, which: "cum" | "flat") => (s && p ? s.model.rows[p.row][which][p.i] : 0);
  const unit = of.s.data.unit;
  const row = (which: "cum" | "flat") => {
    const [x, y] = [cost(before, b, which), cost(after, a, which)];
    return (
      <>
        <div><dt>{which} before</dt><dd>{before && b ? <>{value(x, unit)} · {percent(x, before.data.total)}</> : "not there"}</dd></div>
        <div><dt>{which} after</dt><dd>{after && a ? <>{value(y, unit)} · {percent(y, after.data.total)}</> : "not there"}</dd></div>
        <div><dt>change</dt><dd class={y > x ? "more" : y < x ? "less" : ""}>{signed(y - x, unit)} · {growth(x, y)}</dd></div>
      </>
    );
  };
  return (
    <aside class="panel" aria-label="Details" aria-busy={stale || undefined}>
      <h2>{passing ? "under the pointer" : "selected"}</h2>
      <p class="name">{subjectAt(of.s.model, of.p, of.s.data.path ?? []).name}</p>
      <dl>{row("cum")}{flatAt(of.s.model, of.p) !== undefined && row("flat")}</dl>
      {actions.length > 0 && <div class="actions">{actions.map((x) => <button onClick={x.run} title={`${x.doc} (${x.key})`}>{x.name}</button>)}</div>}
    </aside>
  );
}
