// How measurements of benchmarks are printed: as internal/render/measured.go does it.

interface Prefix {
  name: string;
  size: number;
}

const prefixes = (names: string[], base: number, first: number): Prefix[] => names.map((name, i) => ({ name, size: base ** (i + first) }));
const decimals = prefixes(["p", "n", "µ", "m", ""], 1000, -4);
const binaries = prefixes(["", "Ki", "Mi", "Gi", "Ti"], 1024, 0);
const counts = prefixes(["", "k", "M", "G", "T"], 1000, 0);

/** measured prints what a benchmark measured with four digits. What is per operation does not say so: the heading does. */
export function measured(v: number, unit: string): string {
  switch (unit.replace(/\/op$/, "")) {
    case "sec":
      return scaled(v, decimals, " ", "s");
    case "B":
      return scaled(v, binaries, " ", "B");
    case "B/s":
      return scaled(v, binaries, " ", "B/s");
  }
  return scaled(v, Math.abs(v) < 1e5 ? counts.slice(0, 1) : counts, "", "");
}

/** difference prints a difference of two with its sign. */
export function difference(v: number, unit: string): string {
  return (v > 0 ? "+" : "") + measured(v, unit);
}

function scaled(x: number, of: Prefix[], sep: string, unit: string): string {
  if (x === 0) return "0";
  let p = of[0];
  for (const q of of.slice(1)) if (Math.abs(x) >= q.size * 0.99995) p = q;
  return fourDigits(x / p.size, (of.length > 1 && of[0].size < 1) || p.size > 1) + sep + p.name + unit;
}

function fourDigits(x: number, inScale: boolean): string {
  if (!inScale && Number.isInteger(x)) return String(x);
  let digits = 3;
  for (let y = Math.abs(x); y >= 9.9995 && digits > 0; y /= 10) digits--;
  const s = x.toFixed(digits);
  if (/^[-0.]*$/.test(s)) return String(Number(x.toPrecision(2))); // little is not nothing
  return !inScale && s.includes(".") ? s.replace(/\.?0+$/, "") : s;
}

/** relative prints a change by a factor: as a percentage with two digits, or as the factor where that reads better. */
export function relative(factor: number | null): string {
  if (factor === null) return "new";
  if (factor === 1) return "0%";
  if (factor >= 10) return "×" + factor.toFixed(Math.max(0, 3 - String(Math.trunc(factor)).length));
  return twoDigits(100 * (factor - 1)) + "%";
}

function twoDigits(x: number): string {
  let digits = 0;
  for (let y = Math.abs(x); y < 9.95 && digits < 3; y *= 10) digits++;
  const s = x.toFixed(digits);
  if (/^[-0.]*$/.test(s)) return "0";
  return x > 0 ? "+" + s : s;
}

/** interval prints where a change lies. */
export function interval(low: number | null, high: number | null): string {
  if (low === null || high === null || low <= -1) return "-";
  const lo = relative(1 + low);
  const hi = relative(1 + high);
  return (lo.endsWith("%") && hi.endsWith("%") ? lo.slice(0, -1) : lo) + " … " + hi;
}
