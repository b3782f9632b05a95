// Source with what each line costs, beside the list of functions. A click on the number of a line unfolds its machine code.

import { Fragment } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { atLines, findingsOf, titleOf, useAdvice } from "./advice";
import { Finding, Instruction, Place, Source, SourceFile, SourceLine, Top } from "./api";
import { Answer, asked, useAnswer, useApp } from "./data";
import { Told, elsewhere, shellWord } from "./findings";
import { percent, unitOf, value } from "./format";
import { tokens } from "./golang";
import { useKeys } from "./keys";
import { exactly, nameOf, readable, short } from "./names";
import { Bar, Delta, Dot, Notes, Nothing, Problem, Remark } from "./parts";
import { get, go, to } from "./state";
import { matcher, searchRule } from "./search";

export function SourceView() {
  const app = useApp();
  const { state } = app;
  const top = useAnswer<Top>(app.api.has("/api/top") ? "/api/top" : "", asked(app, "top", ["by", "function"], ["sort", "cum"], ["limit", "1000"]));
  const hottest = useMemo(() => top.data?.rows?.reduce((a, b) => (b.flat > a.flat ? b : a)), [top.data]);
  // A saved page has the sources of some functions.
  const saved = useAnswer<Source>(app.api.embedded ? "/api/list" : "", []);
  const there = saved.data?.functions.map((f) => f.name);
  const sel = get(state, "ui.sel");
  const arg = get(state, "arg") || (sel && (!there || there.includes(sel)) && exactly(sel)) || (there ? exactly(there[0]) : hottest?.name ? exactly(hottest.name) : "");
  const { data, error, waiting } = useAnswer<Source>(arg ? "/api/list" : "", asked(app, "list", ["arg", arg]));
  if (top.error && !arg) return <Problem error={top.error} />;
  if (top.data && !top.data.rows?.length) return <Nothing head={top.data} />;
  return (
    <div class="source">
      <Functions top={top.data} there={there} now={readable(arg)} />
      <div class="main page">
        {error && !waiting ? <Problem error={error} /> : data ? <Listings data={data} arg={arg} /> : <div class="blank" aria-busy="true" />}
      </div>
    </div>
  );
}

function Functions({ top, there, now }: { top: Top | undefined; there: string[] | undefined; now: string }) {
  const { state } = useApp();
  const [q, setQ] = useState("");
  const match = matcher(q);
  useKeys({ "/": () => document.querySelector<HTMLInputElement>(".functions input")?.focus(), Escape: () => setQ("") });
  if (!top) return <nav class="functions" aria-label="Functions" />;
  const rows = (top.rows ?? []).filter((r) => (q === "" || match(nameOf(r))) && (!there || there.includes(r.name ?? ""))).slice(0, 300);
  return (
    <nav class="functions" aria-label="Functions">
      <input type="search" placeholder="Filter functions  ( / )" aria-label="Filter functions" title={searchRule} value={q} onInput={(e) => setQ(e.currentTarget.value)} />
      <ul>
        {rows.map((r) => (
          <li key={r.name}>
            <button class={r.name === now ? "on" : ""} aria-current={r.name === now ? "true" : undefined} title={nameOf(r)}
              onClick={() => go(to(state, "source", ["arg", exactly(r.name ?? "")], ["ui.sel", r.name ?? ""]))}>
              <span class="num">{percent(r.cum, top.total)}</span><Dot origin={r.origin} /><span class="fn">{short(nameOf(r))}</span>
            </button>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function Listings({ data, arg }: { data: Source; arg: string }) {
  const app = useApp();
  const { state } = app;
  const able = app.session.views.some((v) => v.name === "weblist") && app.api.has("/api/weblist");
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => setOpen(new Set()), [data]);
  // Machine code takes longer to find than lines do, so it is asked for when somebody wants to see it.
  const code = useAnswer<Source>(open.size > 0 ? "/api/weblist" : "", asked(app, "list", ["arg", arg]).filter(([k]) => k !== "base" && k !== "normalize" && k !== "per"));
  const flip = (id: string) => {
    const next = new Set(open);
    if (!next.delete(id)) next.add(id);
    setOpen(next);
  };
  const files = (data.functions ?? []).flatMap((f) => (f.files ?? []).map((file) => ({ name: f.name, file })));
  const lost = (data.functions ?? []).filter((f) => !f.files?.length);
  const hot = useMemo(() => {
    const list = files.flatMap(({ file }, n) => (file.lines ?? []).filter((l) => l.flat || l.cum).map((l) => ({ id: lineID(n, l), flat: l.flat ?? 0, cum: l.cum ?? 0 })));
    return list.sort((a, b) => Math.abs(b.flat) - Math.abs(a.flat) || Math.abs(b.cum) - Math.abs(a.cum));
  }, [data]);
  const [at, setAt] = useState(-1);
  useEffect(() => setAt(-1), [data]);
  const jump = (d: number) => {
    if (hot.length === 0) return;
    const next = (at + d + hot.length) % hot.length;
    setAt(next);
    document.getElementById(hot[next].id)?.scrollIntoView({ block: "center" });
  };
  const { advice } = useAdvice();
  const found = useMemo(() => files.map(({ name, file }) => atLines(findingsOf(advice, name), file)), [data, advice]);
  const advised = found.flatMap((lines, n) => [...lines.keys()].sort((a, b) => a - b).map((line) => `F${n}-${line}`));
  const [told, setTold] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => setTold(new Set()), [data]);
  const tell = (id: string) => {
    const next = new Set(told);
    if (!next.delete(id)) next.add(id);
    setTold(next);
  };
  const visit = (d: number) => {
    if (advised.length === 0) return;
    const now = advised.indexOf(document.activeElement?.id ?? "");
    const button = document.getElementById(advised[now < 0 ? (d > 0 ? 0 : advised.length - 1) : (now + d + advised.length) % advised.length]);
    button?.focus();
    button?.scrollIntoView({ block: "center" });
  };
  useKeys({ n: () => jump(1), N: () => jump(-1), a: () => visit(1), A: () => visit(-1) });
  const first = useRef<Source | undefined>(undefined);
  useEffect(() => {
    // The costliest line is what one came for.
    if (first.current === data || hot.length === 0) return;
    first.current = data;
    bring(document.getElementById(hot[0].id));
  }, [data]);
  const number = Number(get(state, "ui.finding"));
  const linked = useRef(0);
  useEffect(() => {
    // Unless a link leads to a finding, which is known later than the lines are.
    if (linked.current === number) return;
    const at = found.flatMap((lines, n) => [...lines].flatMap(([line, fs]) => fs.filter((f) => f.number === number).map((f) => ({ id: `F${n}-${line}`, off: Math.abs(line - f.where.line) }))));
    if (at.length === 0) return;
    linked.current = number;
    const { id } = at.reduce((a, b) => (b.off < a.off ? b : a));
    setTold(new Set([id]));
    document.getElementById(id)?.scrollIntoView({ block: "center" });
  }, [found, number]);
  const most = Math.max(...hot.map((h) => Math.abs(h.cum)), 0);
  const unit = useMemo(() => unitOf(files.flatMap(({ file }) => (file.lines ?? []).flatMap((l) => [l.flat ?? 0, l.cum ?? 0, l.before?.cum ?? 0])), data.total, data.unit), [data]);
  const mostFlat = Math.max(...hot.map((h) => Math.abs(h.flat)), 0);
  return (
    <>
      <div class="tools">
        <p class="quiet">{data.metric}: {value(data.total, data.unit)} in all. Percentages are of that.</p>
        <div class="group">
          {get(state, "arg") !== "" && <button onClick={() => go(to(state, "sandwich", ["arg", readable(get(state, "arg"))]))}>Callers</button>}
          <span class="stepper">
            <button onClick={() => jump(-1)} disabled={hot.length === 0} title="previous line by cost (N)" aria-label="previous line by cost">‹</button>
            <span class="num">{at < 0 ? "hottest lines" : `${at + 1} / ${hot.length}`}</span>
            <button onClick={() => jump(1)} disabled={hot.length === 0} title="next line by cost (n)" aria-label="next line by cost">›</button>
          </span>
        </div>
      </div>
      <Notes notes={data.notes} />
      <div class="listings" tabIndex={0} role="region" aria-label="Source">
        {lost.map((f) => <section class="listing"><h2>{f.name}</h2><p class="missing">The profile does not say where it is. <code>hone disasm</code> shows its machine code where the program is at hand.</p></section>)}
        {files.map(({ name, file }, n) => (
          <Listing name={name} file={file} n={n} data={data} unit={unit} most={most} mostFlat={mostFlat} now={at >= 0 ? hot[at].id : ""}
            code={able ? code : undefined} open={open} onFlip={flip} found={found[n]} told={told} onTell={tell} />
        ))}
      </div>
    </>
  );
}

/** bring scrolls to a line of a function that was just opened, and as little as it can: a reader has to see which function it is. */
function bring(line: HTMLElement | null) {
  const list = line?.closest<HTMLElement>(".listings"), head = line?.closest(".listing")?.querySelector("h2");
  if (!line || !list || !head) return;
  const inside = getComputedStyle(list).overflowY !== "visible" && list.scrollHeight > list.clientHeight; // on a phone, the page scrolls instead
  const bottom = inside ? list.getBoundingClientRect().bottom : innerHeight;
  const { bottom: end } = line.getBoundingClientRect(), { top } = head.getBoundingClientRect();
  if (end <= bottom) return;
  if (inside && end - top > list.clientHeight) line.scrollIntoView({ block: "center" }); // the heading sticks
  else head.scrollIntoView({ block: "start" });
}

const lineID = (file: number, l: SourceLine) => `L${file}-${l.line}`;

function Listing({ name, file, n, data, unit, most, mostFlat, now, code, open, onFlip, found, told, onTell }: {
  name: string; file: SourceFile; n: number; data: Source; unit: string; most: number; mostFlat: number; now: string;
  code: Answer<Source> | undefined; open: ReadonlySet<string>; onFlip: (id: string) => void;
  found: Map<number, Finding[]>; told: ReadonlySet<string>; onTell: (id: string) => void;
}) {
  const app = useApp();
  const lines = file.lines ?? [];
  const colored = useMemo(() => tokens(lines.map((l) => l.text)), [file]);
  const machine = useMemo(() => instructionsOf(code?.data, name, file.file), [code?.data, name, file]);
  return (
    <section class="listing">
      <h2 title={name}>{name}</h2>
      <p class="quiet">
        {file.found ?? file.file}{file.found && file.found !== file.file ? ` (the profile says ${file.file})` : ""} · flat {value(file.flat, data.unit)}, {percent(file.flat, data.total)} · cum {value(file.cum, data.unit)}, {percent(file.cum, data.total)}
        {file.before && <> · before: cum {value(file.before.cum, data.unit)}, <Delta from={file.before.cum} to={file.cum} unit={data.unit} /></>}
      </p>
      <Notes notes={file.notes} />
      {file.error && (
        <p class="missing">{file.error}. <code>{`hone web --source-path DIR ${app.session.fleet ? shellWord(elsewhere(app)) : "REF"}`}</code> says where sources are{lines.length > 0 ? "; until then lines have their numbers only" : ""}.</p>
      )}
      {lines.length > 0 && (
        <table class="code">
          <thead><tr><th scope="col" class="num">flat</th><th scope="col" class="num">cum</th>{file.before && <><th scope="col" class="num">cum before</th><th scope="col" class="num">change</th></>}<th scope="col"><span class="hidden">share</span></th><th scope="col"><span class="hidden">finding</span></th><th scope="col" class="num">line</th><th scope="col">source</th></tr></thead>
          <tbody>
            {lines.map((l, i) => {
              const id = lineID(n, l);
              const heat = mostFlat > 0 ? Math.abs(l.flat ?? 0) / mostFlat : 0;
              const unfolded = open.has(id);
              const findings = found.get(l.line) ?? [];
              const mark = `F${n}-${l.line}`;
              return (
                <Fragment key={id}>
                  <tr id={id} class={(id === now ? "now " : "") + (heat > 0.5 ? "hot" : heat > 0.1 ? "warm" : "")}>
                    <td class="num">{l.flat ? value(l.flat, data.unit, unit) : ""}</td>
                    <td class="num">{l.cum ? value(l.cum, data.unit, unit) : ""}</td>
                    {file.before && <td class="num">{l.before?.cum ? value(l.before.cum, data.unit, unit) : ""}</td>}
                    {file.before && <td class="num">{l.before?.cum || l.cum ? <Delta from={l.before?.cum ?? 0} to={l.cum ?? 0} unit={data.unit} chosen={unit} /> : ""}</td>}
                    <td class="gauge">{l.cum ? <Bar part={l.cum} whole={most} kind={l.flat ? "hot" : ""} /> : null}</td>
                    <td class="mark">
                      {findings.length > 0 && (
                        <button id={mark} class="link" aria-expanded={told.has(mark)} aria-label={findings.map(titleOf).join("; ")} title={findings.map(titleOf).join("\n")} onClick={() => onTell(mark)}>
                          <span class="flag" aria-hidden="true" />
                        </button>
                      )}
                    </td>
                    <td class="no">
                      {code && (l.cum || unfolded || machine.has(l.line)) ? (
                        <button class="link" aria-expanded={unfolded} aria-label={`machine code of line ${l.line}`} title="machine code of this line" onClick={() => onFlip(id)}>
                          <span aria-hidden="true">{unfolded ? "▾" : "▸"}</span> {l.line}
                        </button>
                      ) : l.line}
                    </td>
                    <td class="text"><code>{colored[i].map(([kind, text]) => (kind ? <span class={kind}>{text}</span> : text))}</code></td>
                  </tr>
                  {told.has(mark) && findings.map((f) => (
                    <tr class="told-row">
                      <td colSpan={file.before ? 7 : 5} />
                      <td class="text"><section class="findings" aria-label={`finding ${f.number}`}><h3>{f.number}. {f.title}</h3><Told finding={f} here /></section></td>
                    </tr>
                  ))}
                  {unfolded && code && <Machine name={name} list={machine.get(l.line)} code={code} data={data} unit={unit} more={file.before ? 2 : 0} />}
                </Fragment>
              );
            })}
          </tbody>
        </table>
      )}
    </section>
  );
}

/** instructionsOf returns the machine code of a function by line of a file. */
function instructionsOf(code: Source | undefined, name: string, file: string): Map<number, Instruction[]> {
  const out = new Map<number, Instruction[]>();
  for (const f of code?.functions ?? []) {
    if (f.name !== name) continue;
    for (const part of f.files ?? []) {
      if (part.file !== file) continue;
      for (const l of part.lines ?? []) if (l.instructions?.length) out.set(l.line, l.instructions);
    }
  }
  return out;
}

/** missing says why a line has no machine code. Where that of the function is there, none of it came from the line. */
function missing(name: string, code: Answer<Source>): string[] {
  if (code.waiting) return ["…"];
  if (code.error) return [code.error.message, code.error.hint ?? ""].filter(Boolean);
  const why = code.data?.functions?.find((f) => f.name === name)?.no_code ?? [];
  return why.length > 0 ? why.map((n) => n.text) : ["the compiler made no instruction of this line"];
}

function Machine({ name, list, code, data, unit, more }: { more: number; name: string; list: Instruction[] | undefined; code: Answer<Source>; data: Source; unit: string }) {
  if (!list) {
    const why = missing(name, code);
    return <tr class="machine"><td colSpan={5 + more} /><td class="text">{why.map((text, i) => <>{i > 0 && "; "}<Remark text={text} /></>)}</td></tr>;
  }
  let before = "";
  return (
    <>
      {list.map((ins) => {
        const depth = ins.depth ?? 0;
        const chain = depth > 0 ? [ins, ...(ins.inlined_into ?? []).slice(0, depth - 1)] : [];
        const from = chain.map(placeOf).join(" ‹ ");
        const entered = from !== before && from !== "";
        before = from;
        return (
          <Fragment key={ins.address}>
            {entered && (
              <tr class="machine inlined">
                <td colSpan={5 + more} />
                <td class="text"><span class="from">{"  ".repeat(depth - 1)}↳ inlined {from}</span></td>
              </tr>
            )}
            <tr class={"machine" + (depth > 0 ? " inlined" : "")}>
              <td class="num">{ins.flat ? value(ins.flat, data.unit, unit) : ""}</td>
              <td class="num">{ins.cum ? value(ins.cum, data.unit, unit) : ""}</td>
              <td colSpan={2 + more} />
              <td class="no">{ins.address.toString(16)}</td>
              <td class="text"><code>{"  ".repeat(depth)}{ins.text}</code></td>
            </tr>
          </Fragment>
        );
      })}
    </>
  );
}

/** placeOf says where an instruction is from. */
function placeOf(p: Place): string {
  const file = (p.file ?? "").replace(/^.*[/\\]/, "");
  return [short(p.function ?? ""), file && `${file}:${p.line ?? 0}`].filter(Boolean).join(" ");
}
