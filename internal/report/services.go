package report

import (
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/unit"
)

// Services says what the services in a store cost.
type Services struct {
	From  time.Time    `json:"from"`
	To    time.Time    `json:"to"`
	Rows  []ServiceRow `json:"services"`
	Notes hint.Texts   `json:"notes,omitempty"`

	Cores []Series       `json:"-"` // of the most expensive ones: nanoseconds since From, CPU nanoseconds per second
	Next  []hint.Command `json:"-"`
}

// A ServiceRow is what a service cost on average.
type ServiceRow struct {
	Service    string    `json:"service"`
	Cores      float64   `json:"cores"`        // all its processes together
	Before     float64   `json:"cores_before"` // in the time before, which is as long; 0 if that has too few profiles to compare with
	Allocated  float64   `json:"allocated"`    // bytes a second
	Live       int64     `json:"live"`         // bytes of heap in use
	Goroutines int64     `json:"goroutines"`
	Processes  float64   `json:"processes"` // at the same time
	Profiles   int       `json:"profiles"`
	Kinds      []string  `json:"kinds"`              // of its profiles
	Measures   []string  `json:"measures"`           // such as cores, which its profiles have; values of others are unknown, and 0 above
	Versions   []string  `json:"versions,omitempty"` // those that came last at the end
	Running    int       `json:"running,omitempty"`  // how many of the last of them ran at the end, side by side
	Replaced   string    `json:"replaced,omitempty"` // the version whose place the last one took
	Last       time.Time `json:"last"`               // profile
}

// dateTimeZone is time.DateTime, with the zone in which it is.
const dateTimeZone = time.DateTime + " MST"

// Blocks returns the services as a table, with a chart of their cores.
func (s *Services) Blocks() iter.Seq[Block] {
	t := Table{Columns: []Column{
		{Name: "cores"}, {Name: "change"}, {Name: "allocated/s"}, {Name: "live heap"}, {Name: "goroutines"}, {Name: "processes"}, {Name: "profiles"},
		{Name: "last"}, {Name: "version"}, {Name: "service"},
	}}
	total := 0.0
	for _, r := range s.Rows {
		total += r.Cores
		var change any
		if r.Before > 0 && r.Cores > 0 {
			change = Relative(r.Cores / r.Before)
		}
		version := strings.Join(r.Versions[max(0, len(r.Versions)-r.Running):], ", ")
		if r.Replaced != "" {
			version = r.Replaced + " → " + version
		}
		var processes any // profiles without a duration say nothing about how many there are
		if r.Processes > 0 {
			processes = unit.Number(math.Round(r.Processes*10) / 10)
		}
		known := func(measure string, v any) any {
			if !slices.Contains(r.Measures, measure) {
				return nil
			}
			return v
		}
		t.Rows = append(t.Rows, []any{
			known("cores", unit.Cores(r.Cores)), change, known("allocated", unit.Size(int64(r.Allocated))), known("live", unit.Size(r.Live)),
			known("goroutines", int(r.Goroutines)), processes, r.Profiles,
			ago(s.To.Sub(r.Last)), version, r.Service,
		})
	}
	services := " services"
	if len(s.Rows) == 1 {
		services = " service"
	}
	head := Phrase{len(s.Rows), services, Sep{}, unit.Cores(total), " cores", Sep{}, s.From.Format(time.DateTime), " to ", s.To.Format(dateTimeZone)}
	list := []Block{Heading{[]Phrase{head}}, t}
	for _, one := range s.Cores {
		list = append(list, Chart{
			Title: "CPU time per second of " + one.Name, X: &Measure{Unit: "nanoseconds", Total: int64(s.To.Sub(s.From))}, To: int64(s.To.Sub(s.From)),
			Y: &Measure{Unit: "nanoseconds"}, Series: []Series{one},
		})
	}
	for _, n := range s.Notes {
		list = append(list, Note{Phrase{n}})
	}
	if len(s.Next) > 0 {
		list = append(list, Commands{Items: s.Next})
	}
	return blocks(list)
}

// ago returns how long ago something was, in days where hours are many.
func ago(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= 2*day {
		return unit.Counted(int(d/day), "day") + " ago"
	}
	return unit.Time(d.Truncate(time.Second)) + " ago"
}
