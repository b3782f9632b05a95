package report

import (
	"iter"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/unit"
)

// Lanes are a picture of a part of an execution trace: what filled each pixel of each lane. Times are in nanoseconds.
type Lanes struct {
	Ref    string   `json:"ref"`
	Live   bool     `json:"-"`                     // the trace was taken from a server for this answer; the next question would be about another one
	At     string   `json:"at,omitempty"`          // as it was asked for
	Begin  int64    `json:"begin_nanos,omitempty"` // of the trace: later than 0 where it is of the end of a run
	Whole  int64    `json:"trace_nanos"`           // its end
	From   int64    `json:"from_nanos"`
	To     int64    `json:"to_nanos"`
	Start  int64    `json:"first_nanos"` // where the first pixel begins: not later than From
	Pixel  int64    `json:"pixel_nanos"`
	Pixels int      `json:"pixels"`
	Each   int      `json:"stretch_pixels"` // of Levels of kinds
	States []string `json:"states"`         // that lanes are filled with
	Mixes  [][]int  `json:"mixes"`          // state, sixteenths, state, sixteenths, …

	Procs      []Lane     `json:"processors"`
	Collector  []Lane     `json:"collector"`
	Requests   []Lane     `json:"requests"`
	Small      int        `json:"small_requests,omitempty"` // too many or too narrow to be drawn
	Kinds      []LaneKind `json:"kinds"`
	MoreKinds  int        `json:"more_kinds,omitempty"`
	Goroutines []Lane     `json:"goroutines"`
	Of         int        `json:"of_goroutines"`
	Wakes      []LaneWake `json:"wakes"`

	Traces []TraceTime `json:"traces,omitempty"` // of the recording, where it has several
	Notes  []string    `json:"notes,omitempty"`
}

// A Lane is one row. Runs of pixels that look alike are in columns; pixels that are in none are empty.
type Lane struct {
	Name    string `json:"name,omitempty"`
	ID      int64  `json:"id"`                     // of a goroutine or P
	Busy    int64  `json:"active_nanos,omitempty"` // running, ready, or in a system call
	At      []int  `json:"at"`                     // pixels after the end of the run before
	Width   []int  `json:"width"`
	Mix     []int  `json:"mix"`
	Request []int  `json:"request,omitempty"` // numbers of requests
}

// A LaneKind is goroutines that were started with one function: how many were in what state, in each stretch of some pixels.
type LaneKind struct {
	Kind   string      `json:"started_as"`
	Count  int         `json:"goroutines"`
	Busy   int64       `json:"active_nanos"`
	Most   int         `json:"most"`   // that there were at a time
	Top    float64     `json:"top"`    // the largest sum of the Levels of a stretch
	States []int       `json:"states"` // that they were in
	Means  []float64   `json:"means"`  // how many were in each of these, on average
	Levels [][]float64 `json:"levels"` // by these, then by stretch
}

// A LaneWake says that a goroutine ended the wait of another one.
type LaneWake struct {
	At   int64 `json:"at_nanos"`
	From int   `json:"from"` // numbers of lanes
	To   int   `json:"to"`
}

// laneMarks draw states as text, in the order of requests.What.
var laneMarks = map[string]rune{
	"running": '█', "ready": '▒', "syscall": 's', "network": 'n', "lock": 'L', "channel": 'c', "select": 'C', "sleep": 'z', "wait group": 'w', "condition": 'd', "GC": 'G', "other": 'o', "scheduler": '-', "waiting for work": '·',
}

// span returns which of the places of a strip some pixels are at, as far as these are in sight.
func (l *Lanes) span(places, at, width int) (first, end int) {
	place := func(t int64) int { return int(float64(t-l.From) / float64(max(l.To-l.From, 1)) * float64(places)) }
	from, to := max(l.Start+int64(at)*l.Pixel, l.From), min(l.Start+int64(at+width)*l.Pixel, l.To)
	first = min(place(from), places-1)
	return first, max(place(to), first+1)
}

// strip draws a lane as text: each place shows what has most of it.
func (l *Lanes) strip(lane *Lane, places int) string {
	sums := make([]map[int]int, places)
	at := 0
	for i := range lane.At {
		at += lane.At[i]
		mix := l.Mixes[lane.Mix[i]]
		for p := at; p < at+lane.Width[i]; p++ {
			first, end := l.span(places, p, 1)
			for place := first; place < end; place++ {
				if sums[place] == nil {
					sums[place] = map[int]int{}
				}
				for k := 0; k+1 < len(mix); k += 2 {
					sums[place][mix[k]] += mix[k+1]
				}
			}
		}
		at += lane.Width[i]
	}
	var b strings.Builder
	for _, of := range sums {
		best, most := ' ', 0
		for s := range l.States {
			// Waiting for work is shown where there is nothing else.
			v := of[s] * 16
			if s == len(l.States)-1 {
				v = min(of[s], 1)
			}
			if v > most {
				best, most = laneMarks[l.States[s]], v
			}
		}
		b.WriteRune(best)
	}
	return b.String()
}

// numbered draws a lane of requests as text: each begins with its number, where there is room for it.
func (l *Lanes) numbered(lane *Lane, places int) string {
	out := []rune(strings.Repeat(" ", places))
	at := 0
	for i := range lane.At {
		at += lane.At[i]
		first, end := l.span(places, at, lane.Width[i])
		at += lane.Width[i]
		for p := first; p < end; p++ {
			out[p] = laneMarks[l.States[l.Mixes[lane.Mix[i]][0]]]
		}
		if number := strconv.Itoa(lane.Request[i]); len(number) < end-first {
			copy(out[first:], []rune(number))
		}
	}
	return string(out)
}

// strips shows the lanes as strips of so many places.
func (l *Lanes) strips(places int) []Block {
	at := &Measure{Unit: nanos, Show: Show{Unit: "ms"}}
	list := []Block{Heading{[]Phrase{{"from ", Value{l.From, at}, " to ", Value{l.To, at}, Sep{}, Nanos(l.Whole - l.Begin), " of trace", Sep{}, "each character stands for ", Nanos((l.To - l.From) / int64(places))}}}}
	group := func(title, name string, lanes []Lane, busy bool, label func(*Lane) any) {
		if len(lanes) == 0 {
			return
		}
		t := Table{Title: title, Columns: []Column{{Name: name}}}
		if busy {
			t.Columns = append(t.Columns, Column{Name: "active", Unit: nanos})
		}
		t.Columns = append(t.Columns, Column{Name: "over time", Whole: true})
		if busy {
			t.Columns = append(t.Columns, Column{Name: "started as", Path: true})
		}
		for i := range lanes {
			row := []any{label(&lanes[i])}
			if busy {
				row = append(row, Nanos(lanes[i].Busy))
			}
			row = append(row, Signs("|"+l.strip(&lanes[i], places)+"|"))
			if busy {
				row = append(row, Name{Text: lanes[i].Name})
			}
			t.Rows = append(t.Rows, row)
		}
		list = append(list, t)
	}
	number := func(lane *Lane) any { return int(lane.ID) }
	group("Ps", "number", l.Procs, false, number)
	group("collector", "", l.Collector, false, func(lane *Lane) any { return lane.Name })
	if len(l.Requests) > 0 {
		t := Table{Title: "requests", Summary: Phrase{"each with its number and what took most of its time"}, Columns: []Column{{Name: "over time", Whole: true}}}
		for i := range l.Requests {
			t.Rows = append(t.Rows, []any{Signs("|" + l.numbered(&l.Requests[i], places) + "|")})
		}
		list = append(list, t)
	}
	if l.Small > 0 && len(l.Requests) > 0 {
		list = append(list, Note{Phrase{"there is no room for ", unit.Counted(l.Small, "more request"), ": choose a shorter time with ", hint.Option{Name: "at"}}})
	}
	group("goroutines", "number", l.Goroutines, true, number)
	return list
}

// Blocks shows the lanes of the picture as text.
func (l *Lanes) Blocks() iter.Seq[Block] {
	list := []Block{Strips{l.strips}}
	var legend Phrase
	for i, s := range l.States {
		if mark := laneMarks[s]; mark != 0 && l.has(i) {
			legend = append(legend, Signs(mark), " ", s, "   ")
			if i == len(l.States)-1 {
				legend[len(legend)-1] = ", where there is nothing else   "
			}
		}
	}
	if n := len(legend); n > 0 {
		legend[n-1] = strings.TrimRight(legend[n-1].(string), " ")
		list = append(list, Note{legend})
	}
	if l.Of == 0 {
		list = append(list, Note{Phrase{"no goroutine of that time matches the filters"}})
	}
	if len(l.Goroutines) < l.Of {
		list = append(list, Note{Phrase{"the most active ", len(l.Goroutines), " of ", l.Of, " goroutines are shown; raise ", hint.Option{Name: "limit"}, " to see more"}})
	}
	list = append(list, traceNote(l.Traces)...)
	for _, n := range l.Notes {
		list = append(list, Note{Phrase{n}})
	}
	if len(l.Goroutines) > 0 {
		list = append(list, next(l.Live, l.Ref,
			during(l.At, "goroutine", l.Ref).Of(strconv.FormatInt(l.Goroutines[0].ID, 10)).For("what the most active one did"),
			hint.Ask("web", l.Ref).For("the same to zoom and click, in a browser"),
		))
	}
	return blocks(list)
}

// has reports whether a state is in the picture.
func (l *Lanes) has(state int) bool {
	for _, m := range l.Mixes {
		for k := 0; k < len(m); k += 2 {
			if m[k] == state {
				return true
			}
		}
	}
	return false
}

// A Goroutine is what one goroutine of an execution trace did. Times are in nanoseconds.
type Goroutine struct {
	Ref      string          `json:"ref"`
	Live     bool            `json:"-"`            // the trace was taken from a server for this answer; the next question would be about another one
	At       string          `json:"at,omitempty"` // as it was asked for
	ID       int64           `json:"goroutine"`
	Kind     string          `json:"started_as,omitempty"`
	Created  string          `json:"created_in,omitempty"`
	File     string          `json:"file,omitempty"`
	Line     int             `json:"line,omitempty"`
	Creator  int64           `json:"creator,omitempty"`
	Ended    bool            `json:"ended,omitempty"`
	From     int64           `json:"from_nanos"` // of what is shown
	To       int64           `json:"to_nanos"`
	Split    []GoroutinePart `json:"split"`
	Spans    []GoroutineSpan `json:"spans"`
	Of       int             `json:"of"`
	Requests []RequestLine   `json:"requests,omitempty"` // that it answered meanwhile
	Notes    []string        `json:"notes,omitempty"`
}

// A GoroutinePart is all the time that a goroutine was in one state.
type GoroutinePart struct {
	State string `json:"state"`
	Took  int64  `json:"took_nanos"`
}

// A GoroutineSpan is a stretch of time in which a goroutine did one thing.
type GoroutineSpan struct {
	At        int64       `json:"at_nanos"` // from the begin of the trace
	Took      int64       `json:"took_nanos"`
	State     string      `json:"state"`
	Begun     bool        `json:"begun_before,omitempty"`
	Open      bool        `json:"still_so,omitempty"`
	Function  string      `json:"function,omitempty"`
	File      string      `json:"file,omitempty"`
	Line      int         `json:"line,omitempty"`
	Waker     int64       `json:"waker,omitempty"` // goroutine that ended a wait, or created it
	EndedBy   string      `json:"ended_by,omitempty"`
	Stack     []StackCall `json:"stack,omitempty"` // where few spans are asked for
	WakeStack []StackCall `json:"waker_stack,omitempty"`
}

// A StackCall is a call of a stack in an execution trace.
type StackCall struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line"`
}

// Blocks shows what the goroutine did, in order.
func (g *Goroutine) Blocks() iter.Seq[Block] {
	head := Phrase{"goroutine ", strconv.FormatInt(g.ID, 10)}
	if g.Kind != "" {
		head = append(head, Sep{}, g.Kind)
	}
	at := &Measure{Unit: nanos, Show: Show{Unit: "ms"}}
	head = append(head, Sep{}, "from ", Value{g.From, at}, " to ", Value{g.To, at})
	var facts []Fact
	if g.Created != "" {
		of := Phrase{g.Created}
		if g.File != "" {
			of = append(of, " at ", fileLine(g.File, g.Line))
		}
		if g.Creator != 0 {
			of = append(of, " by goroutine ", strconv.FormatInt(g.Creator, 10))
		}
		facts = append(facts, Fact{"created in", of})
	}
	var split Phrase
	for i, p := range g.Split {
		if i > 0 {
			split = append(split, ", ")
		}
		split = append(split, p.State, " ", Nanos(p.Took))
	}
	facts = append(facts, Fact{"time", split})
	t := Table{Columns: []Column{{Name: "at", Unit: nanos}, {Name: "took", Unit: nanos}, {Name: "what"}, {Name: "function"}, {Name: "line", Path: true}, {Name: "ended by"}}}
	for i := range g.Spans {
		s := &g.Spans[i]
		t.Rows = append(t.Rows, []any{Value{s.At, at}, Nanos(s.Took), s.State, Name{Text: s.Function}, fileLine(s.File, s.Line), s.endedBy()})
	}
	list := []Block{Heading{[]Phrase{head}}, Facts{facts}, t}
	if len(g.Spans) < g.Of {
		list = append(list, Note{Phrase{"the longest ", len(g.Spans), " of ", g.Of, " stretches are shown; raise ", hint.Option{Name: "limit"}, " to see more"}})
	}
	for _, n := range g.Notes {
		list = append(list, Note{Phrase{n}})
	}
	if len(g.Requests) > 0 {
		list = append(list, next(g.Live, g.Ref,
			during(g.At, "request", g.Ref).Of(strconv.Itoa(g.Requests[0].Number)).For("the longest request that it answered"),
		))
	}
	return blocks(list)
}
