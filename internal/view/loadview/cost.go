package loadview

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// A callKind is what a frame implies about its stack.
type callKind uint8

const (
	collects callKind = 1 << iota // background garbage collection
	assists                       // GC assist
	serves                        // serves a request
	users                         // a function outside of the standard library and the recorder
	beyond                        // a function outside of package runtime
)

// servers are the known functions in which goroutines begin to serve a request.
var servers = []string{
	"net/http.(*conn).serve", "http2.(*serverConn).runHandler", "http.(*http2serverConn).runHandler",
	"google.golang.org/grpc.(*Server).handleStream", "github.com/valyala/fasthttp.(*workerPool).workerFunc",
}

func kindOf(f *profile.Function) (k callKind) {
	switch f.Name {
	case "runtime.gcBgMarkWorker", "runtime.bgsweep", "runtime.bgscavenge":
		return collects
	case "runtime.gcAssistAlloc":
		return assists
	}
	pkg := f.Package()
	if pkg == "runtime" || strings.HasPrefix(pkg, "runtime/internal/") || strings.HasPrefix(pkg, "internal/runtime/") || pkg == "" {
		return 0
	}
	k = beyond
	if !calls.IsStd(pkg) && !strings.HasPrefix(f.Name, recording.RecorderPackage+".") {
		k |= users
	}
	if slices.ContainsFunc(servers, func(s string) bool { return strings.HasSuffix(f.Name, s) }) {
		k |= serves
	}
	return k
}

// Rows for stacks without a function of the user.
const (
	rowCollector = "(garbage collection)"
	rowScheduler = "(scheduler)"
	rowRecorder  = "(recorder)"
	rowUnseen    = "(not in the profile)"
)

// A costTable adds up what functions cost.
type costTable struct {
	rows  map[string]*report.FunctionCost
	calls map[string]*report.FunctionCost // functions of the standard library that user functions call, with their callees
}

func newCostTable() *costTable {
	return &costTable{make(map[string]*report.FunctionCost), make(map[string]*report.FunctionCost)}
}

// A costSum is the totals of a profile.
type costSum struct {
	all, serving, assisting, other, collecting, scheduling, recording float64
	locks                                                             float64 // part of serving: the innermost function is a lock
}

// row returns the row of a function.
func (t *costTable) row(name string) *report.FunctionCost { return rowIn(t.rows, name) }

func rowIn(rows map[string]*report.FunctionCost, name string) *report.FunctionCost {
	r := rows[name]
	if r == nil {
		r = &report.FunctionCost{Name: name}
		rows[name] = r
	}
	return r
}

// add adds the values of a sample type, times factor. Self and with return the fields for the cost of a function without and
// with its callees. With served, only samples of goroutines that serve requests count. The cost of a sample belongs to the
// innermost function that is not of the standard library.
func (t *costTable) add(p *profile.Profile, typ string, factor float64, served bool, self, with func(*report.FunctionCost) *float64) (sum costSum) {
	k := slices.IndexFunc(p.SampleTypes, func(t profile.ValueType) bool { return t.Type == typ })
	if k < 0 {
		return sum
	}
	kinds := make([]callKind, len(p.Functions))
	for i := range p.Functions {
		kinds[i] = kindOf(&p.Functions[i])
	}
	var buf []uint32
	seen := make(map[string]bool)
	for i, value := range p.Values(k) {
		v := float64(value) * factor
		if v == 0 {
			continue
		}
		sum.all += v
		if p.LabelSets()[p.Label(i)].Has(recording.OverheadLabel, recording.Recorder) {
			sum.recording += v
			if !served {
				*self(t.row(rowRecorder)) += v
			}
			continue
		}
		buf = p.Stack(i, buf[:0])
		all, outermost, own, called := callKind(0), "", "", ""
		clear(seen)
		for _, l := range buf {
			for _, line := range p.Locations[l].Lines {
				f := &p.Functions[line.Function]
				kind := kinds[line.Function]
				all |= kind
				if kind&beyond != 0 {
					outermost = f.Package()
				}
				if kind&users != 0 {
					if own == "" {
						own = f.Name
					}
					seen[f.Name] = true
				}
				if own == "" && kind&beyond != 0 {
					called = f.Name
				}
			}
		}
		if served && all&serves == 0 {
			continue
		}
		switch {
		case all&collects != 0:
			own = rowCollector
			sum.collecting += v
		case all&beyond == 0:
			own = rowScheduler
			sum.scheduling += v
		case all&serves != 0:
			sum.serving += v
			if all&assists != 0 {
				sum.assisting += v
			}
			if leaf := leafOf(p, buf); strings.HasPrefix(leaf, "sync.(*Mutex)") || strings.HasPrefix(leaf, "sync.(*RWMutex)") || strings.HasPrefix(leaf, "internal/sync.(*Mutex)") {
				sum.locks += v
			}
		default:
			sum.other += v
		}
		if own == "" {
			own = "(" + outermost + ")"
		} else if called != "" {
			*self(rowIn(t.calls, called)) += v
		}
		*self(t.row(own)) += v
		seen[own] = true
		for name := range seen {
			*with(t.row(name)) += v
		}
	}
	return sum
}

// leafOf returns the innermost function of a stack that is not of package runtime.
func leafOf(p *profile.Profile, stack []uint32) string {
	for _, l := range stack {
		for _, line := range p.Locations[l].Lines {
			if f := &p.Functions[line.Function]; f.Package() != "runtime" {
				return f.Name
			}
		}
	}
	return ""
}

// costRows is the maximum number of functions that are shown.
const costRows = 20

// dearest returns the functions that cost most, by the largest share that they have of anything, and how many there are
// beside them.
func dearest(rows map[string]*report.FunctionCost, cpu, bytes, blocked float64) (out []report.FunctionCost, left int) {
	const least = 0.005
	share := func(part, all float64) float64 {
		if all <= 0 {
			return 0
		}
		return part / all
	}
	type ranked struct {
		*report.FunctionCost
		most float64
	}
	var all []ranked
	for _, r := range rows {
		// A function that only calls others is shown if its callees are most of the work.
		most := max(share(r.CPU, cpu), share(r.Bytes, bytes), share(r.Blocked, blocked), share(r.With, cpu)/10)
		if most >= least {
			all = append(all, ranked{r, most})
		} else {
			left++
		}
	}
	order.Stable(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.most, a.most), strings.Compare(a.Name, b.Name))
	})
	if len(all) > costRows {
		left += len(all) - costRows
		all = all[:costRows]
	}
	order.Stable(all, func(a, b ranked) int { return cmp.Or(cmp.Compare(b.CPU, a.CPU), cmp.Compare(b.With, a.With)) })
	for _, r := range all {
		out = append(out, *r.FunctionCost)
	}
	return out, left
}

// sampleError is the 95% sampling error of the cost of part of the samples.
func sampleError(part, all float64, samples int64) float64 {
	if all <= 0 || samples <= 0 {
		return 0
	}
	p := min(part/all, 1)
	n := float64(samples)
	return 1.96 * all * math.Sqrt(max(p*(1-p), 1/n)/n)
}
