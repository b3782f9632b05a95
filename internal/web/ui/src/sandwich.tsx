// Callers and callees: who calls a function, growing up from it, and what it calls, growing down.

import { useContext, useMemo, useRef, useState } from "preact/hooks";
import { Sandwich, Top, Tree } from "./api";
import { ColorMode } from "./colors";
import { FlameCanvas } from "./canvas";
import { useFlagged } from "./advice";
import { Choice, Legend, detailOf } from "./flame";
import { asked, useAnswer, useApp } from "./data";
import { percent, value } from "./format";
import { useKeys } from "./keys";
import { Marks, useMark } from "./marks";
import { Model, Place, decode, frameAt, windowOf } from "./model";
import { functionOf, nameOf } from "./names";
import { Detail, Panel } from "./panel";
import { Delta, Message, Nothing, Notes, Problem, useActions } from "./parts";
import { get, go, put, state as latest, to } from "./state";
import { matcher, searchRule } from "./search";
import { PaletteContext } from "./theme";

export function SandwichView() {
  const app = useApp();
  const name = get(app.state, "arg") || get(app.state, "ui.sel");
  const { data: answer, error, waiting } = useAnswer<Sandwich>(name ? "/api/sandwich" : "", asked(app, "sandwich", ["arg", name]));
  const data = useMemo(() => answer && { ...answer, frame: { ...answer.frame, origin: answer.origin } }, [answer]);
  if (!name) return <Pick />;
  if (error && !waiting) return <Problem error={error} />;
  if (!data) return <div class="blank" aria-busy="true" />;
  return <Both data={data} name={name} />;
}

const picks = 40; // more are there for those who search

/** Pick offers the functions that cost most, where none was chosen yet. */
function Pick() {
  const app = useApp();
  const [q, setQ] = useState("");
  const box = useRef<HTMLInputElement>(null);
  const match = useMemo(() => matcher(q), [q]);
  const { data, error } = useAnswer<Top>("/api/top", asked(app, "top", ["sort", "cum"], ["limit", "1000"]));
  useKeys({ "/": () => box.current?.focus(), Escape: () => setQ("") });
  if (error) return <Problem error={error} />;
  if (!data) return <div class="blank" aria-busy="true" />;
  if (!data.rows?.length) return <Nothing head={data} />;
  const found = data.rows.filter((r) => q === "" || match(nameOf(r))).slice(0, picks);
  return (
    <Message title="Callers and callees of which function?">
      <input ref={box} type="search" placeholder="Filter functions  ( / )" aria-label="Filter functions" title={searchRule} value={q} spellcheck={false}
        onInput={(e) => setQ(e.currentTarget.value)} />
      {found.length === 0 && <p class="quiet">no function matches</p>}
      <ul class="picks">
        {found.map((r) => (
          <li><button class="link" onClick={() => go(to(app.state, "sandwich", ["arg", r.name ?? ""], ["ui.sel", r.name ?? ""]))}>
            <span class="num">{percent(r.cum, data.total)}</span> <span>{nameOf(r)}</span>
          </button></li>
        ))}
      </ul>
    </Message>
  );
}

function Both({ data, name }: { data: Sandwich; name: string }) {
  const { state } = useApp();
  const palette = useContext(PaletteContext);
  const callers = useMemo(() => new Marks(decode(data.callers, true)), [data]);
  const callees = useMemo(() => new Marks(decode(data.callees)), [data]);
  const usual = data.before ? "change" : "origin";
  const mode = (get(state, "ui.color") || usual) as ColorMode;
  const flags = { callers: useFlagged(callers.model), callees: useFlagged(callees.model) };
  const pick = (marks: Marks, p: Place) => {
    const selected = functionOf(frameAt(marks.model, p)?.name ?? "");
    const other = marks === callers ? callees : callers;
    marks.set({ cursor: p, selected });
    other.set({ cursor: undefined, selected });
  };
  const side = (title: string, which: "callers" | "callees", marks: Marks, tree: Tree, upward: boolean) => (
    <section class={"side " + which}>
      <h2>{title}</h2>
      {(tree.rows?.length ?? 0) > 1 ? (
        <FlameCanvas model={marks.model} window={windowOf(marks.model, { row: 0, i: 0 })} unit={data.unit} total={data.total} upward={upward} mode={mode}
          palette={palette} wanted={undefined} flagged={flags[which]} marks={marks} label={`${title} of ${name}`} keys={which === "callees"}
          onCursor={(p) => pick(marks, p)} onZoom={(p) => turn(marks.model, p)} />
      ) : <p class="quiet">{which === "callers" ? "nothing calls it: stacks begin here" : "it calls nothing that was seen"}</p>}
    </section>
  );
  return (
    <div class="with-panel">
      <div class="main">
        <div class="tools">
          <p class="subject">
            <b>{name}</b>
            <span class="quiet">flat {value(data.flat, data.unit)} · {percent(data.flat, data.total)}, cum {value(data.cum, data.unit)} · {percent(data.cum, data.total)}</span>
            {data.before && <span>before: cum {value(data.before.cum, data.unit)}, <Delta from={data.before.cum} to={data.cum} unit={data.unit} /></span>}
          </p>
          <div class="group">
            <Choice label="Color" value={mode} options={[...(data.before ? [["change", "change"] as [string, string]] : []), ["origin", "origin"], ["package", "package"], ["plain", "plain"]]}
              onChange={(v) => go(put(state, "ui.color", v === usual ? "" : v))} />
            <button onClick={() => go(put(put(state, "arg", ""), "ui.sel", ""))}>Another function…</button>
          </div>
        </div>
        <div class="crumbs"><span class="quiet">Enter or a double click puts a call in the middle</span><Legend mode={mode} palette={palette} flagged={Boolean(flags.callers ?? flags.callees)} model={callees.model} /></div>
        {side("Callers", "callers", callers, data.callers, true)}
        {side("Callees", "callees", callees, data.callees, false)}
        <Notes notes={data.notes} />
      </div>
      <Marked data={data} name={name} sides={[callers, callees]} />
    </div>
  );
}

function turn(m: Model, p: Place): void {
  const n = frameAt(m, p)?.name;
  if (n) go(to(latest(), "sandwich", ["arg", n], ["ui.sel", n]));
}

/** Marked is the panel of what is marked in one of the pictures, or else of the function they are about. */
function Marked({ data, name, sides }: { data: Sandwich; name: string; sides: [Marks, Marks] }) {
  const [above, below] = sides;
  const hovers = [useMark(above, (m) => m.hover), useMark(below, (m) => m.hover)];
  const cursors = [useMark(above, (m) => m.cursor), useMark(below, (m) => m.cursor)];
  const first = (places: (Place | undefined)[]) => {
    const i = places.findIndex((p) => p !== undefined);
    return i < 0 ? undefined : { model: sides[i].model, place: places[i]! };
  };
  const hover = first(hovers);
  const chosen = first(cursors);
  const frame = chosen ? frameAt(chosen.model, chosen.place) : data.frame;
  const actions = useActions({ frame, name: frame?.name ?? name });
  useKeys(Object.fromEntries(actions.map((a) => [a.key, a.run])));
  const at = hover ?? chosen;
  const detail: Detail = at
    ? { ...detailOf(data, at.model, windowOf(at.model, { row: 0, i: 0 }), at.place, [], hover !== undefined), ofView: data.cum }
    : { frame: data.frame, name, flat: data.flat, cum: data.cum, before: data.before?.cum, inline: false, ofView: data.cum, ofParent: undefined, passing: false };
  return (
    <Panel detail={detail} unit={data.unit} total={data.total} whole={data.whole ?? data.total} actions={actions}
      zoom={chosen && chosen.place.row > 0 ? () => turn(chosen.model, chosen.place) : undefined} />
  );
}
