// Labels of samples, and samples one by one.

import { useState } from "preact/hooks";
import { Tags, TraceFrame, Traces } from "./api";
import { asked, useAnswer, useApp } from "./data";
import { count, percent, unitOf, value } from "./format";
import { useKeys } from "./keys";
import { exactly, nameOf, quoted } from "./names";
import { Bar, Message, Nothing, Notes, Problem } from "./parts";
import { matcher, searchRule } from "./search";
import { Pair, add, get, go, put, to } from "./state";

/** Chosen are values of labels, by key. */
type Chosen = ReadonlyMap<string, ReadonlySet<string>>;

/** TagsView is the labels of the samples with what each value costs. Chosen values become filters, or one side of a comparison. */
export function TagsView() {
  const app = useApp();
  const { state } = app;
  const { data, error, waiting } = useAnswer<Tags>("/api/tags", asked(app, "tags"));
  const [chosen, setChosen] = useState<Chosen>(new Map());
  const [before, setBefore] = useState<Chosen>(new Map());
  const [wanted, setWanted] = useState("");
  useKeys({ "/": () => document.querySelector<HTMLInputElement>(".tools input")?.focus(), Escape: () => setWanted("") });
  if (error && !waiting) return <Problem error={error} />;
  if (!data) return <div class="blank" aria-busy="true" />;
  if (!data.keys?.length) {
    return (
      <Message title="No sample has a label">
        <p>Labels tell requests, users or jobs apart. A program sets them with <code>pprof.Do(ctx, pprof.Labels("endpoint", path), f)</code>.</p>
        <Notes notes={data.notes} />
      </Message>
    );
  }
  const units = new Map(data.keys.map((k) => [k.key, unitOf((k.values ?? []).map((v) => v.flat), data.total, data.unit)]));
  const choose = (key: string, name: string, on: boolean) => {
    const values = new Set(chosen.get(key));
    if (on) values.add(name);
    else values.delete(name);
    const next = new Map(chosen);
    if (values.size > 0) next.set(key, values);
    else next.delete(key);
    setChosen(next);
  };
  const matches = matcher(wanted);
  const filter = (op: string) => {
    go(tagsOf(op, chosen).reduce((s, [key, value]) => add(s, key, value), state));
    setChosen(new Map());
  };
  const compare = () => {
    const ref = get(state, "ref") || app.session.recordings[0]?.ref || "";
    const kept = state.pairs.filter(([k]) => k !== "tag" && k !== "base-tag" && k !== "base");
    go(to({ view: state.view, pairs: [...kept, ["base", get(state, "base") || ref], ...tagsOf("base-tag", before), ...tagsOf("tag", chosen)] }, "diff"));
  };
  return (
    <div class="main page scrolls labels" tabIndex={0} role="region" aria-label="Labels">
      <Notes notes={data.notes} />
      <div class="tools">
        <input type="search" placeholder="Find values  ( / )" aria-label="Find values" title={searchRule} spellcheck={false} value={wanted} onInput={(e) => setWanted(e.currentTarget.value)} />
        <div class="group" role="status">
          {before.size > 0 && <span>before: <b>{spelled(before)}</b> <Cost of={before} /></span>}
          {chosen.size > 0 && <span>{before.size > 0 ? "after: " : "chosen: "}<b>{spelled(chosen)}</b> <Cost of={chosen} /></span>}
          {chosen.size === 0 && before.size === 0 && <span class="quiet">choose values to keep or drop their samples, or to compare them with others</span>}
          {chosen.size === 0 && before.size > 0 && <span class="quiet">now choose the values to compare with these</span>}
        </div>
        {(chosen.size > 0 || before.size > 0) && (
          <div class="group">
            {chosen.size > 0 && before.size > 0 && <button onClick={compare}>Compare</button>}
            {chosen.size > 0 && before.size === 0 && <button onClick={() => { setBefore(chosen); setChosen(new Map()); }}>Compare with others…</button>}
            {chosen.size > 0 && <button onClick={() => filter("tag")}>Keep only these</button>}
            {chosen.size > 0 && <button onClick={() => filter("tag-ignore")}>Drop these</button>}
            <button onClick={() => { setChosen(new Map()); setBefore(new Map()); }}>Clear</button>
          </div>
        )}
      </div>
      <div class="cards">
        {data.keys.map((k) => (
          <section class="card">
            <h2>{k.key} <span class="quiet">{value(k.total, data.unit)} of {value(data.total, data.unit)}, {percent(k.total, data.total)}</span></h2>
            <p class="group">
              <button class="small" onClick={() => go(to(put(state, "tag-root", k.key), "flame"))}>as flame graph</button>
              <button class="small" onClick={() => go(to(put(state, "by", "label:" + k.key), "top"))}>as ranking</button>
            </p>
            <table class="plain">
              <thead><tr><th scope="col"><span class="hidden">chosen</span></th><th scope="col" class="num">flat</th><th scope="col" class="num">of total</th><th scope="col" class="gauge"><span class="hidden">share</span></th><th scope="col">value</th></tr></thead>
              <tbody>
                {(k.values ?? []).filter((v) => matches(v.name)).slice(0, 200).map((v) => (
                  <tr class={before.get(k.key)?.has(v.name) ? "before" : ""}>
                    <td><input type="checkbox" aria-label={`choose ${k.key} ${v.name || "(empty)"}`} checked={chosen.get(k.key)?.has(v.name) ?? false} onChange={(e) => choose(k.key, v.name, e.currentTarget.checked)} /></td>
                    <td class="num">{value(v.flat, data.unit, units.get(k.key))}</td>
                    <td class="num">{percent(v.flat, data.total)}</td>
                    <td class="gauge"><Bar part={v.flat} whole={data.total} /></td>
                    <td><button class="link" title="keep only samples with this label" onClick={() => go(add(state, "tag", k.key + "=" + exactly(v.name)))}>{v.name || "(empty)"}</button></td>
                  </tr>
                ))}
              </tbody>
            </table>
            {(k.values ?? []).filter((v) => matches(v.name)).length > 200 && <p class="quiet">the first 200 of {count(k.values!.length)} values</p>}
          </section>
        ))}
      </div>
    </div>
  );
}

/** Cost is what samples cost that have one of the chosen values of each label. */
function Cost({ of }: { of: Chosen }) {
  const app = useApp();
  const { data, waiting } = useAnswer<Tags>(app.api.embedded ? "" : "/api/tags", [...asked(app, "tags", ["limit", "1"]), ...tagsOf("tag", of)]);
  if (!data || waiting) return null;
  return <span class="quiet">{value(data.keys?.find((k) => of.has(k.key))?.total ?? 0, data.unit)}</span>;
}

const tagsOf = (op: string, c: Chosen) => [...c].map(([key, values]): Pair => [op, key + "=" + anyOf(values)]);

/** anyOf returns the regexp for some values of a label. A comma would end it. */
function anyOf(values: ReadonlySet<string>): string {
  const each = [...values].map((v) => quoted(v).replace(/,/g, "\\x2c"));
  return each.length === 1 ? "^" + each[0] + "$" : "^(" + each.join("|") + ")$";
}

/** spelled names the values that were chosen, as far as there is room. */
function spelled(c: Chosen): string {
  return [...c].map(([key, values]) => `${key} ${values.size > 3 ? count(values.size) + " values" : [...values].map((v) => v || "(empty)").join(", ")}`).join(" and ");
}

const firstTraces = 300; // stacks of a thousand are megabytes, and few people look at more
const mostTraces = 3000;

export function TracesView() {
  const app = useApp();
  const { state } = app;
  const limit = Number(get(state, "limit")) || firstTraces;
  const { data, error, waiting } = useAnswer<Traces>("/api/traces", asked(app, "traces", ["limit", String(limit)]));
  if (error && !waiting) return <Problem error={error} />;
  if (!data) return <div class="blank" aria-busy="true" />;
  const list = data.traces ?? [];
  if (list.length === 0) return <Nothing head={data} />;
  const unit = unitOf(list.map((t) => t.value), data.total, data.unit);
  const costs = list.map((t) => value(t.value, data.unit, unit));
  const wide = Math.max(data.metric.length, ...costs.map((c) => c.length));
  const labeled = list.some((t) => t.labels?.length);
  // The roles are those that these elements have by themselves, unless style makes blocks of them.
  return (
    <div class="main page scrolls" tabIndex={0} role="region" aria-label="Samples">
      <p class="quiet">
        {list.length < data.of ? <>Use filters to see others, or <code>hone traces REF</code> to print all of them.</> : `All ${count(list.length)} samples.`}
        {list.length < data.of && limit < mostTraces && !app.api.embedded && <> <button class="small" onClick={() => go(put(state, "limit", String(mostTraces)), "replace")}>{data.of > mostTraces ? `Show ${count(mostTraces)}` : `Show all ${count(data.of)}`}</button></>}
      </p>
      <Notes notes={data.notes} />
      <table class={"plain traces" + (labeled ? " labeled" : "")} role="table" style={{ "--wide": `${wide + 1}ch` }}>
        <thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader" class="num">{data.metric}</th>{labeled && <th scope="col" role="columnheader">labels</th>}<th scope="col" role="columnheader">stack, innermost frame first</th></tr></thead>
        <tbody role="rowgroup">
          {list.map((t, i) => (
            <tr role="row">
              <td role="cell" class="num">{costs[i]}</td>
              {labeled && <td role="cell">
                {(t.labels ?? []).map((l) => {
                  const text = l.text ?? value(l.number ?? 0, l.unit ?? "");
                  return (
                    <button class="tag" title="keep only samples with this label" disabled={l.text === undefined}
                      onClick={() => go(add(state, "tag", l.key + "=" + exactly(text)))}>{l.key}={text}</button>
                  );
                })}
              </td>}
              <td role="cell">
                <Stack frames={t.frames} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

// Stack is what a sample was doing. Frames that nobody looks at would be most of the page.
function Stack({ frames }: { frames: TraceFrame[] }) {
  const { state } = useApp();
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>{nameOf(frames[0])} <span class="quiet">{count(frames.length)} {frames.length === 1 ? "frame" : "frames"}</span></summary>
      {open && (
        <ol>
          {frames.map((f) => (
            <li class={f.name !== undefined && f.name === get(state, "ui.sel") ? "on" : ""}>
              <button class="link" onClick={() => go(to(state, "sandwich", ["arg", f.name ?? ""], ["ui.sel", f.name ?? ""]))} disabled={!f.name}>{nameOf(f)}</button>
              {f.inline && <span class="quiet"> (inline)</span>}
            </li>
          ))}
        </ol>
      )}
    </details>
  );
}
