// What somebody types to search names is a regular expression where it is one, and text otherwise. Without a capital letter it finds both
// cases, and with one only what is spelled like that. Filters are always exact, as on the command line.

/** searchRule says so where somebody searches. */
export const searchRule = "a regular expression; without a capital letter, it finds upper and lower case";

// Capitals in these are no text: \S, \PL, \p{Greek}, (?P<Name>…), (?U).
const noText = /\\[pP]\{[^}]*\}|\\[pP]?.|\(\?(?:P?<\w+>|[a-zA-Z-]+[:)])/gs;

/** smartCase returns the filter that finds what a search finds, as query.SmartCase does; TestSmartCase asks both. */
export function smartCase(q: string): string {
  return /[\p{Lu}\p{Lt}]/u.test(q.replace(noText, "")) ? q : "(?i)" + q;
}

// goName matches the parts of Go names that regular expressions read differently, and escapes, to skip them.
const goName = /\\.|\[\.\.\.\]|\(\*[^()*\\]+\)/gs;
const typeArgs = "\\[.*\\]";

function valid(text: string): boolean {
  try {
    return Boolean(new RegExp(text));
  } catch {
    return false;
  }
}

/** pattern returns the regular expression for one, or for the name of a function as Go prints it, as query.Pattern does; TestSmartCase asks both. */
export function pattern(text: string): string {
  if (!text.includes("(*") && !text.includes("[...]")) return text;
  const isName = !valid(text);
  const out = text.replace(goName, (part) => {
    if (part === "[...]") return typeArgs;
    if (part[0] !== "(" || !isName) return part;
    return part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll("\\[\\.\\.\\.\\]", typeArgs);
  });
  return valid(out) ? out : text;
}

/** regexp reads what hone takes as a regular expression. */
export function regexp(text: string): RegExp {
  const flags = /^\(\?([is]+)\)/.exec(text);
  return flags ? new RegExp(pattern(text.slice(flags[0].length)), flags[1]) : new RegExp(pattern(text));
}

/** searched returns the regular expression of a search, or nothing where it is none. */
export function searched(q: string): RegExp | undefined {
  try {
    return regexp(smartCase(q));
  } catch {
    return undefined;
  }
}

/** matcher tells of names whether a search finds them. */
export function matcher(q: string): (name: string) => boolean {
  const rx = searched(q);
  if (rx) return (name) => rx.test(name);
  const exact = smartCase(q) === q;
  const text = exact ? q : q.toLowerCase();
  return (name) => (exact ? name : name.toLowerCase()).includes(text);
}

/** filterOf returns the filter that leaves what a search found: as it was typed where that means the same of all names that were found. */
export function filterOf(q: string, found: Iterable<string>): string {
  try {
    const rx = regexp(q);
    for (const name of found) if (!rx.test(name)) return smartCase(q);
    return q;
  } catch {
    return smartCase(q);
  }
}
