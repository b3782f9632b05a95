package report

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/unit"
)

// A LoadServer is what requests cost the server, from its recording. Amounts are means per request, unless stated otherwise; times are in
// nanoseconds.
type LoadServer struct {
	From time.Duration `json:"from_ns"` // start of the steady part of the run, on the recording's clock
	To   time.Duration `json:"to_ns"`

	CPU     *ServerCPU     `json:"cpu,omitempty"`
	Memory  *ServerMemory  `json:"memory,omitempty"`
	Waiting *ServerWaiting `json:"waiting,omitempty"`
	GC      *ServerGC      `json:"gc,omitempty"`
	Before  *ServerState   `json:"before,omitempty"` // at From
	After   *ServerState   `json:"after,omitempty"`  // at To
	Ended   *ServerState   `json:"ended,omitempty"`  // last known state

	Balance   []BalancePart  `json:"balance,omitempty"`
	Traced    bool           `json:"balance_traced,omitempty"` // Balance is from an execution trace, not from profiles
	Functions []FunctionCost `json:"functions,omitempty"`
	Left      int            `json:"functions_left_out,omitempty"`
	Calls     []FunctionCost `json:"library_calls,omitempty"` // standard library functions that those functions call, with their callees
	Suspects  []Suspect      `json:"leak_suspects,omitempty"`
	Doubts    []string       `json:"doubts,omitempty"`
	Next      []hint.Command `json:"-"`
}

// A ServerCPU is the CPU time of a request. All is the sum of Serving, Other, Collecting, Scheduling, Recording and Unseen.
type ServerCPU struct {
	Requests   float64       `json:"requests"` // answered during the profiles
	From       time.Duration `json:"from_ns"`  // start of the profiles, on the recording's clock
	To         time.Duration `json:"to_ns"`
	For        time.Duration `json:"for_ns"` // duration of the profiles, without gaps
	Samples    int64         `json:"samples"`
	All        float64       `json:"all_ns"`
	Counted    bool          `json:"counted"`              // All was counted by the kernel; otherwise it is from the profile
	Sampled    float64       `json:"sampled_ns"`           // CPU time in the profile
	Unseen     float64       `json:"unseen_ns,omitempty"`  // CPU time that only the kernel counted
	Error      float64       `json:"sample_error_ns"`      // 95 % sampling error of the profile
	Delayed    float64       `json:"delayed_ns,omitempty"` // time that threads waited for a core
	Serving    float64       `json:"serving_ns"`           // in goroutines that serve requests
	Assisting  float64       `json:"assisting_ns"`         // part of Serving: GC assists
	Other      float64       `json:"other_ns"`             // in other goroutines
	Collecting float64       `json:"collecting_ns"`        // background garbage collection
	Scheduling float64       `json:"scheduling_ns"`        // scheduler
	Recording  float64       `json:"recording_ns"`         // the recorder
}

// A ServerMemory is the allocations of a request.
type ServerMemory struct {
	Requests float64 `json:"requests"`
	Bytes    float64 `json:"bytes"`
	Objects  float64 `json:"objects"`
	Counted  bool    `json:"counted"`       // counted by the runtime; otherwise from the profile
	Sampled  float64 `json:"sampled_bytes"` // allocations in the profile, which has the shares of functions
}

// A ServerWaiting is the waiting time of a request. Blocked is the time in goroutines that serve requests.
type ServerWaiting struct {
	Requests  float64 `json:"requests"`
	Blocked   float64 `json:"blocked_ns"` // on locks and channels
	Locks     float64 `json:"locks_ns"`   // part of Blocked
	Contended float64 `json:"contended_ns"`
	Queued    float64 `json:"queued_ns,omitempty"` // time that goroutines waited for a P
	Off       bool    `json:"off,omitempty"`       // the server has no block profile
}

// A ServerGC is the garbage collections during the run.
type ServerGC struct {
	Cycles  int           `json:"cycles"`
	Share   float64       `json:"share"`            // of the CPU time in profiles
	Paused  time.Duration `json:"paused_ns"`        // all pauses
	Longest time.Duration `json:"longest_pause_ns"` // of them
	Known   bool          `json:"pauses_known"`
}

// A ServerState is the state of a server at some time.
type ServerState struct {
	At         time.Duration `json:"at_ns"`
	RSS        int64         `json:"rss,omitempty"`
	Live       int64         `json:"live_heap,omitempty"`
	Goroutines int64         `json:"goroutines,omitempty"`
}

// A BalancePart is a part of the time of the mean request. Parts never add up to more than that time.
type BalancePart struct {
	What    string        `json:"what"`
	Nanos   time.Duration `json:"ns"`
	Share   float64       `json:"share"`
	Overlap time.Duration `json:"overlap_ns,omitempty"` // measured beyond Nanos: at the same time as parts above, or outside of requests
}

// A FunctionCost is the cost of a function per request. Self includes calls of the standard library, so that each cost belongs to a function of the
// program. With includes all callees.
type FunctionCost struct {
	Name    string  `json:"name"`
	CPU     float64 `json:"cpu_ns"`
	With    float64 `json:"with_calls_cpu_ns"`
	Error   float64 `json:"cpu_error_ns"`
	Bytes   float64 `json:"bytes"`
	AllB    float64 `json:"with_calls_bytes"`
	Objects float64 `json:"objects"`
	AllO    float64 `json:"with_calls_objects"`
	Blocked float64 `json:"blocked_ns"`
	AllW    float64 `json:"with_calls_blocked_ns"`
}

// Grown is growth in proportion to the requests.
type Grown string

// What can grow.
const (
	GrownGoroutines Grown = "goroutines"
	GrownMemory     Grown = "memory"
)

// A Suspect is something that grew with the requests.
type Suspect struct {
	What  Grown   `json:"what"`
	Where string  `json:"where,omitempty"`
	From  int64   `json:"from"`
	To    int64   `json:"to"`
	Per   float64 `json:"per_1000_requests"`
}

// blocks shows the cost of requests.
func (s *LoadServer) blocks() []Block {
	list := []Block{Title{"a request"}, Facts{s.facts()}}
	if t := s.balance(); len(t.Rows) > 0 {
		list = append(list, t)
	}
	if t := s.functions(); len(t.Rows) > 0 {
		list = append(list, t)
	}
	if t := s.calls(); len(t.Rows) > 0 {
		list = append(list, t)
	}
	return list
}

// each is an amount of time for a request.
func each(ns float64) Value { return Nanos(int64(ns + 0.5)) }

func size(bytes float64) Value { return Bytes(int64(bytes + 0.5)) }

func (s *LoadServer) facts() []Fact {
	var out []Fact
	add := func(name string, value ...any) { out = append(out, Fact{name, Phrase(value)}) }
	if c := s.CPU; c != nil {
		of := []any{each(c.All), " ± ", each(c.Error), " by ", strconv.FormatInt(c.Samples, 10), " samples, of ", unit.Number(math.Round(c.Requests)), " requests in ", Nanos(c.For)}
		if c.Counted {
			of = []any{each(c.All), " by the kernel, of ", unit.Number(math.Round(c.Requests)), " requests in ", Nanos(c.For)}
		}
		add("CPU", of...)
		if c.Counted {
			add("seen", each(c.Sampled), " ± ", each(c.Error), ", ", unit.Share(c.Sampled/c.All), " of it, by ", strconv.FormatInt(c.Samples, 10), " samples")
		}
		parts := []any{"serving ", each(c.Serving)}
		for _, p := range []struct {
			name string
			ns   float64
		}{{"collecting garbage in the background ", c.Collecting}, {"scheduling ", c.Scheduling}, {"other goroutines ", c.Other}, {"the recorder ", c.Recording}, {"not in the profile ", c.Unseen}} {
			if p.ns >= 0.5 {
				parts = append(parts, ", ", p.name, each(p.ns))
			}
		}
		add("of it", parts...)
	}
	if m := s.Memory; m != nil {
		add("allocated", size(m.Bytes), " in ", unit.Number(m.Objects), " objects")
	}
	if w := s.Waiting; w != nil {
		if w.Off {
			add("waiting", "unknown: the block profile is empty; the server may not have turned it on (runtime.SetBlockProfileRate)")
		} else {
			add("waiting", each(w.Blocked), ", of which ", each(w.Locks), " for locks; others had to wait ", each(w.Contended), " for a lock that was held")
		}
	}
	if w := s.Waiting; w != nil && w.Queued > 0 && !s.Traced {
		add("ready to run", each(w.Queued), " until there was a P, all goroutines together")
	}
	if c := s.CPU; c != nil && c.Delayed >= 0.5 {
		add("threads", "waited ", each(c.Delayed), " for a core, all of them together")
	}
	if g := s.GC; g != nil {
		gc := []any{g.Cycles, plural(g.Cycles, " collection"), ", ", unit.Share(g.Share), " of the CPU time"}
		if g.Known && g.Cycles > 0 {
			gc = append(gc, "; pauses of ", Nanos(g.Longest), " at most, ", Nanos(g.Paused), " in all")
		}
		add("garbage", gc...)
	}
	if b, a := s.Before, s.After; b != nil && a != nil {
		end := a
		if s.Ended != nil {
			end = s.Ended
		}
		if b.RSS > 0 && a.RSS > 0 {
			add("resident", Bytes(b.RSS), " before, ", Bytes(a.RSS), " after, ", Bytes(end.RSS), " in the end")
		}
		if b.Live > 0 && a.Live > 0 {
			add("live heap", Bytes(b.Live), " before, ", Bytes(a.Live), " after, ", Bytes(end.Live), " in the end")
		}
		if b.Goroutines > 0 && a.Goroutines > 0 {
			add("goroutines", strconv.FormatInt(b.Goroutines, 10), " before, ", strconv.FormatInt(a.Goroutines, 10), " after, ", strconv.FormatInt(end.Goroutines, 10), " in the end")
		}
	}
	for _, x := range s.Suspects {
		amount := func(v int64) any {
			if x.What == GrownMemory {
				return Bytes(v)
			}
			return strconv.FormatInt(v, 10)
		}
		leak := []any{string(x.What), " grew from ", amount(x.From), " to ", amount(x.To)}
		if x.What == GrownMemory {
			leak = append(leak, ", ", size(x.Per/1000), " a request")
		} else {
			leak = append(leak, ", "+unit.Number(x.Per)+" for 1000 requests")
		}
		if x.Where != "" {
			leak = append(leak, ", most in ", Name{Text: x.Where})
		}
		add("a leak?", leak...)
	}
	return out
}

func (s *LoadServer) balance() Table {
	var summary Phrase
	if s.Traced {
		summary = Phrase{"what the goroutines that answer did, from the execution trace"}
	}
	t := Table{Title: "where the mean request's time went", Summary: summary, Columns: []Column{{Name: "what"}, {Name: "time"}, {Name: "share"}}}
	overlaps := slices.ContainsFunc(s.Balance, func(b BalancePart) bool { return b.Overlap > 0 })
	if overlaps {
		t.Columns = append(t.Columns, Column{Name: "overlap"})
	}
	for _, b := range s.Balance {
		row := []any{b.What, Nanos(b.Nanos), unit.Share(b.Share)}
		switch {
		case b.Overlap > 0:
			row = append(row, Nanos(b.Overlap))
		case overlaps:
			row = append(row, "")
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (s *LoadServer) functions() Table {
	return s.costs("by function", "per request: the function with the standard library that it calls, then with everything that it calls", s.Functions, true)
}

// calls lists standard library functions, whose costs are part of the costs of their callers.
func (s *LoadServer) calls() Table {
	return s.costs("through the standard library", "part of the above, with everything that it calls", s.Calls, false)
}

// costs returns a table of functions. It has no columns for memory or waiting without such a profile.
func (s *LoadServer) costs(title, summary string, functions []FunctionCost, with bool) Table {
	t := Table{Title: title, Summary: Phrase{summary}}
	memory, waiting := s.Memory != nil, s.Waiting != nil && !s.Waiting.Off
	for _, c := range []struct {
		name  string
		known bool
	}{{"CPU", true}, {"with calls", with}, {"bytes", memory}, {"with calls", memory && with}, {"objects", memory}, {"waiting", waiting}} {
		if c.known {
			t.Columns = append(t.Columns, Column{Name: c.name})
		}
	}
	t.Columns = append(t.Columns, Column{Name: "function", Path: true})
	for _, f := range functions {
		row := []any{each(f.CPU)}
		if with {
			row = append(row, each(f.With))
		}
		if memory {
			row = append(row, size(f.Bytes))
			if with {
				row = append(row, size(f.AllB))
			}
			row = append(row, unit.Number(f.Objects))
		}
		if waiting {
			row = append(row, each(f.Blocked))
		}
		t.Rows = append(t.Rows, append(row, Name{Text: f.Name}))
	}
	return t
}
