"use strict";
var saved = (() => {
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

  // src/saved.ts
  var saved_exports = {};
  __export(saved_exports, {
    Calls: () => Calls,
    Saved: () => Saved,
    filtersHere: () => filtersHere
  });

  // src/state.ts
  var ofFleet = document.getElementById("hone-session")?.dataset.fleet !== void 0;
  function parse(view, search) {
    const pairs = [];
    for (const [k, v] of new URLSearchParams(search)) pairs.push([k, v]);
    const chosen = pairs.some(([k, v]) => k === "ref" && v !== "");
    return { view: view || (ofFleet && !chosen ? "services" : "overview"), pairs };
  }
  function queryString(pairs) {
    if (pairs.length === 0) return "";
    return "?" + pairs.map(([k, v]) => encode(k) + "=" + encode(v)).join("&");
  }
  function encode(s) {
    if (/^[\w.]*$/.test(s)) return s;
    return encodeURIComponent(s).replace(/%(2F|3A|2C|40|24)/g, (m) => decodeURIComponent(m)).replace(/%20/g, "+");
  }
  var saved = document.getElementById("hone-data");
  var inHash = saved !== null;
  function href(s) {
    return (inHash ? "#/" : "/") + s.view + queryString(s.pairs);
  }
  function read() {
    if (!inHash) return parse(location.pathname.slice(1), location.search);
    const hash = location.hash.replace(/^#?\/?/, "") || saved?.dataset.first || "flame";
    const at = hash.indexOf("?");
    return at < 0 ? parse(hash, "") : parse(hash.slice(0, at), hash.slice(at));
  }
  var current = read();
  var listeners = /* @__PURE__ */ new Set();
  var owed = [];
  var later;
  var unheard = false;
  function settle() {
    const last = owed.at(-1);
    if (last === void 0) return;
    last.url = href(current);
    const all = forget();
    for (const { push, url } of all) {
      if (push) history.pushState(null, "", url);
      else history.replaceState(null, "", url);
    }
    if (!unheard) return;
    unheard = false;
    for (const f of listeners) f();
  }
  function forget() {
    const all = owed;
    owed = [];
    clearTimeout(later);
    return all;
  }
  window.addEventListener("pagehide", settle);
  for (const event of ["pointerdown", "click"]) window.addEventListener(event, settle, true);
  document.documentElement.addEventListener("mouseleave", settle);
  window.addEventListener("keydown", (e) => {
    if (e.altKey || e.ctrlKey || e.metaKey) settle();
  }, true);
  for (const event of inHash ? ["popstate", "hashchange"] : ["popstate"]) {
    window.addEventListener(event, () => {
      const early = forget().some((o) => o.push);
      unheard = false;
      current = read();
      for (const f of listeners) f();
      if (early) history.forward();
    });
  }

  // src/api.ts
  var Failure = class extends Error {
    constructor(message, hint = "", away = false, status = 0) {
      super(message);
      this.hint = hint;
      this.away = away;
      this.status = status;
    }
    hint;
    away;
    status;
  };

  // src/model.ts
  var models = /* @__PURE__ */ new WeakMap();
  function decode(tree, callers = tree.inverted === true) {
    let model = models.get(tree);
    if (!model) models.set(tree, model = modelOf(tree, callers));
    return model;
  }
  function modelOf(tree, callers) {
    const rows = [];
    let nodes = 0;
    let compares = false;
    for (const told of tree.rows ?? []) {
      const above = rows[rows.length - 1];
      const row = rowOf(told, above);
      row.rest = above && restOf(above, tree.rows[rows.length - 1], row);
      compares ||= told.before !== void 0 && told.before.length > 0;
      rows.push(row);
      nodes += row.n;
    }
    return { frames: tree.frames, rows, nodes, width: rows[0]?.n ? rows[0].w[0] : 0, compares, callers };
  }
  function rowOf({ frame, gap, cum, flat, before, inline, width }, above) {
    const n = frame.length;
    const x = new Float64Array(n);
    const w = new Float64Array(n);
    const parent = new Int32Array(n);
    let at = 0;
    for (let i = 0; i < n; i++) {
      at += gap[i];
      x[i] = at;
      at += w[i] = width && width[i] || Math.abs(cum[i]);
    }
    if (above) {
      const { x: left, w: wide } = above;
      const last = above.n - 1;
      let p = 0;
      let end = left[0] + wide[0];
      for (let i = 0; i < n; i++) {
        while (p < last && end <= x[i]) {
          p++;
          end = left[p] + wide[p];
        }
        parent[i] = p;
      }
    }
    return { n, frame, x, w, cum, flat, before, inline, parent };
  }
  function restOf(above, { left, left_of: of }, { n, x, w, parent }) {
    if (!left) return void 0;
    const out = { x: [], w: [], parent: [], of: of ?? [] };
    for (let p = 0, i = 0; p < left.length; p++) {
      if (left[p] <= 0) continue;
      while (i < n && parent[i] <= p) i++;
      out.x.push(i > 0 && parent[i - 1] === p ? x[i - 1] + w[i - 1] : above.x[p]);
      out.w.push(left[p]);
      out.parent.push(p);
    }
    return out;
  }
  function frameOf(frames, f) {
    if (f < 0) return void 0;
    return { name: frames.name[f], file: frames.files[frames.file[f]], line: frames.line[f], package: frames.packages[frames.package[f]], origin: frames.origins[frames.origin[f]] };
  }

  // src/search.ts
  var goName = /\\.|\[\.\.\.\]|\(\*[^()*\\]+\)/gs;
  var typeArgs = "\\[.*\\]";
  function valid(text) {
    try {
      return Boolean(new RegExp(text));
    } catch {
      return false;
    }
  }
  function pattern(text) {
    if (!text.includes("(*") && !text.includes("[...]")) return text;
    const isName = !valid(text);
    const out = text.replace(goName, (part) => {
      if (part === "[...]") return typeArgs;
      if (part[0] !== "(" || !isName) return part;
      return part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll("\\[\\.\\.\\.\\]", typeArgs);
    });
    return valid(out) ? out : text;
  }
  function regexp(text) {
    const flags = /^\(\?([is]+)\)/.exec(text);
    return flags ? new RegExp(pattern(text.slice(flags[0].length)), flags[1]) : new RegExp(pattern(text));
  }

  // src/saved.ts
  var filtersHere = ["focus", "ignore", "hide", "show", "show-from"];
  function call(frame, inline) {
    return { frame, inline, flat: 0, cum: 0, before: 0, width: 0, below: /* @__PURE__ */ new Map() };
  }
  var Calls = class {
    // nothing was left out when the page was saved
    constructor(flame) {
      this.flame = flame;
      const m = decode(flame);
      this.compares = m.compares;
      const first2 = [];
      for (const r of m.rows) {
        first2.push(this.frame.length);
        for (let i = 0; i < r.n; i++) {
          this.frame.push(r.frame[i]);
          this.inline.push(r.inline?.[i] === 1);
        }
      }
      let rest = 0;
      m.rows.forEach((r, row) => {
        const below = m.rows[row + 1];
        const cum = new Float64Array(r.n);
        const before = new Float64Array(r.n);
        for (let i = 0; below && i < below.n; i++) {
          cum[below.parent[i]] += below.cum[i];
          before[below.parent[i]] += below.before?.[i] ?? 0;
        }
        for (let i = 0; i < r.n; i++) {
          const p = { stack: [], flat: r.flat[i], rest: r.cum[i] - r.flat[i] - cum[i], before: (r.before?.[i] ?? 0) - before[i] };
          if (p.flat === 0 && p.rest === 0 && p.before === 0) continue;
          rest += Math.abs(p.rest);
          for (let at = row, j = i; at > 0; j = m.rows[at].parent[j], at--) p.stack.unshift(first2[at] + j);
          this.parts.push(p);
        }
      });
      this.whole = rest === 0;
    }
    flame;
    frame = [];
    // of each call
    inline = [];
    parts = [];
    compares;
    whole = false;
    /** matching tells of each frame whether a filter means it: by its name, or by the file that it is in. */
    matching(rx) {
      const { name, file, files } = this.flame.frames;
      const inside = files.map((f) => rx.test(f));
      const is = name.map((n, f) => rx.test(n) || (inside[file[f]] ?? rx.test("")));
      return (at) => is[this.frame[at]] === true;
    }
    /** filtered returns what filters leave. */
    filtered(steps) {
      let parts = this.parts;
      for (const [key, text] of steps) {
        const is = this.matching(regexp(text));
        const cut = (f) => parts.map((p) => ({ ...p, stack: f(p.stack) })).filter((p) => p.stack.length > 0);
        switch (key) {
          case "focus":
            parts = parts.filter((p) => p.stack.some(is));
            break;
          case "ignore":
            parts = parts.filter((p) => !p.stack.some(is));
            break;
          case "hide":
            parts = cut((s) => s.filter((at) => !is(at)));
            break;
          case "show":
            parts = cut((s) => s.filter(is));
            break;
          case "show-from":
            parts = cut((s) => {
              const i = s.findIndex(is);
              return i < 0 ? [] : s.slice(i);
            });
            break;
        }
      }
      return parts;
    }
    /** grown makes a tree of parts. Inverted, only the calls below the root cost something by themselves, as in what a server sends. */
    grown(parts, inverted) {
      const root = call(-1, false);
      for (const p of parts) {
        const add = (c2) => {
          c2.cum += p.flat + p.rest;
          c2.before += p.before;
          c2.width = this.compares ? c2.width + Math.max(Math.abs(p.flat + p.rest), p.before) : Math.abs(c2.cum);
        };
        let c = root;
        add(c);
        const n = p.stack.length;
        for (let i = 0; i < n; i++) {
          const at = p.stack[inverted ? n - 1 - i : i];
          let next = c.below.get(this.frame[at]);
          if (!next) c.below.set(this.frame[at], next = call(this.frame[at], this.inline[at]));
          c = next;
          add(c);
          if (inverted && i === 0) c.flat += p.flat;
        }
        if (!inverted) c.flat += p.flat;
      }
      return root;
    }
    children(c) {
      const name = (x) => this.flame.frames.name[x.frame] ?? "";
      return [...c.below.values()].sort((a, b) => b.width - a.width || (name(a) < name(b) ? -1 : 1));
    }
    /** columns are a tree as a server sends it. */
    columns(root) {
      const rows = [];
      for (let level = [[root, 0]]; level.length > 0; ) {
        const r = { frame: [], gap: [], cum: [], flat: [], inline: [] };
        if (this.compares) [r.width, r.before] = [[], []];
        const next = [];
        let end = 0;
        for (const [c, x] of level) {
          r.frame.push(c.frame);
          r.gap.push(x - end);
          r.cum.push(c.cum);
          r.flat.push(c.flat);
          r.inline.push(c.inline ? 1 : 0);
          r.width?.push(c.width);
          r.before?.push(c.before);
          end = x + c.width;
          let at = x;
          for (const below of this.children(c)) {
            if (below.width === 0) continue;
            next.push([below, at]);
            at += below.width;
          }
        }
        rows.push(r);
        level = next;
      }
      return { frames: this.flame.frames, rows };
    }
    notes(of, steps) {
      if (this.whole || steps.length === 0) return of;
      return [...of ?? [], "this file has no calls that are too narrow to see: filters count what they cost with the call that made them"];
    }
    /** picture answers as /api/flame. */
    picture(steps, inverted) {
      const root = this.grown(this.filtered(steps), inverted);
      return {
        ...this.flame,
        ...this.columns(root),
        inverted: inverted || void 0,
        notes: this.notes(this.flame.notes, steps)
      };
    }
    /** listed answers as /api/calltree, of the picture that is shown. */
    static listed(flame) {
      const m = decode(flame);
      const rows = [];
      const first2 = m.rows.map((r, row) => {
        const at = new Int32Array(r.n + 1);
        const below = m.rows[row + 1];
        for (let i = 0; below && i < below.n; i++) at[below.parent[i] + 1]++;
        for (let i = 0; i < r.n; i++) at[i + 1] += at[i];
        return at;
      });
      for (const todo = m.rows.length > 0 && m.rows[0].n > 0 ? [[0, 0]] : []; todo.length > 0; ) {
        const [row, i] = todo.pop();
        const r = m.rows[row];
        const [lo, hi] = [first2[row][i], first2[row][i + 1]];
        rows.push({
          ...frameOf(m.frames, r.frame[i]) ?? { name: "" },
          depth: row,
          inline: r.inline?.[i] === 1 || void 0,
          flat: flame.inverted ? void 0 : r.flat[i],
          cum: r.cum[i],
          cum_before: r.before?.[i],
          calls: hi - lo
        });
        for (let j = hi - 1; j >= lo; j--) todo.push([row + 1, j]);
      }
      const { frames: _, rows: __, path: ___, ...head } = flame;
      return { ...head, rows };
    }
    /** ranking answers as /api/top, by function. */
    ranking(top, steps, sort) {
      const rows = /* @__PURE__ */ new Map();
      const known = new Map(top.rows.map((r) => [r.name, r]));
      for (const p of this.filtered(steps)) {
        const seen = /* @__PURE__ */ new Set();
        p.stack.forEach((at, i) => {
          const f = this.frame[at];
          let r = rows.get(f);
          if (!r) {
            const { file: _, line: __, ...frame } = frameOf(this.flame.frames, f);
            rows.set(f, r = { ...frame, inline: known.get(frame.name)?.inline, flat: 0, cum: 0, before: { flat: 0, cum: 0 } });
          }
          if (i === p.stack.length - 1) {
            r.flat += p.flat;
            if (p.rest === 0) r.before.flat += p.before;
          }
          if (seen.has(f)) return;
          seen.add(f);
          r.cum += p.flat + p.rest;
          r.before.cum += p.before;
        });
      }
      const key = sort === "cum" ? "cum" : "flat";
      const list = [...rows.values()].sort((a, b) => Math.abs(b[key]) - Math.abs(a[key]) || Math.abs(b.cum) - Math.abs(a.cum) || (a.name < b.name ? -1 : 1));
      return {
        ...top,
        shown: list.length,
        of: list.length,
        dropped: void 0,
        accounted: sum(this.filtered(steps)),
        rows: top.before ? list : list.map(({ before: _, ...r }) => r),
        notes: this.notes(top.notes, steps)
      };
    }
    /** between answers as /api/sandwich. Of a function that is on a stack several times, the outermost call counts. */
    between(arg, steps) {
      const parts = this.filtered(steps);
      const cost = /* @__PURE__ */ new Map();
      for (const p of parts) for (const f of new Set(p.stack.map((at) => this.frame[at]))) cost.set(f, (cost.get(f) ?? 0) + p.flat + p.rest);
      const { name: names } = this.flame.frames;
      let found = [...cost.keys()].filter((f) => names[f] === arg);
      if (found.length === 0) {
        const rx = regexp(arg);
        found = [...cost.keys()].filter((f) => rx.test(names[f]));
      }
      if (found.length === 0) throw new Failure(`no function of this file matches ${arg}`, "it has no calls that are too narrow to see; hone web REF opens the recording with all of them");
      found.sort((a, b) => Math.abs(cost.get(b)) - Math.abs(cost.get(a)) || (names[a] < names[b] ? -1 : 1));
      const frame = found[0];
      const [callees, callers] = [[], []];
      let flat = 0;
      for (const p of parts) {
        const i = p.stack.findIndex((at) => this.frame[at] === frame);
        if (i < 0) continue;
        if (this.frame[p.stack[p.stack.length - 1]] === frame) flat += p.flat;
        callees.push({ ...p, stack: p.stack.slice(i) });
        callers.push({ ...p, stack: p.stack.slice(0, i + 1), flat: 0, rest: p.flat + p.rest });
      }
      const below = this.only(this.grown(callees, false));
      const above = this.only(this.grown(callers, true));
      const { frames: _, rows: __, path: ___, ...head } = this.flame;
      const { name, file, line, origin } = frameOf(this.flame.frames, frame);
      return {
        ...head,
        before: this.compares ? { flat: 0, cum: below.before } : void 0,
        base: head.before,
        frame: { name, file, line },
        origin,
        flat,
        cum: below.cum,
        matches: found.slice(1).map((f) => names[f]),
        notes: this.notes(head.notes, steps),
        callees: this.columns(below),
        callers: this.columns(above)
      };
    }
    /** only is the one call below the root. */
    only(root) {
      return root.below.values().next().value ?? root;
    }
  };
  function sum(parts) {
    return parts.reduce((n, p) => n + p.flat + p.rest, 0);
  }
  var Saved = class {
    constructor(answers) {
      this.answers = answers;
      const flame = answers["/api/flame"];
      this.made = flame && new Calls(flame);
    }
    answers;
    made;
    has(path) {
      if (this.made && (path === "/api/calltree" || path === "/api/sandwich")) return true;
      return Object.keys(this.answers).some((k) => k === path || k.startsWith(path + "?"));
    }
    /** answer returns what was saved, or what can be made of it, or else undefined. */
    answer(path, pairs) {
      if (path === "/api/check") return checked(pairs);
      const said = pairs.filter(([k, v]) => !says(path, k, v));
      const steps = said.filter(([k]) => filtersHere.includes(k));
      const others = said.filter(([k]) => !filtersHere.includes(k));
      const kept = this.answers[path + queryString([...said].sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0))];
      if (kept !== void 0) return path === "/api/top" ? first(kept, pairs) : kept;
      if (steps.length > 0 && wholes.includes(path)) {
        throw new Failure("a saved page has this view only as it was saved", "without the filters added since it is shown; hone web REF opens the recording with every view");
      }
      if (!this.made) return void 0;
      const option = (key) => others.find(([k]) => k === key)?.[1] ?? "";
      const only = (...keys) => others.every(([k]) => keys.includes(k));
      switch (path) {
        case "/api/flame":
          return only("invert") ? this.picture(steps, option("invert") !== "") : void 0;
        case "/api/calltree":
          return only("invert") ? Calls.listed(this.picture(steps, option("invert") !== "")) : void 0;
        case "/api/sandwich":
          return only("arg", "invert") ? this.made.between(option("arg"), steps) : void 0;
        case "/api/top": {
          const top = this.answers["/api/top"];
          return top && only("sort") ? first(this.made.ranking(top, steps, option("sort")), pairs) : void 0;
        }
        case "/api/list":
          return this.source(option("arg"), steps);
      }
      return void 0;
    }
    picture(steps, inverted) {
      const kept = this.answers["/api/flame" + (inverted ? "?invert=true" : "")];
      return steps.length === 0 && kept ? kept : this.made.picture(steps, inverted);
    }
    /** source answers as /api/list, from the listings that were saved. */
    source(arg, steps) {
      const all = this.answers["/api/list"];
      if (!all) return void 0;
      if (steps.length > 0) throw new Failure("a saved page has source lines only as they were saved", "without the filters added since they are shown; hone web REF opens the recording with every view");
      const rx = regexp(arg);
      const functions = all.functions.filter((f) => rx.test(f.name));
      if (functions.length === 0) throw new Failure("this page was saved without the source of that function", `the functions whose source it has are listed at the left; hone web REF opens the recording with all of them`);
      return { ...all, functions };
    }
  };
  var wholes = ["/api/flamechart", "/api/goroutines", "/api/holders", "/api/traces", "/api/tags", "/api/diff", "/download/svg"];
  function says(path, k, v) {
    return ["root", "ref", "limit", "min", "depth", "base", "gone"].includes(k) || path === "/api/top" && (k === "sort" && v === "flat" || k === "by" && v === "function");
  }
  function first(top, pairs) {
    const limit = Number(pairs.find(([k]) => k === "limit")?.[1]);
    if (!(limit > 0)) return top;
    const rows = (top.rows ?? []).slice(0, limit);
    return { ...top, rows, shown: rows.length };
  }
  function checked(pairs) {
    for (const [k, v] of pairs) {
      if (!filtersHere.includes(k)) return { error: `a saved page cannot filter by ${k}` };
      try {
        regexp(v);
      } catch {
        return { error: "not a valid regular expression" };
      }
    }
    return {};
  }
  return __toCommonJS(saved_exports);
})();
