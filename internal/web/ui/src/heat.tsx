// Single profiles over time: the one at a spike is a click away.

import { useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { FleetHeat, HeatCell } from "./api";
import { ready } from "./chart";
import { Palette, isDark } from "./colors";
import { useAnswer, useApp } from "./data";
import { about, amount, clockTicks, when } from "./fleet";
import { count } from "./format";
import { Link, Message, Problem } from "./parts";
import { Measures, measured } from "./service";
import { Pair, get, go, href, put, state as latest } from "./state";
import { PaletteContext } from "./theme";
import { useWidth } from "./timeline";

const rowHeight = 20;
const foot = 22;

export function HeatView() {
  const { state } = useApp();
  const ref = get(state, "ref");
  const asked = get(state, "ui.heat");
  const by = asked === "total" ? "" : asked || "instance";
  const { data, error, waiting } = useAnswer<FleetHeat>(ref && "/api/v1/fleet/heat", [["ref", ref], ...measured(state), ["by", by]]);
  if (ref === "") return <Message title="No service is chosen"><p>Choose one under <a href="/services">Services</a>.</p></Message>;
  if (error && !waiting) return <Problem error={error} />;
  if (!data) return <div class="blank" aria-busy="true" />;
  if (data.profiles === 0) {
    return (
      <Message title="There are no single profiles of this time">
        <p>Single profiles are kept for a week by default (<code>hone serve --keep</code>), and sums of hours and days after that. Choose a time above in which there are some.</p>
      </Message>
    );
  }
  return (
    <div class="main page scrolls fleet" tabIndex={0} role="region" aria-label="Heat map">
      <div class="tools">
        <Measures all={data.measures} now={data.of} />
        <div class="group">
          <label class="choice"><span>rows</span>
            <select value={asked || "instance"} onChange={(e) => go(put(latest(), "ui.heat", e.currentTarget.value === "instance" ? "" : e.currentTarget.value))}>
              <option value="total" selected={by === ""}>by value</option>
              {[...new Set(["instance", ...data.labels, ...(by ? [by] : [])])].map((l) => <option value={l} selected={l === by}>{l}</option>)}
            </select>
          </label>
          <span class="quiet">{count(data.profiles)} profiles{data.more ? ", the newest" : ""}</span>
        </div>
      </div>
      <Map data={data} />
      <section class="card">
        <h2>Highest</h2>
        <table class="plain highest">
          <thead><tr><th scope="col" class="num">{data.unit === "cores" ? "cores" : "value"}</th><th scope="col">when</th><th scope="col">labels</th></tr></thead>
          <tbody>
            {data.highest.map((p) => (
              <tr>
                <td class="num">{amount(p.value, data.unit)}</td>
                <td class="num"><Link to={single(p.ref)} href={href(single(p.ref))}>{when(p.at_ms)}</Link></td>
                <td class="fn of-profile" title={p.labels}>{p.labels.split(/(?<=",)/).map((l) => <span>{l}</span>)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </div>
  );
}

/** single returns the flame graph of one profile. */
function single(ref: string) {
  const metric = get(latest(), "metric");
  const more: Pair[] = metric ? [["metric", metric]] : [];
  return about("flame", ref, ...more);
}

/** shade returns the color of a share of the most: darker is more on light paper, lighter on dark. */
function shade(share: number, p: Palette): string {
  const l = isDark(p) ? 22 + 52 * share : 90 - 55 * share;
  return `hsl(${isDark(p) ? 28 : 24} ${55 + 35 * share}% ${l}%)`;
}

function Map({ data }: { data: FleetHeat }) {
  const palette = useContext(PaletteContext);
  const [box, width] = useWidth();
  const canvas = useRef<HTMLCanvasElement>(null);
  const gutter = width > 700 ? 190 : 96;
  const rows = data.rows;
  const height = rows.length * rowHeight + foot;
  const { from_ms: from, to_ms: end } = data.selection;
  const [at, setAt] = useState<{ row: number; cell: number } | undefined>(undefined);
  const now = useRef(at);
  now.current = at;
  useEffect(() => setAt(undefined), [data]);
  const nameOf = (i: number) => (data.by === "" ? `${amount(rows[i].low ?? 0, data.unit)} to ${amount(rows[i].high ?? 0, data.unit)}` : rows[i].name || `without ${data.by}`);
  const names = useMemo(() => rows.map((_, i) => nameOf(i)), [data]);
  const spanOf = (c: HeatCell): [number, number] => {
    // A column is a step of the time; the last one may be cut off.
    const a = (c.column * data.step_ms) / (end - from);
    return [a, Math.min(1, a + data.step_ms / (end - from))];
  };
  useEffect(() => {
    const ctx = width > 0 && ready(canvas.current!, width, height);
    if (!ctx) return;
    const w = width - gutter;
    ctx.font = "11px system-ui, sans-serif";
    ctx.textBaseline = "middle";
    rows.forEach((r, i) => {
      ctx.fillStyle = palette.quiet;
      ctx.textAlign = "right";
      let name = names[i];
      while (name.length > 3 && ctx.measureText(name).width > gutter - 10) name = name.slice(0, -2).replace(/…$/, "") + "…";
      ctx.fillText(name, gutter - 6, i * rowHeight + rowHeight / 2);
      for (const c of r.cells) {
        const [a, b] = spanOf(c);
        ctx.fillStyle = shade(data.max > 0 ? c.heat / data.max : 0, palette);
        ctx.fillRect(gutter + a * w, i * rowHeight + 1, Math.max(2, (b - a) * w - 0.5), rowHeight - 2);
      }
    });
    ctx.fillStyle = palette.quiet;
    ctx.textAlign = "center";
    for (const [t, text] of clockTicks(from, end, Math.max(2, w / 80))) {
      const x = gutter + ((t - from) / (end - from)) * w;
      const half = ctx.measureText(text).width / 2;
      ctx.fillText(text, Math.min(Math.max(x, gutter + half), width - half), rows.length * rowHeight + 12);
    }
  }, [data, width, palette]);
  const cell = at && rows[at.row]?.cells[at.cell];
  const find = (e: PointerEvent | MouseEvent) => {
    const b = canvas.current!.getBoundingClientRect();
    const row = Math.floor((e.clientY - b.top) / rowHeight);
    const share = (e.clientX - b.left - gutter) / (b.width - gutter);
    const i = rows[row]?.cells.findIndex((c) => { const [x, y] = spanOf(c); return share >= x && share < y; }) ?? -1;
    return i < 0 ? undefined : { row, cell: i };
  };
  const open = (c: HeatCell | undefined) => { if (c) go(single(c.highest.ref)); };
  const move = (dr: number, dc: number) => {
    const p = now.current;
    if (!p) return setAt({ row: 0, cell: 0 });
    const column = rows[p.row].cells[p.cell].column;
    let row = p.row + dr;
    while (rows[row] && rows[row].cells.length === 0) row += dr || 1;
    if (!rows[row]) return;
    const cells = rows[row].cells;
    if (dr === 0) return setAt({ row, cell: Math.min(Math.max(p.cell + dc, 0), cells.length - 1) });
    let best = 0;
    cells.forEach((c, i) => { if (Math.abs(c.column - column) < Math.abs(cells[best].column - column)) best = i; });
    setAt({ row, cell: best });
  };
  const text = cell ? `${names[at!.row]}, ${when(cell.highest.at_ms)}: ${cell.n === 1 ? "" : `${count(cell.n)} profiles, highest `}${amount(cell.highest.value, data.unit)}${data.unit === "cores" ? " cores" : ""}` : "";
  const [a, b] = cell ? spanOf(cell) : [0, 0];
  return (
    <section class="heat" aria-label="Profiles over time">
      <p class="when" role="status">{text ? <b>{text}</b> : <span class="quiet">each box is the profiles of a short time; a click, or Enter, opens the highest of them</span>}</p>
      <div class="charts" ref={box}>
        <div class="heat-box" tabIndex={0} role="application" aria-label={`Heat map of ${count(data.profiles)} profiles. ${text || "Arrow keys move, Enter opens."}`}
          onPointerMove={(e) => setAt(find(e))} onClick={(e) => { const p = find(e); if (p) open(rows[p.row].cells[p.cell]); }}
          onKeyDown={(e) => {
            const moves: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
            if (e.ctrlKey || e.metaKey || e.altKey) return;
            if (e.key === "Enter") open(cell);
            else if (moves[e.key]) move(...moves[e.key]);
            else return;
            e.preventDefault();
          }}>
          <canvas ref={canvas} aria-hidden="true" style={{ width: width + "px", height: height + "px" }} />
          {cell && <div class="heat-cursor" style={{ left: `calc(${gutter}px + ${a} * (100% - ${gutter}px))`, width: `max(3px, ${b - a} * (100% - ${gutter}px))`, top: at!.row * rowHeight + "px", height: rowHeight + "px" }} />}
        </div>
      </div>
      <p class="quiet scale">{data.by === "" ? "profiles in a box" : data.unit === "cores" ? "cores of one process" : "value of one process"} 0 <i style={{ background: `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map((s) => shade(s, palette)).join(", ")})` }} aria-hidden="true" /> {data.by === "" ? count(data.max) : amount(data.max, data.unit)}{(data.rest ?? 0) > 0 && ` · ${data.rest} rows with less are not shown`}</p>
    </section>
  );
}
