// The requests in an execution trace: how long they took, and what the slow ones have more of.

import { useState } from "preact/hooks";
import { Requests } from "./api";
import { asked, useAnswer, useApp } from "./data";
import { column, count } from "./format";
import { selectRequest } from "./moments";

const firstShown = 8;

/** RequestsInSight is about the requests of the part of the trace that is looked at. */
export function RequestsInSight() {
  const app = useApp();
  const { data } = useAnswer<Requests>("/api/requests", asked(app, "requests"), 200);
  const [all, setAll] = useState(false);
  if (!data || data.requests === 0) return null;
  const handlers = data.handlers.slice(0, all ? data.handlers.length : firstShown);
  const time = column(handlers.flatMap((h) => [h.p50_nanos, h.p99_nanos]), "nanoseconds");
  const more = data.tail?.causes.slice(0, 5).filter((c) => c.slow_nanos > c.middle_nanos) ?? [];
  const longer = column(more.map((c) => c.slow_nanos - c.middle_nanos), "nanoseconds");
  const took = column(data.slowest.map((r) => r.took_nanos), "nanoseconds");
  const handler = (name: string | undefined) => name ? <code>{name}</code> : <span class="quiet">(no handler seen)</span>;
  return (
    <section class="requests" aria-label="Requests">
      <h2>{count(data.requests)} request{data.requests !== 1 && "s"}</h2>
      <table class="plain">
        <thead><tr><th scope="col" class="num">requests</th><th scope="col" class="num">p50</th><th scope="col" class="num">p99</th><th scope="col">handler</th></tr></thead>
        <tbody>
          {handlers.map((h) => <tr><td class="num">{count(h.count)}</td><td class="num">{time(h.p50_nanos)}</td><td class="num">{time(h.p99_nanos)}</td><td>{handler(h.handler)}</td></tr>)}
        </tbody>
      </table>
      {handlers.length < data.handlers.length && <p><button onClick={() => setAll(true)}>Show all {count(data.handlers.length)} handlers</button></p>}
      {data.tail && more.length > 0 && (
        <>
          <h3>What the slowest {data.tail.slow_requests < data.tail.of_slow_requests ? `(${data.tail.slow_requests} of ${count(data.tail.of_slow_requests)})` : data.tail.slow_requests} spend more time on, each</h3>
          <table class="plain">
            <tbody>
              {more.map((c) => (
                <tr><td class="num">{longer(c.slow_nanos - c.middle_nanos)}</td><td>{c.what} in {c.goroutine ? <code>{c.goroutine}</code> : "its own goroutine"}</td></tr>
              ))}
            </tbody>
          </table>
        </>
      )}
      <h3>Slowest requests</h3>
      <table class="plain">
        <tbody>
          {data.slowest.map((r) => (
            <tr>
              <td class="num"><button class="link accent" title="what it waited for" onClick={() => selectRequest(r.number)}>{r.number}</button></td>
              <td class="num">{took(r.took_nanos)}</td><td>{r.most}</td><td>{handler(r.handler)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
