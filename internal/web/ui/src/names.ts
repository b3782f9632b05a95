// Names of functions: what may be left out of them where there is little room, and how to ask for exactly one.

import { Frame } from "./api";

/** nameOf returns the name of a frame of a report as the command line prints it. Frames of pictures have it as their name. */
export function nameOf(f: Frame): string {
  const parts: string[] = [];
  if (f.address) parts.push(f.address.toString(16).padStart(16, "0"));
  if (f.name) parts.push(f.name);
  if (f.line) parts.push(`${f.file}:${f.line}`);
  else if (f.file) parts.push(f.file);
  else if (!f.name) parts.push(f.object ? `[${f.object.replace(/^.*\//, "")}]` : "<unknown>");
  return parts.join(" ");
}

/** functionOf returns the name of the function alone: frames of lines and addresses have those in their name. */
export function functionOf(name: string): string {
  return name.replace(/^[0-9a-f]{16} /, "").replace(/ \S+:\d+(:\d+)?$/, "");
}

/** afterPath is where the last element of a package path begins. Type arguments have paths of their own. */
function afterPath(name: string): number {
  const end = name.search(/[([]/);
  return name.lastIndexOf("/", end < 0 ? name.length : end) + 1;
}

/** short leaves out the path of the package, and the major version at its end: cart.(*Store).Total. */
export function short(name: string): string {
  const at = afterPath(name);
  const version = /^v(?:[2-9]|[1-9]\d+)(?=\.)/.exec(name.slice(at))?.[0];
  if (!version) return name.slice(at);
  const path = name.slice(0, Math.max(0, at - 1));
  return path.slice(path.lastIndexOf("/") + 1) + name.slice(at + version.length);
}

/** pieces cuts a name, or a text with names in it such as a type, into paths of packages, which may be left out, and the rest. */
export function pieces(text: string): { text: string; path: boolean }[] {
  const out: { text: string; path: boolean }[] = [];
  const put = (text: string, path: boolean) => { if (text !== "") out.push({ text, path }); };
  const cut = (name: string) => {
    const at = afterPath(name);
    const version = /^v(?:[2-9]|[1-9]\d+)(?=\.)/.exec(name.slice(at))?.[0];
    const last = version ? name.lastIndexOf("/", at - 2) + 1 : at;
    put(name.slice(0, last), true);
    if (version) {
      put(name.slice(last, at - 1), false);
      put(name.slice(at - 1, at + version.length), true);
    }
    put(name.slice(at + (version?.length ?? 0)), false);
  };
  const head = /^[^\s([]*/.exec(text)![0];
  cut(head);
  let from = head.length;
  for (const m of text.slice(head.length).matchAll(/\/?(?:[\w.~%-]+\/)+[\w.~%-]+/g)) {
    put(text.slice(from, head.length + m.index), false);
    cut(m[0]);
    from = head.length + m.index + m[0].length;
  }
  put(text.slice(from), false);
  return out;
}

/** unqualified leaves the paths of packages out of a text that has any number of them: map[string]*cart.Item. */
export function unqualified(text: string): string {
  return pieces(text).filter((p) => !p.path).map((p) => p.text).join("");
}

/** packageOf returns the path of the package of a function, or "" when its name has none. */
export function packageOf(name: string): string {
  const dot = name.indexOf(".", afterPath(name));
  return dot < 0 ? "" : name.slice(0, dot);
}

/** shorter returns name in ever shorter forms. They lose the package before the function, which tells more. */
export function shorter(name: string): string[] {
  const s = short(name);
  const forms = name === s ? [s] : [name, s];
  const plain = s.replace(/\[.*\]/, "");
  if (plain !== s) forms.push(plain);
  const dot = plain.indexOf(".");
  if (dot > 0) {
    const rest = plain.slice(dot + 1);
    forms.push("…" + rest);
    const type = /^\(\*?(.*)$/.exec(rest);
    if (type) forms.push("…" + type[1]);
    const last = /[^.]+(\.func[0-9.]+|\.gowrap\d+|-fm)*$/.exec(rest);
    if (last && last[0] !== rest) forms.push("…" + last[0]);
  }
  return forms;
}

/** quoted returns the regexp that matches text and nothing else. */
export function quoted(text: string): string {
  return text.replace(/[\\.+*?()|[\]{}^$]/g, "\\$&");
}

/** exactly returns the regexp for one name. */
export function exactly(name: string): string {
  return "^" + quoted(name) + "$";
}

/** readable undoes exactly for people, and leaves all other regexps as they are. */
export function readable(rx: string): string {
  const inner = /^\^(.*)\$$/.exec(rx)?.[1];
  if (inner === undefined) return rx;
  const plain = inner.replace(/\\([\\.+*?()|[\]{}^$])/g, "$1");
  return exactly(plain) === rx ? plain : rx;
}

/** shortest names a recording as shortly as tells it from the others: a file without its folders, if no other one is called the same. */
export function shortest(ref: string, all: { ref: string }[]): string {
  const ending = (n: number, r: string) => r.split("/").slice(-n).join("/");
  let n = 1;
  const file = !/^[a-z]+:/.test(ref) && ref.includes("/");
  while (file && ending(n, ref) !== ref && all.some((r) => r.ref !== ref && ending(n, r.ref) === ending(n, ref))) n++;
  return file ? ending(n, ref) : ref;
}
