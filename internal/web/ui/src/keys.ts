// Keys. A view says what its keys do; the sheet behind ? lists all of them, after the keys that lead to the views.

import { useLayoutEffect, useRef } from "preact/hooks";
import { go, ofFleet, put, state as latest } from "./state";

export type Keys = Record<string, (e: KeyboardEvent) => void>;

export const sheet: [title: string, keys: [key: string, doc: string][]][] = [
  [
    "Everywhere",
    [
      ...(ofFleet ? [["[  ]", "the time before and after"]] as [string, string][] : []),
      ["/", "search"],
      ["Esc", "leave the search and keep it; then clear it; zoom out"],
      ["↓", "from a search to the rows that it found"],
      ["t", "theme: system, light, dark"],
      ["?", "this sheet"],
      ["Alt ←", "undo the last step"],
    ],
  ],
  [
    "Flame graph",
    [
      ["← → ↑ ↓", "move to a neighbor, a caller, a callee"],
      ["Enter", "zoom into the selected frame"],
      ["Esc", "zoom out by one frame"],
      ["r", "zoom out to the whole"],
      ["n  N", "next and previous match of the search"],
      ["i", "invert: callers below callees"],
      ["l", "collapse recursion"],
      ["u", "let the picture grow up or down"],
      ["a  A", "next and previous frame with a finding"],
      [".", "menu of the selected frame, as with the right button"],
    ],
  ],
  [
    "Flame chart",
    [
      ["Enter", "zoom into the time of the selected call"],
      ["+  -", "zoom in and out"],
      ["Esc", "zoom out to all that is shown"],
      ["n  N", "next and previous match of the search"],
      ["u", "let the picture grow up or down"],
    ],
  ],
  [
    "Call tree",
    [
      ["→ ←", "open a call; close it, or go to its caller"],
      ["*", "open the heaviest calls below it"],
      ["n  N", "next and previous match of the search"],
      ["i", "invert: callers below callees"],
    ],
  ],
  [
    "Selected frame",
    [
      ["s", "its source"],
      ["c", "its callers and callees"],
      ["f", "focus: keep only samples that pass through it"],
      ["o", "show from: cut what is above it"],
      ["h", "hide: take it out of the stacks"],
      ["d", "ignore: drop samples that pass through it"],
      ["y", "copy its name"],
    ],
  ],
  [
    "Timeline",
    [
      ["← →", "move through the time; with Shift, choose a part of it"],
      ["Enter", "limit all views to that part"],
      ["Esc", "clear the selection"],
    ],
  ],
  [
    "Trace",
    [
      ["← →", "move through the time; with Shift, choose a part of it"],
      ["Enter", "zoom into that part"],
      ["+  -", "zoom in and out"],
      ["[  ]", "half a screen back or on"],
      ["↑ ↓", "the goroutine above or below"],
      ["Esc", "the whole trace"],
    ],
  ],
  ["Source", [["n  N", "next and previous line by cost"], ["a  A", "next and previous line with a finding"]]],
];

function typing(e: KeyboardEvent): boolean {
  const t = e.target as HTMLElement;
  return t.isContentEditable || /^(INPUT|SELECT|TEXTAREA)$/.test(t.tagName);
}

// Enter and the arrows mean something to controls that have the focus.
function controls(e: KeyboardEvent): boolean {
  const t = e.target as HTMLElement;
  if (!/^(Enter| |Arrow.*)$/.test(e.key)) return false;
  return /^(BUTTON|A|SUMMARY|TH|TD|TR)$/.test(t.tagName);
}

/** useKeys makes keys do something as long as the component is there. */
export function useKeys(keys: Keys): void {
  // Together with what is shown: a key that comes right after must not do what it did before.
  useLayoutEffect(() => {
    const down = (e: KeyboardEvent) => {
      if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || typing(e) || controls(e)) return;
      if (document.querySelector("dialog[open]")) return;
      // Escape closes an open box of the header and does nothing else, in whatever order the page hears of the key.
      if (e.key === "Escape" && document.querySelector("details.menu[open]")) return;
      const f = Object.hasOwn(keys, e.key) ? keys[e.key] : undefined;
      if (!f) return;
      e.preventDefault();
      f(e);
    };
    document.addEventListener("keydown", down);
    return () => document.removeEventListener("keydown", down);
  });
}

/** useBack returns what Escape does in a picture: it zooms out, or clears the search where that is newer than the zoom. */
export function useBack(q: string, zoom: string, zoomOut: () => void): () => void {
  const searched = useRef({ q, zoom }); // how far the picture was zoomed when somebody searched
  if (searched.current.q !== q) searched.current = { q, zoom };
  return () => {
    if (zoom !== "" && (q === "" || zoom !== searched.current.zoom)) zoomOut();
    else clearSearch();
  };
}

/** clearSearch shows all again where a view showed what is searched for. */
export function clearSearch(): void {
  go(put(latest(), "ui.q", ""));
}

/** toRows moves the focus to the table, or to the list, that a search field is above. */
export function toRows(): void {
  const rows = (which: string) => document.querySelector<HTMLElement>(which);
  (rows("main .table tbody tr.selected[tabindex]") ?? rows("main .table tbody tr[tabindex], main .functions li button, main .picks button"))?.focus();
}

/**
 * giveBack takes the focus off a list that was chosen from with the pointer, and off any list at Escape. As long as a list has the focus,
 * a key chooses from it what begins with that letter: / would open the recording whose path is listed first. Escape leaves a
 * search field with what is in it, for n and N to step through; a view clears it at the next Escape. An arrow leads from there to what was found.
 */
export function giveBack(): void {
  let pointed = false;
  const list = (e: Event) => (e.target instanceof HTMLSelectElement ? e.target : undefined);
  document.addEventListener("pointerdown", (e) => { pointed = list(e) !== undefined; });
  document.addEventListener("keydown", (e) => {
    pointed = false;
    if (e.key === "Escape") list(e)?.blur();
    const field = e.target instanceof HTMLInputElement && e.target.type === "search" && !e.defaultPrevented ? e.target : undefined;
    if (field && e.key === "Escape") {
      e.preventDefault(); // browsers clear it
      field.blur();
    }
    if (field && e.key === "ArrowDown") toRows();
  });
  document.addEventListener("change", (e) => { if (pointed) list(e)?.blur(); });
}
