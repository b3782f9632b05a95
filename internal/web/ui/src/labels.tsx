// Labels of samples, and samples one by one.

import { useState } from "preact/hooks";
import { Tags, TraceFrame, Traces } from "./api";
import { asked, useAnswer, useApp } from "./data";
import { count, percent, unitOf, value } from "./format";
import { exactly, nameOf } from "./names";
import { Bar, Message, Nothing, Notes, Problem } from "./parts";
import { add, get, go, put, to } from "./state";

export function TagsView() {
  const app = useApp();
  const { state } = app;
  const { data, error, waiting } = useAnswer<Tags>("/api/tags", asked(app, "tags"));
  if (error && !waiting) return <Problem error={error} />;
  if (!data) return <div class="blank" aria-busy="true" />;
  if (!data.keys?.length) {
    return (
      <Message title="No sample has a label">
        <p>Labels tell requests, users or jobs apart. A program sets them with <code>pprof.Do(ctx, pprof.Labels("endpoint", path), f)</code>.</p>
        <Notes notes={data.notes} />
      </Message>
    );
  }
  const unit = unitOf(data.keys.flatMap((k) => (k.values ?? []).map((v) => v.flat)), data.total, data.unit);
  return (
    <div class="main page scrolls" tabIndex={0} role="region" aria-label="Labels">
      <Notes notes={data.notes} />
      <div class="cards">
        {data.keys.map((k) => (
          <section class="card">
            <h2>{k.key} <span class="quiet">{value(k.total, data.unit)} of {value(data.total, data.unit)}, {percent(k.total, data.total)}</span></h2>
            <p class="group">
              <button class="small" onClick={() => go(to(put(state, "tag-root", k.key), "flame"))}>as flame graph</button>
              <button class="small" onClick={() => go(to(put(state, "by", "label:" + k.key), "top"))}>as ranking</button>
            </p>
            <table class="plain">
              <thead><tr><th scope="col" class="num">flat</th><th scope="col" class="num">of total</th><th scope="col"><span class="hidden">share</span></th><th scope="col">value</th></tr></thead>
              <tbody>
                {(k.values ?? []).slice(0, 200).map((v) => (
                  <tr>
                    <td class="num">{value(v.flat, data.unit, unit)}</td>
                    <td class="num">{percent(v.flat, data.total)}</td>
                    <td class="gauge"><Bar part={v.flat} whole={data.total} /></td>
                    <td><button class="link" title="keep only samples with this label" onClick={() => go(add(state, "tag", k.key + "=" + exactly(v.name)))}>{v.name || "(empty)"}</button></td>
                  </tr>
                ))}
              </tbody>
            </table>
            {(k.values?.length ?? 0) > 200 && <p class="quiet">the first 200 of {count(k.values!.length)} values</p>}
          </section>
        ))}
      </div>
    </div>
  );
}

const firstTraces = 1000;

export function TracesView() {
  const app = useApp();
  const { state } = app;
  const limit = Number(get(state, "limit")) || firstTraces;
  const { data, error, waiting } = useAnswer<Traces>("/api/traces", asked(app, "traces", ["limit", String(limit)]));
  if (error && !waiting) return <Problem error={error} />;
  if (!data) return <div class="blank" aria-busy="true" />;
  const list = data.traces ?? [];
  if (list.length === 0) return <Nothing head={data} />;
  const shown = list.slice(0, limit);
  return (
    <div class="main page scrolls" tabIndex={0} role="region" aria-label="Samples">
      <p class="quiet">
        {list.length >= limit ? `The first ${count(limit)} samples. Filters choose others; hone traces REF writes all of them.` : `All ${count(list.length)} samples.`}
      </p>
      <Notes notes={data.notes} />
      <table class="plain traces">
        <thead><tr><th scope="col" class="num">{data.metric}</th><th scope="col">labels</th><th scope="col">stack, innermost frame first</th></tr></thead>
        <tbody>
          {shown.map((t) => (
            <tr>
              <td class="num">{value(t.value, data.unit)}</td>
              <td>
                {(t.labels ?? []).map((l) => {
                  const text = l.text ?? value(l.number ?? 0, l.unit ?? "");
                  return (
                    <button class="tag" title="keep only samples with this label" disabled={l.text === undefined}
                      onClick={() => go(add(state, "tag", l.key + "=" + exactly(text)))}>{l.key}={text}</button>
                  );
                })}
              </td>
              <td>
                <Stack frames={t.frames} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

// Stack is what a sample was doing. Frames that nobody looks at would be most of the page.
function Stack({ frames }: { frames: TraceFrame[] }) {
  const { state } = useApp();
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>{nameOf(frames[0])} <span class="quiet">{count(frames.length)} frames</span></summary>
      {open && (
        <ol>
          {frames.map((f) => (
            <li class={f.name !== undefined && f.name === get(state, "ui.sel") ? "on" : ""}>
              <button class="link" onClick={() => go(to(state, "sandwich", ["arg", f.name ?? ""], ["ui.sel", f.name ?? ""]))} disabled={!f.name}>{nameOf(f)}</button>
              {f.inline && <span class="quiet"> (inline)</span>}
            </li>
          ))}
        </ol>
      )}
    </details>
  );
}
