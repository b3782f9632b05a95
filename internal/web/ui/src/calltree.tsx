// The call tree: a row for each call below the call that it was made from. What somebody opens is asked for then, so that deep
// profiles are as quick as small ones.

import { useEffect, useMemo, useReducer, useRef } from "preact/hooks";
import { CallTree, CallTreeRow, Failure } from "./api";
import { asked, useAnswer, useApp } from "./data";
import { Choice, Toggle } from "./flame";
import { count, unitOf, value } from "./format";
import { Keys, clearSearch, useKeys } from "./keys";
import { functionOf } from "./names";
import { Delta, Dot, Icon, Named, Nothing, Notes, Problem, Share, say, useActions } from "./parts";
import { get, go, put } from "./state";
import { Column, VirtualTable } from "./table";
import { matcher, searchRule } from "./search";

const first = "2000"; // rows of the first answer
const atOnce = 500; // calls that opening one gets
const wideSteps = 12; // levels that are moved to the right by as much as is easily seen; further ones are moved less, and have their number
const longest = 9; // characters of a number that two columns have room for

interface Call {
  row: CallTreeRow;
  above: Call | undefined;
  depth: number;
  below: Call[]; // that are here, heaviest first
  open: boolean;
  asking: boolean;
}

/** nested puts rows, of which each is followed by those below it, below each other. */
function nested(rows: CallTreeRow[]): Call | undefined {
  const way: Call[] = [];
  for (const row of rows) {
    const above = way[row.depth - 1];
    const c: Call = { row, above, depth: row.depth, below: [], open: false, asking: false };
    above?.below.push(c);
    way[row.depth] = c;
  }
  return way[0];
}

/** heaviest opens the calls that most of a call goes to, down to where most is spent in the function itself, and returns the last. */
function heaviest(c: Call): Call {
  while (c.below.length > 0 && Math.abs(c.below[0].row.cum) > Math.abs(c.row.flat ?? 0)) {
    c.open = true;
    c = c.below[0];
  }
  return c;
}

export function CallTreeView() {
  const app = useApp();
  const { data, error, waiting } = useAnswer<CallTree>("/api/calltree", asked(app, "calltree", ["limit", first]));
  if (error && !waiting) return <Problem error={error} />;
  if (!data) return <div class="blank" aria-busy="true" />;
  if (data.rows.length <= 1) return <Nothing head={data} />;
  return <Listed data={data} />;
}

function Listed({ data }: { data: CallTree }) {
  const app = useApp();
  const { state, api } = app;
  const [, again] = useReducer((n: number, _: void) => n + 1, 0);
  const q = get(state, "ui.q");
  const root = useMemo(() => {
    const r = nested(data.rows)!;
    r.open = true;
    heaviest(r);
    return r;
  }, [data]);
  const chosen = useRef<Call | undefined>(undefined);
  const wanted = useRef<Call | undefined>(undefined); // to be focused once it is in the page
  const sought = useRef<Call | undefined>(undefined); // to be in sight once it is in the page

  const shown: Call[] = [];
  for (const todo = [root]; todo.length > 0;) {
    const c = todo.pop()!;
    shown.push(c);
    if (c.open) for (let i = c.below.length - 1; i >= 0; i--) todo.push(c.below[i]);
  }
  const complete = (c: Call) => c.below.length >= (c.row.calls ?? 0);
  const wayTo = (c: Call): string => {
    const names: string[] = [];
    for (let at: Call | undefined = c; at && at !== root; at = at.above) names.unshift(at.row.name);
    const from = get(state, "root");
    return (from ? [from, ...names] : names).join(";");
  };
  const fetched = async (c: Call) => {
    if (complete(c) || c.asking) return;
    c.asking = true;
    again();
    const limit = String(c.below.length > 0 ? Math.max(atOnce, 4 * c.below.length) : atOnce);
    try {
      const way = wayTo(c);
      const got = await api.json<CallTree>("/api/calltree", asked(app, "calltree", ["root", way], ["depth", "1"], ["limit", limit]), new AbortController().signal);
      const known = [...c.below];
      const there = (name: string) => {
        const i = known.findIndex((b) => b.row.name === name);
        return i < 0 ? undefined : known.splice(i, 1)[0];
      };
      c.below = got.rows.slice(1).map((row) => there(row.name) ?? { row, above: c, depth: c.depth + 1, below: [], open: false, asking: false });
    } catch (e) {
      say(e instanceof Failure ? e.message : String(e));
    }
    c.asking = false;
    again();
  };
  const open = (c: Call) => {
    c.open = true;
    again();
    void fetched(c);
  };
  const choose = (c: Call) => {
    chosen.current = c;
    wanted.current = c;
    go(put(put(state, "ui.sel", functionOf(c.row.name)), "ui.call", wayTo(c)), "replace");
    again();
  };
  /** told returns the call that the state selects: by the way to it, or else the heaviest of its function that is here. */
  const told = async (): Promise<Call | undefined> => {
    const name = get(state, "ui.sel");
    if (name === "") return undefined;
    const from = get(state, "root");
    const way = get(state, "ui.call");
    let c: Call | undefined = way === "" || (from !== "" && !way.startsWith(from + ";")) ? undefined : root;
    for (const step of c ? way.slice(from === "" ? 0 : from.length + 1).split(";") : []) {
      const below = (): Call | undefined => c?.below.find((b) => b.row.name === step);
      for (let had = -1; c && !below() && c.below.length > had;) {
        had = c.below.length;
        await fetched(c);
      }
      c = below();
    }
    if (c && functionOf(c.row.name) === name) return c;
    let best: Call | undefined;
    for (const todo = [root]; todo.length > 0;) {
      const c = todo.pop()!;
      if (c !== root && functionOf(c.row.name) === name && Math.abs(c.row.cum) > Math.abs(best?.row.cum ?? 0)) best = c;
      todo.push(...c.below);
    }
    return best;
  };
  useEffect(() => {
    chosen.current = undefined;
    let left = false;
    void told().then((c) => {
      if (!c || left || chosen.current) return;
      for (let a = c.above; a; a = a.above) a.open = true;
      chosen.current = c;
      sought.current = c;
      again();
    });
    return () => { left = true; };
  }, [root]);
  const dive = async (from: Call) => {
    for (let c = from; ;) {
      const end = heaviest(c);
      if (complete(end) || end.below.length > 0) return choose(end);
      await fetched(end);
      if (end.below.length === 0 || Math.abs(end.below[0].row.cum) <= Math.abs(end.row.flat ?? 0)) return choose(end);
      c = end;
    }
  };
  const find = (back: boolean) => {
    const match = matcher(q);
    const all: Call[] = [];
    for (const todo = [root]; todo.length > 0;) {
      const c = todo.pop()!;
      all.push(c);
      for (let i = c.below.length - 1; i >= 0; i--) todo.push(c.below[i]);
    }
    const hits = all.filter((c) => c !== root && match(c.row.name));
    if (hits.length === 0) return say("no call that is here matches");
    const at = chosen.current ? all.indexOf(chosen.current) : -1;
    const next = back ? [...hits].reverse().find((c) => all.indexOf(c) < at) ?? hits[hits.length - 1] : hits.find((c) => all.indexOf(c) > at) ?? hits[0];
    for (let a = next.above; a; a = a.above) a.open = true;
    choose(next);
  };

  const row = chosen.current;
  const frame = row && row !== root ? row.row : undefined;
  const actions = useActions(frame && { frame, name: frame.name });
  const keys: Keys = {
    "/": () => document.querySelector<HTMLInputElement>(".tools input")?.focus(),
    "*": () => void dive(row ?? root),
    n: () => q !== "" && find(false),
    N: () => q !== "" && find(true),
    i: () => go(put(state, "invert", data.inverted ? "" : "true")),
    Escape: clearSearch,
  };
  for (const a of actions) keys[a.key] = a.run;
  useKeys(keys);

  const unit = unitOf(shown.slice(0, 200).flatMap((c) => [c.row.cum, c.row.flat ?? 0, c.row.cum_before ?? 0]), data.total, data.unit);
  const print = (v: number) => value(v, data.unit, unit);
  const before = data.before !== undefined;
  // On a phone, two columns of long numbers leave no room for names.
  const long = print(data.total).length > longest;
  const own: Column<Call>[] = data.inverted ? [] : [{ name: "flat", key: "flat", number: true, roomy: before || long, cell: (c) => print(c.row.flat ?? 0) }];
  const columns: Column<Call>[] = [
    ...(before ? [{ name: "before", key: "before", number: true, roomy: true, cell: (c: Call) => print(c.row.cum_before ?? 0) }] : []),
    { name: "cum", key: "cum", number: true, cell: (c) => print(c.row.cum) },
    before
      ? { name: "change", key: "change", number: true, cell: (c) => <Delta from={c.row.cum_before ?? 0} to={c.row.cum} unit={data.unit} chosen={unit} /> }
      : { name: "of total", key: "cum%", number: true, roomy: true, cell: (c) => <Share part={c.row.cum} whole={data.total} /> },
    ...own,
    {
      name: data.inverted ? "function, above its callers" : "function, above its callees", key: "name",
      cell: (c) => (
        <span class="fn branch" title={c.row.name} style={{ "--wide": Math.min(c.depth, wideSteps), "--narrow": Math.max(0, c.depth - wideSteps) }}>
          {c.depth > wideSteps && <span class="level" title={`${count(c.depth)} calls deep`}>{count(c.depth)}</span>}
          <span class="twist" aria-hidden="true" onClick={(e) => { e.stopPropagation(); if (c.open) { c.open = false; again(); } else open(c); }}>
            {(c.row.calls ?? 0) === 0 ? "" : c.open ? "▾" : "▸"}
          </span>
          <Dot origin={c.row.origin} /><span>{c.row.name ? <Named name={c.row.name} /> : "all"}{c.row.inline && <span class="quiet"> (inline)</span>}
          {c.open && !complete(c) && <span class="quiet"> {" · "}{c.asking ? "…" : <button class="link" tabIndex={-1} onClick={(e) => { e.stopPropagation(); void fetched(c); }}>{count((c.row.calls ?? 0) - c.below.length)} more</button>}</span>}</span>
        </span>
      ),
    },
  ];
  return (
    <div class="main page">
      <div class="tools">
        <div class="search">
          <input type="search" placeholder="Find  ( / )" aria-label="Find a call by name" title={searchRule} value={q} spellcheck={false}
            onInput={(e) => go(put(state, "ui.q", e.currentTarget.value), "replace")}
            onKeyDown={(e) => { if (e.key === "Enter" && q !== "") find(e.shiftKey); }} />
        </div>
        <div class="group">
          <button onClick={() => void dive(row ?? root)} title="open the calls that most of it goes to (*)"><Icon name="only" />Heaviest path</button>
          <button onClick={() => { for (const c of shown) c.open = c === root; again(); }} title="close all calls">Collapse all</button>
          <Toggle on={data.inverted === true} onClick={() => go(put(state, "invert", data.inverted ? "" : "true"))}>Invert</Toggle>
          {!api.embedded && <Choice label="Rows are" value={get(state, "by") || "function"} onChange={(v) => go(put(put(state, "by", v === "function" ? "" : v), "root", ""))}
            options={["function", "line", "package", "module", "file"].map((k) => [k, k + "s"])} />}
          {get(state, "root") !== "" && <button onClick={() => go(put(state, "root", ""))}>Show the whole tree</button>}
        </div>
      </div>
      {frame && (
        <div class="row-actions">
          <b title={frame.name}>{frame.name}</b>
          {actions.map((a) => <button onClick={a.run} onPointerEnter={a.soon} onFocus={a.soon} title={`${a.doc} (${a.key})`}><Icon name={a.icon} />{a.name}</button>)}
        </div>
      )}
      <VirtualTable label="Call tree" rows={shown} columns={columns} sorted="" selected={(c) => c === row} onSelect={choose}
        tree={{
          level: (c) => c.depth + 1,
          open: (c) => ((c.row.calls ?? 0) === 0 ? undefined : c.open),
          set: (c, on) => { if (on) open(c); else { c.open = false; again(); } },
          above: (c) => c.above,
        }} wanted={wanted} sought={sought} />
      <Notes notes={data.notes} />
    </div>
  );
}
