package report

import (
	"iter"
	"strconv"
	"time"

	"github.com/hone-perf/hone/internal/gclog"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/unit"
)

// A GC says what garbage collection did, from what the runtime wrote about it. Times are in nanoseconds, sizes in
// bytes. What a log does not say is 0 and left out.
type GC struct {
	Ref       string      `json:"ref"`
	Format    string      `json:"format"`            // versions of Go that write such lines
	Process   int         `json:"process,omitempty"` // the one that this is about, when several share the log
	Processes []GCProcess `json:"processes,omitempty"`

	GCSummary
	Missing        *GCMissing `json:"missing,omitempty"`                // cycles that the log lacks
	RuntimePercent int        `json:"runtime_cpu_percent,omitempty"`    // of the CPU since the program began, as the last line says
	Unlike         bool       `json:"disagrees_with_runtime,omitempty"` // its cycles come to another share than RuntimePercent

	Findings []GCFinding `json:"findings,omitempty"`
	WhatIf   []GCWhatIf  `json:"what_if,omitempty"`
	Shown    int         `json:"shown"`
	Cycles   []GCCycle   `json:"cycles"`
	Skipped  []GCSkipped `json:"skipped,omitempty"`
	Notes    []string    `json:"notes,omitempty"`

	Charts []Chart `json:"-"`
}

// A GCProcess is one of several processes that share a log.
type GCProcess struct {
	Process int `json:"process"`
	Cycles  int `json:"cycles"`
	First   int `json:"first"`
	Last    int `json:"last"`
	Line    int `json:"line"` // where it begins in the log
}

// A GCSummary is all cycles in a few numbers.
type GCSummary struct {
	Of        int   `json:"of"` // cycles
	ByProgram int   `json:"forced_by_program,omitempty"`
	ByTime    int   `json:"forced_by_time,omitempty"` // by the runtime, after two minutes without a cycle
	Procs     int   `json:"procs,omitempty"`
	From      int64 `json:"from_nanos,omitempty"`
	Wall      int64 `json:"wall_nanos,omitempty"`

	CPU      int64 `json:"cpu_nanos,omitempty"`      // of the collector, without that of idle Ps
	Capacity int64 `json:"capacity_nanos,omitempty"` // CPU time that there was; 0 when too many cycles are missing to tell a share
	Assist   int64 `json:"assist_nanos,omitempty"`   // part of CPU
	Idle     int64 `json:"idle_nanos,omitempty"`

	Stops    int   `json:"stops"`       // pauses: a cycle stops the world twice, since Go 1.5
	Pause    int64 `json:"pause_nanos"` // of all of them
	PauseP50 int64 `json:"pause_p50_nanos"`
	PauseP99 int64 `json:"pause_p99_nanos"`
	PauseMax int64 `json:"pause_max_nanos"`

	Allocated int64 `json:"allocated_bytes,omitempty"`
	Alloc     int64 `json:"alloc_bytes_per_second,omitempty"`
	Peak      int64 `json:"peak_heap_bytes,omitempty"`
	Live      int64 `json:"live_heap_bytes,omitempty"` // of the last cycle
	MaxLive   int64 `json:"max_live_heap_bytes,omitempty"`
	Goal      int64 `json:"goal_bytes,omitempty"`           // of the last cycle, which is replaced when that ends
	NextGoal  int64 `json:"next_goal_bytes,omitempty"`      // after the last cycle, as metrics of the program say
	Over      int   `json:"cycles_over_goal,omitempty"`     // by more than a tenth
	MostOver  int64 `json:"goal_overshoot_bytes,omitempty"` // the largest excess…
	OverGoal  int64 `json:"overshot_goal_bytes,omitempty"`  // …and the goal that it exceeded
	Sys       int64 `json:"sys_bytes,omitempty"`            // obtained from the system
	Released  int64 `json:"released_bytes,omitempty"`       // and given back
}

// A GCMissing is about cycles whose numbers lie between those of a log, and that it lacks. CPU, Assist, Idle and Capacity are then of the
// time of which the log has all cycles, unless that is less than half of it.
type GCMissing struct {
	Cycles  int   `json:"cycles"`
	Gaps    int   `json:"gaps"`
	After   int   `json:"after"` // the numbers of the cycles around the largest gap…
	Before  int   `json:"before"`
	From    int64 `json:"from_nanos"` // …and when that was
	To      int64 `json:"to_nanos"`
	Covered int64 `json:"covered_nanos"` // time of which the log has all cycles
}

// A GCFinding is something about the log that deserves attention.
type GCFinding struct {
	Rule    string     `json:"rule"`
	From    int64      `json:"from_nanos,omitempty"`
	To      int64      `json:"to_nanos,omitempty"`
	Numbers []GCNumber `json:"numbers"`
	Next    hint.Text  `json:"next"` // what to do
	Claim   Phrase     `json:"-"`
}

// A GCNumber is part of the evidence for a finding.
type GCNumber struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit,omitempty"`
}

// A GCWhatIf is what another GOGC would change, if the program did the same: a cycle costs the same for the same live
// heap, and there are fewer of them when there is more room, so the CPU time of the collector is proportional to 1/GOGC.
type GCWhatIf struct {
	GOGC int   `json:"gogc"`
	CPU  int64 `json:"cpu_nanos"`
	Peak int64 `json:"goal_bytes"` // for the largest live heap
	Now  bool  `json:"now,omitempty"`
}

// A GCSkipped is how many lines of a kind hold no cycle.
type GCSkipped struct {
	What  string `json:"what"`
	Lines int    `json:"lines"`
	First int    `json:"first_line"`
}

// A GCCycle is one garbage collection.
type GCCycle struct {
	N       int    `json:"gc"`
	Process int    `json:"process"`
	Line    int    `json:"line"`
	Trigger string `json:"trigger"` // heap, time or program
	Leaks   bool   `json:"checked_leaks,omitempty"`
	Procs   int    `json:"procs"`
	Start   int64  `json:"start_nanos"`
	Percent int    `json:"cumulative_cpu_percent"`

	Wall      int64 `json:"wall_nanos"`
	Stopped   int64 `json:"stopped_nanos"` // all pauses of the cycle
	SweepTerm int64 `json:"sweep_term_nanos"`
	Scan      int64 `json:"scan_nanos,omitempty"`
	Sync      int64 `json:"sync_nanos,omitempty"`
	Mark      int64 `json:"mark_nanos"`
	MarkTerm  int64 `json:"mark_term_nanos"`

	CPU           int64 `json:"cpu_nanos"`
	SweepTermCPU  int64 `json:"sweep_term_cpu_nanos"`
	ScanCPU       int64 `json:"scan_cpu_nanos,omitempty"`
	SyncCPU       int64 `json:"sync_cpu_nanos,omitempty"`
	AssistCPU     int64 `json:"assist_cpu_nanos"`
	BackgroundCPU int64 `json:"background_cpu_nanos"`
	IdleCPU       int64 `json:"idle_cpu_nanos"`
	MarkTermCPU   int64 `json:"mark_term_cpu_nanos"`
	Marking       int   `json:"marking_percent"` // of all CPUs, by the pacer; -1 when it did not say

	Before  int64 `json:"before_bytes"`
	End     int64 `json:"end_bytes"`
	Live    int64 `json:"live_bytes"`
	Goal    int64 `json:"goal_bytes"`
	Stacks  int64 `json:"stacks_bytes"`
	Globals int64 `json:"globals_bytes"`

	Counts []int64 `json:"counts,omitempty"` // before Go 1.5: what log2csv made columns of

	Format gclog.Format `json:"-"`
}

// CycleOf returns c for a report.
func CycleOf(c *gclog.Cycle) GCCycle {
	return GCCycle{
		N: c.N, Process: c.Process + 1, Line: c.Line, Trigger: c.Trigger.String(), Leaks: c.Leaks, Procs: c.Procs,
		Start: int64(c.Start), Percent: c.Share,
		Wall: int64(c.Wall()), Stopped: int64(c.Pause()),
		SweepTerm: int64(c.Clock.SweepTerm), Scan: int64(c.Clock.Scan), Sync: int64(c.Clock.Sync),
		Mark: int64(c.Clock.Mark), MarkTerm: int64(c.Clock.MarkTerm),
		CPU: int64(c.CPU.Total()), SweepTermCPU: int64(c.CPU.SweepTerm), ScanCPU: int64(c.CPU.Scan), SyncCPU: int64(c.CPU.Sync),
		AssistCPU: int64(c.CPU.Assist), BackgroundCPU: int64(c.CPU.Background), IdleCPU: int64(c.CPU.Idle),
		MarkTermCPU: int64(c.CPU.MarkTerm), Marking: c.Marking,
		Before: c.Before, End: c.End, Live: c.Live, Goal: c.Goal, Stacks: c.Stacks, Globals: c.Globals,
		Counts: c.Counts, Format: c.Format,
	}
}

// Nanos returns an amount of time as an item.
func Nanos[T ~int64](v T) Value { return Value{int64(v), alone(nanos)} }

// Bytes returns an amount of memory as an item.
func Bytes(v int64) Value { return Value{v, alone("bytes")} }

const nanos = "nanoseconds"

// Blocks shows the summary, pictures, what deserves attention, and the cycles.
func (g *GC) Blocks() iter.Seq[Block] {
	list := []Block{Heading{[]Phrase{g.heading()}}, Facts{g.facts()}}
	for _, c := range g.Charts {
		list = append(list, c)
	}
	for _, f := range g.Findings {
		list = append(list, Note{Phrase{f.Claim, "; ", f.Next}})
	}
	if len(g.WhatIf) > 0 {
		list = append(list, g.whatIf())
	}
	list = append(list, g.table())
	if len(g.Processes) > 1 {
		list = append(list, g.processes())
	}
	if n := g.doubt(); n != nil {
		list = append(list, Note{n})
	}
	if g.Shown < g.Of {
		list = append(list, Note{Phrase{"the last ", g.Shown, " of ", g.Of, " cycles are shown; raise ", hint.Option{Name: "limit"}, " to see more"}})
	}
	if len(g.Skipped) > 0 {
		also := Phrase{"also in the log: "}
		for i, s := range g.Skipped {
			if i > 0 {
				also = append(also, "; ")
			}
			if s.Lines == 1 {
				also = append(also, s.What, ", line ", s.First)
			} else {
				also = append(also, s.What, ", ", s.Lines, " lines from ", s.First, " on")
			}
		}
		list = append(list, Note{also})
	}
	for _, n := range g.Notes {
		list = append(list, Note{Phrase{n}})
	}
	return blocks(list)
}

// doubt says what makes the share of the collector doubtful.
func (g *GC) doubt() Phrase {
	m := g.Missing
	if m == nil {
		if !g.Unlike {
			return nil
		}
		return Phrase{"the cycles in this log took ", Nanos(g.CPU), " of CPU time, which does not fit the ", g.RuntimePercent,
			"% that the runtime reports in the last of them: the log was edited, or mixes several programs"}
	}
	p := Phrase{"the log lacks ", m.Cycles, " of ", g.Of + m.Cycles, " cycles"}
	if m.Gaps > 1 {
		p = append(p, " in ", m.Gaps, " gaps, the largest")
	}
	p = append(p, " between gc ", m.After, " and gc ", m.Before, ", from ", Nanos(m.From), " to ", Nanos(m.To))
	if g.Capacity > 0 {
		p = append(p, "; CPU time and allocation rate cover only the ", Share{m.Covered, g.Wall}, " of the time without gaps")
	} else if g.Wall > 0 {
		p = append(p, "; the other cycles are too few to tell the share of the CPU")
	}
	if g.RuntimePercent > 0 {
		p = append(p, "; up to the last cycle the runtime counted ", g.RuntimePercent, "%")
	}
	return p
}

func (g *GC) heading() Phrase {
	p := Phrase{g.Ref, Sep{}, g.Format}
	if g.Process > 0 {
		p = append(p, Sep{}, "process ", g.Process, " of ", len(g.Processes))
	}
	if g.Wall > 0 {
		p = append(p, Sep{}, Nanos(g.Wall))
		if g.From > 0 {
			p = append(p, " from ", Nanos(g.From), " on")
		}
	}
	if g.Procs > 0 {
		p = append(p, Sep{}, g.Procs, " P")
	}
	return p
}

func (g *GC) facts() []Fact {
	missing := 0
	cycles := Phrase{g.Of}
	if m := g.Missing; m != nil {
		missing = m.Cycles
		cycles = append(cycles, " of ", g.Of+missing)
	}
	if g.ByProgram > 0 {
		cycles = append(cycles, ", ", g.ByProgram, " forced")
	}
	if g.ByTime > 0 {
		cycles = append(cycles, ", ", g.ByTime, " by the runtime after two minutes without one")
	}
	if g.Wall > 0 {
		cycles = append(cycles, ", ", unit.PerSecond(float64(g.Of+missing)/time.Duration(g.Wall).Seconds()))
	}
	out := []Fact{{"cycles", cycles}}
	add := func(name string, value ...any) { out = append(out, Fact{name, Phrase(value)}) }
	work := []any{Nanos(g.CPU), "; ", Share{g.Assist, g.CPU}, " of that in GC assists; idle Ps added ", Nanos(g.Idle)}
	switch {
	case g.Capacity > 0:
		add("CPU", append([]any{Share{g.CPU, g.Capacity}, " of all CPU time available, "}, work...)...)
	case g.Missing == nil && !g.Unlike:
	case g.RuntimePercent > 0:
		add("CPU", append([]any{g.RuntimePercent, "% of all CPU time available since the program began, as the runtime counted; in the cycles of this log "}, work...)...)
	default:
		add("CPU", append([]any{"in the cycles of this log "}, work...)...)
	}
	add("pauses", Nanos(g.Pause), " in ", g.Stops, " stops: p50 ", Nanos(g.PauseP50), ", p99 ", Nanos(g.PauseP99),
		", max ", Nanos(g.PauseMax))
	switch {
	case g.Alloc > 0 && missing > 0:
		add("allocated", "at least ", Bytes(g.Allocated), ", ", Bytes(g.Alloc), "/s")
	case g.Allocated > 0 && missing > 0:
		add("allocated", "at least ", Bytes(g.Allocated))
	case g.Alloc > 0:
		add("allocated", Bytes(g.Allocated), ", ", Bytes(g.Alloc), "/s")
	case g.Allocated > 0:
		add("allocated", Bytes(g.Allocated))
	}
	heap := []any{"peak ", Bytes(g.Peak)}
	if g.MaxLive > 0 {
		heap = append(heap, ", live ", Bytes(g.Live), " at the end, ", Bytes(g.MaxLive), " at most")
	}
	add("heap", heap...)
	if g.Goal > 0 {
		goal := []any{Bytes(g.Goal), " in the last cycle"}
		if g.NextGoal > 0 {
			goal = []any{Bytes(g.NextGoal), " at the end"}
		}
		if g.Over > 0 {
			ended := " cycles ended more than a tenth above theirs, at most "
			if g.Over == 1 {
				ended = " cycle ended more than a tenth above its goal: "
			}
			goal = append(goal, "; ", g.Over, ended,
				Share{g.MostOver, g.OverGoal}, " above ", Bytes(g.OverGoal))
		}
		add("goal", goal...)
	}
	if g.Sys > 0 {
		add("from the system", Bytes(g.Sys), ", ", Bytes(g.Released), " given back")
	} else if g.Released > 0 {
		add("given back", Bytes(g.Released), " to the system")
	}
	return out
}

func (g *GC) whatIf() Table {
	size := &Measure{Unit: "bytes"}
	t := Table{
		Title:   "what GOGC would change",
		Summary: Phrase{"if CPU time of the collector is proportional to 1/GOGC"},
		Columns: []Column{{Name: "GOGC"}, {Name: "GC CPU"}, {Name: "largest goal", Unit: size.Unit}, {Name: ""}},
	}
	for _, w := range g.WhatIf {
		size.addSize(w.Peak)
		now := ""
		if w.Now {
			now = "now, estimated"
		}
		t.Rows = append(t.Rows, []any{w.GOGC, Share{w.CPU, g.Capacity}, Value{w.Peak, size}, now})
	}
	return t
}

func (m *Measure) addSize(v int64) {
	m.add(v)
	m.Total = max(m.Total, v)
}

func (g *GC) table() Table {
	t := Table{Title: "cycles"}
	took, stopped, size := &Measure{Unit: nanos}, &Measure{Unit: nanos}, &Measure{Unit: "bytes"}
	timed, live := true, true
	for i := range g.Cycles {
		timed = timed && g.Cycles[i].Format.Timed()
		live = live && g.Cycles[i].Format.Live()
	}
	col := func(on bool, name, unit string) {
		if on {
			t.Columns = append(t.Columns, Column{Name: name, Unit: unit})
		}
	}
	col(true, "gc", "")
	col(timed, "start", nanos)
	col(timed, "took", nanos)
	col(true, "stopped", nanos)
	col(timed, "CPU", nanos)
	col(true, "heap before", "bytes")
	col(timed || !live, "at end", "bytes")
	col(live, "live", "bytes")
	col(timed, "goal", "bytes")
	col(true, "trigger", "")
	start := &Measure{Unit: nanos, Show: Show{Unit: "s"}}
	for i := range g.Cycles {
		c := &g.Cycles[i]
		var row []any
		cell := func(on bool, item any) {
			if on {
				row = append(row, item)
			}
		}
		amount := func(v int64, m *Measure) Value {
			m.addSize(v)
			return Value{v, m}
		}
		cell(true, c.N)
		cell(timed, Value{c.Start, start})
		cell(timed, amount(c.Wall, took))
		cell(true, amount(c.Stopped, stopped))
		cell(timed, amount(c.CPU, took))
		cell(true, amount(c.Before, size))
		cell(timed || !live, amount(c.End, size))
		cell(live, amount(c.Live, size))
		cell(timed, amount(c.Goal, size))
		cell(true, c.Trigger)
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (g *GC) processes() Table {
	const most = 10
	t := Table{
		Title:   "processes in this log",
		Summary: Phrase{hint.Option{Name: "process"}, " chooses one"},
		Columns: []Column{{Name: "process"}, {Name: "cycles"}, {Name: "first"}, {Name: "last"}, {Name: "line"}},
	}
	for i, p := range g.Processes {
		if i == most {
			t.Summary = append(t.Summary, "; these are the first ", most, " of ", len(g.Processes))
			break
		}
		t.Rows = append(t.Rows, []any{p.Process, p.Cycles, p.First, p.Last, p.Line})
	}
	return t
}

// Tables returns a table of all cycles for each format of the log, with every column. Those of formats that log2csv
// read begin with its columns.
func (g *GC) Tables() []Table {
	var list []Table
	last := gclog.Format(-1)
	for i := range g.Cycles {
		c := &g.Cycles[i]
		f := c.Format
		if f.Timed() {
			f = gclog.Go15 // all of these have the same columns
		}
		if f != last {
			list = append(list, Table{Columns: columnsOf(f)})
			last = f
		}
		t := &list[len(list)-1]
		t.Rows = append(t.Rows, c.row())
	}
	if len(list) == 0 {
		list = append(list, Table{Columns: columnsOf(gclog.Go15)})
	}
	return list
}

func columnsOf(f gclog.Format) []Column {
	if !f.Timed() {
		var out []Column
		for _, name := range f.Columns() {
			out = append(out, Column{Name: name})
		}
		return append(out, Column{Name: "process"}, Column{Name: "line"}, Column{Name: "stopped", Unit: nanos})
	}
	return []Column{
		{Name: "gc"}, {Name: "process"}, {Name: "line"}, {Name: "start", Unit: nanos}, {Name: "cumulative CPU percent"},
		{Name: "trigger"}, {Name: "procs"},
		{Name: "wall", Unit: nanos}, {Name: "stopped", Unit: nanos},
		{Name: "sweep term", Unit: nanos}, {Name: "scan", Unit: nanos}, {Name: "sync", Unit: nanos},
		{Name: "mark", Unit: nanos}, {Name: "mark term", Unit: nanos},
		{Name: "cpu", Unit: nanos}, {Name: "sweep term cpu", Unit: nanos}, {Name: "scan cpu", Unit: nanos},
		{Name: "sync cpu", Unit: nanos}, {Name: "assist cpu", Unit: nanos}, {Name: "background cpu", Unit: nanos},
		{Name: "idle cpu", Unit: nanos}, {Name: "mark term cpu", Unit: nanos}, {Name: "marking percent"},
		{Name: "before", Unit: "bytes"}, {Name: "end", Unit: "bytes"}, {Name: "live", Unit: "bytes"},
		{Name: "goal", Unit: "bytes"}, {Name: "stacks", Unit: "bytes"}, {Name: "globals", Unit: "bytes"},
		{Name: "checked leaks"},
	}
}

func (c *GCCycle) row() []any {
	var row []any
	number := func(list ...int64) {
		for _, v := range list {
			row = append(row, strconv.FormatInt(v, 10))
		}
	}
	if !c.Format.Timed() {
		number(c.Counts...)
		number(int64(c.Process), int64(c.Line), c.Stopped)
		return row
	}
	number(int64(c.N), int64(c.Process), int64(c.Line), c.Start, int64(c.Percent))
	row = append(row, c.Trigger)
	number(int64(c.Procs), c.Wall, c.Stopped, c.SweepTerm, c.Scan, c.Sync, c.Mark, c.MarkTerm,
		c.CPU, c.SweepTermCPU, c.ScanCPU, c.SyncCPU, c.AssistCPU, c.BackgroundCPU, c.IdleCPU, c.MarkTermCPU)
	if c.Marking < 0 {
		row = append(row, "")
	} else {
		number(int64(c.Marking))
	}
	number(c.Before, c.End, c.Live, c.Goal, c.Stacks, c.Globals)
	return append(row, strconv.FormatBool(c.Leaks))
}
