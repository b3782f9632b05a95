// The menu of a frame: what can be done with it, where the pointer is. What changes the question becomes a pill, which undoes it.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { AnyFrame } from "./api";
import { App } from "./data";
import { exactly, functionOf, packageOf, quoted, short } from "./names";
import { copy, filterFor } from "./parts";
import { State, add, go, href, put, settle, state as latest, to } from "./state";

/** An Item is an entry of a menu; those of one group stand together. */
export interface Item {
  group: number;
  name: string;
  of?: string; // what it is done to
  key?: string;
  run: () => void;
}

/** itemsFor returns what can be done with a frame. zoom shows what is below this one call of it. */
export function itemsFor(app: App, frame: AnyFrame | undefined, fullName: string, zoom: (() => void) | undefined, link: (s: State) => State): Item[] {
  const { api, state } = app;
  const out: Item[] = [];
  const put1 = (group: number, name: string, of: string, run: () => void, key = "") => out.push({ group, name, of, run, key });
  if (zoom) put1(0, "Zoom into this call", "", zoom, "Enter");
  if (!frame) return out;
  const name = functionOf(fullName);
  const pkg = frame.package || packageOf(name);
  const by = state.pairs.find(([k]) => k === "by")?.[1] ?? "";
  const filter = (key: string, value: string) => () => go(add(latest(), key, value));
  const fn = (op: string) => {
    const [key, value] = filterFor(app, op, frame, name);
    return filter(key, value);
  };
  if (!api.embedded) {
    const s = short(name);
    put1(1, "Focus: keep only samples through", s, fn("focus"), "f");
    if (!by.startsWith("label:")) {
      put1(1, "Show from: cut the callers of", s, fn("show-from"), "o");
      put1(1, "Show only", s, fn("show"));
      put1(2, "Hide, and merge into callers:", s, fn("hide"), "h");
    }
    put1(2, "Ignore: drop samples through", s, fn("ignore"), "d");
    if (by === "" || by === "function") put1(2, "Collapse recursion of", s, filter("collapse-recursion", exactly(name)));
    if (pkg && !by.startsWith("label:") && by !== "file") {
      const all = "^" + quoted(pkg) + "[./]";
      put1(3, "Collapse package", pkg, filter("collapse-package", exactly(pkg)));
      put1(3, "Hide package", pkg, filter("hide", all));
      put1(3, "Show only package", pkg, filter("show", all));
    }
  }
  if (api.has("/api/list")) put1(4, "Source", "", () => go(to(latest(), "source", ["arg", exactly(name)], ["ui.sel", name])), "s");
  if (api.has("/api/sandwich")) put1(4, "Callers and callees", "", () => go(to(latest(), "sandwich", ["arg", name], ["ui.sel", name])), "c");
  put1(5, "Copy name", "", () => void copy(name, "name copied"), "y");
  put1(5, "Copy link to this call", "", () => {
    settle();
    void copy(new URL(href(link(put(latest(), "ui.sel", name))), location.href).href, "link copied");
  });
  return out;
}

const margin = 8; // between the menu and the edges of the window

/** Menu shows items at a point, and has the focus as long as it is there. */
export function Menu({ title, items, x, y, onClose }: { title: string; items: Item[]; x: number; y: number; onClose: () => void }) {
  const list = useRef<HTMLDivElement>(null);
  const before = useRef<Element | null>(null);
  useLayoutEffect(() => {
    before.current = document.activeElement;
    const m = list.current!;
    m.style.left = Math.max(margin, Math.min(x, innerWidth - m.offsetWidth - margin)) + "px";
    m.style.top = Math.max(margin, Math.min(y, innerHeight - m.offsetHeight - margin)) + "px";
    m.querySelector<HTMLElement>("button")?.focus();
    return () => (before.current as HTMLElement | null)?.focus?.();
  }, []);
  useEffect(() => {
    const away = (e: Event) => {
      if (!list.current?.contains(e.target as Node)) onClose();
    };
    document.addEventListener("pointerdown", away);
    addEventListener("resize", onClose);
    return () => {
      document.removeEventListener("pointerdown", away);
      removeEventListener("resize", onClose);
    };
  }, []);
  const move = (e: KeyboardEvent) => {
    e.stopPropagation(); // the picture below has other plans with these keys
    const all = [...list.current!.querySelectorAll<HTMLElement>("button")];
    const at = all.indexOf(document.activeElement as HTMLElement);
    const next: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 };
    if (e.key === "Escape" || e.key === "Tab") {
      e.preventDefault();
      onClose();
    } else if (Object.hasOwn(next, e.key)) {
      e.preventDefault();
      all[(next[e.key] + all.length) % all.length]?.focus();
    }
  };
  return (
    <div class="frame-menu" role="menu" aria-label={title} ref={list} onKeyDown={move} onContextMenu={(e) => e.preventDefault()}>
      <p class="name" role="presentation">{title}</p>
      {items.map((item, i) => (
        <>
          {i > 0 && items[i - 1].group !== item.group && <hr key={"line" + i} />}
          <button role="menuitem" tabIndex={-1} key={item.name} onClick={() => { onClose(); item.run(); }}>
            <span>{item.name}{item.of && <> <b>{item.of}</b></>}</span>{item.key && <kbd>{item.key}</kbd>}
          </button>
        </>
      ))}
    </div>
  );
}
