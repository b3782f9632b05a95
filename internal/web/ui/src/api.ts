// What the page asks, and who answers: a server, or the data inside a page that was saved as one file. Numbers come from
// there ready; the page only paints.

import { Pair, queryString } from "./state";

export interface Head {
  file?: string;
  build_id?: string;
  metric: string;
  unit: string;
  doc?: string;
  time_nanos?: number;
  duration_nanos?: number;
  total: number;
  by?: string;
  filters?: string[] | null;
  notes?: string[] | null;
}

export interface Metric {
  type: string;
  unit: string;
  default?: boolean;
  total: number;
  samples: number; // that have some of it
  names?: string[] | null; // by which it can be asked for, too
}

export interface Recording {
  ref: string;
  program?: string;
  build_id?: string;
  kind?: string;
  time_nanos?: number;
  duration_nanos?: number;
  samples: number;
  many?: boolean; // so many that findings take long to look for
  metrics: Metric[] | null;
  labels?: string[] | null;
  parts?: string[] | null; // beside profiles: metrics, gc
  notes?: string[] | null;
}

export interface Session {
  version: string;
  base?: string; // what is compared with at first, or in a saved page at all
  advises?: boolean; // findings can be asked for
  source?: string; // where the sources are, as the user said
  recordings: Recording[];
  views: { name: string; doc: string; arg?: string; uses: string[] }[];
  keys: { name: string; value: string; doc: string; choices?: string[] | null; repeats?: boolean }[];
}

export interface Frame {
  name?: string;
  address?: number;
  file?: string;
  start_line?: number;
  line?: number;
  object?: string;
  package?: string;
  origin?: Origin;
}

export type Origin = "own" | "std" | "dep" | "runtime" | "other";

export interface Cost extends Frame {
  flat: number;
  cum: number;
  inline?: string;
}

export interface Trimming {
  shown: number;
  of: number;
  dropped?: number;
  below?: number;
}

export interface Top extends Head, Trimming {
  rows: Cost[] | null;
}

export interface DiffRow extends Frame {
  flat: number;
  cum: number;
  flat_before: number;
  cum_before: number;
}

export interface Diff extends Head, Trimming {
  before: Head;
  normalized?: boolean;
  rows: DiffRow[] | null;
}

export interface FlameRow {
  frame: number[];
  gap: number[];
  cum: number[];
  flat: number[];
  inline?: number[];
  before?: number[];
  width?: number[];
}

export interface Tree {
  frames: Frame[] | null;
  rows: FlameRow[] | null;
}

export interface Step {
  name: string;
  cum: number;
  flat: number;
}

export interface Flame extends Head, Trimming, Tree {
  whole: number;
  before?: Head; // the base, in a comparison
  normalized?: boolean;
  path?: Step[] | null;
  inverted?: boolean;
}

export interface Sandwich extends Head {
  whole?: number;
  frame: Frame;
  origin?: Origin;
  flat: number;
  cum: number;
  callees: Tree;
  callers: Tree;
}

export interface Search {
  value: number;
  total: number;
  count: number;
  names: string[] | null;
}

/** A Check says what is wrong with a question. */
export interface Check {
  error?: string;
}

export interface Instruction {
  address: number;
  text: string;
  flat?: number;
  cum?: number;
  function?: string;
  file?: string;
  line?: number;
  inlined_into?: Place[] | null; // the callers of that place, where the calls were inlined
  depth?: number; // how many inlined calls below the line of source
}

export interface Place {
  function?: string;
  file?: string;
  line?: number;
}

export interface SourceLine {
  line: number;
  flat?: number;
  cum?: number;
  text: string;
  instructions?: Instruction[] | null;
}

export interface SourceFile {
  file: string;
  found?: string;
  notes?: string[] | null;
  error?: string;
  flat: number;
  cum: number;
  lines?: SourceLine[] | null;
}

export interface Source extends Head {
  functions: SourceFunction[] | null;
}

export interface SourceFunction {
  name: string;
  files?: SourceFile[] | null;
  no_code?: NoCode[] | null; // why machine code of it is missing
}

/** A NoCode is why machine code is missing: for programs, and in words. */
export interface NoCode {
  why: string;
  file?: string;
  text: string;
}

export interface Tags extends Head {
  keys: { key: string; total: number; values: { name: string; flat: number; unit?: string }[] | null }[] | null;
}

export interface Traces extends Head {
  traces:
    | { value: number; labels?: { key: string; text?: string; number?: number; unit?: string }[]; frames: TraceFrame[] }[]
    | null;
  of?: number;
}

export interface TraceFrame extends Frame {
  inline?: boolean;
}

export interface CompareRow {
  pkg?: string;
  name: string;
  what: string; // CPU time, memory
  unit: string;
  old: number;
  new: number;
  change: number | null; // a share
  low: number | null;
  high: number | null;
  p?: number;
  n: number;
  exact?: boolean;
  verdict: "better" | "worse" | "higher" | "lower" | "same" | "undecided";
  words: string;
  warnings?: string[];
}

export interface Absent {
  pkg?: string;
  name: string;
  why: string;
}

export interface CompareWhy {
  pkg?: string;
  name: string;
  what: string;
  unit: string;
  rows: { function: string; flat: number; flat_before: number; cum: number; cum_before: number }[];
  code?: { function: string; diff?: string; gained?: string[]; lost?: string[] }[];
  old_profile?: string;
  new_profile?: string;
}

export interface CompareSide {
  name: string;
  rev?: string;
  dirty?: boolean;
  go?: string;
  env?: string[];
  flags?: string[];
}

export interface Compare {
  old: CompareSide;
  new: CompareSide;
  paired: boolean;
  alpha: number;
  within: number;
  built_once?: boolean;
  noise?: number;
  noise_pairs?: number;
  rows: CompareRow[];
  geometric_means?: { what: string; change: number; of: number }[];
  why?: CompareWhy[];
  identical?: string[];
  missing?: Absent[];
  failed?: Absent[];
  notes?: string[];
}

export interface BenchMeasure {
  unit: string;
  n: number;
  center: number;
  low: number | null;
  high: number | null;
  exact?: boolean;
}

export interface Benchmark {
  facts?: { key: string; value: string }[];
  name: string;
  gomaxprocs?: number;
  n: number;
  measured: BenchMeasure[];
}

export interface Bench {
  lines: number;
  facts?: { key: string; value: string }[];
  of: number;
  benchmarks: Benchmark[];
  read?: { grade: string; what: string; count: number }[];
  notes?: string[];
}

export interface LoadRow {
  from_ns: number;
  for_ns: number;
  answered: number;
  errors: number;
  p50_ns: number;
  p99_ns: number;
  max_ns: number;
}

export interface FunctionCost {
  name: string;
  cpu_ns: number;
  with_calls_cpu_ns: number;
  bytes: number;
  objects: number;
  blocked_ns: number;
}

export interface LoadServer {
  cpu?: { all_ns: number };
  memory?: { bytes: number; objects: number };
  waiting?: { off?: boolean };
  gc?: { cycles: number; share: number };
  balance?: { what: string; ns: number; share: number }[];
  functions?: FunctionCost[];
  library_calls?: FunctionCost[];
  leak_suspects?: { what: string; where?: string; from: number; to: number }[];
  doubts?: string[];
}

export interface Load {
  target: string;
  method?: string;
  engine: string;
  rate?: number;
  stages?: unknown[];
  conns: number;
  asked: number;
  good: number;
  unsent?: number;
  unfinished?: number;
  status?: Record<string, number>;
  errors?: Record<string, number>;
  answered_per_second: number;
  percentiles?: { percent: number; service_ns: number; response_ns?: number }[];
  rows?: LoadRow[];
  server?: LoadServer;
  doubts?: string[];
  notes?: string[];
}

export interface Timeline {
  ref: string;
  end_ns: number;
  cpus?: number;
  points: TimePoint[] | null;
  events?: TimeEvent[] | null;
  notes?: string[] | null;
}

/** A TimeEvent is trouble that was looked out for. */
export interface TimeEvent {
  at_ns: number;
  when: string; // the condition
  text: string;
}

export interface TimePoint {
  at_ns: number;
  cpus?: number; // busy since the point before
  gc_cpus?: number;
  rss?: number;
  heap?: number;
  goal?: number;
  goroutines?: number;
  threads?: number;
}

/** Lanes are a picture of a part of an execution trace. */
export interface Lanes {
  ref: string;
  begin_nanos?: number; // of the trace, where it is of the end of a run
  trace_nanos: number; // its end
  from_nanos: number;
  to_nanos: number;
  pixels: number;
  states: string[];
  mixes: number[][]; // state, sixteenths, state, sixteenths, …
  processors: Lane[];
  collector: Lane[];
  requests: Lane[];
  small_requests?: number;
  kinds: LaneKind[];
  more_kinds?: number;
  goroutines: Lane[];
  of_goroutines: number;
  wakes: { at_nanos: number; from: number; to: number }[];
  notes?: string[] | null;
}

export interface Lane {
  name?: string;
  id: number;
  active_nanos?: number;
  at: number[]; // pixels after the end of the run before
  width: number[];
  mix: number[];
  request?: number[] | null;
}

export interface LaneKind {
  started_as: string;
  goroutines: number;
  active_nanos: number;
  states: number[]; // that they were in
  levels: number[][]; // by these, then by stretch
}

export interface StackCall {
  function: string;
  file: string;
  line: number;
}

/** A GoroutineStory is what one goroutine of a trace did. */
export interface GoroutineStory {
  goroutine: number;
  started_as?: string;
  created_in?: string;
  creator?: number;
  from_nanos: number;
  spans: {
    at_nanos: number;
    took_nanos: number;
    state: string;
    begun_before?: boolean;
    still_so?: boolean;
    waker?: number;
    ended_by?: string;
    stack?: StackCall[] | null;
    waker_stack?: StackCall[] | null;
  }[];
  of: number;
  requests?: RequestLine[] | null;
}

export interface RequestLine {
  number: number;
  at_nanos: number;
  took_nanos: number;
  handler?: string;
  most: string;
  most_nanos: number;
}

/** Waits are where goroutines of an execution trace waited for something else than work. */
export interface Waits {
  blocked_nanos: number;
  places: { function: string; file: string; line: number; reason: string; total_nanos: number }[];
}

/** Requests are those of an execution trace. */
export interface Requests {
  requests: number;
  handlers: { handler?: string; count: number; p50_nanos: number; p99_nanos: number }[];
  tail?: { slow_requests: number; of_slow_requests: number; causes: { what: string; goroutine?: string; slow_nanos: number; middle_nanos: number }[] } | null;
  slowest: RequestLine[];
}

/** A RequestPath is what the time of a request went into. */
export interface RequestPath extends RequestLine {
  goroutine: number;
  of: number;
  segments: { at_nanos: number; took_nanos: number; what: string; goroutine: number; started_as: string; function?: string; depth: number }[];
}

export interface GC {
  of: number;
  shown: number;
  cycles: Cycle[] | null;
}

export interface Cycle {
  gc: number;
  start_nanos: number;
  wall_nanos: number;
  pause_nanos: number;
  end_bytes: number;
  live_bytes: number;
}

/** Advice is what hone advise finds in a recording, those findings first that would save most. */
export interface Advice {
  findings: Finding[];
  functions: number; // that cost something and were looked at
  small?: number; // findings that are left out because they save less than least
  least: number;
  notes?: string[];
}

export interface Finding {
  number: number;
  rule: string;
  title: string;
  where: Spot;
  also?: Spot[];
  savings: { metric: string; short: string; share: number }[];
  claim: string;
  evidence: Evidence[];
  escape?: string;
  advice?: string;
  fixes?: Fix[];
  no_fix?: string;
  risk: string;
  proof: string;
}

export interface Spot {
  file: string;
  line: number;
  function?: string;
  text?: string;
}

export interface Evidence {
  says: string;
  command: string;
  url: string;
}

export interface Fix {
  title: string;
  grade: string;
  patch: string;
  risk?: string;
}

/** A Failure says what is wrong, and what to do about it where that is known. */
export class Failure extends Error {
  constructor(
    message: string,
    readonly hint = "",
    readonly away = false, // nobody answers this page any more, so it is not the question that is wrong
  ) {
    super(message);
  }
}

export interface Api {
  /** json answers a request. It throws a Failure, or an AbortError when the signal says so. */
  json<T>(path: string, pairs: Pair[], signal: AbortSignal): Promise<T>;
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
    const given = path === "/api/session" && document.getElementById("hone-session")?.textContent;
    if (given) return JSON.parse(given) as T;
    return JSON.parse(await this.text(path, pairs, signal)) as T;
  }

  has(): boolean {
    return true;
  }

  async text(path: string, pairs: Pair[], signal: AbortSignal): Promise<string> {
    let r: Response;
    let text: string;
    try {
      r = await fetch(path + queryString(pairs), { signal, headers: { Accept: "application/json, */*" } });
      text = await r.text();
    } catch (e) {
      if (signal.aborted) throw e;
      throw new Failure("hone web does not answer: it has stopped, or the connection to it is lost", goOn, true);
    }
    if (r.ok) return text;
    if (r.status === 403) throw new Failure("this page is of a hone web that has stopped; at its address there is another one", goOn, true);
    let said: { error: string; hint?: string };
    try {
      said = JSON.parse(text) as typeof said;
    } catch {
      throw new Failure(`the server says ${r.status} ${r.statusText}`, text.slice(0, 200));
    }
    throw new Failure(said.error, said.hint);
  }
}

// Reloading would not help: a hone web that is started anew has another address, or at least another token.
const goOn = "start hone web again, and open the address that it prints";

/** Embedded answers from a map of requests to responses. */
class Embedded implements Api {
  readonly embedded = true;

  constructor(private readonly answers: Record<string, unknown>) {}

  async json<T>(path: string, pairs: Pair[]): Promise<T> {
    const key = path + queryString(pairs);
    const found = this.answers[key] ?? this.nearest(path, pairs);
    if (found === undefined) {
      throw new Failure("this page was saved without that answer", "hone web REF opens the recording with every view");
    }
    const limit = Number(pairs.find(([k]) => k === "limit")?.[1]);
    return (path === "/api/top" && limit > 0 ? firstRows(found as Top, limit) : found) as T;
  }

  async text(path: string, pairs: Pair[]): Promise<string> {
    return this.json<string>(path, pairs);
  }

  has(path: string): boolean {
    return Object.keys(this.answers).some((k) => k === path || k.startsWith(path + "?"));
  }

  // What only narrows the view is done by the page itself, and a ranking is by flat unless it says otherwise.
  private nearest(path: string, pairs: Pair[]): unknown {
    const narrows = new Set(["root", "ref", "limit", "min"]);
    const rest = pairs.filter(([k, v]) => !narrows.has(k) && !(k === "sort" && v === "flat"));
    return this.answers[path + queryString(rest)];
  }
}

function firstRows(top: Top, limit: number): Top {
  const rows = (top.rows ?? []).slice(0, limit);
  return { ...top, rows, shown: rows.length };
}

/** connect returns who answers this page. */
export function connect(): Api {
  const data = document.getElementById("hone-data");
  if (data?.textContent) return new Embedded(JSON.parse(data.textContent) as Record<string, unknown>);
  return new Server();
}
