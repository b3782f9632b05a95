// Small parts that several views are made of.

import { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { AnyFrame, Failure, Head, Origin, remarks } from "./api";
import { expectCallers, useApp } from "./data";
import { growth, percent, signed, value } from "./format";
import { originNames } from "./colors";
import { exactly, functionOf, pieces, unqualified } from "./names";
import { State, add, get, go, put, state, steps, to } from "./state";

const paths = {
  zoom: "M7 2a5 5 0 1 0 0 10A5 5 0 0 0 7 2Zm4 9 3.5 3.5M7 5v4M5 7h4",
  source: "M5.5 4 2 8l3.5 4M10.5 4 14 8l-3.5 4",
  callers: "M8 1.5v4M5.8 3.6 8 1.4l2.2 2.2M3 6.5h10v3H3zM8 9.5v4.5M5.8 12 8 14.2l2.2-2.2",
  focus: "M8 3.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9ZM8 1v3M8 12v3M1 8h3M12 8h3",
  only: "M2 3.5h12M8 6v7M5 10.5 8 13.5l3-3",
  hide: "M2 2l12 12M6.5 4.3A7 7 0 0 1 14.5 8a8 8 0 0 1-2 2.5M4 5.4A8 8 0 0 0 1.5 8 7 7 0 0 0 9.7 11.6M6.6 6.6a2 2 0 0 0 2.8 2.8",
  drop: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2ZM5.5 5.5l5 5M10.5 5.5l-5 5",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  flame: "M2 3h12v3H2zM2 7h8v3H2zM2 11h4v3H2z",
  share: "M6.5 9.5 9.5 6.5M7 4.5l1.6-1.6a3 3 0 0 1 4.3 4.3L11.4 8.8M9 11.5l-1.6 1.6a3 3 0 0 1-4.3-4.3L4.6 7.2",
  download: "M8 2v8M4.8 7 8 10.2 11.2 7M2.5 13.5h11",
  light: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6ZM8 1v2M8 13v2M1 8h2M13 8h2M3 3l1.4 1.4M11.6 11.6 13 13M13 3l-1.4 1.4M4.4 11.6 3 13",
  dark: "M13.5 9.6A6 6 0 0 1 6.4 2.5a6 6 0 1 0 7.1 7.1Z",
  auto: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2ZM8 2v12M8 5h5M8 8h6M8 11h5",
  plus: "M8 3v10M3 8h10",
  close: "M4 4l8 8M12 4l-8 8",
};

export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={paths[name]} fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}

/** Named prints the name of a function. Where there is little room, the path of its package is left out. */
export function Named({ name }: { name: string }) {
  return <>{pieces(name).map((p) => (p.path ? <span class="roomy">{p.text}</span> : p.text))}</>;
}

const breakable = 24; // characters of a word that may be broken

/** Qualified is a text with paths of packages, without these. Where a line is full, long words break behind punctuation. */
export function Qualified({ text }: { text: string }) {
  const s = unqualified(text);
  const parts = s.split(" ").flatMap((word, i) => {
    const whole = (i > 0 ? " " : "") + word;
    return word.length <= breakable ? [whole] : whole.match(/[^.,\])}]+[.,\])}]*|[.,\])}]+/g) ?? [];
  });
  return <span title={s === text ? undefined : text}>{parts.map((part, i) => <>{i > 0 && !part.startsWith(" ") && <wbr />}{part}</>)}</span>;
}

/** Link goes to another state without loading the page anew. */
export function Link({ to: s, href, class: cls, title, current, soon, children }: {
  to: State; href: string; class?: string; title?: string; current?: boolean; children: ComponentChildren;
  soon?: (() => void) | undefined; // when the pointer or the focus comes to it
}) {
  return (
    <a href={href} class={cls} title={title} aria-current={current ? "page" : undefined} onPointerEnter={soon} onFocus={soon}
      onClick={(e) => {
        if (e.ctrlKey || e.metaKey || e.shiftKey || e.button !== 0) return;
        e.preventDefault();
        go(s);
      }}>
      {children}
    </a>
  );
}

/**
 * useDropdown returns a ref for a <details> that opens a box below a button. A press elsewhere closes it, and so does Escape, which does
 * nothing else then: see useKeys.
 */
export function useDropdown() {
  const box = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const away = (e: Event) => {
      if (box.current?.open && !box.current.contains(e.target as Node)) box.current.open = false;
    };
    const escape = (e: KeyboardEvent) => {
      const d = box.current;
      if (e.key !== "Escape" || e.defaultPrevented || !d?.open) return;
      e.preventDefault();
      if (d.contains(document.activeElement)) d.querySelector("summary")?.focus();
      d.open = false;
    };
    document.addEventListener("pointerdown", away);
    document.addEventListener("keydown", escape);
    return () => {
      document.removeEventListener("pointerdown", away);
      document.removeEventListener("keydown", escape);
    };
  }, []);
  return box;
}

/** Bar shows a share as a length. The number beside it says the same, so it is hidden from screen readers. */
export function Bar({ part, whole, kind }: { part: number; whole: number; kind?: string }) {
  const share = whole === 0 ? 0 : Math.min(1, Math.abs(part / whole));
  return (
    <span class={"bar " + (kind ?? "")} aria-hidden="true">
      <span style={{ width: share * 100 + "%" }} />
    </span>
  );
}

export function Dot({ origin }: { origin: Origin | undefined }) {
  if (!origin) return null;
  return <span class={"dot " + origin} title={originNames[origin]} role="img" aria-label={originNames[origin]} />;
}

export function Notes({ notes }: { notes: string[] | null | undefined }) {
  if (!notes?.length) return null;
  return (
    <ul class="notes" aria-label="Notes">
      {notes.map((n) => <li><Remark text={n} /></li>)}
    </ul>
  );
}

/** Remark is a text of an answer. What it says to set is a button where the page can do that. */
export function Remark({ text }: { text: string }) {
  const { state: now, api } = useApp();
  const parts = remarks.get(text);
  if (!parts) return <>{text}</>;
  return (
    <>
      {parts.map((p) => {
        if (typeof p === "string") return p;
        if ("command" in p) return <code>{p.command}</code>;
        const value = p.value ?? (p.set === "limit" ? String(10 * (Number(get(now, "limit")) || 100)) : "");
        if (value === "" || api.embedded) return <b>{p.set}</b>;
        const name = value === "true" ? p.set : `${p.set} ${value}`;
        return <button class="link" aria-pressed={get(now, p.set) === value} onClick={() => go(put(now, p.set, value))}>{name}</button>;
      })}
    </>
  );
}

/** Message stands where there is nothing to show: what is missing, and how to get it. */
export function Message({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="message">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Problem({ error }: { error: Failure }) {
  const { state } = useApp();
  const filtered = !error.away && state.pairs.some(([k]) => !k.startsWith("ui.") && k !== "ref" && k !== "metric" && k !== "base" && k !== "arg");
  return (
    <div class="message problem" role="alert">
      <h2>{error.message}</h2>
      {error.hint && <p>{error.hint}</p>}
      {!error.away && get(state, "arg") !== "" && <p><button onClick={() => go(put(put(state, "arg", ""), "ui.sel", ""))}>Choose another function</button></p>}
      {filtered && (
        <p><button onClick={() => go({ ...state, pairs: state.pairs.filter(([k]) => k === "ref" || k === "metric" || k === "base" || k === "arg") })}>
          Remove all filters
        </button></p>
      )}
    </div>
  );
}

/** Nothing explains an answer without any cost in it. */
export function Nothing({ head }: { head: Head }) {
  const { state: now, api } = useApp();
  // What a saved page has was answered before further filters were added.
  const added = api.embedded ? now.pairs.filter(([k]) => steps.includes(k)).map(([k, v]) => `${k}=${v}`) : [];
  const filters = [...(head.filters ?? []), ...added];
  if (filters.length > 0) {
    return (
      <Message title="No samples match these filters">
        <p>The filters are <code>{filters.join(", ")}</code>.{api.embedded && added.length === 0 ? " This file was saved with them." : " Remove one with its ×."}</p>
      </Message>
    );
  }
  return (
    <Message title={`This profile has no ${head.metric} samples`}>
      <p>Record for longer, or put the program under load; or choose another metric above.</p>
      <p><code>hone top --json REF</code> shows the same on the command line.</p>
    </Message>
  );
}

/** filterFor returns the filter of one op for a frame, as the grouping of frames needs it. */
export function filterFor(app: { state: State }, op: string, f: AnyFrame | undefined, name: string): [string, string] {
  const by = app.state.pairs.find(([k]) => k === "by")?.[1] ?? "";
  const exact = exactly(functionOf(f?.name ?? name));
  if (by.startsWith("label:")) return [op === "drop" || op === "ignore" ? "tag-ignore" : "tag", by.slice(6) + "=" + exact];
  if (by === "package" || by === "module") return [op, exact.slice(0, -1) + "[./]"];
  if (by === "file" && f?.file) return [op, exactly(f.file).slice(1)];
  return [op, exact];
}

export interface Subject {
  frame: AnyFrame | undefined;
  name: string;
}

export interface Action {
  icon: IconName;
  name: string;
  key: string;
  doc: string;
  run: () => void;
  soon?: () => void; // when the pointer or the focus comes to it
}

/** useActions returns what can be done with a frame. */
export function useActions(subject: Subject | undefined): Action[] {
  const app = useApp();
  if (!subject || subject.name === "" || subject.name === "all") return [];
  const { api } = app;
  const name = functionOf(subject.frame?.name ?? subject.name);
  const filter = (op: string) => () => {
    const [key, value] = filterFor(app, op, subject.frame, name);
    go(add(state(), key, value));
  };
  const all: (Action | false)[] = [
    api.has("/api/list") && {
      icon: "source", name: "Source", key: "s", doc: "its source, with what each line costs",
      run: () => go(to(state(), "source", ["arg", exactly(name)], ["ui.sel", name])),
    },
    api.has("/api/sandwich") && {
      icon: "callers", name: "Callers", key: "c", doc: "its callers and callees",
      run: () => go(to(state(), "sandwich", ["arg", name], ["ui.sel", name])),
      soon: () => expectCallers(app, name),
    },
    { icon: "focus", name: "Focus", key: "f", doc: "keep only samples that pass through it", run: filter("focus") },
    { icon: "only", name: "Show from", key: "o", doc: "cut what is above it", run: filter("show-from") },
    { icon: "hide", name: "Hide", key: "h", doc: "take it out of the stacks", run: filter("hide") },
    { icon: "drop", name: "Ignore", key: "d", doc: "drop samples that pass through it", run: filter("ignore") },
    { icon: "copy", name: "Copy", key: "y", doc: "copy its name", run: () => copy(name, "name copied") },
  ];
  return all.filter((a): a is Action => a !== false);
}

let announce: (text: string) => void = () => {};

/** say shows a line for a moment, and has it read out. */
export function say(text: string): void {
  announce(text);
}

export async function copy(text: string, done: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say(done);
  } catch {
    say("this browser does not let pages copy: " + text);
  }
}

export function Toast() {
  const [text, setText] = useState("");
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => {
    announce = (t) => {
      setText(t);
      clearTimeout(timer.current);
      timer.current = setTimeout(() => setText(""), 2500);
    };
  }, []);
  return <div class={"toast" + (text ? " shown" : "")} role="status">{text}</div>;
}

/** leftOf returns what filters leave of a total. */
export const leftOf = (h: Head): number => h.left ?? h.total;

/** amountOf prints a total, and with filters which share of it they leave. */
export const amountOf = (h: Head): string => (h.left === undefined ? "" : `${percent(h.left, h.total)} of `) + value(h.total, h.unit);

/** Delta prints how something changed: by how much, and by what share of what it was. */
export function Delta({ from, to: now, unit, chosen }: { from: number; to: number; unit: string; chosen?: string }) {
  return (
    <span class={"delta " + (now > from ? "more" : now < from ? "less" : "")}>
      {signed(now - from, unit, chosen)}{now !== from && <span class="roomy"> {growth(from, now)}</span>}
    </span>
  );
}

/** Share prints part of whole, with a bar that is as long as there is room for the most that stands in its column. */
export function Share({ part, whole, most = whole }: { part: number; whole: number; most?: number }) {
  return <span class="share"><Bar part={part} whole={most} /><span class="num">{percent(part, whole)}</span></span>;
}
