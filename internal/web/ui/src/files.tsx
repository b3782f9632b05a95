// Files that are dropped into the page or chosen there, which the server opens beside the others; and views that are saved under a name.

import { useEffect, useRef, useState } from "preact/hooks";
import { useApp } from "./data";
import { say, useDropdown } from "./parts";
import { State, get, go, href, parse, put, queryString, settle, state as latest } from "./state";

interface Refusal {
  error?: string;
  hint?: string;
}

async function answered<T>(r: Response): Promise<T> {
  const text = await r.text();
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    data = { error: text.trim() || r.statusText };
  }
  if (!r.ok) {
    const { error, hint } = data as Refusal;
    throw new Error([error ?? r.statusText, hint].filter(Boolean).join("; "));
  }
  return data as T;
}

// Why some of several files did not open, for the page that shows those that did.
const refused = "hone-refused";
const refusedBefore = () => sessionStorage.getItem(refused) ?? "";

/** OpenFiles opens files beside those that are open: by a button, or wherever in the page they are dropped. */
export function OpenFiles() {
  const { session } = useApp();
  const input = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState(false);
  const [doing, setDoing] = useState("");
  const [wrong, setWrong] = useState(refusedBefore);
  useEffect(() => sessionStorage.removeItem(refused), []);
  const open = async (files: File[]) => {
    let last = "";
    let fresh = 0;
    const bad: string[] = [];
    for (const f of files) {
      setDoing(f.name);
      try {
        const r = await fetch("/api/open?name=" + encodeURIComponent(f.name), { method: "POST", headers: { "Content-Type": "application/octet-stream" }, body: f });
        const got = await answered<{ ref: string; known?: boolean }>(r);
        last = got.ref;
        if (!got.known || !session.recordings.some((one) => one.ref === last)) fresh++;
      } catch (e) {
        bad.push(e instanceof Error ? e.message : String(e));
      }
    }
    setDoing("");
    setWrong(bad.join("\n"));
    if (last === "") return;
    if (fresh === 0) {
      settle();
      if (last !== (get(latest(), "ref") || session.recordings[0].ref)) go(of(last));
      say(`${last} is already open`);
      return;
    }
    if (bad.length > 0) sessionStorage.setItem(refused, bad.join("\n"));
    settle();
    location.assign(href(of(last))); // what is open has changed for all of the page
  };
  const take = useRef(open);
  take.current = open;
  useEffect(() => {
    if (!session.takes) return;
    const files = (e: DragEvent) => [...(e.dataTransfer?.types ?? [])].includes("Files");
    let depth = 0;
    const enter = (e: DragEvent) => { if (files(e)) { depth++; setOver(true); } };
    const leave = (e: DragEvent) => { if (files(e) && --depth <= 0) { depth = 0; setOver(false); } };
    const move = (e: DragEvent) => { if (files(e)) e.preventDefault(); };
    const drop = (e: DragEvent) => {
      if (!files(e)) return;
      e.preventDefault();
      depth = 0;
      setOver(false);
      void take.current([...(e.dataTransfer?.files ?? [])]);
    };
    document.addEventListener("dragenter", enter);
    document.addEventListener("dragleave", leave);
    document.addEventListener("dragover", move);
    document.addEventListener("drop", drop);
    return () => {
      document.removeEventListener("dragenter", enter);
      document.removeEventListener("dragleave", leave);
      document.removeEventListener("dragover", move);
      document.removeEventListener("drop", drop);
    };
  }, [session.takes]);
  if (!session.takes) return null;
  return (
    <>
      <button onClick={() => input.current?.click()} disabled={doing !== ""} title="open profiles, recordings or execution traces beside what is open; or drop them into the page">{doing ? "Opening…" : "Open…"}</button>
      <input ref={input} type="file" multiple hidden aria-label="Files to open" onChange={(e) => { const list = [...(e.currentTarget.files ?? [])]; e.currentTarget.value = ""; if (list.length > 0) void open(list); }} />
      {over && <div class="drop-here" role="status"><p>Drop files to open them beside what is open</p></div>}
      {wrong && <div class="away refused" role="alert"><p>{wrong}</p><button class="small" onClick={() => setWrong("")}>Close</button></div>}
    </>
  );
}

/** of returns the view that is shown, of another recording. */
function of(ref: string): State {
  return ["root", "at", "metric", "ui.sel", "ui.call", "ui.zoom"].reduce((s, key) => put(s, key, ""), put(latest(), "ref", ref));
}

interface Saved {
  name: string;
  link: string;
}

/** linkOf returns a view without what it is of, so that it is one of whatever is open. */
function linkOf(s: State): string {
  return "/" + s.view + queryString(s.pairs.filter(([k]) => !["ref", "base", "base-tag", "ui.sel", "ui.call", "ui.zoom"].includes(k)));
}

/** SavedViews are views under a name. */
export function SavedViews() {
  const { session } = useApp();
  const menu = useDropdown();
  const [list, setList] = useState<Saved[]>();
  const [name, setName] = useState("");
  const [renaming, setRenaming] = useState("");
  const [wrong, setWrong] = useState("");
  // After a name was changed, or not, the focus is where it was.
  const back = useRef("");
  useEffect(() => {
    if (renaming !== "" || back.current === "") return;
    menu.current?.querySelector<HTMLElement>(`[data-rename="${CSS.escape(back.current)}"]`)?.focus();
    back.current = "";
  });
  if (!session.saves) return null;
  const ask = async (path: string, init?: RequestInit): Promise<boolean> => {
    try {
      setList(await answered<Saved[]>(await fetch(path, init)));
      setWrong("");
      return true;
    } catch (e) {
      setWrong(e instanceof Error ? e.message : String(e));
      return false;
    }
  };
  const save = async () => {
    settle();
    const kept = name.trim();
    if (await ask("/api/saved", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ name: kept, link: linkOf(latest()) }) })) {
      setName("");
      say(`saved as ${kept}`);
    }
  };
  const rename = async (from: string, to: string) => {
    if (to === from || (await ask("/api/saved", { method: "PATCH", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ name: from, to }) }))) {
      setRenaming("");
      back.current = to;
    }
  };
  const show = (v: Saved) => {
    const u = new URL(v.link, location.href);
    let s = parse(u.pathname.slice(1), u.search);
    for (const key of ["base", "ref"]) {
      const value = get(latest(), key);
      if (value) s = { ...s, pairs: [[key, value], ...s.pairs] };
    }
    menu.current!.open = false;
    go(s);
  };
  return (
    <details class="menu" ref={menu} onToggle={(e) => { setRenaming(""); if (e.currentTarget.open) void ask("/api/saved"); }}>
      <summary title="views that were saved under a name">Views</summary>
      <div class="saved-views">
        {list?.length === 0 && <p class="quiet">No view is saved yet. A saved view keeps the tab, the filters and the settings, for whatever is open.</p>}
        <ul class="plain-list">
          {(list ?? []).map((v) => (
            <li key={v.name}>{v.name === renaming ? <NameForm name={v.name} onName={(to) => void rename(v.name, to)} onCancel={() => { back.current = v.name; setWrong(""); setRenaming(""); }} /> : <>
              <button class="link" title={v.link} onClick={() => show(v)}>{v.name}</button>
              <button class="small" data-rename={v.name} aria-label={`rename the view ${v.name}`} onClick={() => setRenaming(v.name)}>Rename</button>
              <button class="small" aria-label={`remove the view ${v.name}`} onClick={() => void ask("/api/saved?name=" + encodeURIComponent(v.name), { method: "DELETE" })}>×</button>
            </>}</li>
          ))}
        </ul>
        <form onSubmit={(e) => { e.preventDefault(); void save(); }}>
          <input value={name} maxLength={80} placeholder="name for this view" aria-label="Name for this view" onInput={(e) => setName(e.currentTarget.value)} />
          <button type="submit" disabled={name.trim() === ""}>Save</button>
        </form>
        {wrong && <p class="bad" role="alert">{wrong}</p>}
      </div>
    </details>
  );
}

/** NameForm takes another name for a view. Escape leaves it as it was, and the menu open. */
function NameForm({ name, onName, onCancel }: { name: string; onName: (to: string) => void; onCancel: () => void }) {
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => { box.current?.focus(); box.current?.select(); }, []);
  const [to, setTo] = useState(name);
  return (
    <form onSubmit={(e) => { e.preventDefault(); onName(to.trim()); }} onKeyDown={(e) => { if (e.key === "Escape") { e.stopPropagation(); onCancel(); } }}>
      <input ref={box} value={to} maxLength={80} aria-label={`New name of the view ${name}`} onInput={(e) => setTo(e.currentTarget.value)} />
      <button type="submit" class="small" disabled={to.trim() === ""}>Rename</button>
      <button type="button" class="small" onClick={onCancel}>Cancel</button>
    </form>
  );
}
