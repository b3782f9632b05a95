package report

import "strconv"

// Tables of trace answers for programs. They have numbers where people read a sentence.

// A row is a table with one row of numbers.
type row struct{ t Table }

// nanos adds a time.
func (r *row) nanos(name string, v int64) *row { return r.add(Column{Name: name, Unit: nanos}, v) }

// count adds a number without a unit.
func (r *row) count(name string, v int64) *row { return r.add(Column{Name: name}, v) }

func (r *row) add(c Column, v int64) *row { return r.text(c, strconv.FormatInt(v, 10)) }

func (r *row) text(c Column, v any) *row {
	if r.t.Rows == nil {
		r.t.Rows = [][]any{nil}
	}
	r.t.Columns = append(r.t.Columns, c)
	r.t.Rows[0] = append(r.t.Rows[0], v)
	return r
}

// latencies adds percentiles.
func (r *row) latencies(name string, l Latencies) *row {
	return r.nanos(name+" p50", l.P50).nanos(name+" p90", l.P90).nanos(name+" p99", l.P99).nanos(name+" max", l.Max)
}

// tablesOf returns the tables of the answer for people.
func tablesOf(of Report) (list []Table) {
	for b := range of.Blocks() {
		if t, ok := b.(Table); ok {
			list = append(list, t)
		}
	}
	return list
}

// Tables returns all numbers of the overview in one row, mutator utilization, and the tables for people.
func (e *Execution) Tables() []Table {
	var r row
	r.nanos("from", e.From).nanos("length", e.Length).count("events", e.Events).count("Ps", int64(e.Procs))
	r.nanos("P time", e.Capacity).nanos("Go code", e.GoCode).nanos("GC workers", e.Collector).nanos("rest of the runtime", e.Runtime+e.Tracer)
	r.nanos("Ps idle", max(0, e.Capacity-e.Busy)).nanos("idle while ready", e.IdleReady)
	if e.OnCPU > 0 {
		r.nanos("CPU time of the process", e.OnCPU)
	} else {
		r.text(Column{Name: "CPU time of the process", Unit: nanos}, "") // unknown
	}
	r.count("goroutines created", e.Born).count("goroutines at the end", int64(e.Left))
	r.nanos("running", e.Running).nanos("ready", e.Ready).nanos("in system calls", e.Syscall).nanos("blocked", e.Blocked).nanos("waiting for work", e.Idle)
	r.latencies("ready to running", e.Latency)
	r.count("GC cycles", int64(e.Cycles)).nanos("GC marking", e.Marking)
	r.count("GC assists", e.Assist.Count).nanos("GC assist", e.Assist.Total).nanos("GC assist running", e.AssistRunning).nanos("GC assist ready", e.AssistReady).nanos("GC assist waiting", e.AssistWaiting)
	r.count("requests", int64(e.Requests)).latencies("request", e.Request)
	list := []Table{r.t}
	if len(e.Mutator) > 0 {
		t := Table{Columns: []Column{{Name: "in any", Unit: nanos}, {Name: "GC left at least"}}}
		for _, u := range e.Mutator {
			t.Rows = append(t.Rows, []any{Nanos(u.Window), Share{int64(u.Least * 1e6), 1e6}})
		}
		list = append(list, t)
	}
	return append(list, tablesOf(e)...)
}

// Tables returns the sums in one row, and the places.
func (x *Idle) Tables() []Table {
	var r row
	r.nanos("length", x.Length).nanos("P time", x.Capacity).nanos("Ps idle", x.Idle).nanos("nothing ran at all", x.All).nanos("idle while ready", x.Ready)
	return append([]Table{r.t}, tablesOf(x)...)
}

// Tables returns the origin of the goroutine, the time of each state, and its spans.
func (g *Goroutine) Tables() []Table {
	var r row
	r.count("goroutine", g.ID).text(Column{Name: "started as"}, Name{Text: g.Kind}).nanos("from", g.From).nanos("to", g.To)
	r.text(Column{Name: "created in"}, Name{Text: g.Created}).text(Column{Name: "line"}, fileLine(g.File, g.Line)).count("by goroutine", g.Creator)
	states := Table{Columns: []Column{{Name: "time", Unit: nanos}, {Name: "what"}}}
	for _, p := range g.Split {
		states.Rows = append(states.Rows, []any{Nanos(p.Took), p.State})
	}
	return append([]Table{r.t, states}, tablesOf(g)...)
}
