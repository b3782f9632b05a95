package loadview

import (
	"math"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/report"
)

// TestCostTable attributes each cost to the innermost function that is not of the standard library, and to nobody twice.
func TestCostTable(t *testing.T) {
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}})
	at := map[string]uint32{}
	location := func(name string) uint32 {
		l, ok := at[name]
		if !ok {
			l = uint32(len(b.Locations))
			at[name] = l
			b.Functions = append(b.Functions, profile.Function{Name: name, SystemName: name})
			b.Locations = append(b.Locations, profile.Location{Mapping: profile.NoMapping, Lines: []profile.Line{{Function: l}}})
		}
		return l
	}
	add := func(v int64, leafFirst ...string) {
		var stack []uint32
		for _, name := range leafFirst {
			stack = append(stack, location(name))
		}
		b.Add(stack, b.Labels(nil), []int64{v})
	}
	const serve = "net/http.(*conn).serve"
	add(1, "runtime.mallocgc", "strings.Repeat", "example.com/app.pad", "example.com/app.handle", "net/http.HandlerFunc.ServeHTTP", serve)
	add(2, "example.com/app.handle", serve)
	add(4, "runtime.scanobject", "runtime.gcAssistAlloc", "runtime.mallocgc", "example.com/app.pad", "example.com/app.pad", "example.com/app.handle", serve)
	add(8, "internal/runtime/syscall.Syscall6", "syscall.write", "net.(*conn).Write", serve)
	add(16, "runtime.scanobject", "runtime.gcDrain", "runtime.gcBgMarkWorker")
	add(32, "runtime.findRunnable", "runtime.schedule", "runtime.mcall")
	add(64, "time.Now", "example.com/app.tick")
	add(128, "internal/runtime/syscall.EpollWait", "runtime.netpoll", "runtime.findRunnable", "runtime.schedule")
	add(256, "sync.(*Mutex).Lock", "log.(*Logger).output", "example.com/app.handle", serve)
	b.Renumber()
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	table := newCostTable()
	sum := table.add(p, "cpu", 10, false,
		func(f *report.FunctionCost) *float64 { return &f.CPU }, func(f *report.FunctionCost) *float64 { return &f.With })
	want := costSum{all: 5110, serving: 2710, assisting: 40, other: 640, collecting: 160, scheduling: 1600, locks: 2560}
	if sum != want {
		t.Errorf("the sums are %+v, want %+v", sum, want)
	}
	for name, want := range map[string][2]float64{
		"example.com/app.pad": {50, 50}, "example.com/app.handle": {2580, 2630}, "example.com/app.tick": {640, 640},
		"(net/http)": {80, 80}, rowCollector: {160, 160}, rowScheduler: {1600, 1600},
	} {
		if r := table.rows[name]; r == nil || r.CPU != want[0] || r.With != want[1] {
			t.Errorf("%s: %+v, want %v", name, r, want)
		}
		delete(table.rows, name)
	}
	for name := range table.rows {
		t.Errorf("there is a row %s", name)
	}

	for name, want := range map[string]float64{"strings.Repeat": 10, "time.Now": 640, "log.(*Logger).output": 2560} {
		if r := table.calls[name]; r == nil || r.CPU != want {
			t.Errorf("%s: %+v, want %v", name, r, want)
		}
		delete(table.calls, name)
	}
	for name := range table.calls {
		t.Errorf("%s is called, it says", name)
	}

	served := newCostTable()
	served.add(p, "cpu", 1, true, func(f *report.FunctionCost) *float64 { return &f.Blocked }, func(f *report.FunctionCost) *float64 { return &f.AllW })
	for _, name := range []string{"example.com/app.tick", rowCollector} {
		if served.rows[name] != nil {
			t.Errorf("%s serves no request, but has a row", name)
		}
	}
}

func TestSampleError(t *testing.T) {
	// A quarter of 1200 samples: 300 ± 1.96·√(1200·¼·¾).
	if got, want := sampleError(25, 100, 1200), 100*1.96*15/1200; math.Abs(got-want) > 1e-9 {
		t.Errorf("%v, want %v", got, want)
	}
	if got := sampleError(1, 0, 0); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
}
