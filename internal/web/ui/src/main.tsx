// The page of hone web: one script, one state, many views.

import { Component, ComponentChildren, ComponentType, render } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { Failure, Session, connect } from "./api";
import { CallTreeView } from "./calltree";
import { BenchView, CompareView } from "./compare";
import { App, AppContext, baseOf, profiled, recordingOf, timed, tryAgain, useAway, useBusy } from "./data";
import { DiffView } from "./diff";
import { EventsView, ShelfView } from "./events";
import { FlameView } from "./flame";
import { FlameChartView } from "./flamechart";
import { GoroutinesView } from "./goroutines";
import { HoldersView } from "./holders";
import { GraphView } from "./graph";
import { Header, Pills, Tabs, compares, views as allViews } from "./header";
import { HeatView } from "./heat";
import { giveBack, useKeys } from "./keys";
import { shortest } from "./names";
import { TagsView, TracesView } from "./labels";
import { OverviewView } from "./overview";
import { LoadView } from "./load";
import { GCView, MemoryView } from "./memory";
import { Message, Toast } from "./parts";
import { SandwichView } from "./sandwich";
import { Selections } from "./selection";
import { ServiceView } from "./service";
import { ServicesView } from "./services";
import { SourceView } from "./source";
import { Pair, State, get, ofFleet, queryString, state, subscribe } from "./state";
import { PaletteContext, useTheme } from "./theme";
import { Strip, TimelineView } from "./timeline";
import { TopView } from "./top";
import { TraceView } from "./trace";

const components: Record<string, ComponentType> = {
  overview: OverviewView,
  flame: FlameView,
  flamechart: FlameChartView,
  calltree: CallTreeView,
  sandwich: SandwichView,
  top: TopView,
  graph: GraphView,
  source: SourceView,
  diff: DiffView,
  tags: TagsView,
  traces: TracesView,
  timeline: TimelineView,
  trace: TraceView,
  compare: CompareView,
  bench: BenchView,
  load: LoadView,
  goroutines: GoroutinesView,
  holders: HoldersView,
  mem: MemoryView,
  gc: GCView,
};

// Pages about a store, beside the views of what is selected from it.
const ofStore: Record<string, ComponentType> = {
  services: ServicesView,
  service: ServiceView,
  heat: HeatView,
  events: EventsView,
  shelf: ShelfView,
};

/** asksFor returns what of a state changes what there is to look at. */
function asksFor(now: State): Pair[] {
  if (!ofFleet || ofStore[now.view]) return [];
  return now.pairs.filter(([k]) => k === "ref" || k === "base");
}

// Views that need no profile.
const others = new Set(["timeline", "trace", "compare", "bench", "load", "mem", "gc"]);

/** heading says what is shown, and of what. */
function heading(now: State, session: Session | undefined): string {
  const title = allViews.find((v) => v.name === now.view)?.title ?? "";
  return [title, get(now, "ref") || session?.recordings[0]?.ref || ""].filter(Boolean).join(" · ");
}

const api = connect();

function Page() {
  const [now, setNow] = useState(state());
  const [opened, setOpened] = useState<{ session: Session; of: string }>();
  const [failed, setFailed] = useState<{ failure: Failure; of: string }>();
  const [theme, nextTheme, palette] = useTheme();
  const slow = useBusy();
  useEffect(() => subscribe(() => setNow(state())), []);
  const asks = asksFor(now);
  const of = queryString(asks);
  useLayoutEffect(() => {
    const stop = new AbortController();
    const fail = (e: unknown) => {
      if (!stop.signal.aborted) setFailed({ failure: e instanceof Failure ? e : new Failure(String(e)), of });
    };
    api.json<Session>("/api/session", asks, stop.signal).then((session) => setOpened({ session, of }), fail);
    return () => stop.abort();
  }, [of]);
  const session = opened?.session;
  const failure = failed?.of === of ? failed.failure : undefined;
  useKeys({ t: nextTheme });
  const views = ofFleet ? { ...components, ...ofStore } : components;
  const view = views[now.view] ? now.view : "";
  useEffect(() => {
    document.title = [heading(now, session), "hone"].filter(Boolean).join(" · ");
  }, [now, session]);
  if (failure && !(ofFleet && session)) return <main><Message title={failure.message}><p>{failure.hint}</p></Message></main>;
  if (!session) return <main aria-busy="true" />;
  const app: App = { api, session, state: now };
  const Current = views[view];
  const waiting = ofFleet && opened.of !== of;
  return (
    <AppContext.Provider value={app}>
      <PaletteContext.Provider value={palette}>
        <a class="skip" href={"#view-" + view} onClick={(e) => { e.preventDefault(); document.querySelector<HTMLElement>("main")?.focus(); }}>Skip to the view</a>
        <div class={"progress" + (slow ? " on" : "")} role="progressbar" aria-label="waiting for the server" aria-hidden={!slow} />
        <Header theme={theme} onTheme={nextTheme} />
        {ofFleet && <Selections />}
        <Tabs />
        {!ofStore[view] && <Pills />}
        <Away />
        {!ofStore[view] && <OneSide app={app} />}
        {view !== "timeline" && timed(app) && !api.embedded && <Strip />}
        <main id={"view-" + view} data-view={view} tabIndex={-1}>
          <Guard of={queryString([["view", view], ...now.pairs])}>
          {failure ? (
            <Message title={failure.message}><p>{failure.hint || "Another time or other labels, above, may have profiles."}</p></Message>
          ) : waiting ? (
            <div class="blank" aria-busy="true" />
          ) : ofStore[view] && Current ? (
            <Current key={view} />
          ) : session.recordings.length === 0 && ofFleet ? (
            <Message title="No service is chosen"><p>Choose one under <a href="/services">Services</a>.</p></Message>
          ) : session.recordings.length === 0 ? (
            <Message title="Nothing is open"><p><code>hone web cpu.pprof</code> opens a profile.</p></Message>
          ) : Current && !others.has(view) && !profiled(app) ? (
            <Message title="There is no profile in this recording"><p>What there is stands above.</p></Message>
          ) : Current ? <Current key={view} /> : <NoView app={app} />}
          </Guard>
        </main>
        <Toast />
      </PaletteContext.Provider>
    </AppContext.Provider>
  );
}

/** Guard shows what went wrong where a view cannot be drawn, in place of an empty page. Another view or another question tries again. */
class Guard extends Component<{ of: string; children: ComponentChildren }, { error?: string }> {
  componentDidCatch(e: unknown) {
    console.error(String(e));
    this.setState({ error: String(e) });
  }
  componentDidUpdate(before: { of: string }) {
    if (before.of !== this.props.of && this.state.error !== undefined) this.setState({ error: undefined });
  }
  render() {
    if (this.state.error === undefined) return this.props.children;
    return <Message title="This view cannot be shown"><p>It is an error in hone: {this.state.error}. The other views still work.</p></Message>;
  }
}

/** Away says that nobody answers this page any more, and how to go on. What was there stays. */
function Away() {
  const away = useAway();
  const gone = away !== undefined;
  useEffect(() => {
    if (!gone) return;
    const timer = setInterval(() => void tryAgain(api), 5000); // a tunnel or a network may come back
    return () => clearInterval(timer);
  }, [gone]);
  if (!away) return null;
  return (
    <div class="away" role="alert">
      <p><b>{sentence(away.message)}</b> What was shown here stays as it was, and Back returns to it; other recordings, metrics, views, filters and details need a server.</p>
      <p>{sentence(away.hint)} <button class="small" onClick={() => void tryAgain(api)}>Try again</button></p>
    </div>
  );
}

/** OneSide says what a view that has no place for two sides shows of a comparison. */
function OneSide({ app }: { app: App }) {
  const { recordings } = app.session;
  const base = baseOf(app);
  const ref = recordingOf(app)?.ref ?? "";
  const view = app.state.view;
  if (base === "" || (compares(app, view) && view !== "graph")) return null;
  const names = [ref, base].map((r) => <code title={r}>{shortest(r, recordings)}</code>);
  if (compares(app, view)) return <aside class="quiet one-side" aria-label="what this view compares">The graph shows what changed: {names[0]} minus the base {names[1]}.</aside>;
  if (base === ref) return <aside class="quiet one-side" aria-label="what this view compares">This view shows only what the filters select, and not the labels that it is compared with.</aside>;
  return <aside class="quiet one-side" aria-label="what this view compares">This view shows only {names[0]}, and not the base {names[1]}.</aside>;
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1) + ".";
}

/** NoView stands where an address asks for a view that is not there. Some are on the command line only. */
function NoView({ app }: { app: App }) {
  const { session, state: now } = app;
  const ref = recordingOf(app)?.ref ?? "REF";
  return (
    <Message title={`There is no view ${now.view} here`}>
      {session.views.some((v) => v.name === now.view) && <p><code>hone {now.view} {ref}</code> shows it on the command line.</p>}
      <p>The views of this page are above.</p>
    </Message>
  );
}

giveBack();
render(<Page />, document.getElementById("app")!);
