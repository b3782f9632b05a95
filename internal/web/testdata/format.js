"use strict";
var format = (() => {
  var __defProp = Object.defineProperty;
  var __getOwnPropDesc = Object.getOwnPropertyDescriptor;
  var __getOwnPropNames = Object.getOwnPropertyNames;
  var __hasOwnProp = Object.prototype.hasOwnProperty;
  var __export = (target, all) => {
    for (var name in all)
      __defProp(target, name, { get: all[name], enumerable: true });
  };
  var __copyProps = (to, from, except, desc) => {
    if (from && typeof from === "object" || typeof from === "function") {
      for (let key of __getOwnPropNames(from))
        if (!__hasOwnProp.call(to, key) && key !== except)
          __defProp(to, key, { get: () => from[key], enumerable: !(desc = __getOwnPropDesc(from, key)) || desc.enumerable });
    }
    return to;
  };
  var __toCommonJS = (mod) => __copyProps(__defProp({}, "__esModule", { value: true }), mod);

  // src/format.ts
  var format_exports = {};
  __export(format_exports, {
    busyCores: () => busyCores,
    column: () => column,
    count: () => count,
    difference: () => difference,
    duration: () => duration,
    fixed: () => fixed,
    growth: () => growth,
    interval: () => interval,
    many: () => many,
    measured: () => measured,
    moment: () => moment,
    number: () => number,
    perSecond: () => perSecond,
    percent: () => percent,
    relative: () => relative,
    share: () => share,
    short: () => short,
    shortCores: () => shortCores,
    signed: () => signed,
    sizePerSecond: () => sizePerSecond,
    timeZone: () => timeZone,
    unitOf: () => unitOf,
    value: () => value
  });
  var step = (name, size, ...aliases) => ({ name, size, aliases });
  var families = [
    {
      steps: [
        step("B", 1, "b", "byte"),
        step("kB", 2 ** 10, "kb", "kbyte", "kilobyte"),
        step("MB", 2 ** 20, "mb", "mbyte", "megabyte"),
        step("GB", 2 ** 30, "gb", "gbyte", "gigabyte"),
        step("TB", 2 ** 40, "tb", "tbyte", "terabyte"),
        step("PB", 2 ** 50, "pb", "pbyte", "petabyte")
      ],
      fallback: step("B", 1)
    },
    {
      steps: [
        step("ns", 1, "ns", "nanosecond"),
        step("us", 1e3, "us", "microsecond"),
        // μs is no spelling: pprof takes its s for a plural
        step("ms", 1e6, "ms", "millisecond"),
        step("s", 1e9, "s", "sec", "second"),
        step("hrs", 36e11, "hour", "hr")
      ],
      fallback: step("s", 1e9)
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
        step("P*GCU", 1e15, "petagcu")
      ],
      fallback: step("GCU", 1)
    }
  ];
  function find(family, name) {
    let n = name.toLowerCase();
    if (n.length > 2 && n.endsWith("s")) n = n.slice(0, -1);
    return family.steps.find((s) => s.aliases.includes(n));
  }
  var cores = { steps: [step("cores", 1, "core")], fallback: step("cores", 1) };
  function meaning(unit) {
    const per = /^(.*)\/(\d[\d.]*)(s?)$/.exec(unit);
    if (!per || !(Number(per[2]) > 0)) {
      const family2 = families.find((f) => find(f, unit));
      const size2 = family2 ? find(family2, unit).size : 1;
      return { family: family2, base: (v) => v * size2, suffix: "", divided: false };
    }
    const [, of, n, second] = per;
    const time = second && of.startsWith("core-") ? find(families[1], of.slice(5)) : void 0;
    if (time) return { family: cores, base: (v) => v * time.size / Number(n) / 1e9, suffix: "", divided: true };
    const family = families.find((f) => find(f, of));
    const size = family ? find(family, of).size : 1;
    return { family, base: (v) => v * size / Number(n), suffix: second ? "/s" : "", divided: true };
  }
  function coresOf(x) {
    if (x >= 1) return number(x) + " cores";
    const e = Math.floor(Math.log10(x));
    if (e < -4) return x.toExponential(2).replace(/\.?0*e/, "e").replace(/e-(\d)$/, "e-0$1") + " cores";
    return fixed(x, 2 - e).replace(/\.?0*$/, "") + " cores";
  }
  function fixed(x, decimals) {
    const up = x.toFixed(decimals);
    if (Math.abs(x * 2 * 10 ** decimals) % 2 !== 1) return up;
    const all = x.toFixed(decimals + 60);
    const end = all.indexOf(".") + decimals + 1;
    const down = decimals === 0 ? all.slice(0, end - 1) : all.slice(0, end);
    return /^50*$/.test(all.slice(end)) && /[02468]$/.test(down) ? down : up;
  }
  var middles = /* @__PURE__ */ new Map([[0.625, "0.62"], [0.125, "0.12"], [0.0625, "0.062"]]);
  function twoDigits(x) {
    const [digits2, exponent] = x.toExponential(1).split("e-");
    if (Number(exponent) > 4) return digits2.replace(".0", "") + "e-" + exponent.padStart(2, "0");
    return middles.get(x) ?? String(Number(x.toPrecision(2)));
  }
  function naturalOf(family, base, least = family.fallback) {
    let found = least;
    for (const s of family.steps) if (base / s.size >= 1) found = s;
    return found;
  }
  function unitOf(values, total, unit) {
    const { family, base, suffix, divided } = meaning(unit);
    if (!family) return suffix;
    let least = Infinity;
    for (const v of values) if (v !== 0) least = Math.min(least, Math.abs(v));
    const most = Math.abs(total);
    if (least === Infinity) least = most;
    const natural = (v) => naturalOf(family, base(v), divided ? family.steps[0] : void 0);
    const small = natural(least);
    return (small !== natural(most) && least * 100 < most ? natural(least * 100) : small).name + suffix;
  }
  function value(v, unit, chosen) {
    return scaled(v, unit, 2, chosen);
  }
  var longest = 1e4;
  function column(values, unit) {
    const most = values.reduce((most2, v) => Math.max(most2, Math.abs(v)), 0);
    const one = unitOf(values, most, unit);
    const { family, base, suffix } = meaning(unit);
    if (!family || family === cores) return (v) => value(v, unit);
    let to = family.steps.find((s) => s.name + suffix === one);
    for (const s of family.steps) if (s.size > to.size && s.name !== "hrs" && base(most) / to.size >= longest) to = s;
    return (v) => {
      const text = value(v, unit, to.name);
      return text === "0" && v !== 0 ? (v < 0 ? "-" : "") + twoDigits(base(Math.abs(v)) / to.size) + to.name + suffix : text;
    };
  }
  function short(v, unit) {
    return scaled(v, unit, 0);
  }
  function scaled(v, unit, decimals, chosen) {
    const sign = v < 0 ? "-" : "";
    const abs = Math.abs(v);
    const { family, base: baseOf, suffix, divided } = meaning(unit);
    const base = baseOf(abs);
    if (divided && (!family || family === cores)) return base === 0 ? "0" : sign + (family ? coresOf(base) : number(base) + suffix);
    if (!family) return sign + count(abs);
    const to = family.steps.find((s) => s.name === chosen || s.name + suffix === chosen) ?? naturalOf(family, base, divided ? family.steps[0] : void 0);
    const text = fixed(base / to.size, decimals).replace(/\.00$/, "");
    return text === "0" ? "0" : sign + text + to.name + suffix;
  }
  function count(n) {
    return String(BigInt(Math.round(n)));
  }
  function many(n, what) {
    return `${count(n)} ${what}${n === 1 ? "" : "s"}`;
  }
  function number(x) {
    return digits(x, 4, false);
  }
  function busyCores(x) {
    return fixed(x, 2);
  }
  function shortCores(x) {
    return fixed(100 * x, 0) + "% CPU";
  }
  function perSecond(x) {
    return number(x) + "/s";
  }
  function sizePerSecond(x) {
    return value(Math.sign(x) * Math.round(Math.abs(x)), "bytes") + "/s";
  }
  function share(part) {
    return digits(100 * part, 3, false) + "%";
  }
  function measured(v, unit) {
    const of = unit.replace(/\/op$/, "");
    const family = of === "sec" ? families[1] : of === "B" || of === "B/s" ? families[0] : void 0;
    if (!family || v === 0) return number(v);
    const x = of === "sec" ? v * 1e9 : v;
    let step2 = family.steps[0];
    for (const s of family.steps) if (Math.abs(x) >= s.size * 0.99995) step2 = s;
    return digits(x / step2.size, 4, of === "sec" || step2.size > 1) + step2.name + (of === "B/s" ? "/s" : "");
  }
  function difference(v, unit) {
    return (v > 0 ? "+" : "") + measured(v, unit);
  }
  function digits(x, n, zeros) {
    if (!zeros && Number.isInteger(x)) return String(x);
    let behind = n - 1;
    for (let y = Math.abs(x); y >= 10 - 5 / 10 ** n && behind > 0; y /= 10) behind--;
    const s = fixed(x, behind);
    if (/^[-0.]*$/.test(s)) return (x < 0 ? "-" : "") + twoDigits(Math.abs(x));
    return !zeros && s.includes(".") ? s.replace(/\.?0+$/, "") : s;
  }
  var asFactor = 10;
  function relative(factor) {
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
  function interval(low, high) {
    if (low === null || high === null || low <= -1) return "-";
    const lo = relative(1 + low);
    const hi = relative(1 + high);
    return (lo.endsWith("%") && hi.endsWith("%") ? lo.slice(0, -1) : lo) + " … " + hi;
  }
  function percent(part, whole) {
    if (whole === 0) return "–";
    const share2 = Math.abs(part / whole) * 100;
    const sign = part !== 0 && part < 0 !== whole < 0 ? "-" : "";
    if (share2 >= 99.95 && share2 <= 100.05) return sign + "100%";
    if (share2 >= 1) return sign + fixed(share2, 2) + "%";
    return sign + twoDigits(share2) + "%";
  }
  function signed(d, unit, chosen) {
    if (d === 0) return "0";
    return d > 0 ? "▲ +" + value(d, unit, chosen) : "▼ " + value(d, unit, chosen);
  }
  function growth(before, after) {
    if (before === after) return "0%";
    if (before === 0) return "new";
    if (after === 0) return "gone";
    if (after / before >= asFactor) return relative(after / before);
    return (after > before ? "+" : "-") + percent(Math.abs(after - before), Math.abs(before));
  }
  function moment(nanos) {
    return new Date(nanos / 1e6).toISOString().replace("T", " ").slice(0, 19) + " UTC";
  }
  function duration(nanos) {
    return value(nanos, "nanoseconds");
  }
  function timeZone() {
    return Intl.DateTimeFormat().resolvedOptions().timeZone;
  }
  return __toCommonJS(format_exports);
})();
