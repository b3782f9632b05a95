// The tooltip of a picture: what the box under the pointer, or else under the cursor of the keyboard, is and costs. It stands
// below its box, or above where there is no room, so that it never covers what it is about.

import { useLayoutEffect, useRef } from "preact/hooks";
import { originNames } from "./colors";
import { growth, percent, value } from "./format";
import { Model, Place, flatAt, frameAt, nameAt } from "./model";
import { short } from "./names";
import { Dot } from "./parts";

export interface Box {
  left: number; // of where it is about, on the page
  top: number;
  bottom: number;
}

const gap = 6;

export function Tip({ model, at, unit, total, box }: { model: Model; at: Place; unit: string; total: number; box: () => Box | undefined }) {
  const tip = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const t = tip.current;
    if (!t) return;
    const b = box();
    t.hidden = b === undefined;
    if (!b) return;
    const below = b.bottom + gap + t.offsetHeight <= innerHeight;
    t.style.top = (below ? b.bottom + gap : Math.max(0, b.top - gap - t.offsetHeight)) + "px";
    t.style.left = Math.max(gap, Math.min(b.left, document.documentElement.clientWidth - t.offsetWidth - gap)) + "px";
  });
  const r = model.rows[at.row];
  if (!r || at.i >= r.n) return null;
  const frame = frameAt(model, at);
  const name = nameAt(model, at);
  const path = name.slice(0, name.length - short(name).length);
  const before = r.before?.[at.i];
  const flat = flatAt(model, at);
  const line = frame?.line || frame?.start_line;
  return (
    <div class="tip" role="tooltip" ref={tip} aria-hidden="true">
      <p class="name"><span class="quiet">{path}</span><b>{short(name)}</b></p>
      {frame && <p class="quiet"><Dot origin={frame.origin} />{frame.origin ? originNames[frame.origin] : "other"}{frame.package ? " · " + frame.package : ""}</p>}
      <dl>
        {flat !== undefined && <div><dt>flat</dt><dd>{value(flat, unit)}</dd><dd>{percent(flat, total)}</dd></div>}
        <div><dt>cum</dt><dd>{value(r.cum[at.i], unit)}</dd><dd>{percent(r.cum[at.i], total)}</dd></div>
        {before !== undefined && <div><dt>before</dt><dd>{value(before, unit)}</dd><dd>{growth(before, r.cum[at.i])}</dd></div>}
      </dl>
      {frame?.file && <p class="place">{frame.file.split("/").slice(-3).join("/")}{line ? ":" + line : ""}</p>}
    </div>
  );
}
