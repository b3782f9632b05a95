// Painting a window of a model. The work is bounded by rows times pixels, not by nodes: of each row that is in sight only
// the nodes in sight are visited, and runs of nodes that are narrower than a pixel become one grey span.

import { ColorMode, Palette, changeColor, colorOf, isDark, isForced } from "./colors";
import { Model, Place, Window, from } from "./model";
import { functionOf, shorter } from "./names";

export const rowHeight = 20;
const font = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
const padding = 4;
const leastText = 24;

export interface Look {
  palette: Palette;
  mode: ColorMode;
  upward: boolean; // callers grow up: row 0 is at the bottom
  wanted: Uint8Array | undefined; // frames that match a search
  selected: string;
  cursor: Place | undefined;
  hover: Place | undefined;
}

export interface Surface {
  ctx: CanvasRenderingContext2D;
  width: number;
  height: number;
  scroll: number; // how much of the picture is above the surface
  rows: number;
}

/** A Brush keeps what painting the same model again can use: colours and labels of frames. */
export class Brush {
  private readonly colors: string[] = [];
  private readonly labels = new Map<number, [text: string, width: number][]>();
  private readonly widths = new Map<string, number>();
  private key = "";

  constructor(readonly model: Model) {}

  paint(s: Surface, w: Window, look: Look): void {
    const { ctx } = s;
    const p = look.palette;
    this.prepare(look);
    ctx.fillStyle = p.paper;
    ctx.fillRect(0, 0, s.width, s.height);
    ctx.font = font;
    ctx.textBaseline = "middle";
    const scale = w.x1 > w.x0 ? s.width / (w.x1 - w.x0) : 0;
    const first = Math.max(0, Math.floor((look.upward ? s.rows * rowHeight - s.scroll - s.height : s.scroll) / rowHeight));
    const last = Math.min(s.rows - 1, Math.ceil((look.upward ? s.rows * rowHeight - s.scroll : s.scroll + s.height) / rowHeight));
    for (let d = first; d <= last; d++) {
      const y = (look.upward ? (s.rows - 1 - d) * rowHeight : d * rowHeight) - s.scroll;
      this.row(ctx, w.top.row + d, y, w, scale, s.width, look);
    }
    this.mark(ctx, s, w, scale, look, look.hover, 1);
    this.mark(ctx, s, w, scale, look, look.cursor, 2);
  }

  private prepare(look: Look): void {
    const key = look.mode + look.palette.paper;
    if (this.key === key) return;
    this.key = key;
    const m = this.model;
    for (let i = 0; i < m.frames.length; i++) this.colors[i] = colorOf(look.palette, look.mode, m.frames[i]);
  }

  private row(ctx: CanvasRenderingContext2D, row: number, y: number, w: Window, scale: number, width: number, look: Look): void {
    const r = this.model.rows[row];
    if (!r) return;
    const p = look.palette;
    const outlined = isForced(p);
    const height = rowHeight - 1;
    let runFrom = -1;
    let runTo = -1;
    const endRun = () => {
      if (runFrom < 0) return;
      ctx.globalAlpha = 1;
      ctx.fillStyle = p.run;
      ctx.fillRect(runFrom, y, Math.max(runTo - runFrom, 0.5), height);
      runFrom = -1;
    };
    for (let i = from(r, w.x0); i < r.n; i++) {
      const left = Math.max(0, (r.x[i] - w.x0) * scale);
      if (left >= width || r.x[i] >= w.x1) break;
      const right = Math.min(width, (r.x[i] + r.w[i] - w.x0) * scale);
      if (right - left < 1) {
        if (runFrom >= 0 && left - runTo > 1) endRun();
        if (runFrom < 0) runFrom = left;
        runTo = right;
        continue;
      }
      endRun();
      const f = r.frame[i];
      const frame = f < 0 ? undefined : this.model.frames[f];
      const hit = look.wanted === undefined || (f >= 0 && look.wanted[f] === 1);
      ctx.globalAlpha = hit ? 1 : p.fade;
      const before = r.before?.[i];
      const changes = look.mode === "change" && before !== undefined;
      ctx.fillStyle = changes ? changeColor(p, before, r.cum[i]) : f < 0 ? p.all : this.colors[f];
      // A gap tells neighbours apart, where there is room for one.
      const box = right - left - (right - left > 4 ? 1 : 0.25);
      ctx.fillRect(left, y, box, height);
      if (outlined) {
        ctx.strokeStyle = p.text;
        ctx.strokeRect(left + 0.5, y + 0.5, box - 1, height - 1);
      }
      if (changes && (before === 0) !== (r.cum[i] === 0)) hatch(ctx, left, y, box, height, p, before === 0);
      if (hit && look.wanted !== undefined) {
        ctx.fillStyle = p.accent;
        ctx.fillRect(left, y + height - 3, box, 3);
      }
      if (box >= leastText) {
        const sign = changes && before !== r.cum[i] ? this.sign(before, r.cum[i]) : "";
        const text = this.label(ctx, f, frame?.name, box - 2 * padding, sign);
        if (text !== "") {
          ctx.globalAlpha = 1;
          ctx.fillStyle = hit || outlined ? p.text : faded(p);
          ctx.fillText(text, left + padding, y + height / 2 + 0.5);
        }
      }
      if (look.selected !== "" && frame !== undefined && functionOf(frame.name ?? "") === look.selected) {
        ctx.globalAlpha = 1;
        ctx.strokeStyle = outlined ? p.accent : p.text;
        ctx.lineWidth = 1.5;
        ctx.strokeRect(left + 0.75, y + 0.75, Math.max(box - 1.5, 0.5), height - 1.5);
      }
    }
    endRun();
    ctx.globalAlpha = 1;
  }

  // A change of a few hundredths is not worth a sign on its box; the panel has the number.
  private sign(before: number, after: number): string {
    if (before === 0) return "+ ";
    if (after === 0) return "− ";
    const share = Math.abs(after - before) / Math.max(Math.abs(before), Math.abs(after));
    return share < 0.02 ? "" : after > before ? "▲ " : "▼ ";
  }

  private mark(ctx: CanvasRenderingContext2D, s: Surface, w: Window, scale: number, look: Look, at: Place | undefined, line: number): void {
    const r = at && this.model.rows[at.row];
    if (!at || !r || at.i >= r.n || at.row < w.top.row) return;
    const d = at.row - w.top.row;
    const y = (look.upward ? (s.rows - 1 - d) * rowHeight : d * rowHeight) - s.scroll;
    const left = Math.max(0, (r.x[at.i] - w.x0) * scale);
    const right = Math.min(s.width, (r.x[at.i] + r.w[at.i] - w.x0) * scale);
    ctx.strokeStyle = line > 1 ? look.palette.accent : look.palette.paper === "Canvas" ? "Highlight" : look.palette.text;
    ctx.lineWidth = line;
    ctx.strokeRect(left + line / 2, y + line / 2, Math.max(right - left - 1 - line, 1), rowHeight - 1 - line);
  }

  /** label returns as much of a name as fits into width. */
  private label(ctx: CanvasRenderingContext2D, f: number, name: string | undefined, width: number, sign: string): string {
    let forms = this.labels.get(f);
    if (!forms) {
      forms = (name === undefined ? ["all"] : shorter(name)).map((t) => [t, this.measure(ctx, t)]);
      this.labels.set(f, forms);
    }
    const room = sign === "" ? width : width - this.measure(ctx, sign);
    for (const [text, wide] of forms) if (wide <= room) return sign + text;
    const last = forms[forms.length - 1][0].replace(/^…/, "");
    let fits = 0;
    let used = this.measure(ctx, "…");
    while (fits < last.length && used + this.char(ctx, last[fits]) <= room) used += this.char(ctx, last[fits++]);
    return fits >= 2 ? sign + last.slice(0, fits) + "…" : "";
  }

  // Kerning is left out of account; measuring each text for itself is what painting would take longest for.
  private measure(ctx: CanvasRenderingContext2D, text: string): number {
    let sum = 0;
    for (const c of text) sum += this.char(ctx, c);
    return sum;
  }

  private char(ctx: CanvasRenderingContext2D, c: string): number {
    let w = this.widths.get(c);
    if (w === undefined) this.widths.set(c, (w = ctx.measureText(c).width));
    return w;
  }
}

// Text on a faded box stands nearly on the paper.
function faded(p: Palette): string {
  return isDark(p) ? "#c9ccd2" : "#3a3d44";
}

/** hatch marks what is only in one of two recordings: new ones slope up, those that are gone slope down. */
function hatch(ctx: CanvasRenderingContext2D, x: number, y: number, w: number, h: number, p: Palette, rising: boolean): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(x, y, w, h);
  ctx.clip();
  ctx.globalAlpha *= 0.45;
  ctx.strokeStyle = p.text;
  ctx.lineWidth = 1;
  ctx.beginPath();
  for (let at = x - h; at < x + w; at += 7) {
    ctx.moveTo(at, rising ? y + h : y);
    ctx.lineTo(at + h, rising ? y : y + h);
  }
  ctx.stroke();
  ctx.restore();
}
