// The panel beside a picture: it answers at once what the frame under the pointer costs, and where.

import { ComponentChildren } from "preact";
import { AnyFrame, Source } from "./api";
import { asked, useAnswer, useApp } from "./data";
import { Here } from "./findings";
import { column, growth, percent, signed, value } from "./format";
import { Action, Bar, Dot, Icon } from "./parts";
import { exactly, functionOf, short } from "./names";
import { Pair, go, href, to } from "./state";
import { originNames } from "./colors";

export interface Detail {
  frame: AnyFrame | undefined;
  name: string;
  flat: number | undefined; // not told of callers, see flatAt
  cum: number;
  before: number | undefined;
  inline: boolean;
  ofView: number; // value of what is in view
  ofParent: number | undefined;
  passing: boolean; // under the pointer, not selected
  way?: string[] | undefined; // of names from the root to the call, where it is one
}

export function Panel({ detail, unit, total, whole, actions, zoom, stale, more }: {
  detail: Detail; unit: string; total: number; whole: number; actions: Action[]; zoom?: (() => void) | undefined;
  more?: ComponentChildren; // that only some pictures know of a call
  stale?: boolean; // what is shown is from before the last step, after which it may be gone
}) {
  const { frame, name, flat, cum, before } = detail;
  const place = frame?.file ? frame.file + (frame.line || frame.start_line ? `:${frame.line || frame.start_line}` : "") : "";
  return (
    <aside class="panel" aria-label="Details">
      <h2>{detail.passing ? "under the pointer" : "selected"}</h2>
      <p class="name" title={name}>{breakable(name)}</p>
      {frame && (
        <p class="origin">
          <Dot origin={frame.origin} />{frame.origin ? originNames[frame.origin] : ""}{detail.inline ? " · inlined here" : ""}
        </p>
      )}
      <dl>
        {flat !== undefined && <div><dt title="in the function itself">flat</dt><dd>{value(flat, unit)} · {percent(flat, total)}</dd></div>}
        <div><dt title="with all that it calls">cum</dt><dd>{value(cum, unit)} · {percent(cum, total)}</dd></div>
        {before !== undefined && (
          <>
            <div><dt>before</dt><dd>{value(before, unit)}</dd></div>
            <div><dt>change</dt><dd class={cum > before ? "more" : cum < before ? "less" : ""}>{signed(cum - before, unit)} · {growth(before, cum)}</dd></div>
          </>
        )}
        <div><dt>of view</dt><dd>{percent(cum, detail.ofView)}</dd></div>
        <div><dt>of parent</dt><dd>{detail.ofParent === undefined ? "–" : percent(cum, detail.ofParent)}</dd></div>
        <div><dt>of whole profile</dt><dd>{percent(cum, whole)}</dd></div>
      </dl>
      {more}
      {place && <p class="place" title={place}>{place.split("/").slice(-2).join("/")}</p>}
      {(zoom || actions.length > 0) && (
        <div class="actions">
          {zoom && <button onClick={zoom} title="zoom into it (Enter)"><Icon name="zoom" />Zoom</button>}
          {actions.map((a) => (
            <button onClick={a.run} onPointerEnter={a.soon} onFocus={a.soon} title={`${a.doc} (${a.key})`}><Icon name={a.icon} />{a.name}</button>
          ))}
        </div>
      )}
      {frame?.name && <Here name={functionOf(frame.name)} />}
      {frame?.name && <HotLines name={functionOf(frame.name)} way={detail.way} able={!stale} delay={detail.passing ? 300 : 0} />}
    </aside>
  );
}

/** breakable lets a long name break after its separators. */
function breakable(name: string) {
  return name.split(/(?<=[/.)])/).map((part) => <>{part}<wbr /></>);
}

const shownLines = 6;

/** HotLines are the lines of a function that cost most with all that they call: in one call of it, or where there is no way to that in all calls. */
function HotLines({ name, way: asks, able: wanted, delay }: { name: string; way: string[] | undefined; able: boolean; delay: number }) {
  const app = useApp();
  const way = app.api.has("/api/lines") ? asks : undefined;
  const able = wanted && app.api.has("/api/list");
  const which: Pair = way ? ["root", way.join(";")] : ["arg", exactly(name)];
  const { data, error, waiting } = useAnswer<Source>(able ? (way ? "/api/lines" : "/api/list") : "", asked(app, "list", which), delay);
  if (!able) return null;
  // Until they are there, those of another call would pass for its own.
  const fn = way && waiting ? undefined : data?.functions?.find((f) => f.name === name);
  if (!fn) {
    if (waiting) return <section class="hotlines"><h2>hottest lines</h2><p class="quiet">…</p></section>;
    return error && !app.api.embedded ? <section class="hotlines"><h2>hottest lines</h2><p class="quiet">{error.message}</p></section> : null;
  }
  const lines = (fn.files ?? []).flatMap((f) => f.lines ?? []).filter((l) => (l.cum ?? 0) !== 0);
  lines.sort((a, b) => Math.abs(b.cum ?? 0) - Math.abs(a.cum ?? 0) || Math.abs(b.flat ?? 0) - Math.abs(a.flat ?? 0) || a.line - b.line);
  const some = lines.slice(0, shownLines);
  const most = Math.max(...some.map((l) => Math.abs(l.cum ?? 0)), 0);
  // A file that is missing matters only where its lines may be among the hottest: inlined calls often leave a line in another file.
  const least = some.length < shownLines ? 0 : Math.abs(some[some.length - 1].cum ?? 0);
  const missing = (fn.files ?? []).find((f) => f.error && Math.abs(f.cum ?? 0) > least);
  const print = column([...some, ...(missing ? [missing] : [])].map((l) => l.cum ?? 0), data!.unit);
  const doubts = (fn.files ?? []).flatMap((f) => f.notes ?? []);
  if (some.length === 0 && !missing) return null;
  const target = to(app.state, "source", ["arg", exactly(name)], ["ui.sel", name]);
  return (
    <section class="hotlines">
      <h2>hottest lines of {short(name)} by cum, {way ? "in this call" : "in all its calls"}</h2>
      {some.length > 0 && (
        <a class="lines" href={href(target)} onClick={(e) => { e.preventDefault(); go(target); }}>
          {some.map((l) => (
            <span class="line">
              <span class="num">{print(l.cum ?? 0)}</span>
              <Bar part={l.cum ?? 0} whole={most} kind={l.flat ? "hot" : ""} />
              <span class="no">{l.line}</span>
              <code>{l.text.trim()}</code>
            </span>
          ))}
        </a>
      )}
      {missing && <p class="quiet">{some.length > 0 && `${print(missing.cum ?? 0)} more without source: `}{missing.error}</p>}
      {doubts.map((d) => <p class="quiet">{d}</p>)}
    </section>
  );
}
