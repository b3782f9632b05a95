// Coloring Go: words, texts, numbers and comments. What goes on over several lines is carried from one to the next.

export type Token = [kind: "" | "kw" | "str" | "nr" | "com", text: string];

const keywords = new Set(
  ("break case chan const continue default defer else fallthrough for func go goto if import interface map package range " +
    "return select struct switch type var nil true false iota").split(" "),
);

const rx = /(\/\/.*)|(\/\*)|("(?:[^"\\]|\\.)*"?)|('(?:[^'\\]|\\.)*'?)|(`)|\b(0[xXbBoO][\da-fA-F_]+|\d[\d_]*(?:\.\d*)?(?:[eE][+-]?\d+)?i?)\b|([A-Za-z_]\w*)/g;

/** tokens cuts lines into tokens. A piece of a file may begin inside of a comment; then its first lines are taken for code. */
export function tokens(lines: string[]): Token[][] {
  let inside: "" | "*/" | "`" = "";
  return lines.map((line) => {
    const out: Token[] = [];
    let at = 0;
    const plain = (end: number) => {
      if (end > at) out.push(["", line.slice(at, end)]);
    };
    while (at < line.length) {
      if (inside) {
        const end = line.indexOf(inside, at);
        const stop = end < 0 ? line.length : end + inside.length;
        out.push([inside === "`" ? "str" : "com", line.slice(at, stop)]);
        at = stop;
        if (end >= 0) inside = "";
        continue;
      }
      rx.lastIndex = at;
      const m = rx.exec(line);
      if (!m) {
        plain(line.length);
        break;
      }
      if (m[7] !== undefined && !keywords.has(m[7])) {
        plain(rx.lastIndex);
      } else {
        plain(m.index);
        if (m[2] || m[5]) {
          inside = m[2] ? "*/" : "`";
          out.push([m[2] ? "com" : "str", m[0]]);
        } else out.push([m[1] ? "com" : m[3] || m[4] ? "str" : m[6] ? "nr" : "kw", m[0]]);
      }
      at = rx.lastIndex;
    }
    return out;
  });
}
