// Goroutines in groups that have one stack: how many there are, what they wait for and since when, and which became more.

import { useState } from "preact/hooks";
import { GoroutineGroup, Goroutines, Head } from "./api";
import { asked, useAnswer, useApp } from "./data";
import { count, percent, value } from "./format";
import { clearSearch, useKeys } from "./keys";
import { exactly, short } from "./names";
import { Bar, Link, Notes, Nothing, Problem, leftOf } from "./parts";
import { get, go, href, put, to } from "./state";
import { matcher, searchRule } from "./search";

const shown = "200";

export function GoroutinesView() {
  const app = useApp();
  const { state } = app;
  const { data, error, waiting } = useAnswer<Goroutines>("/api/goroutines", [...asked(app, "goroutines", ["limit", shown]).filter(([k]) => k !== "metric")]);
  const q = get(state, "ui.q");
  useKeys({ "/": () => document.querySelector<HTMLInputElement>(".tools input")?.focus(), Escape: clearSearch });
  if (error && !waiting) return <Problem error={error} />;
  if (!data) return <div class="blank" aria-busy="true" />;
  if (!data.groups?.length) return <Nothing head={data} />;
  const match = matcher(q);
  const groups = data.groups.filter((g) => q === "" || match([...(g.states ?? []), g.creator ?? "", ...g.stack.map((f) => f.name ?? "")].join("\n")));
  const states = new Map<string, number>();
  for (const g of data.groups) {
    const state = (g.states ?? []).join(", ") || "running or in an unknown state";
    states.set(state, (states.get(state) ?? 0) + g.count);
  }
  const places = data.of - (data.gone ?? 0);
  const suspects = data.groups.filter((g) => g.suspect);
  const most = Math.max(...groups.map((g) => g.count), 1);
  const waits = data.groups.some((g) => g.wait_most_ns);
  const creators = data.groups.some((g) => g.creator); // profiles do not know them, dumps do
  const compares = data.before !== undefined;
  const d = compares ? leftOf(data) - leftOf(data.before!) : 0;
  const counted = (h: Head) => `${h.left === undefined ? "" : `${count(h.left)} of `}${count(h.total)}`;
  return (
    <div class="main page scrolls goroutines" tabIndex={0} role="region" aria-label="Goroutines">
      <div class="hero">
        <p class="big">{counted(data)} <span>{data.total === 1 ? "goroutine" : "goroutines"}, in {count(places)} {places === 1 ? "place" : "places"}</span></p>
        {compares && <p>{d !== 0 && <span class={d > 0 ? "more" : "less"}>{d > 0 ? "+" : ""}{count(d)}</span>} <span class="quiet">{d === 0 ? "as many as" : `against ${counted(data.before!)}`} {data.first_ns ? `in the first goroutine profile, taken ${value(data.first_ns, "nanoseconds")} after the start` : "before"}</span></p>}
        <p class="quiet">{[...states].filter(([, n]) => n > 0).sort((a, b) => b[1] - a[1]).slice(0, 6).map(([s, n]) => `${count(n)} ${s}`).join(" · ")}</p>
      </div>
      {suspects.length > 0 && <ul class="symptoms">{suspects.map((g) => <li><b>{g.leaked && !data.main_returned ? "Leaked" : "Leak?"}</b> <span>{g.suspect}</span></li>)}</ul>}
      <div class="tools">
        <div class="search">
          <input type="search" placeholder="Find in stacks  ( / )" aria-label="Find in stacks and states" title={searchRule} value={q} spellcheck={false} onInput={(e) => go(put(state, "ui.q", e.currentTarget.value), "replace")} />
          <span class="matched" aria-live="polite">{q !== "" && `${count(groups.length)} of ${count(data.groups.length)} groups`}</span>
        </div>
      </div>
      <div class="wide-table" tabIndex={0} role="region" aria-label="Groups">
        <table class="plain groups">
          <thead>
            <tr>
              <th scope="col" class="num">count</th>{compares && <th scope="col" class="num">change</th>}<th scope="col" class="gauge"><span class="hidden">share</span></th>
              <th scope="col" class="state">state</th>{waits && <th scope="col" class="state">waiting</th>}<th scope="col">where</th>{creators && <th scope="col" class="creator">started by</th>}
            </tr>
          </thead>
          <tbody>{groups.map((g) => <Group key={g.stack.map((f) => `${f.name}:${f.line}`).join() + g.creator + g.creator_line} of={g} most={most} total={data.total} compares={compares} waits={waits} creators={creators} />)}</tbody>
        </table>
      </div>
      {data.shown < data.of && <p class="quiet">the first {count(data.shown)} of {count(data.of)} groups are here; a filter on top leaves fewer</p>}
      <Notes notes={data.notes} />
    </div>
  );
}

function Group({ of: g, most, total, compares, waits, creators }: { of: GoroutineGroup; most: number; total: number; compares: boolean; waits: boolean; creators: boolean }) {
  const { state, api } = useApp();
  const [open, setOpen] = useState(false);
  const d = g.count - (g.before ?? 0);
  const where = g.where.name ?? "";
  return (
    <>
      <tr>
        <td class="num" title={percent(g.count, total)}>{count(g.count)}</td>
        {compares && <td class={"num " + (d > 0 ? "more" : d < 0 ? "less" : "")}>{d > 0 ? "+" : ""}{d === 0 ? "" : count(d)}</td>}
        <td class="gauge"><Bar part={g.count} whole={most} /></td>
        <td class="state">{(g.states ?? []).join(", ")}</td>
        {waits && <td class="state">{wait(g)}</td>}
        <td class="fn">
          <button class="link" aria-expanded={open} title={where} onClick={() => setOpen(!open)}>{short(where) || "<unknown>"}</button>
          {g.where.line ? <span class="quiet"> {g.where.file?.replace(/^.*\//, "")}:{g.where.line}</span> : ""}
          <span class="quiet narrow-state">{[...(g.states ?? []), wait(g)].filter(Boolean).join(", ")}</span>
        </td>
        {creators && <td class="fn creator" title={g.creator}>{short(g.creator ?? "")}</td>}
      </tr>
      {open && (
        <tr>
          <td />
          <td colSpan={3 + Number(compares) + Number(waits) + Number(creators)}>
            <ol class="stack">
              {g.stack.map((f) => {
                const at = to(state, "source", ["arg", exactly(f.name ?? "")], ["ui.sel", f.name ?? ""], ["metric", "goroutine"]);
                return <li>{api.embedded ? f.name : <Link to={at} href={href(at)}>{f.name}</Link>} <span class="quiet">{f.file}{f.line ? ":" + f.line : ""}</span></li>;
              })}
              {g.creator && <li class="quiet">started by {g.creator} {g.creator_line}</li>}
            </ol>
          </td>
        </tr>
      )}
    </>
  );
}

function wait(g: GoroutineGroup): string {
  const [least, longest] = [g.wait_least_ns ?? 0, g.wait_most_ns ?? 0].map((ns) => Math.round(ns / 60e9));
  if (longest === 0) return "";
  return least === longest ? `${longest} min` : `${least} to ${longest} min`;
}
