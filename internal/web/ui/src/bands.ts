// Rows of boxes as lines of pixels. All of a box looks the same from its top to its bottom, so the browser gets one line for
// each row and draws it as high as the row is. That takes it a third of the time of one rectangle for each box.

/** An Ink is a color as the bytes of a pixel. */
export type Ink = number;

const inks = new Map<string, Ink>();
let drop: CanvasRenderingContext2D | null | undefined;

/** inkOf returns a color of a style sheet as a pixel. */
export function inkOf(color: string): Ink {
  let ink = inks.get(color);
  if (ink === undefined) {
    drop ??= context(1, 1);
    if (!drop) return 0;
    drop.fillStyle = color;
    drop.fillRect(0, 0, 1, 1);
    ink = new Uint32Array(drop.getImageData(0, 0, 1, 1).data.buffer)[0];
    inks.set(color, ink);
  }
  return ink;
}

/** forgetInks has colors that the reader's system chooses looked up anew: they can change. */
export function forgetInks(): void {
  inks.clear();
}

/** blend returns a color with some of another one on it. */
export function blend(under: Ink, over: Ink, share: number): Ink {
  let sum = 0;
  for (let shift = 0; shift < 32; shift += 8) {
    const u = (under >>> shift) & 255;
    const o = (over >>> shift) & 255;
    sum |= Math.round(u + (o - u) * share) << shift;
  }
  return sum >>> 0;
}

function context(width: number, height: number): CanvasRenderingContext2D | null {
  const c = document.createElement("canvas");
  c.width = width;
  c.height = height;
  return c.getContext("2d", { alpha: false, willReadFrequently: true }); // pixels are made here, not by a graphics card
}

/** A Band is one row of boxes. Places are in pixels of the page. */
export class Band {
  readonly marks: number[] = []; // from, to, from, to, …

  constructor(readonly boxes: Uint32Array, readonly ground: Uint32Array, private readonly ratio: number) {}

  /** box paints a box over what was there. */
  box(left: number, right: number, ink: Ink): void {
    this.boxes.fill(ink, Math.round(left * this.ratio), Math.round(right * this.ratio));
  }

  /** wash paints a color thinly over what was there. */
  wash(left: number, right: number, ink: Ink, share: number): void {
    const to = Math.round(right * this.ratio);
    let under = -1;
    let washed = 0;
    for (let at = Math.round(left * this.ratio); at < to; at++) {
      if (this.boxes[at] !== under) {
        under = this.boxes[at];
        washed = blend(under, ink, share);
      }
      this.boxes[at] = washed;
    }
  }

  /** edge paints what is seen of the ground beside a box and below it. The box itself is painted afterwards. */
  edge(left: number, right: number, ink: Ink): void {
    const [from, to] = [Math.round(left * this.ratio), Math.round(right * this.ratio)];
    this.boxes.fill(ink, from, to);
    this.ground.fill(ink, from, to);
  }

  /** hair paints a line over the last pixel of a box. */
  hair(right: number, ink: Ink, share: number): void {
    const at = Math.round(right * this.ratio) - 1;
    this.boxes[at] = blend(this.boxes[at], ink, share);
  }

  /** mark underlines a part of the row. */
  mark(left: number, right: number): void {
    this.marks.push(Math.round(left * this.ratio), Math.round(right * this.ratio));
  }
}

const perRow = 3; // lines of pixels: boxes, the same with marks, and the ground below them

/** Bands are some rows of one picture. */
export class Bands {
  private readonly bands: Band[] = [];

  constructor(private readonly width: number, rows: number, private readonly ratio: number, paper: Ink) {
    const most = width * perRow * rows;
    if (!sheet || sheet.width !== width || sheet.pixels.length < most) sheet = newSheet(width, perRow * Math.max(1, rows)); // there may be no row in sight
    sheet?.pixels.fill(paper, 0, most);
  }

  /** next begins a row. */
  next(): Band | undefined {
    if (!sheet) return undefined;
    const { width } = this;
    const from = this.bands.length * perRow * width;
    const line = (n: number) => sheet!.pixels.subarray(from + n * width, from + (n + 1) * width);
    const b = new Band(line(0), line(2), this.ratio);
    this.bands.push(b);
    return b;
  }

  /** draw draws all rows, each at its place. Marks are as high as they are to be, at the bottom of the boxes. */
  draw(ctx: CanvasRenderingContext2D, tops: number[], row: number, height: number, marked: number, mark: Ink): void {
    if (!sheet || this.bands.length === 0) return;
    const { width, ratio, bands } = this;
    for (const [k, b] of bands.entries()) {
      if (b.marks.length === 0) continue;
      const from = (perRow * k + 1) * width;
      sheet.pixels.set(b.boxes, from);
      for (let i = 0; i < b.marks.length; i += 2) sheet.pixels.fill(mark, from + b.marks[i], from + Math.min(width, b.marks[i + 1]));
    }
    sheet.ctx.putImageData(sheet.image, 0, 0, 0, 0, width, perRow * bands.length);
    const line = (k: number, y: number, high: number) => ctx.drawImage(sheet!.ctx.canvas, 0, k, width, 1, 0, y, width / ratio, high);
    ctx.imageSmoothingEnabled = false;
    // Between pixels of the screen, the ground has to go on below the boxes: their last line lets it through.
    const under = Number.isInteger(ratio) ? height : 0;
    for (const [k, b] of bands.entries()) {
      line(perRow * k + 2, tops[k] + under, row - under);
      line(perRow * k, tops[k], height);
      if (b.marks.length > 0) line(perRow * k + 1, tops[k] + height - marked, marked);
    }
  }
}

interface Sheet {
  ctx: CanvasRenderingContext2D;
  image: ImageData;
  pixels: Uint32Array; // of the image
  width: number;
}

let sheet: Sheet | undefined; // one for all pictures

function newSheet(width: number, lines: number): Sheet | undefined {
  const ctx = context(width, lines);
  if (!ctx) return undefined;
  const image = ctx.createImageData(width, lines);
  return { ctx, image, pixels: new Uint32Array(image.data.buffer), width };
}
