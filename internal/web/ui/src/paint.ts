// Painting a window of a model. The work is bounded by rows times pixels, not by nodes: of each row that is in sight only
// the nodes in sight are visited, and nodes that are narrower than a pixel share one, which has the color that most of them
// have. What the pointer and the arrow keys do changes two rows, and no more than those are painted. Writing into boxes takes
// longer than painting them, so what does not fit into a frame is written in the next one.

import { Band, Bands, Ink, blend, forgetInks, inkOf } from "./bands";
import { ColorMode, Palette, changeColor, colorsOf, isDark, isForced } from "./colors";
import { percent } from "./format";
import { Model, Place, Rest, Row, Window, framesOf, from } from "./model";
import { shorter } from "./names";

export const rowHeight = 20;
const family = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
const font = "12px " + family;
const smallFont = "10px " + family; // of boxes that hold no more than a few letters
const smaller = 10 / 12;
const padding = 3;
const smallPadding = 1; // at the left; an edge is at the right
const leastDots = 52; // room that has some for dots behind the letters
const squeeze = 1.45; // by how much narrower than they are small letters may be drawn
const leastText = 11; // less would hold one letter
const smallText = 30; // boxes from here on have letters of the usual size
const hairline = 0.35; // how dark a line between two boxes is that are too narrow for an edge
const leastRest = 1; // a narrower box of small calls would look like one of them
const leastRestText = 60; // room for a few words, which need not be measured in less
const flag = 10; // how wide and high the mark of a finding is
const mostLabels = 50_000; // that are kept; each width of a box has its own

export interface Look {
  palette: Palette;
  mode: ColorMode;
  upward: boolean; // callers grow up: row 0 is at the bottom
  wanted: Uint8Array | undefined; // frames that match a search
  flagged: Uint8Array | undefined; // frames with findings
  selected: string;
  cursor: Place | undefined;
  hover: Place | undefined;
}

export interface Surface {
  ctx: CanvasRenderingContext2D;
  width: number;
  height: number;
  ratio: number; // pixels of the screen per pixel of the page
  scroll: number; // how much of the picture is above the surface
  rows: number;
}

// A Layer is boxes, each by left, top and width.
type Layer = number[];

interface Text {
  text: string;
  x: number;
  y: number;
  line: number; // where y is, in rows from the top of the picture
  most: number | undefined; // how wide it may be
}

// What is painted over the boxes, and needs more than a line of pixels for each row.
interface Layers {
  outlines: Layer; // of all boxes, where the reader has chosen the colors
  picked: Layer; // of the function that is selected
  flags: Layer; // of functions with findings
  news: Layer;
  gone: Layer;
  strong: Text[];
  weak: Text[];
  smallStrong: Text[];
  smallWeak: Text[];
}

// A Run is what shares a pixel. Its color is that of a vote of all of it by width, for which one candidate at a time is enough.
interface Run {
  left: number;
  end: number;
  color: Ink;
  weight: number;
  hit: boolean;
}

// What is known of texts holds for all pictures. Finding it out anew for each would be most of what the first painting
// of one takes: what an answer brings has nearly the same names as what was there before.
const widths = new Map<string, number>(); // of characters
const forms = new Map<string, [text: string, width: number][]>(); // of names, from long to short
const mostNames = 50_000; // that are kept

function remember<V>(known: Map<string, V>, name: string, make: (name: string) => V): V {
  let v = known.get(name);
  if (v === undefined) {
    if (known.size >= mostNames) known.clear();
    known.set(name, (v = make(name)));
  }
  return v;
}

// Kerning is left out of account; measuring each text for itself is what painting would take longest for.
function measure(ctx: CanvasRenderingContext2D, text: string): number {
  let sum = 0;
  for (const c of text) sum += widthOf(ctx, c);
  return sum;
}

function widthOf(ctx: CanvasRenderingContext2D, c: string): number {
  return remember(widths, c, () => {
    setFont(ctx, font);
    return ctx.measureText(c).width;
  });
}

const fonts = new WeakMap<CanvasRenderingContext2D, string>(); // as set; what is read back is spelled in another way

function setFont(ctx: CanvasRenderingContext2D, font: string): void {
  if (fonts.get(ctx) === font) return;
  fonts.set(ctx, font);
  ctx.font = font;
}

/** A Brush keeps what painting the same model again can use: colors and labels of frames, and what was painted last. */
export class Brush {
  private colors: Ink[] = []; // of frames
  private readonly labels = new Map<number, string>();
  private key = "";
  private last: { s: Surface; w: Window; look: Look } | undefined;
  private unwritten: { font: string; color: string; texts: Text[] }[] = [];
  labeled = 0; // boxes that have a label in what was painted last as a whole

  constructor(readonly model: Model) {}

  /**
   * paint paints a window. Where only marks have moved, only their rows are painted anew. When there is more to be written
   * into boxes than there is time for, it returns false: the next call goes on with it, whatever has moved meanwhile.
   */
  paint(s: Surface, w: Window, look: Look, until: number): boolean {
    const { ctx } = s;
    this.prepare(look);
    const before = this.last;
    if (!before) {
      fonts.delete(ctx);
      ctx.textBaseline = "middle";
    }
    const scale = w.x1 > w.x0 ? s.width / (w.x1 - w.x0) : 0;
    const first = Math.max(0, Math.floor((look.upward ? s.rows * rowHeight - s.scroll - s.height : s.scroll) / rowHeight));
    const last = Math.min(s.rows - 1, Math.ceil((look.upward ? s.rows * rowHeight - s.scroll : s.scroll + s.height) / rowHeight));
    this.last = { s, w, look };
    const changed = before && alike(before.s, s) && alike(before.w, w) ? this.changed(before.look, look) : undefined;
    const lines: number[] = [];
    for (let d = first; d <= last; d++) if (!changed || changed.has(w.top.row + d)) lines.push(d);
    // What is painted anew is written anew.
    const anew = new Set(lines);
    this.unwritten = changed ? this.unwritten.map((u) => ({ ...u, texts: u.texts.filter((t) => !anew.has(t.line)) })) : [];
    ctx.fillStyle = look.palette.paper;
    if (lines.length === last - first + 1) ctx.fillRect(0, 0, s.width, s.height);
    else for (const d of lines) ctx.fillRect(0, lineTop(s, look, d), s.width, rowHeight);
    this.lines(s, lines, w, scale, look);
    if (!changed) this.labeled = this.unwritten.reduce((n, u) => n + u.texts.length, 0);
    const done = this.write(ctx, until);
    this.mark(ctx, s, w, scale, look, look.hover, 1);
    this.mark(ctx, s, w, scale, look, look.cursor, 2);
    return done;
  }

  /** write writes into boxes until a time, and returns whether nothing is left to be written. */
  private write(ctx: CanvasRenderingContext2D, until: number): boolean {
    for (const { font, color, texts } of this.unwritten) {
      if (texts.length === 0) continue; // setting a font takes as long as painting a few rows
      setFont(ctx, font);
      ctx.fillStyle = color;
      let n = 0;
      // Asking for the time takes as long as writing a few letters.
      while (n < texts.length && (n % 16 !== 0 || performance.now() < until)) {
        const t = texts[n++];
        if (t.most === undefined) ctx.fillText(t.text, t.x, t.y);
        else ctx.fillText(t.text, t.x, t.y, t.most);
      }
      texts.splice(0, n);
      if (texts.length > 0) return false;
    }
    this.unwritten = [];
    return true;
  }

  /** forget has the next picture painted as a whole, on a canvas of which nothing is known. */
  forget(): void {
    this.last = undefined;
  }

  private prepare(look: Look): void {
    const key = look.mode + look.palette.paper;
    const chosen = isForced(look.palette); // by the reader, who can change them
    if (chosen) forgetInks();
    if (this.key === key && !chosen) return;
    this.key = key;
    this.colors = colorsOf(look.palette, look.mode, this.model).map(inkOf);
  }

  // Edges lie between pixels of the screen, so that neighbors do not blend.
  private lines(s: Surface, lines: number[], w: Window, scale: number, look: Look): void {
    const { ctx } = s;
    const p = look.palette;
    const outlined = isForced(p);
    const height = rowHeight - 1;
    const to: Layers = { outlines: [], picked: [], flags: [], news: [], gone: [], strong: [], weak: [], smallStrong: [], smallWeak: [] };
    const bands = new Bands(Math.round(s.width * s.ratio), lines.length, s.ratio, inkOf(p.paper));
    for (const d of lines) {
      const band = bands.next();
      const r = this.model.rows[w.top.row + d];
      if (!band || !r) continue;
      this.line(s, r, d, w, scale, look, outlined, band, to);
      if (d > 0 && r.rest) this.rest(s, r.rest, this.model.rows[w.top.row + d - 1], d, w, scale, look, band, to);
    }
    bands.draw(ctx, lines.map((d) => lineTop(s, look, d)), rowHeight, height, 3, inkOf(p.accent));
    if (outlined) {
      ctx.strokeStyle = p.text;
      ctx.lineWidth = 1;
      outline(ctx, to.outlines, 0.5, height);
    }
    for (const [boxes, rising] of [[to.news, true], [to.gone, false]] as const) {
      for (let i = 0; i < boxes.length; i += 3) hatch(ctx, boxes[i], boxes[i + 1], boxes[i + 2], height, p, rising);
    }
    ctx.fillStyle = p.text;
    for (let i = 0; i < to.flags.length; i += 3) corner(ctx, to.flags[i] + to.flags[i + 2], to.flags[i + 1]);
    this.unwritten.push(
      { font, color: p.text, texts: to.strong }, { font, color: faded(p), texts: to.weak },
      { font: smallFont, color: p.text, texts: to.smallStrong }, { font: smallFont, color: faded(p), texts: to.smallWeak },
    );
    ctx.strokeStyle = outlined ? p.accent : p.text;
    ctx.lineWidth = 1.5;
    outline(ctx, to.picked, 0.75, height);
  }

  // Called for each row, so that it is compiled after a frame or two.
  private line(s: Surface, r: Row, d: number, w: Window, scale: number, look: Look, outlined: boolean, band: Band, to: Layers): void {
    const { width, ratio } = s;
    const y = lineTop(s, look, d);
    const p = look.palette;
    const height = rowHeight - 1;
    const least = 1 / ratio;
    const paper = inkOf(p.paper);
    const all = inkOf(p.all);
    const edge = inkOf(p.edge || p.paper);
    const narrow = inkOf(p.run);
    let end = -Infinity; // of what is narrow, when nothing else came after it
    let run: Run | undefined;
    const searching = look.wanted !== undefined;
    const picked = look.selected === "" ? undefined : this.of(look.selected);
    const flush = (limit: number): void => {
      if (!run) return;
      const { left, color, hit } = run;
      const right = Math.min(run.end, limit);
      if (hit && searching) band.mark(left, Math.max(right, left + least));
      if (right > left) band.box(left, right, hit ? color : blend(paper, color, p.fade));
      run = undefined;
    };
    for (let i = from(r, w.x0); i < r.n; i++) {
      const x = (r.x[i] - w.x0) * scale;
      if (x >= width || r.x[i] >= w.x1) break;
      const exact = Math.min(width, x + r.w[i] * scale);
      const left = Math.round(Math.max(0, x) * ratio) / ratio;
      const right = Math.round(exact * ratio) / ratio;
      const f = r.frame[i];
      const hit = look.wanted === undefined || (f >= 0 && look.wanted[f] === 1);
      const before = r.before?.[i];
      const changes = look.mode === "change" && before !== undefined;
      const color = changes ? inkOf(changeColor(p, before, r.cum[i])) : f < 0 ? all : this.colors[f];
      if (exact - Math.max(0, x) < 1 && !outlined) {
        if (run && left < run.end) {
          if (run.color === color) run.weight += r.w[i];
          else if (run.weight >= r.w[i]) run.weight -= r.w[i];
          else {
            run.weight = r.w[i] - run.weight;
            run.color = color;
          }
          run.hit ||= hit;
          run.end = Math.max(run.end, right);
        } else {
          flush(Infinity);
          run = { left, end: Math.max(right, left + least), color, weight: r.w[i], hit };
        }
        continue;
      }
      flush(left);
      if (exact - Math.max(0, x) < 1) {
        if (hit && searching) band.mark(left, Math.max(right, left + 2)); // no color tells them apart here
        band.box(left - end <= 1 ? end : left, Math.max(right, left + least), narrow);
        end = Math.max(right, left + least);
        continue;
      }
      end = -Infinity;
      // A gap tells neighbors apart, where there is room for one.
      const gap = right - left > 4 ? 1 : 0;
      const box = right - left - gap;
      if (p.edge !== "" && hit && gap > 0) band.edge(left, right, edge);
      band.box(left, left + box, hit ? color : blend(paper, color, p.fade));
      if (gap === 0 && hit && !outlined && right - left >= 3 * least) band.hair(right, edge, hairline);
      if (outlined) to.outlines.push(left, y, box);
      if (changes && (before === 0) !== (r.cum[i] === 0)) (before === 0 ? to.news : to.gone).push(left, y, box);
      if (hit && searching) band.mark(left, left + box);
      const flagged = f >= 0 && look.flagged?.[f] === 1 && box > flag;
      if (flagged) to.flags.push(left, y, box);
      if (box >= leastText) {
        const sign = changes && before !== r.cum[i] ? this.sign(before, r.cum[i]) : "";
        const small = box < smallText;
        const room = small ? (box - smallPadding - (flagged ? flag : 0)) * squeeze / smaller : box - 2 * padding - (flagged ? flag : 0);
        const text = this.label(s.ctx, f, f < 0 ? "all" : this.model.frames.name[f], room, sign);
        const strong = hit || outlined;
        const texts = small ? (strong ? to.smallStrong : to.smallWeak) : strong ? to.strong : to.weak;
        if (text !== "") texts.push({ text, x: left + (small ? smallPadding : padding), y: y + height / 2 + 0.5, line: d, most: small ? box - smallPadding : undefined });
      }
      if (picked && f >= 0 && picked[f] === 1) to.picked.push(left, y, box);
    }
    flush(Infinity);
  }

  // The small calls that an answer leaves out are as pale as what a search did not find. By origin, a box is cut into parts as wide as the
  // calls of each origin in it are together; otherwise it has the color of the caller.
  private rest(s: Surface, rest: Rest, above: Row, d: number, w: Window, scale: number, look: Look, band: Band, to: Layers): void {
    const p = look.palette;
    const y = lineTop(s, look, d);
    const edge = (x: number) => Math.round(Math.min(s.width, Math.max(0, (x - w.x0) * scale)) * s.ratio) / s.ratio;
    const origins = this.model.frames.origins;
    const pale = (left: number, right: number, ink: Ink) => band.wash(left, right, ink, p.fade);
    for (let i = 0; i < rest.x.length; i++) {
      if ((rest.x[i] - w.x0) * scale >= s.width || rest.x[i] >= w.x1) break;
      const left = edge(rest.x[i]);
      const end = edge(rest.x[i] + rest.w[i]) - 1;
      const box = end - left;
      if (box < leastRest) continue;
      const f = above.frame[rest.parent[i]];
      const of = look.mode === "origin" && !isForced(p) ? rest.of[i] ?? [] : [];
      if (of.length > 0) {
        for (let k = 0, x = rest.x[i]; k < of.length; k += 2) {
          const [from, till] = [edge(x), Math.min(end, edge((x += of[k + 1])))];
          if (till > from) pale(from, till, inkOf(p.origin[origins[of[k]] ?? "other"]));
        }
      } else if (f < 0) band.box(left, end, inkOf(p.all)); // which is pale already
      else pale(left, end, look.mode === "change" && above.before ? inkOf(p.same) : this.colors[f]);
      if (isForced(p)) to.outlines.push(left, y, box);
      const text = `small calls ${percent(rest.w[i], this.model.width)}`;
      const texts = f < 0 && of.length === 0 ? to.strong : to.weak;
      if (box >= leastRestText && measure(s.ctx, text) <= box - 2 * padding) texts.push({ text, x: left + padding, y: y + (rowHeight - 1) / 2 + 0.5, line: d, most: undefined });
    }
  }

  /** changed returns the rows that look different, or nothing where all may. */
  private changed(a: Look, b: Look): Set<number> | undefined {
    const rest = { hover: undefined, cursor: undefined, selected: "" };
    if (!alike({ ...a, ...rest }, { ...b, ...rest })) return undefined;
    const rows = new Set<number>();
    for (const mark of [a.hover, a.cursor, b.hover, b.cursor]) if (mark) rows.add(mark.row);
    if (a.selected !== b.selected) for (const name of [a.selected, b.selected]) for (const row of this.rowsOf(name)) rows.add(row);
    return rows;
  }

  /** rowsOf returns the rows that have a call of a function. */
  private rowsOf(name: string): number[] {
    let out = this.rows.get(name);
    if (out || name === "") return out ?? [];
    const { rows } = this.model;
    const wanted = this.of(name);
    out = [];
    for (let row = 0; row < rows.length; row++) {
      const { n, frame } = rows[row];
      let i = 0;
      while (i < n && wanted[frame[i]] !== 1) i++;
      if (i < n) out.push(row);
    }
    this.rows.set(name, out);
    return out;
  }

  private readonly rows = new Map<string, number[]>();

  /** of marks the frames of a function; mostly the same one is asked for again. */
  private of(name: string): Uint8Array {
    if (this.picked?.name !== name) this.picked = { name, frames: framesOf(this.model, name) };
    return this.picked.frames;
  }

  private picked: { name: string; frames: Uint8Array } | undefined;

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
    const y = lineTop(s, look, at.row - w.top.row);
    const left = Math.round(Math.max(0, (r.x[at.i] - w.x0) * scale) * s.ratio) / s.ratio;
    const right = Math.min(s.width, (r.x[at.i] + r.w[at.i] - w.x0) * scale);
    ctx.strokeStyle = line > 1 ? look.palette.accent : look.palette.paper === "Canvas" ? "Highlight" : look.palette.text;
    ctx.lineWidth = line;
    ctx.strokeRect(left + line / 2, y + line / 2, Math.max(right - left - 1 - line, 1), rowHeight - 1 - line);
  }

  /** label returns as much of a name as fits into width. */
  private label(ctx: CanvasRenderingContext2D, f: number, name: string, width: number, sign: string): string {
    const room = Math.floor(sign === "" ? width : width - measure(ctx, sign));
    if (room < 0) return "";
    const key = (f + 1) * 2 ** 14 + room;
    let text = this.labels.get(key);
    if (text === undefined) {
      if (this.labels.size > mostLabels) this.labels.clear();
      this.labels.set(key, (text = this.fit(ctx, name, room)));
    }
    return text && sign + text;
  }

  private fit(ctx: CanvasRenderingContext2D, name: string, room: number): string {
    const known = remember(forms, name, () => shorter(name).map((t) => [t, measure(ctx, t)]));
    for (const [text, wide] of known) if (wide <= room) return text;
    const last = known[known.length - 1][0].replace(/^…/, "");
    let fits = 0;
    let used = measure(ctx, "…");
    while (fits < last.length && used + widthOf(ctx, last[fits]) <= room) used += widthOf(ctx, last[fits++]);
    if (fits >= 3 && room >= leastDots) return last.slice(0, fits) + "…";
    // Where the dots would take most of the room, letters alone say more.
    let letters = 0;
    for (used = 0; letters < last.length && used + widthOf(ctx, last[letters]) <= room; letters++) used += widthOf(ctx, last[letters]);
    return letters >= 2 ? last.slice(0, letters) : "";
  }
}

/** lineTop is where the row of a depth begins on the surface. */
function lineTop(s: Surface, look: Look, d: number): number {
  return (look.upward ? (s.rows - 1 - d) * rowHeight : d * rowHeight) - s.scroll;
}

/** alike tells whether two plain objects have the same in all fields. */
function alike<T extends object>(a: T, b: T): boolean {
  return (Object.keys(b) as (keyof T)[]).every((k) => Object.is(a[k], b[k]));
}

function outline(ctx: CanvasRenderingContext2D, boxes: Layer, inset: number, height: number): void {
  for (let i = 0; i < boxes.length; i += 3) {
    ctx.strokeRect(boxes[i] + inset, boxes[i + 1] + inset, Math.max(boxes[i + 2] - 2 * inset, 0.5), height - 2 * inset);
  }
}

/** corner marks the right upper corner of a box. */
function corner(ctx: CanvasRenderingContext2D, right: number, top: number): void {
  ctx.beginPath();
  ctx.moveTo(right - flag, top);
  ctx.lineTo(right, top);
  ctx.lineTo(right, top + flag);
  ctx.fill();
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
