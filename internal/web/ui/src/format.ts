// How values are printed. The units, their steps and their rounding are those of internal/unit, so that a number reads the
// same here and on the command line.

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

/** fixed prints x with two decimals. What lies in the middle goes to the even digit, and toFixed would go up. */
function fixed(x: number): string {
  // Of what binary fractions can be, only eighths lie exactly in the middle between hundredths.
  const down = (x * 8) % 4 === 1;
  return (down ? Math.floor(x * 100) / 100 : x).toFixed(2);
}

// The same for two digits of what is less than one.
const middles = new Map([[0.625, "0.62"], [0.125, "0.12"], [0.0625, "0.062"]]);

function twoDigits(x: number): string {
  const [digits, exponent] = x.toExponential(1).split("e-");
  if (Number(exponent) > 4) return digits.replace(".0", "") + "e-" + exponent.padStart(2, "0");
  return middles.get(x) ?? String(Number(x.toPrecision(2)));
}

/** value prints v with its unit, in the largest unit in which it is at least one: 1.50MB, 20ms, 1 241. */
export function value(v: number, unit: string): string {
  const sign = v < 0 ? "-" : "";
  const abs = Math.abs(v);
  for (const f of families) {
    const from = find(f, unit);
    if (!from) continue;
    const base = abs * from.size;
    let to = f.fallback;
    for (const s of f.steps) if (base / s.size >= 1) to = s;
    const text = fixed(base / to.size).replace(/\.00$/, "");
    return text === "0" ? "0" : sign + text + to.name;
  }
  return sign + group(abs);
}

/** group puts thin spaces between thousands. */
export function group(n: number): string {
  return String(BigInt(Math.round(n))).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** percent prints part as a share of whole. A part of nothing is no share. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return "–";
  const share = Math.abs(part / whole) * 100;
  const sign = part !== 0 && part < 0 !== whole < 0 ? "-" : "";
  if (share >= 99.95 && share <= 100.05) return sign + "100%";
  if (share >= 1) return sign + fixed(share) + "%";
  return sign + twoDigits(share) + "%";
}

/** signed prints a difference with its sign and an arrow, so that colour is not the only thing that tells the direction. */
export function signed(d: number, unit: string): string {
  if (d === 0) return "0";
  return d > 0 ? "▲ +" + value(d, unit) : "▼ " + value(d, unit);
}

/** growth prints a difference as a share of what was before. */
export function growth(before: number, after: number): string {
  if (before === after) return "0%";
  if (before === 0) return "new";
  if (after === 0) return "gone";
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
