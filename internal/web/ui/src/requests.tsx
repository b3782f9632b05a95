// The requests in an execution trace: how long they took, and what the slow ones have more of.

import { Requests } from "./api";
import { asked, useAnswer, useApp } from "./data";
import { count } from "./format";
import { ns, selectRequest } from "./moments";

/** RequestsInSight is about the requests of the part of the trace that is looked at. */
export function RequestsInSight() {
  const app = useApp();
  const { data } = useAnswer<Requests>("/api/requests", asked(app, "requests"), 200);
  if (!data || data.requests === 0) return null;
  const handler = (name: string | undefined) => name ? <code>{name}</code> : <span class="quiet">(no handler seen)</span>;
  return (
    <section class="requests" aria-label="Requests">
      <h2>{count(data.requests)} request{data.requests !== 1 && "s"}</h2>
      <table class="plain">
        <thead><tr><th scope="col" class="num">number</th><th scope="col" class="num">p50</th><th scope="col" class="num">p99</th><th scope="col">handler</th></tr></thead>
        <tbody>
          {data.handlers.slice(0, 8).map((h) => <tr><td class="num">{count(h.count)}</td><td class="num">{ns(h.p50_nanos)}</td><td class="num">{ns(h.p99_nanos)}</td><td>{handler(h.handler)}</td></tr>)}
        </tbody>
      </table>
      {data.tail && data.tail.causes.length > 0 && (
        <>
          <h3>the slowest {data.tail.slow_requests < data.tail.of_slow_requests ? `(${data.tail.slow_requests} of ${count(data.tail.of_slow_requests)})` : data.tail.slow_requests} have more of, each</h3>
          <table class="plain">
            <tbody>
              {data.tail.causes.slice(0, 5).filter((c) => c.slow_nanos > c.middle_nanos).map((c) => (
                <tr><td class="num">{ns(c.slow_nanos - c.middle_nanos)}</td><td>{c.what}{c.goroutine && <> in <code>{c.goroutine}</code></>}</td></tr>
              ))}
            </tbody>
          </table>
        </>
      )}
      <h3>slowest</h3>
      <table class="plain">
        <tbody>
          {data.slowest.map((r) => (
            <tr>
              <td class="num"><button class="link accent" title="what it waited for" onClick={() => selectRequest(r.number)}>{r.number}</button></td>
              <td class="num">{ns(r.took_nanos)}</td><td>{r.most}</td><td>{handler(r.handler)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
