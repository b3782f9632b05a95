package agent

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/profile"
)

func TestSettings(t *testing.T) {
	old, none := "a=1,b=2", ""
	for _, s := range []Settings{
		{Dir: "/a,b=c", Every: 5 * time.Second, Block: 100 * time.Microsecond, Mutex: 100},
		{Dir: "x", Every: time.Minute, Trace: true, GoDbug: &old},
		{Dir: "x", Every: time.Minute, Flight: 10 * time.Second, Queue: true, When: []Condition{{RSS, 50, true}, {Goroutines, 12345678, false}, {CPU, 0.5, false}, {Latency, 200e6, false}},
			Window: time.Minute, Cool: time.Second, Most: 3},
		{Dir: "x", Every: time.Minute, GoDbug: &none},
	} {
		if got, ok := parse(s.String()); !ok || !reflect.DeepEqual(got, s) {
			t.Errorf("parse(%q) = %+v, %v; want %+v", s, got, ok, s)
		}
	}
	for _, text := range []string{"", "dir=", "dir=x", "every=5s", "every=5s,dir="} {
		if s, ok := parse(text); ok {
			t.Errorf("parse(%q) = %+v", text, s)
		}
	}
}

// A program without what only the standard library can do is recorded all the same.
func TestRecorder(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(Env, Settings{Dir: dir, Every: time.Second, Block: time.Millisecond, Mutex: 10}.String())
	t.Setenv("GODEBUG", "x")
	defer debug.SetCrashOutput(nil, debug.CrashOptions{})
	defer runtime.SetBlockProfileRate(0)
	defer runtime.SetMutexProfileFraction(0)
	var end func()
	begin(host{
		atExit:   func(f func()) { end = f },
		hide:     func(f func()) { go f() },
		handlers: func(os.Signal) int { return 1 },
		profiler: usual,
	})
	if got, set := os.LookupEnv(Env); set {
		t.Errorf("what the program runs gets %s", got)
	}
	for start := time.Now(); time.Since(start) < 700*time.Millisecond; {
	}
	end()
	end() // a signal may come when the program ends by itself
	for _, pattern := range []string{
		"cpu/000000*-000000*.pb.gz", "heap/*.pb.gz", "goroutine/*.pb.gz", "block/*.pb.gz", "mutex/*.pb.gz", "threadcreate/*.pb.gz",
	} {
		if files, _ := filepath.Glob(filepath.Join(dir, pattern)); len(files) < 1 {
			t.Errorf("there are %d of %s", len(files), pattern)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*", ".*")); len(left) > 0 {
		t.Errorf("unfinished: %q", left)
	}
	text, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	last := map[string]float64{}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || len(lines) < 3 {
		t.Fatalf("%d lines of metrics: %v", len(lines), err)
	}
	want := []string{"t", "/sched/goroutines:goroutines", "/gc/heap/live:bytes", "/sched/latencies:seconds/p99"}
	if runtime.GOOS == "linux" {
		want = append(want, "process/rss", "process/cpu", "process/threads")
	}
	for _, name := range want {
		if last[name] <= 0 {
			t.Errorf("%s is %v", name, last[name])
		}
	}
	var status struct {
		Bytes int64   `json:"bytes"`
		Ended bool    `json:"ended"`
		CPU   int64   `json:"cpu_ns"`
		Cycle float64 `json:"cycle"`
	}
	text, err = os.ReadFile(filepath.Join(dir, Status))
	if err != nil || json.Unmarshal(text, &status) != nil || !status.Ended || status.Bytes == 0 || status.CPU <= 0 {
		t.Errorf("the status is %s, %v", text, err)
	}
	// The collection that the recorder asks for comes after the last line, and the status says which one that is.
	begin := map[string]float64{}
	if err := json.Unmarshal([]byte(lines[0]), &begin); err != nil {
		t.Fatal(err)
	}
	const forced, total = "/gc/cycles/forced:gc-cycles", "/gc/cycles/total:gc-cycles"
	if last[forced] != begin[forced] || status.Cycle <= last[total] {
		t.Errorf("the program had %v cycles forced, %v in all; that of the recorder was %v", last[forced]-begin[forced], last[total], status.Cycle)
	}
}

// TestLastHeap holds that the last heap profile shows what was live at the end of the program, and not two collections before.
func TestLastHeap(t *testing.T) {
	r := &recorder{Settings: Settings{Dir: t.TempDir()}, start: time.Now()}
	r.write.files.dir, r.write.now = r.Dir, r.since
	r.write.begin()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // no collection but that of the recorder
	early := make([]byte, 8<<20)
	runtime.GC() // as long as there was none, a heap profile has all
	late := holdLate()
	r.snapshot(atEnd)
	runtime.KeepAlive(early)
	runtime.KeepAlive(late)
	files, _ := filepath.Glob(filepath.Join(r.Dir, "heap", "*"))
	if len(files) != 1 || r.write.err != nil {
		t.Fatalf("%q, %v", files, r.write.err)
	}
	f, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	space, err := p.SampleIndex("inuse_space")
	if err != nil {
		t.Fatal(err)
	}
	var live int64
	for i, n := range p.Values(space) {
		for _, l := range p.Stack(i, nil) {
			for _, line := range p.Locations[l].Lines {
				if strings.HasSuffix(p.Functions[line.Function].Name, ".holdLate") {
					live += n
				}
			}
		}
	}
	if live < 8<<20 {
		t.Errorf("%d bytes are live that holdLate allocated", live)
	}
}

// holdLate allocates what no collection has seen yet.
//
//go:noinline
func holdLate() []byte { return make([]byte, 8<<20) }

func TestAlarm(t *testing.T) {
	a := Alarm{Conditions: []Condition{{RSS, 50, true}, {Goroutines, 10, false}, {Cgroup, 50, true}}, Cooldown: time.Second, Left: 3}
	type step struct {
		at              time.Duration
		rss, goroutines float64
		want            string // conditions that go off
	}
	for _, s := range []step{
		{0, 40, 10, ""},
		{100, 50, 10, ""}, // not above
		{200, 51, 11, "0 1"},
		{300, 60, 11, ""}, // too soon
		{1200, 60, 11, "0"},
		{3000, 55, 9, ""},
		{4000, 60, 11, ""}, // as bad as before
		{5000, 60, 12, "1"},
		{9000, 99, 99, ""}, // no more
	} {
		before := len(a.Troubles)
		off := a.Look(s.at*time.Millisecond, func(of string) (v, most float64, known bool) {
			switch of {
			case RSS:
				return s.rss, 100, true
			case Goroutines:
				return s.goroutines, 0, true
			}
			return 1, 0, true // without a limit there is no share
		})
		var got []string
		for _, tr := range a.Troubles[before:] {
			got = append(got, strconv.Itoa(tr.Condition))
		}
		if strings.Join(got, " ") != s.want || off != (s.want != "") {
			t.Errorf("after %d ms %q went off (%v), want %q", s.at, got, off, s.want)
		}
	}
	if a.Missed != 1 || !reflect.DeepEqual(a.Blind(), []int{2}) || a.Troubles[0].Limit != 50 || a.Troubles[0].Value != 51 {
		t.Errorf("missed %d, blind to %v, the first trouble was %+v", a.Missed, a.Blind(), a.Troubles[0])
	}
}

func TestWindow(t *testing.T) {
	w := Window{For: 10 * time.Second}
	dir := t.TempDir()
	add := func(from, to time.Duration) {
		name := filepath.Join(dir, number(from*time.Second))
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		w.Add(name, from*time.Second, to*time.Second)
	}
	left := func(want ...time.Duration) {
		t.Helper()
		files, _ := filepath.Glob(filepath.Join(dir, "*"))
		var names []string
		for _, f := range want {
			names = append(names, filepath.Join(dir, number(f*time.Second)))
		}
		if !slices.Equal(files, names) {
			t.Errorf("there are %q, want %q", files, names)
		}
	}
	for s := range time.Duration(30) {
		add(s, s+1)
		if s == 14 {
			w.Pin(14500 * time.Millisecond) // within what is added before it ends
		}
		w.Drop((s + 1) * time.Second)
	}
	left(4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29)
	(&Window{}).Add("x", 0, 0) // of a recording that keeps all
}

// A program runs on when nothing can be written, and the status, which has its room, says since when.
func TestRecorderWithoutRoom(t *testing.T) {
	dir := t.TempDir()
	r := &recorder{Settings: Settings{Dir: dir, Every: time.Second}, start: time.Now().Add(-time.Minute)}
	r.write.files.dir, r.write.now = r.Dir, r.since
	r.write.begin()
	for _, kind := range kinds {
		if err := os.Remove(filepath.Join(dir, kind)); err != nil {
			t.Fatal(err)
		}
	}
	r.snapshot(atEnd)
	r.metrics()
	r.status()
	if r.write.failed != len(kinds) || r.write.err == nil {
		t.Errorf("%d files failed: %v", r.write.failed, r.write.err)
	}
	var status struct {
		Failed int
		Error  string
		Denied bool
		Since  time.Duration
	}
	text, err := os.ReadFile(filepath.Join(dir, Status))
	if err != nil || json.Unmarshal(text, &status) != nil {
		t.Fatalf("the status is %s, %v", text, err)
	}
	if status.Denied {
		t.Error("no rights were missing")
	}
	if status.Failed != len(kinds) || status.Error == "" || status.Since < time.Minute {
		t.Errorf("the status is %s", text)
	}
	if len(text) != statusRoom {
		t.Errorf("the status has %d bytes, want the %d that it has had from the start", len(text), statusRoom)
	}
}

// The status says when rights were missing.
func TestRecorderDenied(t *testing.T) {
	r := &recorder{Settings: Settings{Dir: t.TempDir()}, start: time.Now()}
	r.write.files.dir, r.write.now = r.Dir, r.since
	r.write.begin()
	r.write.check(&os.PathError{Op: "open", Path: "x", Err: os.ErrPermission})
	r.status()
	var status struct{ Denied bool }
	text, err := os.ReadFile(filepath.Join(r.Dir, Status))
	if err != nil || json.Unmarshal(text, &status) != nil || !status.Denied {
		t.Errorf("the status is %s, %v", text, err)
	}
}

// A trace ends where the first piece of it could not be written.
func TestTraceWithoutRoom(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "trace.out"))
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{start: time.Now()}
	r.write.now = r.since
	to := &traceFile{r: r, f: f}
	to.Write([]byte("one"))
	f.Close() // as when there is no room
	to.Write([]byte("two"))
	to.Write([]byte("three"))
	for failed := 0; failed == 0; {
		r.mu.Lock()
		failed = r.write.failed
		r.mu.Unlock()
	}
	if text, _ := os.ReadFile(f.Name()); string(text) != "one" || r.write.failed != 1 {
		t.Errorf("the trace has %q, %d parts failed", text, r.write.failed)
	}
}

func TestAsleep(t *testing.T) {
	const asks = "goroutine 9 [running]:\nmain.ask()\n\n"
	tests := []struct {
		dump string
		want bool
	}{
		{asks + "goroutine 1 [sync.WaitGroup.Wait]:\nsync.Wait()\n\ngoroutine 2 [chan receive, 5 minutes]:\nmain.f()\n", true},
		{asks + "goroutine 1 [select (no cases), locked to thread]:\nmain.main()\n", true},
		{asks + "goroutine 1 [chan receive]:\nmain.main()\n\ngoroutine 2 [IO wait]:\nnet.f()\n", false},
		{asks + "goroutine 1 [runnable]:\nmain.main()\n", false},
		{asks + "goroutine 1 [sleep]:\nmain.main()\n", false},
		{asks + "goroutine 1 [semacquire, 2 minutes]:\nsync.runtime_Semacquire(0xc0)\n\t/goroot/src/runtime/sema.go:71\nmain.main()\n", true},
		{asks + "goroutine 1 [semacquire]:\nruntime.ReadMemStats(0xc0)\n\t/goroot/src/runtime/mstats.go:358\nmain.main()\n", false},
		{asks + "goroutine 1 [semacquire]:\nruntime/metrics.runtime_readMetrics(0xc0)\n\nmain.main()\n", false},
		{strings.TrimSuffix(asks, "\n\n"), true}, // main called runtime.Goexit, and there is nobody else
	}
	for _, tt := range tests {
		if got := asleep(tt.dump); got != tt.want {
			t.Errorf("asleep(%q) = %v", tt.dump, got)
		}
	}
}

func TestNextShot(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	for _, tt := range []struct{ now, every, want time.Duration }{
		{250 * ms, 5 * s, s}, {1004 * ms, 5 * s, 5 * s}, {5001 * ms, 5 * s, 10 * s}, {12 * s, 5 * s, 15 * s},
		{250 * ms, 500 * ms, 500 * ms}, {999 * ms, s, s}, {1001 * ms, s, 2 * s},
	} {
		if got := nextShot(tt.now, tt.every); got != tt.want {
			t.Errorf("after %s, every %s: %s, want %s", tt.now, tt.every, got, tt.want)
		}
	}
}

// Where goroutines wait for each other all the time, waiting is looked at now and then.
func TestWaiting(t *testing.T) {
	defer runtime.SetBlockProfileRate(0)
	var rate uint64 // as the runtime would have it
	r := &recorder{host: host{blockRate: &rate}, Settings: Settings{Block: time.Millisecond}}
	w := &r.waits
	rate = 7
	w.begin(r)
	var at time.Duration
	var went uint64
	var all int64
	w.all = func() int64 { return all }
	w.had = 0
	next := func(switches uint64, waits int64) bool {
		rate = w.set // the runtime does what it is told
		at += time.Second
		went += switches
		all += waits
		w.next(r, at, went)
		return w.skip == 0
	}
	const many = 2 * often
	for i, second := range []struct {
		went uint64
		all  int64
		on   bool
	}{
		{10, 10, true}, {many / every, 10, true}, {10, many, true}, // it takes both
		{many / every, many, false}, {many / every, 0, false}, {many / every, 0, false}, {many / every, 0, false},
		{many / every, 0, true}, {many / every, many, false}, {10, 0, true}, {10, 10, true},
	} {
		if on := next(second.went, second.all); on != second.on {
			t.Errorf("after %d s it is on: %v", i+1, on)
		}
	}
	if len(r.write.notes) != 1 {
		t.Errorf("it says %q", r.write.notes)
	}

	// One that the program set is left alone.
	next(10, 0)
	rate = 123
	w.next(r, at+time.Second, went+many)
	if all += many; w.skip != 0 {
		t.Error("it turns off what the program turned on")
	}
}

// waited counts what the profile has.
func TestWaited(t *testing.T) {
	runtime.SetBlockProfileRate(1)
	defer runtime.SetBlockProfileRate(0)
	before := waited()
	for range 100 {
		c := make(chan bool)
		go func() {
			time.Sleep(time.Microsecond)
			c <- true
		}()
		<-c
	}
	if n := waited() - before; n < 50 {
		t.Errorf("it says that goroutines waited %d times", n)
	}
}

func TestQuantiles(t *testing.T) {
	h := &metrics.Float64Histogram{Counts: []uint64{50, 49, 0, 1}, Buckets: []float64{0, 1, 2, 3, math.Inf(1)}}
	if p50, p99, top, n := quantiles(h, nil); p50 != 1 || p99 != 2 || top != 3 || n != 100 {
		t.Errorf("quantiles are %v, %v, %v of %d", p50, p99, top, n)
	}
	if _, _, _, n := quantiles(h, h.Counts); n != 0 {
		t.Errorf("there are %d of nothing", n)
	}
}

func TestAppendJSON(t *testing.T) {
	var got string
	if err := json.Unmarshal(appendJSON(nil, "a \"b\" \\ c\n\xffkäse\u0085"), &got); err != nil || got != `a "b" \ c??käse?` {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestAppendFloat holds that CPU times of a program that has run for days differ from one second to the next by what it used.
func TestAppendFloat(t *testing.T) {
	for _, tt := range []struct {
		before, after float64
		want          string
	}{
		{0.25, 0.75, "0.75"},
		{512345.25, 512345.5, "512345.5"},
		{2.56e-07, 2.88e-07, "2.88e-07"},
		{1, math.NaN(), "0"},
		{1, math.Inf(1), "0"},
	} {
		got := string(appendFloat(nil, tt.after))
		if got != tt.want {
			t.Errorf("%v is written as %s, want %s", tt.after, got, tt.want)
		}
		if got == string(appendFloat(nil, tt.before)) {
			t.Errorf("%v and %v are both written as %s", tt.before, tt.after, got)
		}
	}
}
