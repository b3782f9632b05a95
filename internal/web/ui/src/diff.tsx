// What changed against a base: the flame graph colored by change, and the functions that moved most.

import { nameOf, shortest } from "./names";
import { Diff, DiffRow } from "./api";
import { asked, baseOf, useAnswer, useApp } from "./data";
import { besideBase } from "./beside";
import { FlameView, Scales, scaleOf } from "./flame";
import { count, growth, signed, unitOf, value } from "./format";
import { Message, Named, Notes, Problem } from "./parts";
import { get, go, put } from "./state";
import { Column, VirtualTable } from "./table";

export function DiffView() {
  const app = useApp();
  const { api, state, session } = app;
  const base = baseOf(app);
  const sort = get(state, "sort") || "flat";
  const { data, error, waiting } = useAnswer<Diff>(base ? "/api/diff" : "", asked(app, "diff", ["limit", get(state, "limit") || "1000"]));
  if (!base) {
    const now = get(state, "ref") || session.recordings[0]?.ref;
    const others = session.recordings.filter((r) => r.ref !== now);
    return (
      <Message title="Compare with which recording?">
        {others.length > 0 ? (
          <ul class="picks">{others.map((r) => <li><button onClick={() => go(put(state, "base", r.ref))} title={r.ref}>{shortest(r.ref, session.recordings)}</button></li>)}</ul>
        ) : (
          <p>Only one recording is open. {session.takes && <>Drop another file into this page, or choose it with <b>Open…</b> above. </>}<code>hone web new.pprof old.pprof</code> opens two.</p>
        )}
      </Message>
    );
  }
  if (error && !waiting) return <div class="diff">{scaleOf(state) !== "" && <div class="headline"><Scales /></div>}<Problem error={error} /></div>;
  if (!data) return <div class="blank" aria-busy="true" />;
  const unit = unitOf((data.rows ?? []).flatMap((r) => [r.flat_before, r.flat, r.flat - r.flat_before, r.cum - r.cum_before]), data.total, data.unit);
  const change = (d: number) => <span class={d > 0 ? "more" : d < 0 ? "less" : ""}>{signed(d, data.unit, unit)}</span>;
  const columns: Column<DiffRow>[] = [
    { name: "before", key: "before", number: true, roomy: true, cell: (r) => value(r.flat_before, data.unit, unit) },
    { name: "after", key: "after", number: true, cell: (r) => value(r.flat, data.unit, unit) },
    { name: "flat change", key: "flat", number: true, sort: true, cell: (r) => change(r.flat - r.flat_before) },
    { name: "share of change", plain: true, key: "share", roomy: true, cell: (r) => <Lean part={r.flat - r.flat_before} whole={most} /> },
    { name: "growth", plain: true, key: "growth", number: true, roomy: true, cell: (r) => growth(r.flat_before, r.flat) },
    { name: "cum change", key: "cum", number: true, sort: true, roomy: true, cell: (r) => change(r.cum - r.cum_before) },
    { name: "function", key: "name", cell: (r) => <span class="fn" title={nameOf(r)}><Named name={nameOf(r)} /></span> },
  ];
  const most = Math.max(...(data.rows ?? []).map((r) => Math.abs(r.flat - r.flat_before)), 1);
  const d = data.total - data.before.total;
  const selected = get(state, "ui.sel");
  return (
    <div class="diff">
      <div class="headline">
        <p>
          <b>{data.metric} {value(data.before.total, data.unit)} → {value(data.total, data.unit)}</b>{" "}
          <span class={d > 0 ? "more" : d < 0 ? "less" : ""}>{signed(d, data.unit)}, {growth(data.before.total, data.total)}</span>
        </p>
        {!api.embedded && <Scales />}
        <p class="quiet">
          {data.normalized
            ? "Before is scaled to the total of after: what is compared is shares, not amounts."
            : data.per
            ? data.per.time_nanos
              ? "What one process costs in a second is compared, however long and of however many processes it was recorded."
              : "What one process has on average is compared, of however many processes it was recorded."
            : "Amounts are compared as they were recorded. Where one side did more work, it has more of everything."}
          {" "}The base is <code title={base}>{shortest(base, session.recordings)}</code>.{!besideBase(app) && " Boxes are as wide as they are now, or were before where they are gone."}
        </p>
      </div>
      <FlameView />
      <section class="movers">
        <h2>What moved most</h2>
        {data.rows?.length ? (
          <VirtualTable label="What moved most" rows={data.rows} columns={columns} sorted={sort}
            selected={(r) => selected !== "" && r.name === selected} onSelect={(r) => go(put(state, "ui.sel", r.name ?? ""), "replace")}
            onSort={(k) => go(put(state, "sort", k === "flat" ? "" : k))} />
        ) : <p class="quiet">Nothing changed.</p>}
        {data.shown < data.of && <p class="quiet">the first {count(data.shown)} of {count(data.of)} rows</p>}
        <Notes notes={data.notes} />
      </section>
    </div>
  );
}

/** Lean is a bar to the left for less and to the right for more. */
function Lean({ part, whole }: { part: number; whole: number }) {
  const share = Math.min(1, Math.abs(part) / whole) * 50;
  return (
    <span class="lean" aria-hidden="true">
      <span class={part > 0 ? "more" : "less"} style={{ width: share + "%", left: part > 0 ? "50%" : 50 - share + "%" }} />
    </span>
  );
}
