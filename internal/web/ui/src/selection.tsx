// What a page about a store looks at: a service, labels and a time, and what they are compared with. All of it can be changed without
// leaving the view.

import { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { FleetBases, FleetLabels } from "./api";
import { useAnswer, useApp } from "./data";
import { about, between, exact, long, parts, prefix, ranges, refOf, select, shelved, timeText, typed } from "./fleet";
import { percent, timeZone } from "./format";
import { useKeys } from "./keys";
import { Bar, Icon, Link, useDropdown } from "./parts";
import { State, get, go, href, put, state as latest, to } from "./state";

/** Menu is a button that opens a box. The box is made when it is opened. */
export function Menu({ name, title, class: cls, wide, children }: { name: ComponentChildren; title: string; class?: string; wide?: boolean; children: (close: () => void) => ComponentChildren }) {
  const box = useDropdown();
  const [open, setOpen] = useState(false);
  const close = () => { if (box.current) box.current.open = false; };
  return (
    <details class={"menu left " + (cls ?? "")} ref={box} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary title={title}>{name}</summary>
      {open && <div class={"drop" + (wide ? " large" : "")}>{children(close)}</div>}
    </details>
  );
}

/** TimePicker chooses a time: one that ends now, one that is typed, or the one before or after. */
export function TimePicker({ time, from, to: end, onPick }: { time: string; from: number; to: number; onPick: (time: string) => void }) {
  const [typedFrom, setFrom] = useState("");
  const [typedTo, setTo] = useState("");
  const length = end - from;
  const a = Date.parse(typedFrom || typed(from));
  const b = Date.parse(typedTo || typed(end));
  const wrong = !(a < b);
  const pick = (t: string) => {
    setFrom("");
    setTo("");
    onPick(t);
  };
  return (
    <span class="times" role="group" aria-label="Time">
      <button class="small" onClick={() => pick(exact(from - length, from))} title={`the ${long(length)} before ([)`} aria-label={`the ${long(length)} before`}>‹</button>
      <Menu name={<><span class="quiet">time</span> <b>{timeText(time, from, end)}</b></>} title={from ? between(from, end) : "choose a time"}>
        {(close) => (
          <form onSubmit={(e) => { e.preventDefault(); if (!wrong) { close(); pick(exact(a, b)); } }}>
            <ul class="times-list">
              {ranges.map(([t, name]) => <li><button type="button" class="link" aria-current={t === time ? "true" : undefined} onClick={() => { close(); pick(t); }}>{name}</button></li>)}
            </ul>
            <label>from <input type="datetime-local" step="1" value={typedFrom || typed(from)} onInput={(e) => setFrom(e.currentTarget.value)} /></label>
            <label>to <input type="datetime-local" step="1" value={typedTo || typed(end)} onInput={(e) => setTo(e.currentTarget.value)} /></label>
            <p class="group">
              <button type="submit" disabled={wrong}>Apply</button>
              <button type="button" onClick={() => { close(); pick(exact(from - length / 2, end + length / 2)); }}>Twice as long</button>
            </p>
            <p class={wrong ? "bad" : "quiet"} role="status">{wrong ? "the time ends before it begins" : `${long(b - a)}, in your time zone (${timeZone()})`}</p>
          </form>
        )}
      </Menu>
      <button class="small" onClick={() => pick(exact(end, end + length))} title={`the ${long(length)} after (])`} aria-label={`the ${long(length)} after`}>›</button>
    </span>
  );
}

/** Selections are what is looked at, and what it is compared with. */
export function Selections() {
  const { state } = useApp();
  const ref = get(state, "ref");
  if (ref === "") return null;
  if (ref.startsWith(shelved)) {
    const id = ref.slice(shelved.length);
    const shelf: State = { view: "shelf", pairs: [] };
    return (
      <div class="selections" role="region" aria-label="Selection">
        <div class="pills selection">
          <span class="quiet">a recording on the <Link to={shelf} href={href(shelf)}>shelf</Link></span> <a href={"/shelf/" + encodeURIComponent(id) + ".hone"} download>download it</a>
        </div>
      </div>
    );
  }
  return (
    <div class="selections" role="region" aria-label="Selection">
      <Selection which="ref" />
      {get(state, "base") !== "" && <Selection which="base" />}
    </div>
  );
}

const around = 15 * 60e3; // milliseconds on either side of one profile

function Selection({ which }: { which: "ref" | "base" }) {
  const { state } = useApp();
  const ref = get(state, which);
  const { data, error, waiting } = useAnswer<FleetBases>("/api/v1/fleet/bases", [["ref", ref]]);
  const of = data && data.selection.ref === ref ? data.selection : undefined;
  const [selector, time] = parts(ref);
  const set = (r: string) => go(select(latest(), which, r));
  const pick = (t: string) => set(refOf(parts(get(latest(), which))[0], t));
  const move = (by: number) => {
    if (of) pick(exact(of.from_ms + by * (of.to_ms - of.from_ms), of.to_ms + by * (of.to_ms - of.from_ms)));
  };
  useKeys(which === "ref" ? { "[": () => move(-1), "]": () => move(1) } : {});
  const page = about("service", refOf(of?.selector ?? selector, time));
  const without = (m: { name: string; without: string }) => {
    if (m.name === "profile_id" && of) return refOf(m.without, exact(of.from_ms - around, of.to_ms + around));
    return refOf(m.without, time);
  };
  return (
    <div class="pills selection" role="group" aria-label={which === "ref" ? "Selection" : "Compared with"}>
      <span class="quiet">{which === "ref" ? (get(state, "base") ? "new" : "") : "base"}</span>
      <Link to={page} href={href(page)} class="service" title="the service over time">{of?.service || selector || ref}</Link>
      <TimePicker time={time || "-1h"} from={of?.from_ms ?? 0} to={of?.to_ms ?? 0} onPick={pick} />
      {(of?.matchers ?? []).map((m) => (
        <span class="pill" key={m.name + m.op + m.value} title={m.name + m.op + m.value}>
          <span>{m.name === "profile_id" ? <b>one profile</b> : <>{m.name} {m.op} <b>{m.value || "(none)"}</b></>}</span>
          {m.without && <button onClick={() => set(without(m))} aria-label={`remove ${m.name} ${m.op} ${m.value}`}>×</button>}
        </span>
      ))}
      {of && of.profile === undefined && (
        <Menu name={<><Icon name="plus" />label</>} title="choose by labels" class="slim" wide>
          {(close) => <LabelExplorer of={ref} onPick={(s) => { close(); set(refOf(s, time)); }} />}
        </Menu>
      )}
      <Menu name="edit" title="type the selection" class="slim">{(close) => <Typed ref_={ref} onDone={(r) => { close(); if (r) set(r); }} />}</Menu>
      {which === "ref" && data && of && get(state, "base") === "" && <Compare bases={data} />}
      {which === "base" && <button class="small" onClick={() => go(put(state.view === "diff" ? to(state, "flame") : state, "base", ""))}>compare with nothing</button>}
      {error && !waiting && <span class="bad" role="alert">{error.message}</span>}
    </div>
  );
}

/** Typed is where a selection is written as hone has it everywhere. */
function Typed({ ref_: ref, onDone }: { ref_: string; onDone: (ref: string) => void }) {
  const [text, setText] = useState(ref);
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => box.current?.focus(), []);
  const full = text.startsWith(prefix) ? text : prefix + text;
  const typed = useAnswer<FleetBases>(text === "" ? "" : "/api/v1/fleet/bases", [["ref", full]], 150);
  const bad = typed.error && !typed.waiting ? typed.error.message : "";
  return (
    <form class="typed" onSubmit={(e) => { e.preventDefault(); if (!bad && text) onDone(full); }}>
      <label>selection <input ref={box} value={text} size={48} spellcheck={false} aria-invalid={bad !== ""} onInput={(e) => setText(e.currentTarget.value)} /></label>
      <p class="group"><button type="submit" disabled={bad !== "" || text === ""}>Apply</button></p>
      <p class={bad ? "bad" : "quiet"} role="status">{bad || "as on the command line: store:api{version=\"v2\", pod=~\"a.*\"}@-2h..-1h"}</p>
    </form>
  );
}

/** Compare chooses what to compare with. */
function Compare({ bases }: { bases: FleetBases }) {
  const { state } = useApp();
  // The sides may be of other numbers of processes, and of other times.
  const choose = (ref: string, base: string) => go(put(put(put(select(to(state, state.view === "flame" ? "flame" : "diff"), "ref", ref), "base", base), "normalize", ""), "per", "second"));
  return (
    <Menu name="compare with…" title="another time, version or labels" class="slim">
      {(close) => (
        <>
          <ul class="times-list">
            {bases.bases.map((b) => <li><button class="link" onClick={() => { close(); choose(b.ref, b.base); }}>{b.title}</button></li>)}
            <li><button class="link" onClick={() => { close(); choose(bases.selection.ref, bases.selection.ref); }}>something else: the same first, to be changed</button></li>
          </ul>
        </>
      )}
    </Menu>
  );
}

const shownAtFirst = 8; // values of a label

/** LabelExplorer shows labels, their values and what these have of all, and chooses among them. */
export function LabelExplorer({ of, measure, onPick }: { of: string; measure?: string; onPick: (selector: string) => void }) {
  const [all, setAll] = useState("");
  const { data, error, waiting } = useAnswer<FleetLabels>("/api/v1/fleet/labels", [["ref", of], ...(measure ? [["of", measure] as [string, string]] : [])]);
  if (error && !waiting) return <p class="bad" role="alert">{error.message}</p>;
  if (!data) return <p class="quiet" aria-busy="true">looking for labels…</p>;
  if (data.labels.length === 0) return <p class="quiet">No profile of this selection has a label. Senders add them: <code>hone push --label version=v2</code>.</p>;
  return (
    <div class="labels">
      {data.labels.map((l) => {
        const shown = all === l.name ? l.values : l.values.slice(0, shownAtFirst);
        return (
          <section key={l.name}>
            <h3>{l.name}</h3>
            <table class="plain">
              <thead class="hidden"><tr><th scope="col">share</th><th scope="col">bar</th><th scope="col">value</th><th scope="col">others</th></tr></thead>
              <tbody>
                {shown.map((v) => (
                  <tr key={v.value}>
                    <td class="num">{percent(v.share, 1)}</td>
                    <td class="gauge"><Bar part={v.share} whole={1} /></td>
                    <td class="fn"><button class="link" title={`only ${l.name}=${v.value}`} onClick={() => onPick(v.only)}>{v.value || "(none)"}</button></td>
                    <td><button class="link quiet" title={`without ${l.name}=${v.value}`} aria-label={`without ${l.name} ${v.value || "(none)"}`} disabled={l.values.length < 2} onClick={() => onPick(v.except)}>without</button></td>
                  </tr>
                ))}
              </tbody>
            </table>
            {l.values.length > shown.length && <button class="small" onClick={() => setAll(l.name)}>{l.values.length - shown.length} more</button>}
            {shown.length > shownAtFirst && (l.rest ?? 0) > 0 && <p class="quiet">{l.rest} values with smaller shares are not listed</p>}
          </section>
        );
      })}
      {data.more && <p class="quiet">There are more labels than are shown.</p>}
    </div>
  );
}
