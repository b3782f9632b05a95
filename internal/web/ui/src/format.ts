// How numbers are printed. The units, their steps and their rounding are those of internal/unit, so that a number reads the
// same here and on the command line; TestFormat asks both.

interface Step {
  name: string;
  aliases: string[];
  size: number;
}

interface Family {
  steps: Step[];
  fallback: Step;
}

const step = (name: string, size: number, ...aliases: string[]): Step => ({ name, size, aliases });

const families: Family[] = [
  {
    steps: [
      step("B", 1, "b", "byte"),
      step("kB", 2 ** 10, "kb", "kbyte", "kilobyte"),
      step("MB", 2 ** 20, "mb", "mbyte", "megabyte"),
      step("GB", 2 ** 30, "gb", "gbyte", "gigabyte"),
      step("TB", 2 ** 40, "tb", "tbyte", "terabyte"),
      step("PB", 2 ** 50, "pb", "pbyte", "petabyte"),
    ],
    fallback: step("B", 1),
  },
  {
    steps: [
      step("ns", 1, "ns", "nanosecond"),
      step("us", 1e3, "us", "microsecond"), // μs is no spelling: pprof takes its s for a plural
      step("ms", 1e6, "ms", "millisecond"),
      step("s", 1e9, "s", "sec", "second"),
      step("hrs", 3600e9, "hour", "hr"),
    ],
    fallback: step("s", 1e9),
  },
  {
    steps: [
      step("n*GCU", 1e-9, "nanogcu"),
      step("u*GCU", 1e-6, "microgcu"),
      step("m*GCU", 1e-3, "milligcu"),
      step("GCU", 1, "gcu"),
      step("k*GCU", 1e3, "kilogcu"),
      step("M*GCU", 1e6, "megagcu"),
      step("G*GCU", 1e9, "gigagcu"),
      step("T*GCU", 1e12, "teragcu"),
      step("P*GCU", 1e15, "petagcu"),
    ],
    fallback: step("GCU", 1),
  },
];

function find(family: Family, name: string): Step | undefined {
  let n = name.toLowerCase();
  if (n.length > 2 && n.endsWith("s")) n = n.slice(0, -1);
  return family.steps.find((s) => s.aliases.includes(n));
}

const cores: Family = { steps: [step("cores", 1, "core")], fallback: step("cores", 1) };

/** A Unit is what a name of a unit means. Values in bytes/30s are what 30 seconds had, and are shown as what one second had; in bytes/4 they are what four had. */
interface Unit {
  family: Family | undefined; // none for counts
  base: (v: number) => number; // values in the family's base, computed as package unit does
  suffix: string;
  divided: boolean;
}

function meaning(unit: string): Unit {
  const per = /^(.*)\/(\d[\d.]*)(s?)$/.exec(unit);
  if (!per || !(Number(per[2]) > 0)) {
    const family = families.find((f) => find(f, unit));
    const size = family ? find(family, unit)!.size : 1;
    return { family, base: (v) => v * size, suffix: "", divided: false };
  }
  const [, of, n, second] = per;
  const time = second && of.startsWith("core-") ? find(families[1], of.slice(5)) : undefined;
  if (time) return { family: cores, base: (v) => (v * time.size) / Number(n) / 1e9, suffix: "", divided: true };
  const family = families.find((f) => find(f, of));
  const size = family ? find(family, of)!.size : 1;
  return { family, base: (v) => (v * size) / Number(n), suffix: second ? "/s" : "", divided: true };
}

/** coresOf prints how many cores something took: below one with three digits, whatever zeros are before these. */
function coresOf(x: number): string {
  if (x >= 1) return number(x) + " cores";
  const e = Math.floor(Math.log10(x));
  if (e < -4) return x.toExponential(2).replace(/\.?0*e/, "e").replace(/e-(\d)$/, "e-0$1") + " cores";
  return fixed(x, 2 - e).replace(/\.?0*$/, "") + " cores";
}

/** fixed prints x with so many decimals. What lies in the middle goes to the even digit, where toFixed goes up. */
export function fixed(x: number, decimals: number): string {
  const up = x.toFixed(decimals);
  if (Math.abs(x * 2 * 10 ** decimals) % 2 !== 1) return up;
  const all = x.toFixed(decimals + 60);
  const end = all.indexOf(".") + decimals + 1;
  const down = decimals === 0 ? all.slice(0, end - 1) : all.slice(0, end);
  return /^50*$/.test(all.slice(end)) && /[02468]$/.test(down) ? down : up;
}

// twoDigits prints what is less than one with two digits; the same for it.
const middles = new Map([[0.625, "0.62"], [0.125, "0.12"], [0.0625, "0.062"]]);

function twoDigits(x: number): string {
  const [digits, exponent] = x.toExponential(1).split("e-");
  if (Number(exponent) > 4) return digits.replace(".0", "") + "e-" + exponent.padStart(2, "0");
  return middles.get(x) ?? String(Number(x.toPrecision(2)));
}

/** naturalOf returns the largest step in which base is at least one. */
function naturalOf(family: Family, base: number, least = family.fallback): Step {
  let found = least;
  for (const s of family.steps) if (base / s.size >= 1) found = s;
  return found;
}

/** unitOf chooses one unit for all values of a column: that of the least; but where the total has a larger unit and is over a hundred
 * times as much, one in which the least is still a hundredth. */
export function unitOf(values: Iterable<number>, total: number, unit: string): string {
  const { family, base, suffix, divided } = meaning(unit);
  if (!family) return suffix;
  let least = Infinity;
  for (const v of values) if (v !== 0) least = Math.min(least, Math.abs(v));
  const most = Math.abs(total);
  if (least === Infinity) least = most;
  const natural = (v: number) => naturalOf(family, base(v), divided ? family.steps[0] : undefined);
  const small = natural(least);
  return (small !== natural(most) && least * 100 < most ? natural(least * 100) : small).name + suffix;
}

/** value prints v with its unit, in a chosen one or the largest in which it is at least one: 1.50MB, 20ms, 1241. */
export function value(v: number, unit: string, chosen?: string): string {
  return scaled(v, unit, 2, chosen);
}

const longest = 10_000; // from which on the largest value of a column is too long to be read: 1234.50ms, and then 12.35s

/** column returns what prints the values of a column, all in one unit in which the largest can be read. */
export function column(values: number[], unit: string): (v: number) => string {
  const most = values.reduce((most, v) => Math.max(most, Math.abs(v)), 0);
  const one = unitOf(values, most, unit);
  const { family, base, suffix } = meaning(unit);
  if (!family || family === cores) return (v) => value(v, unit);
  let to = family.steps.find((s) => s.name + suffix === one)!;
  for (const s of family.steps) if (s.size > to.size && s.name !== "hrs" && base(most) / to.size >= longest) to = s; // two decimals of an hour tell little
  return (v) => {
    const text = value(v, unit, to.name);
    return text === "0" && v !== 0 ? (v < 0 ? "-" : "") + twoDigits(base(Math.abs(v)) / to.size) + to.name + suffix : text; // little is not nothing
  };
}

/** short prints v without decimals: 2MB, 20ms, 1241. It is for where there is hardly any room. */
export function short(v: number, unit: string): string {
  return scaled(v, unit, 0);
}

function scaled(v: number, unit: string, decimals: number, chosen?: string): string {
  const sign = v < 0 ? "-" : "";
  const abs = Math.abs(v);
  const { family, base: baseOf, suffix, divided } = meaning(unit);
  const base = baseOf(abs);
  if (divided && (!family || family === cores)) return base === 0 ? "0" : sign + (family ? coresOf(base) : number(base) + suffix);
  if (!family) return sign + count(abs);
  const to = family.steps.find((s) => s.name === chosen || s.name + suffix === chosen) ?? naturalOf(family, base, divided ? family.steps[0] : undefined);
  const text = fixed(base / to.size, decimals).replace(/\.00$/, "");
  return text === "0" ? "0" : sign + text + to.name + suffix;
}

/** count prints how many there are. */
export function count(n: number): string {
  return String(BigInt(Math.round(n)));
}

/** many prints how many there are of something: 1 sample, 2 samples. */
export function many(n: number, what: string): string {
  return `${count(n)} ${what}${n === 1 ? "" : "s"}`;
}

/** number prints a number without a unit: a count, or a mean of counts with four digits. */
export function number(x: number): string {
  return digits(x, 4, false);
}

/** busyCores prints how many cores were busy on average. */
export function busyCores(x: number): string {
  return fixed(x, 2);
}

/** shortCores prints the same as a share of one core, without decimals: 134% CPU. */
export function shortCores(x: number): string {
  return fixed(100 * x, 0) + "% CPU";
}

/** perSecond prints how many there are in a second. */
export function perSecond(x: number): string {
  return number(x) + "/s";
}

/** sizePerSecond prints how many bytes there are in a second. */
export function sizePerSecond(x: number): string {
  return value(Math.sign(x) * Math.round(Math.abs(x)), "bytes") + "/s";
}

/** share prints a share of a whole in a sentence: 34.2%, 5%, 0.125%. */
export function share(part: number): string {
  return digits(100 * part, 3, false) + "%";
}

/** measured prints what a benchmark measured. What is per operation does not say so: the heading does. */
export function measured(v: number, unit: string): string {
  const of = unit.replace(/\/op$/, "");
  const family = of === "sec" ? families[1] : of === "B" || of === "B/s" ? families[0] : undefined;
  if (!family || v === 0) return number(v);
  const x = of === "sec" ? v * 1e9 : v;
  let step = family.steps[0];
  for (const s of family.steps) if (Math.abs(x) >= s.size * 0.99995) step = s;
  return digits(x / step.size, 4, of === "sec" || step.size > 1) + step.name + (of === "B/s" ? "/s" : "");
}

/** difference prints a difference of two of them with its sign. */
export function difference(v: number, unit: string): string {
  return (v > 0 ? "+" : "") + measured(v, unit);
}

function digits(x: number, n: number, zeros: boolean): string {
  if (!zeros && Number.isInteger(x)) return String(x);
  let behind = n - 1;
  for (let y = Math.abs(x); y >= 10 - 5 / 10 ** n && behind > 0; y /= 10) behind--;
  const s = fixed(x, behind);
  if (/^[-0.]*$/.test(s)) return (x < 0 ? "-" : "") + twoDigits(Math.abs(x)); // little is not nothing
  return !zeros && s.includes(".") ? s.replace(/\.?0+$/, "") : s;
}

const asFactor = 10; // the least growth that is printed as a factor

/** relative prints a change by a factor: as a percentage with two digits, or as the factor where that reads better. */
export function relative(factor: number | null): string {
  if (factor === null) return "new";
  if (factor === 1) return "0%";
  if (factor >= asFactor) return "×" + fixed(factor, Math.max(0, 3 - String(Math.trunc(factor)).length));
  const x = 100 * (factor - 1);
  let behind = 0;
  for (let y = Math.abs(x); y < 9.95 && behind < 3; y *= 10) behind++;
  const s = fixed(x, behind);
  if (/^[-0.]*$/.test(s)) return "0%";
  return (x > 0 ? "+" : "") + s + "%";
}

/** interval prints where a change lies. */
export function interval(low: number | null, high: number | null): string {
  if (low === null || high === null || low <= -1) return "-";
  const lo = relative(1 + low);
  const hi = relative(1 + high);
  return (lo.endsWith("%") && hi.endsWith("%") ? lo.slice(0, -1) : lo) + " … " + hi;
}

/** percent prints part as a share of whole. A part of nothing is no share. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return "–";
  const share = Math.abs(part / whole) * 100;
  const sign = part !== 0 && part < 0 !== whole < 0 ? "-" : "";
  if (share >= 99.95 && share <= 100.05) return sign + "100%";
  if (share >= 1) return sign + fixed(share, 2) + "%";
  return sign + twoDigits(share) + "%";
}

/** signed prints a difference with its sign and an arrow, so that color is not the only thing that tells the direction. */
export function signed(d: number, unit: string, chosen?: string): string {
  if (d === 0) return "0";
  return d > 0 ? "▲ +" + value(d, unit, chosen) : "▼ " + value(d, unit, chosen);
}

/** growth prints a difference as a share of what was before. */
export function growth(before: number, after: number): string {
  if (before === after) return "0%";
  if (before === 0) return "new";
  if (after === 0) return "gone";
  if (after / before >= asFactor) return relative(after / before);
  return (after > before ? "+" : "-") + percent(Math.abs(after - before), Math.abs(before));
}

/** moment prints nanoseconds since 1970. */
export function moment(nanos: number): string {
  return new Date(nanos / 1e6).toISOString().replace("T", " ").slice(0, 19) + " UTC";
}

/** duration prints the length of a recording. */
export function duration(nanos: number): string {
  return value(nanos, "nanoseconds");
}

/** timeZone returns the name of the time zone that times are shown in. */
export function timeZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}
