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
    duration: () => duration,
    group: () => group,
    growth: () => growth,
    moment: () => moment,
    percent: () => percent,
    signed: () => signed,
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
  function fixed(x) {
    const down = x * 8 % 4 === 1;
    return (down ? Math.floor(x * 100) / 100 : x).toFixed(2);
  }
  var middles = /* @__PURE__ */ new Map([[0.625, "0.62"], [0.125, "0.12"], [0.0625, "0.062"]]);
  function twoDigits(x) {
    const [digits, exponent] = x.toExponential(1).split("e-");
    if (Number(exponent) > 4) return digits.replace(".0", "") + "e-" + exponent.padStart(2, "0");
    return middles.get(x) ?? String(Number(x.toPrecision(2)));
  }
  function value(v, unit) {
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
  function group(n) {
    return String(BigInt(Math.round(n))).replace(/\B(?=(\d{3})+$)/g, " ");
  }
  function percent(part, whole) {
    if (whole === 0) return "–";
    const share = Math.abs(part / whole) * 100;
    const sign = part !== 0 && part < 0 !== whole < 0 ? "-" : "";
    if (share >= 99.95 && share <= 100.05) return sign + "100%";
    if (share >= 1) return sign + fixed(share) + "%";
    return sign + twoDigits(share) + "%";
  }
  function signed(d, unit) {
    if (d === 0) return "0";
    return d > 0 ? "▲ +" + value(d, unit) : "▼ " + value(d, unit);
  }
  function growth(before, after) {
    if (before === after) return "0%";
    if (before === 0) return "new";
    if (after === 0) return "gone";
    return (after > before ? "+" : "-") + percent(Math.abs(after - before), Math.abs(before));
  }
  function moment(nanos) {
    return new Date(nanos / 1e6).toISOString().replace("T", " ").slice(0, 19) + " UTC";
  }
  function duration(nanos) {
    return value(nanos, "nanoseconds");
  }
  return __toCommonJS(format_exports);
})();
