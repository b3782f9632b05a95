// The page of hone web: one script, one state, eleven views.

import { ComponentType, render } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { Failure, Session, connect } from "./api";
import { BenchView, CompareView } from "./compare";
import { App, AppContext, profiled, recordingOf, timed, tryAgain, useAway, useBusy } from "./data";
import { DiffView } from "./diff";
import { FlameView } from "./flame";
import { GraphView } from "./graph";
import { Header, Pills, Tabs, views } from "./header";
import { useKeys } from "./keys";
import { TagsView, TracesView } from "./labels";
import { OverviewView } from "./overview";
import { LoadView } from "./load";
import { Message, Toast } from "./parts";
import { SandwichView } from "./sandwich";
import { SourceView } from "./source";
import { get, state, subscribe } from "./state";
import { PaletteContext, useTheme } from "./theme";
import { Strip, TimelineView } from "./timeline";
import { TopView } from "./top";
import { TraceView } from "./trace";

const components: Record<string, ComponentType> = {
  overview: OverviewView,
  flame: FlameView,
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
};

// Views that need no profile.
const others = new Set(["timeline", "trace", "compare", "bench", "load"]);

const api = connect();

function Page() {
  const [now, setNow] = useState(state());
  const [session, setSession] = useState<Session>();
  const [failure, setFailure] = useState<Failure>();
  const [theme, nextTheme, palette] = useTheme();
  const slow = useBusy();
  useEffect(() => subscribe(() => setNow(state())), []);
  useLayoutEffect(() => {
    const stop = new AbortController();
    api.json<Session>("/api/session", [], stop.signal).then(setSession, (e: unknown) => setFailure(e instanceof Failure ? e : new Failure(String(e))));
    return () => stop.abort();
  }, []);
  useKeys({ t: nextTheme });
  const view = components[now.view] ? now.view : "";
  useEffect(() => {
    const title = views.find((v) => v.name === now.view)?.title ?? "";
    const ref = get(now, "ref") || session?.recordings[0]?.ref || "";
    document.title = [title, ref, "hone"].filter(Boolean).join(" · ");
  }, [now, session]);
  if (failure) return <main><Message title={failure.message}><p>{failure.hint}</p></Message></main>;
  if (!session) return <main aria-busy="true" />;
  const app: App = { api, session, state: now };
  const Current = components[view];
  return (
    <AppContext.Provider value={app}>
      <PaletteContext.Provider value={palette}>
        <div class={"progress" + (slow ? " on" : "")} role="progressbar" aria-label="waiting for the server" aria-hidden={!slow} />
        <Header theme={theme} onTheme={nextTheme} />
        <Tabs />
        <Pills />
        <Away />
        {view !== "timeline" && timed(app) && <Strip />}
        <main id={"view-" + view} data-view={view}>
          {session.recordings.length === 0 ? (
            <Message title="Nothing is open"><p><code>hone web cpu.pprof</code> opens a profile.</p></Message>
          ) : Current && !others.has(view) && !profiled(app) ? (
            <Message title="There is no profile in this recording"><p>What there is stands above.</p></Message>
          ) : Current ? <Current key={view} /> : <NoView app={app} />}
        </main>
        <Toast />
      </PaletteContext.Provider>
    </AppContext.Provider>
  );
}

/** Away says that nobody answers this page any more, and how to go on. What was there stays. */
function Away() {
  const away = useAway();
  if (!away) return null;
  return (
    <div class="away" role="alert">
      <p><b>{sentence(away.message)}</b> What is shown here stays as it was; new views, filters and details need a server.</p>
      <p>{sentence(away.hint)} <button class="small" onClick={tryAgain}>Try again</button></p>
    </div>
  );
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

render(<Page />, document.getElementById("app")!);
