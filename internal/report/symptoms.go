package report

import (
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/unit"
)

// Symptoms lists what is unusual about a run, most serious first.
type Symptoms struct {
	Ref      string        `json:"ref"`
	Length   time.Duration `json:"length_ns"`
	Symptoms []Symptom     `json:"symptoms"`
	Unknown  []SymptomKind `json:"unknown,omitempty"` // kinds for which the recording has no data
	Notes    []string      `json:"notes,omitempty"`
}

// A SymptomKind is a kind of symptom.
type SymptomKind string

// The kinds of symptoms.
const (
	SymptomEnded      SymptomKind = "ended"      // the program crashed or was killed
	SymptomTrouble    SymptomKind = "trouble"    // a condition of --when held
	SymptomLimit      SymptomKind = "limit"      // memory came close to its limit
	SymptomThrottled  SymptomKind = "throttled"  // the kernel kept the threads of the control group from running, to hold its CPU limit
	SymptomLeaked     SymptomKind = "leaked"     // goroutines are blocked forever: nothing can wake them
	SymptomStuck      SymptomKind = "stuck"      // goroutines were blocked at one place from the first snapshot to the last
	SymptomGoroutines SymptomKind = "goroutines" // the number of goroutines grew
	SymptomMemory     SymptomKind = "memory"     // the live heap grew
	SymptomGC         SymptomKind = "gc"         // garbage collection takes much of the CPU time
	SymptomCores      SymptomKind = "cores"      // threads waited for a core
	SymptomLocks      SymptomKind = "locks"      // goroutines waited for locks
)

// A Symptom is an unusual fact about a run. Its numbers depend on the kind: the first and last value of something that grows, or a part and its
// whole. The part of memory is how much more of what Where allocated is live.
type Symptom struct {
	Kind  SymptomKind `json:"kind"`
	From  int64       `json:"from,omitempty"`
	To    int64       `json:"to,omitempty"`
	Part  int64       `json:"part,omitempty"`
	Whole int64       `json:"whole,omitempty"`
	Name  string      `json:"name,omitempty"`  // of a limit, of trouble, of what goroutines wait for, or how the program ended
	Where string      `json:"where,omitempty"` // function that has most of it

	Cores float64       `json:"cores,omitempty"`   // CPU limit of the control group; 0 if unknown
	Lost  time.Duration `json:"lost_ns,omitempty"` // time that threads were kept from running, added up over the cores

	Returned bool `json:"main_returned,omitempty"` // main had returned when leaked goroutines were looked for: some may only be leaked since

	Next hint.Command `json:"-"` // a command that shows more
}

// Phrase describes the symptom.
func (s *Symptom) Phrase() Phrase {
	bytes := func(n int64) Value { return Value{n, &Measure{Unit: "bytes"}} }
	var out Phrase
	switch s.Kind {
	case SymptomEnded:
		out = Phrase{"the program ended: ", s.Name}
	case SymptomTrouble:
		out = Phrase{s.Name}
	case SymptomLimit:
		out = Phrase{bytes(s.Part), " were resident at the peak, ", Share{s.Part, s.Whole}, " of the ", s.Name, " of ", bytes(s.Whole)}
	case SymptomThrottled:
		out = Phrase{"the kernel throttled the control group in ", int(s.Part), " of ", int(s.Whole), " periods (", Share{s.Part, s.Whole}, "), for ",
			Nanos(s.Lost), " in total over all cores"}
		if s.Cores > 0 {
			out = append(out, ": its limit is "+unit.Quota(s.Cores))
		}
	case SymptomLeaked:
		how := " (blocked forever)"
		if s.Returned {
			how = " (blocked forever, since main returned if not before)"
		}
		out = Phrase{int(s.Part), " leaked goroutines", how}
		if s.Part == 1 {
			out = Phrase{"1 leaked goroutine", how}
		}
		if s.Where != "" {
			out = append(out, ", most in ", s.Where)
		}
	case SymptomStuck:
		out = Phrase{int(s.Part), " goroutines were blocked the whole time in ", s.Where, " (", s.Name, ")"}
	case SymptomGoroutines:
		out = Phrase{"goroutines grew from ", int(s.From), " to ", int(s.To)}
		if s.Where != "" {
			out = append(out, ", most in ", s.Where)
		}
	case SymptomMemory:
		out = Phrase{"the live heap grew from ", bytes(s.From), " to ", bytes(s.To)}
		switch {
		case s.Where == "":
		case s.Part > (s.To-s.From)/2:
			out = append(out, ", most of it allocated by ", s.Where)
		default:
			out = append(out, ", ", bytes(s.Part), " of it allocated by ", s.Where)
		}
	case SymptomGC:
		out = Phrase{"garbage collection takes ", Share{s.Part, s.Whole}, " of the CPU time that the program used"}
	case SymptomCores:
		out = Phrase{"threads waited ", Nanos(s.Part), " for a core while they ran for ", Nanos(s.Whole)}
	case SymptomLocks:
		out = Phrase{"goroutines waited about ", Nanos(s.Part), " for locks in ", Nanos(s.Whole)}
		if s.Where != "" {
			out = append(out, ", most in ", s.Where)
		}
	}
	return out
}

// What grows, and what time is lost to, in the order in which it is named.
var (
	growing = []namedSymptom{{SymptomGoroutines, "goroutines", false}, {SymptomMemory, "live memory", false}}
	losing  = []namedSymptom{{SymptomGC, "the collector", false}, {SymptomLocks, "locks", false}, {SymptomCores, "waiting for a core", true}, {SymptomThrottled, "the CPU limit", true}}
)

type namedSymptom struct {
	kind SymptomKind
	name string
	rare bool // only few recordings have such data
}

// names returns the names of those of a list that are known, or those that are not and could be.
func (s *Symptoms) names(list []namedSymptom, known bool, before string) (names []string) {
	for _, n := range list {
		if slices.Contains(s.Unknown, n.kind) != known && (known || !n.rare) {
			names = append(names, before+n.name)
		}
	}
	return names
}

// nothing describes what was checked and found normal.
func (s *Symptoms) nothing() string {
	or := func(list []string) string {
		if last := len(list) - 1; last > 0 {
			return strings.Join(list[:last], ", ") + " or " + list[last]
		}
		return strings.Join(list, "")
	}
	var parts []string
	if names := s.names(growing, true, ""); len(names) > 0 {
		parts = append(parts, "no growth of "+or(names))
	}
	if names := s.names(losing, true, "to "); len(names) > 0 {
		parts = append(parts, "little time lost "+or(names))
	}
	if len(parts) == 0 {
		return "nothing unusual"
	}
	return "nothing unusual: " + strings.Join(parts, ", and ")
}

// Blocks returns the symptoms as notes, with commands that show more.
func (s *Symptoms) Blocks() iter.Seq[Block] {
	list := []Block{Heading{[]Phrase{{s.Ref, Sep{}, Nanos(int64(s.Length))}}}}
	if len(s.Symptoms) == 0 {
		list = append(list, Title{s.nothing()})
	}
	var next []hint.Command
	for i := range s.Symptoms {
		list = append(list, Note{s.Symptoms[i].Phrase()})
		one := s.Symptoms[i].Next
		if one.Verb != "" && !slices.ContainsFunc(next, func(c hint.Command) bool { return c.Verb == one.Verb }) {
			next = append(next, one)
		}
	}
	if unknown := append(s.names(growing, false, "growth of "), s.names(losing, false, "time lost to ")...); len(unknown) > 0 {
		list = append(list, Note{Phrase{"not known from this recording: " + strings.Join(unknown, ", ")}})
	}
	for _, n := range s.Notes {
		list = append(list, Note{Phrase{n}})
	}
	if len(next) > 0 {
		list = append(list, Commands{Title: "try next", Items: next})
	}
	return blocks(list)
}
