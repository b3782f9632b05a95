// Who keeps memory alive: variables, goroutines and finalizers, with what would be freed without each of them, and where most of it is.

import { Holder, Holders } from "./api";
import { asked, useAnswer, useApp } from "./data";
import { count, percent, value } from "./format";
import { clearSearch, useKeys } from "./keys";
import { exactly } from "./names";
import { Bar, Link, Notes, Nothing, Problem, Qualified, leftOf } from "./parts";
import { add, get, go, href, put, to } from "./state";
import { matcher, searchRule } from "./search";

const shown = "200";

/** holdersFacts says what a heap has, and what the look at it cost the program. */
export function holdersFacts(data: Holders): string {
  return [
    data.objects && data.unit === "bytes" ? `${count(data.objects)} objects` : "", data.garbage && data.unit === "bytes" ? `${value(data.garbage.bytes, "bytes")} more is garbage` : "",
    data.go ?? "", data.pause_ns ? `paused for ${value(data.pause_ns, "nanoseconds")}` : "",
  ].filter(Boolean).join(" · ");
}

export function HoldersView() {
  const app = useApp();
  const { state } = app;
  const { data, error, waiting } = useAnswer<Holders>("/api/holders", asked(app, "holders", ["limit", shown]));
  const q = get(state, "ui.q");
  useKeys({ "/": () => document.querySelector<HTMLInputElement>(".tools input")?.focus(), Escape: clearSearch });
  if (error && !waiting) return <Problem error={error} />;
  if (!data) return <div class="blank" aria-busy="true" />;
  if (!data.holders?.length) return <Nothing head={data} />;
  const match = matcher(q);
  const rows = data.holders.filter((h) => q === "" || match([...h.names, h.object ?? "", ...h.way.map((s) => s.name)].join("\n")));
  const most = Math.max(...rows.map((h) => h.value), 1);
  const compares = data.before !== undefined;
  const sum = (v: number) => value(v, data.unit);
  const change = (v: number) => `${v > 0 ? "+" : ""}${sum(v)}`;
  return (
    <div class="main page scrolls holders" tabIndex={0} role="region" aria-label="Who holds memory">
      <div class="hero">
        <p class="big">{sum(leftOf(data))} <span>held</span></p>
        {compares && <p class="quiet">{change(leftOf(data) - leftOf(data.before!))} against {sum(leftOf(data.before!))} before</p>}
        <p class="quiet">{holdersFacts(data)}</p>
      </div>
      <div class="tools">
        <div class="search">
          <input type="search" placeholder="Find a holder or a type  ( / )" aria-label="Find in holders, fields and types" title={searchRule} value={q} spellcheck={false} onInput={(e) => go(put(state, "ui.q", e.currentTarget.value), "replace")} />
          <span class="matched" aria-live="polite">{q !== "" && `${count(rows.length)} of ${count(data.holders.length)} holders`}</span>
        </div>
      </div>
      <div class="wide-table" tabIndex={0} role="region" aria-label="Holders">
        <table class="plain groups">
          <thead>
            <tr>
              <th scope="col" class="num">held</th>{compares && <th scope="col" class="num">change</th>}<th scope="col" class="gauge"><span class="hidden">share</span></th>
              <th scope="col">holder<span class="narrow-way">, and what most is in</span></th><th scope="col" class="way">most is in</th>
            </tr>
          </thead>
          <tbody>{rows.map((h) => <Row key={h.kind + h.names.join() + (h.object ?? "")} of={h} most={most} total={data.total} unit={data.unit} compares={compares} />)}</tbody>
        </table>
      </div>
      {data.shown < data.of && <p class="quiet">the first {count(data.shown)} of {count(data.of)} holders are here; a filter on top leaves fewer</p>}
      {rows.some((h) => h.kind === "together") && <p class="quiet">what several hold together is freed only when all of them let go, or the object that they share does</p>}
      <Notes notes={[...(data.unread ?? []).map((n) => `could not be read: ${[n.code, n.name].filter(Boolean).join(": ")}${n.count ? ` (${n.count})` : ""}`), ...(data.notes ?? [])]} />
    </div>
  );
}

function Row({ of: h, most, total, unit, compares }: { of: Holder; most: number; total: number; unit: string; compares: boolean }) {
  const d = h.value - (h.before ?? 0);
  const waits = h.waits ? `waiting: ${h.waits}${(h.since_ns ?? 0) >= 60e9 ? ` for ${Math.floor(h.since_ns! / 60e9)} min` : ""}` : "";
  return (
    <tr>
      <td class="num" title={percent(h.value, total)}>{value(h.value, unit)}</td>
      {compares && <td class={"num " + (d > 0 ? "more" : d < 0 ? "less" : "")}>{d === 0 ? "" : (d > 0 ? "+" : "") + value(d, unit)}</td>}
      <td class="gauge"><Bar part={h.value} whole={most} /></td>
      <td class="fn">
        <Who of={h} />
        {h.line ? <span class="quiet"> {h.file?.replace(/^.*\//, "")}:{h.line}</span> : ""}
        {waits && <span class="quiet"> {waits}</span>}
        <div class="narrow-way quiet"><Way of={h} /></div>
      </td>
      <td class="fn way"><Way of={h} /></td>
    </tr>
  );
}

/** Who names a holder. Its names lead to what each of them holds, alone or with others. */
export function Who({ of: h }: { of: Holder }) {
  const { state, api } = useApp();
  const name = (n: string) => {
    const at = add(to(state, "flame"), "tag", "holder=" + exactly(n));
    return api.embedded ? <Qualified text={n} /> : <Link to={at} href={href(at)} title={n + ": the flame graph of what it holds, alone and with others"}><Qualified text={n} /></Link>;
  };
  return (
    <>
      {h.kind === "goroutine" && `${count(h.goroutines ?? 0)} ${h.goroutines === 1 ? "goroutine" : "goroutines"} in `}
      {h.names.length === 0 && (h.kind === "together" ? "several holders" : "holders without a name")}
      {h.object && <><Qualified text={h.object} /><span class="quiet">, shared by </span></>}
      {h.names.map((n, i) => <>{i > 0 && (i === h.names.length - 1 && !h.more ? " and " : ", ")}{name(n)}</>)}
      {h.names.length > 0 && h.more && " and others"}{h.names.length > 0 && h.kind === "together" && !h.object && " together"}
    </>
  );
}

/** Way is how a holder leads to what takes most, and who made that. */
function Way({ of: h }: { of: Holder }) {
  return (
    <>
      {h.way.map((s, i) => <>{i > 0 && " → "}<Qualified text={s.name} /></>)}{(h.way.at(-1)?.objects ?? 0) > 1 && <span class="quiet"> ×{count(h.way.at(-1)!.objects!)}</span>}
      {h.stacks ? <span class="quiet"> + {value(h.stacks, "bytes")} of stacks</span> : ""}
      {h.made?.[0] && <span class="quiet"> made by <Qualified text={h.made[0].function} /></span>}
    </>
  );
}
