"use strict";
var search = (() => {
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

  // src/search.ts
  var search_exports = {};
  __export(search_exports, {
    filterOf: () => filterOf,
    matcher: () => matcher,
    pattern: () => pattern,
    regexp: () => regexp,
    searchRule: () => searchRule,
    searched: () => searched,
    smartCase: () => smartCase
  });
  var searchRule = "a regular expression; without a capital letter, it finds upper and lower case";
  var noText = /\\[pP]\{[^}]*\}|\\[pP]?.|\(\?(?:P?<\w+>|[a-zA-Z-]+[:)])/gs;
  function smartCase(q) {
    return /[\p{Lu}\p{Lt}]/u.test(q.replace(noText, "")) ? q : "(?i)" + q;
  }
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
  function searched(q) {
    try {
      return regexp(smartCase(q));
    } catch {
      return void 0;
    }
  }
  function matcher(q) {
    const rx = searched(q);
    if (rx) return (name) => rx.test(name);
    const exact = smartCase(q) === q;
    const text = exact ? q : q.toLowerCase();
    return (name) => (exact ? name : name.toLowerCase()).includes(text);
  }
  function filterOf(q, found) {
    try {
      const rx = regexp(q);
      for (const name of found) if (!rx.test(name)) return smartCase(q);
      return q;
    } catch {
      return smartCase(q);
    }
  }
  return __toCommonJS(search_exports);
})();
