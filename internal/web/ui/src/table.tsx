// Tables that may be long: only the rows in sight are in the page.

import { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Column<T> {
  name: string;
  key: string;
  number?: boolean;
  sort?: boolean; // a click on the heading sorts by it
  plain?: boolean; // what it is goes without saying, for those who see it
  roomy?: boolean; // left out where there is little room
  cell: (row: T) => ComponentChildren;
}

const classOf = <T,>(c: Column<T>) => [c.number ? "num" : "", c.roomy ? "roomy" : ""].filter(Boolean).join(" ");

const lineHeight = 28;
const spare = 12; // rows beyond the edges, so that scrolling does not show gaps
const onPaper = 1000; // rows that are printed

/** A Branching says how rows lie below each other. */
export interface Branching<T> {
  level: (row: T) => number; // from 1 on
  open: (row: T) => boolean | undefined; // undefined where nothing is below it
  set: (row: T, open: boolean) => void;
  above: (row: T) => T | undefined;
}

export function VirtualTable<T>({ rows, columns, sorted, onSort, selected, onSelect, label, tree, wanted, sought }: {
  rows: T[]; columns: Column<T>[]; sorted: string; onSort?: (key: string) => void;
  selected?: (row: T) => boolean; onSelect?: (row: T) => void; label: string;
  tree?: Branching<T>; // the rows are one
  wanted?: { current: T | undefined }; // a row that is to be in sight and have the focus, once
  sought?: { current: T | undefined }; // a row that is to be in sight, once
}) {
  const box = useRef<HTMLDivElement>(null);
  const [span, setSpan] = useState({ top: 0, height: 800 });
  useEffect(() => {
    const b = box.current!;
    const look = () => setSpan({ top: b.scrollTop, height: b.clientHeight });
    look();
    const observer = new ResizeObserver(look);
    observer.observe(b);
    b.addEventListener("scroll", look, { passive: true });
    const paper = () => {
      observer.disconnect();
      setSpan({ top: 0, height: onPaper * lineHeight });
    };
    const screen = () => {
      look();
      observer.observe(b);
    };
    addEventListener("beforeprint", paper);
    addEventListener("afterprint", screen);
    return () => {
      removeEventListener("beforeprint", paper);
      removeEventListener("afterprint", screen);
      observer.disconnect();
      b.removeEventListener("scroll", look);
    };
  }, []);
  const first = Math.max(0, Math.floor(span.top / lineHeight) - spare);
  const last = Math.min(rows.length, Math.ceil((span.top + span.height) / lineHeight) + spare);
  const move = (from: HTMLElement, d: number) => {
    const next = d > 0 ? from.nextElementSibling : from.previousElementSibling;
    if (next instanceof HTMLElement && next.tabIndex === 0) next.focus();
  };
  useLayoutEffect(() => {
    const b = box.current!;
    const row = wanted?.current ?? sought?.current;
    const i = row === undefined ? -1 : rows.indexOf(row);
    if (i < 0) return;
    const top = i * lineHeight;
    if (top < b.scrollTop || top + 3 * lineHeight > b.scrollTop + b.clientHeight) b.scrollTop = Math.max(0, top - b.clientHeight / 2);
    const tr = b.querySelector<HTMLElement>(`tr[aria-rowindex="${i + 2}"]`);
    if (!tr) return setSpan({ top: b.scrollTop, height: b.clientHeight }); // it will be there next time
    if (sought) sought.current = undefined;
    if (wanted?.current === undefined) return;
    wanted.current = undefined;
    tr.focus({ preventScroll: true });
  });
  const turn = (r: T, key: string, at: HTMLElement) => {
    const open = tree!.open(r);
    if (key === "ArrowRight") {
      if (open === false) tree!.set(r, true);
      else if (open) move(at, 1);
    } else if (open) tree!.set(r, false);
    else {
      const above = tree!.above(r);
      if (above && wanted) {
        wanted.current = above;
        setSpan({ ...span });
      }
    }
  };
  return (
    <div class="table" ref={box} tabIndex={0} role="region" aria-label={label}>
      <table aria-rowcount={rows.length + 1} role={tree && "treegrid"}>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((c) => (
              <th key={c.key} scope="col" class={classOf(c)} aria-sort={sorted === c.key ? (c.number ? "descending" : "ascending") : undefined}>
                {c.sort && onSort ? (
                  <button class="link" onClick={() => onSort(c.key)}>{c.name}{sorted === c.key ? (c.number ? " ▾" : " ▴") : ""}</button>
                ) : c.plain ? <span class="hidden">{c.name}</span> : c.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {first > 0 && <tr class="gap" aria-hidden="true"><td colSpan={columns.length} style={{ height: first * lineHeight + "px" }} /></tr>}
          {rows.slice(first, last).map((r, i) => (
            <tr key={first + i} aria-rowindex={first + i + 2} class={selected?.(r) ? "selected" : ""} tabIndex={onSelect ? 0 : undefined}
              aria-level={tree?.level(r)} aria-expanded={tree?.open(r)}
              aria-current={selected?.(r) ? "true" : undefined} onClick={onSelect && (() => onSelect(r))}
              onKeyDown={(e) => {
                if (e.key === "Enter" && e.target === e.currentTarget) onSelect?.(r);
                else if (e.key === "ArrowDown") move(e.currentTarget, 1);
                else if (e.key === "ArrowUp") move(e.currentTarget, -1);
                else if (tree && (e.key === "ArrowRight" || e.key === "ArrowLeft")) turn(r, e.key, e.currentTarget);
                else return;
                e.preventDefault();
              }}>
              {columns.map((c) => <td key={c.key} class={classOf(c)}>{c.cell(r)}</td>)}
            </tr>
          ))}
          {last < rows.length && <tr class="gap" aria-hidden="true"><td colSpan={columns.length} style={{ height: (rows.length - last) * lineHeight + "px" }} /></tr>}
        </tbody>
      </table>
    </div>
  );
}
