// What the page asks, and who answers: a server, or the data inside a page that was saved as one file. Numbers come from
// there ready; the page only paints.

import { Frame, lists, Origin } from "./answers";
import { Saved } from "./saved";
import { Pair, ofFleet, queryString } from "./state";

export * from "./answers";

/** An AnyFrame is a frame of any answer, with what is known of it there. */
export interface AnyFrame extends Frame {
  package?: string;
  origin?: Origin;
}

/** A Check says what is wrong with a question. */
export interface Check {
  error?: string;
}

/** A Failure says what is wrong, and what to do about it where that is known. */
export class Failure extends Error {
  constructor(
    message: string,
    readonly hint = "",
    readonly away = false, // nobody answers this page any more, so it is not the question that is wrong
    readonly status = 0, // of the answer
  ) {
    super(message);
  }
}

export interface Api {
  /** json answers a request. It throws a Failure, or an AbortError when the signal says so. */
  json<T>(path: string, pairs: Pair[], signal: AbortSignal): Promise<T>;
  /** stop asks the server to end what it does for path. */
  stop(path: string, pairs: Pair[]): Promise<void>;
  /** expect tells the server that path will probably be asked for, so that it makes the answer while nobody asks for anything. */
  expect(path: string, pairs: Pair[]): void;
  /** text answers with a document, such as a picture. */
  text(path: string, pairs: Pair[], signal: AbortSignal): Promise<string>;
  /** has tells whether a request to path can be answered at all. */
  has(path: string): boolean;
  /** embedded is true where nobody computes anew: zooming and searching are left to the page. */
  readonly embedded: boolean;
}

class Server implements Api {
  readonly embedded = false;

  async json<T>(path: string, pairs: Pair[], signal: AbortSignal): Promise<T> {
    const given = path === "/api/session" && pairs.length === 0 && document.getElementById("hone-session")?.textContent;
    const data = answered(given || (await this.text(path, pairs, signal))) as T & { remarks?: Remark[] };
    for (const r of data?.remarks ?? []) remarks.set(r.text, r.parts);
    return data;
  }

  has(): boolean {
    return true;
  }

  async stop(path: string, pairs: Pair[]): Promise<void> {
    // Without a cache: Chromium lets a request wait for 20 s while another one with the same address is under way.
    await fetch(location.origin + path + queryString(pairs), { method: "DELETE", cache: "no-store" }).catch(() => {}); // who waits for the answer is told
  }

  expect(path: string, pairs: Pair[]): void {
    fetch(location.origin + path + queryString(pairs), { headers: { "Hone-Expected": "1" }, cache: "no-store", priority: "low" }).catch(() => {}); // whoever asks is told
  }

  async text(path: string, pairs: Pair[], signal: AbortSignal): Promise<string> {
    let r: Response;
    let text: string;
    try {
      // Not a path alone: a page may have been opened by an address with a password, which requests may not have.
      r = await fetch(location.origin + path + queryString(pairs), { signal, headers: { Accept: "application/json, */*" } });
      text = await r.text();
    } catch (e) {
      if (signal.aborted) throw e;
      if (ofFleet) throw new Failure("the server does not answer: it has stopped, or the connection to it is lost", "", true);
      throw new Failure("hone web does not answer: it has stopped, or the connection to it is lost", goOn, true);
    }
    if (r.ok) return text;
    if (r.status === 403 && !ofFleet) throw new Failure("this page belongs to a hone web that has stopped; another one runs at its address", goOn, true);
    let said: { error: string; hint?: string };
    try {
      said = JSON.parse(text) as typeof said;
    } catch {
      if (ofFleet && text !== "" && text.length < 500) throw new Failure(text.trim(), "", false, r.status);
      throw new Failure(`the server says ${r.status} ${r.statusText}`, text.slice(0, 200));
    }
    throw new Failure(said.error, said.hint, false, r.status);
  }
}

// Reloading would not help: a hone web that is started anew has another address, or at least another token.
const goOn = "start hone web again, and open the address that it prints";

/** answered reads an answer. Go writes null for lists that are empty; here they are lists. */
function answered(text: string): unknown {
  const fill = (v: unknown): void => {
    if (Array.isArray(v)) {
      if (typeof v[0] === "object") v.forEach(fill);
    } else if (v !== null && typeof v === "object") {
      const o = v as Record<string, unknown>;
      for (const k in o) {
        if (o[k] === null && lists.has(k)) o[k] = [];
        else fill(o[k]);
      }
    }
  };
  const v: unknown = JSON.parse(text);
  // Looking for it takes a fifth of the time of going through a picture of a thousand functions, which has none.
  if (text.includes(":null")) fill(v);
  return v;
}

/** A Remark is a text of an answer that names what can be done: what the page can set, or what is typed elsewhere. */
interface Remark {
  text: string;
  parts: RemarkPart[];
}

export type RemarkPart = string | { set: string; value?: string } | { command: string };

/** remarks are what the texts of answers are made of that name what can be done. */
export const remarks = new Map<string, RemarkPart[]>();

/** Embedded answers from what is in the page. */
class Embedded implements Api {
  readonly embedded = true;
  private readonly saved: Saved;

  constructor(answers: Record<string, unknown>) {
    this.saved = new Saved(answers);
  }

  async json<T>(path: string, pairs: Pair[]): Promise<T> {
    const found = this.saved.answer(path, pairs) as (T & { remarks?: Remark[] }) | undefined;
    if (found === undefined) {
      throw new Failure("this page was saved without that answer", "hone web REF opens the recording with every view");
    }
    for (const r of found?.remarks ?? []) remarks.set(r.text, r.parts);
    return found;
  }

  async stop(): Promise<void> {}

  expect(): void {}

  async text(path: string, pairs: Pair[]): Promise<string> {
    return this.json<string>(path, pairs);
  }

  has(path: string): boolean {
    return this.saved.has(path);
  }
}

/** connect returns who answers this page. */
export function connect(): Api {
  const data = document.getElementById("hone-data");
  if (data?.textContent) return new Embedded(answered(data.textContent) as Record<string, unknown>);
  return new Server();
}
