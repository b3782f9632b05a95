// Findings for people: a ranked list, and each of them in full where somebody wants to know more.

import { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Advice, Evidence, Finding, Fix } from "./api";
import { ask, saves, stop, subjectOf, useAdvice, useFindings } from "./advice";
import { App, lasting, profiled, recordingOf, useApp } from "./data";
import { count, share } from "./format";
import { readable } from "./names";
import { Bar, Icon, Link, Notes, Remark, copy } from "./parts";
import { get, href, parse, put, steps } from "./state";

const firstShown = 5;

/** Findings are what was found in a recording, those that save most first. */
export function Findings() {
  const app = useApp();
  const { state } = app;
  const { advice, error, looking, stopped, progress } = useAdvice();
  const [all, setAll] = useState(false);
  const ref = subjectOf(app);
  if (ref === "") return app.session.fleet && profiled(app) ? <Elsewhere /> : null;
  const list = advice?.findings ?? [];
  const heads = [...new Set(list.flatMap((f) => f.savings.map((s) => s.short)))].sort((a, b) => rank(a) - rank(b));
  const part = [...lasting(app), ...state.pairs].some(([k]) => steps.includes(k) || k === "at");
  return (
    <section class="card findings" aria-label="Findings">
      <h2>Findings</h2>
      <p class="quiet" role="status">
        {looking && !progress?.of ? "looking for needless cost: packages are being loaded, which takes some seconds" : ""}
        {looking && progress?.of ? `looking for needless cost: ${count(progress.done)} of ${count(progress.of)} hot functions examined` : ""}
        {stopped ? "stopped before all functions were examined" : ""}
        {!looking && !error && !advice && !stopped ? "looking through this many samples takes a while and keeps the cores busy" : ""}
        {error ? `${error.message}${error.hint ? "; " + error.hint : ""}` : ""}
        {advice ? summary(advice) + (part ? "; of the whole recording, not only of what the filters leave" : "") : ""}
      </p>
      {looking && <p class="going"><progress max={progress?.of || undefined} value={progress?.of ? progress.done : undefined} aria-label="functions examined" /><button class="small" onClick={() => stop(app.api, ref)}>Stop</button></p>}
      {!looking && !advice && <p><button onClick={() => void ask(app.api, ref)}>{error ? "Look again" : "Look for findings"}</button></p>}
      {list.length > 0 && (
        <div style={{ "--saves": heads.length }}>
          <div class="heads" aria-hidden="true">{heads.map((h) => <span>{h}</span>)}<span>cause</span><span class="place">place</span></div>
          <ol>
            {list.slice(0, all ? list.length : firstShown).map((f, i) => <li key={f.number}><Unfolding finding={f} open={i === 0} heads={heads} /></li>)}
          </ol>
        </div>
      )}
      {!all && list.length > firstShown && <p><button onClick={() => setAll(true)}>Show all {count(list.length)}</button></p>}
      <Notes notes={few(advice?.notes ?? [], ref)} />
    </section>
  );
}

/** Elsewhere says how findings are looked for in what a store has: it has no sources. */
function Elsewhere() {
  const ref = shellWord(elsewhere(useApp()));
  return (
    <section class="card findings" aria-label="Findings">
      <h2>Findings</h2>
      <p class="quiet">A store has no source files, and findings need them. On a machine that has them, in the folder of the module:</p>
      <div class="told">
        {["advise", "web"].map((verb) => (
          <p class="prove">
            <code>{`hone ${verb} ${ref}`}</code>
            <button class="small" onClick={() => copy(`hone ${verb} ${ref}`, "command copied")} title="copy the command"><Icon name="copy" />Copy command</button>
            <span class="quiet">{verb === "web" ? "shows them with flame graphs and source lines" : "lists them, with patches"}</span>
          </p>
        ))}
      </div>
    </section>
  );
}

// The order of columns; what is in none of them comes last.
const columns = ["CPU", "bytes", "objects", "live"];

function rank(short: string): number {
  const at = columns.findIndex((c) => short.includes(c));
  return at < 0 ? columns.length : at;
}

/** few leaves out notes where there are many: those about what costs most come first. */
function few(notes: string[], ref: string): string[] {
  const most = 3;
  if (notes.length <= most + 1) return notes;
  return [...notes.slice(0, most), `and ${notes.length - most} more such notes; hone advise ${shellWord(ref)} has all of them`];
}

function summary(a: Advice): string {
  const functions = `${a.functions} ${a.functions === 1 ? "hot function was" : "hot functions were"} examined`;
  const small = a.small ? `; ${a.small} ${a.small === 1 ? "finding" : "findings"} that would save less than ${share(a.least)} left out` : "";
  if (a.findings.length > 0) return `what each would save at most; ${functions}${small}`;
  if (a.functions === 0 && a.notes?.length) return "no function was examined"; // the notes say why
  if (a.functions === 0) return "nothing found: no function of the module has a cost in it";
  return `nothing found: ${functions}, and no rule knows a cheaper way${small}`;
}

/** Unfolding is a finding in one line, with the rest below it when somebody wants to know. */
export function Unfolding({ finding: f, open, heads }: { finding: Finding; open: boolean; heads?: string[] }) {
  const most = f.savings.reduce((a, s) => Math.max(a, s.share), 0);
  return (
    <details class={"finding" + (heads ? " aligned" : "")} open={open} data-finding={f.number}>
      <summary>
        {heads ? heads.map((h) => {
          const s = f.savings.find((s) => s.short === h);
          return <span class={"saving" + (s ? "" : " none")}>{s && <>{share(s.share)}<span class="unit"> {h}</span></>}</span>;
        }) : <><span class="saves">{saves(f)}</span><Bar part={most} whole={1} kind="hot" /></>}
        <b>{f.title}</b>
        <span class="place">{f.where.file}:{f.where.line}</span>
      </summary>
      <Told finding={f} />
    </details>
  );
}

/** Told is all that is known of a finding. */
export function Told({ finding: f, here }: { finding: Finding; here?: boolean }) {
  const app = useApp();
  const { session } = app;
  const fact = (name: string, text: ComponentChildren) => text && <div><dt>{name}</dt><dd>{text}</dd></div>;
  const line = f.evidence.find((e) => e.url.startsWith("/list?"));
  const prove = `hone fix ${session.source ? `--source ${shellWord(session.source)} ` : ""}${shellWord(subjectOf(app))} ${f.number}`;
  const fixes = f.fixes ?? [];
  return (
    <div class="told">
      {!here && line && <p class="code-line"><To evidence={line} finding={f}><span>{f.where.file}:{f.where.line}</span> <code>{f.where.text?.trim()}</code></To></p>}
      <dl>
        {fact("cause", f.claim)}
        {fact("on the heap", f.escape)}
        {fact("advice", f.advice)}
        {fact("no patch", fixes.length === 0 && f.no_fix)}
        {fact("risk", f.risk)}
      </dl>
      {fixes.map((x, i) => <Patch fix={x} or={i > 0} />)}
      {fixes.length > 0 ? (
        <p class="prove">
          <span class="quiet">prove it, and keep it if it holds</span>
          <code>{prove}</code>
          <button class="small" onClick={() => copy(prove, "command copied")} title="copy the command"><Icon name="copy" />Copy command</button>
        </p>
      ) : <p class="quiet"><Remark text={f.proof} /></p>}
      <ul class="evidence" aria-label="Evidence">
        {f.evidence.map((e) => <li><To evidence={e} finding={f}>{e.says}</To></li>)}
      </ul>
    </div>
  );
}

/** Patch is a way to mend it, as a diff that unfolds. */
function Patch({ fix, or }: { fix: Fix; or: boolean }) {
  return (
    <details class="code-change">
      <summary>{or ? "or: " : "patch: "}{fix.title} ({fix.grade})</summary>
      {fix.risk && <p class="quiet">{fix.risk}</p>}
      <Diff text={fix.patch} />
      <button class="small" onClick={() => copy(fix.patch, "patch copied: git apply takes it")} title="copy the patch"><Icon name="copy" />Copy patch</button>
    </details>
  );
}

/** Diff prints a unified diff. The sign at the beginning of a line says what its color says. */
export function Diff({ text }: { text: string }) {
  return (
    <pre tabIndex={0}>
      {text.replace(/\n$/, "").split("\n").map((l) => <span class={/^(\+\+\+|---|@@)/.test(l) ? "quiet" : l[0] === "+" ? "new" : l[0] === "-" ? "old" : ""}>{l + "\n"}</span>)}
    </pre>
  );
}

// Views of the command line that have a page of another name.
const pageOf: Record<string, string> = { list: "source", peek: "sandwich" };

/** To leads to what shows that a finding is true; the same as a command is its title. */
function To({ evidence: e, finding: f, children }: { evidence: Evidence; finding: Finding; children: ComponentChildren }) {
  const at = e.url.indexOf("?");
  const view = (at < 0 ? e.url : e.url.slice(0, at)).slice(1);
  let s = parse(pageOf[view] ?? view, at < 0 ? "" : e.url.slice(at));
  if (view === "list") s = put(put(s, "ui.sel", f.where.function ?? ""), "ui.finding", String(f.number));
  if (view === "peek") s = put(s, "arg", readable(get(s, "arg"))); // it is about one function, which is named and not matched
  return <Link to={s} href={href(s)} title={e.command}>{children}</Link>;
}

/** Here are the findings in a function, for the panel beside a picture. */
export function Here({ name }: { name: string }) {
  const list = useFindings(name);
  if (list.length === 0) return null;
  return (
    <section class="findings here" aria-label="Findings here">
      <h2>{list.length === 1 ? "finding here" : `${count(list.length)} findings here`}</h2>
      {list.map((f) => <Unfolding key={f.number} finding={f} open={false} />)}
    </section>
  );
}

/** elsewhere returns the ref by which other machines find what a page of a store is about. */
export function elsewhere(app: App): string {
  const ref = recordingOf(app)?.ref ?? "";
  return `${location.origin}/${ref.replace(/^shelf:/, "shelf/")}`;
}

/** shellWord writes a word as a shell takes it. */
export function shellWord(s: string): string {
  return /^[\w@%+=:,./-]+$/.test(s) ? s : "'" + s.replaceAll("'", `'\\''`) + "'";
}
