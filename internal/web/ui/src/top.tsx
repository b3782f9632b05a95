// The ranking: a row for each function, package, file or label value.

import { nameOf } from "./names";
import { useMemo } from "preact/hooks";
import { Top, TopRow } from "./api";
import { asked, recordingOf, useAnswer, useApp } from "./data";
import { count, unitOf, value } from "./format";
import { Choice } from "./flame";
import { Keys, clearSearch, toRows, useKeys } from "./keys";
import { Delta, Dot, Icon, Named, Nothing, Notes, Problem, Share, useActions } from "./parts";
import { matcher, searchRule } from "./search";
import { get, go, put } from "./state";
import { Column, VirtualTable } from "./table";

const enough = "5000";

export function TopView() {
  const app = useApp();
  const { state } = app;
  const sort = get(state, "sort") || "flat";
  const byName = get(state, "ui.sort") === "name";
  const q = get(state, "ui.q");
  const { data, error, waiting } = useAnswer<Top>("/api/top", asked(app, "top", ["limit", get(state, "limit") || enough], ["min", get(state, "min") || "0"]));
  const rows = useMemo(() => {
    let list = data?.rows ?? [];
    const match = matcher(q);
    if (q !== "") list = list.filter((r) => match(nameOf(r)));
    if (byName) list = [...list].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
    return list;
  }, [data, q, byName]);
  const selected = get(state, "ui.sel");
  const row = data?.rows?.find((r) => r.name === selected);
  const actions = useActions(row && { frame: row, name: nameOf(row) });
  const keys: Keys = {};
  for (const a of actions) keys[a.key] = a.run;
  keys.ArrowDown = toRows;
  keys.Escape = clearSearch;
  keys["/"] = () => document.querySelector<HTMLInputElement>(".tools input")?.focus();
  useKeys(keys);
  if (error && !waiting) return <Problem error={error} />;
  if (!data) return <div class="blank" aria-busy="true" />;
  const rec = recordingOf(app);
  const by = get(state, "by") || "function";
  const unit = unitOf((data.rows ?? []).flatMap((r) => [r.flat, r.cum, r.before?.flat ?? 0, r.before?.cum ?? 0]), data.total, data.unit);
  const largest = (key: "flat" | "cum") => (data.rows ?? []).reduce((m, r) => Math.max(m, Math.abs(r[key])), 0);
  const most = { flat: largest("flat"), cum: largest("cum") };
  const compared = data.before !== undefined;
  const both = (key: "flat" | "cum"): Column<TopRow>[] => {
    const now: Column<TopRow> = { name: key, key, number: true, sort: true, roomy: compared && key === "cum", cell: (r) => value(r[key], data.unit, unit) };
    if (!compared) return [now, { name: "of total", key: key + "%", number: true, roomy: true, cell: (r) => <Share part={r[key]} whole={data.total} most={most[key]} /> }];
    return [
      { name: key + " before", key: key + " before", number: true, roomy: true, cell: (r) => value(r.before?.[key] ?? 0, data.unit, unit) },
      now,
      { name: "change", key: key + " change", number: true, roomy: key === "cum", cell: (r) => <Delta from={r.before?.[key] ?? 0} to={r[key]} unit={data.unit} chosen={unit} /> },
    ];
  };
  const columns: Column<TopRow>[] = [
    ...both("flat"),
    ...both("cum"),
    {
      name: by.replace(/^label:/, ""), key: "name", sort: true,
      cell: (r) => <span class="fn" title={nameOf(r)}><Dot origin={r.origin} /><Named name={nameOf(r)} />{r.inline && <span class="quiet"> ({r.inline})</span>}</span>,
    },
  ];
  return (
    <div class="main page">
      <div class="tools">
        <div class="search">
          <input type="search" placeholder="Filter rows  ( / )" aria-label="Filter rows by name" title={searchRule} value={q} spellcheck={false}
            onInput={(e) => go(put(state, "ui.q", e.currentTarget.value), "replace")} />
          <span class="matched" aria-live="polite">{q !== "" && `${count(rows.length)} of ${count(data.rows?.length ?? 0)} rows`}</span>
        </div>
        <div class="group">
          <Choice label="Rows are" value={by} onChange={(v) => go(put(state, "by", v === "function" ? "" : v))}
            options={[...(app.api.embedded ? ["function", "package"] : ["function", "line", "package", "module", "file"]).map((k) => [k, k + "s"] as [string, string]),
              ...(app.api.embedded ? [] : rec?.labels ?? []).map((l) => ["label:" + l, "label " + l] as [string, string])]} />
        </div>
      </div>
      {row && (
        <div class="row-actions">
          <b title={nameOf(row)}>{nameOf(row)}</b>
          {actions.map((a) => <button onClick={a.run} onPointerEnter={a.soon} onFocus={a.soon} title={`${a.doc} (${a.key})`}><Icon name={a.icon} />{a.name}</button>)}
        </div>
      )}
      {rows.length === 0 && q === "" ? <Nothing head={data} /> : (
        <VirtualTable label="Ranking" rows={rows} columns={columns} sorted={byName ? "name" : sort} selected={(r) => selected !== "" && r.name === selected}
          onSelect={(r) => go(put(state, "ui.sel", r.name ?? ""), "replace")}
          onSort={(k) => go(k === "name" ? put(state, "ui.sort", "name") : put(put(state, "ui.sort", ""), "sort", k === "flat" ? "" : k))} />
      )}
      {data.shown < data.of && <p class="quiet">the first {count(data.shown)} of {count(data.of)} rows are here <button class="link" onClick={() => go(put(state, "limit", "all"))}>show all</button></p>}
      <Notes notes={data.notes} />
    </div>
  );
}
