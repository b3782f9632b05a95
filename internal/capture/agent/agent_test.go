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
	"strings"
	"testing"
	"time"
)

func TestSettings(t *testing.T) {
	old, none := "a=1,b=2", ""
	for _, s := range []Settings{
		{Dir: "/a,b=c", Every: 5 * time.Second, Block: 100 * time.Microsecond, Mutex: 100},
		{Dir: "x", Every: time.Minute, Trace: true, GoDbug: &old},
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
		Bytes int64 `json:"bytes"`
		Ended bool  `json:"ended"`
		CPU   int64 `json:"cpu_ns"`
	}
	text, err = os.ReadFile(filepath.Join(dir, Status))
	if err != nil || json.Unmarshal(text, &status) != nil || !status.Ended || status.Bytes == 0 || status.CPU <= 0 {
		t.Errorf("the status is %s, %v", text, err)
	}
}

// A program runs on when nothing can be written.
func TestRecorderWithoutRoom(t *testing.T) {
	r := &recorder{Settings: Settings{Dir: filepath.Join(t.TempDir(), "gone"), Every: time.Second}, start: time.Now()}
	r.write.dir = r.Dir
	r.snapshot(false, true)
	r.metrics()
	r.status()
	if r.write.failed != len(kinds) || r.write.err == nil {
		t.Errorf("%d files failed: %v", r.write.failed, r.write.err)
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
		{strings.TrimSuffix(asks, "\n\n"), false},
	}
	for _, tt := range tests {
		if got := asleep(tt.dump); got != tt.want {
			t.Errorf("asleep(%q) = %v", tt.dump, got)
		}
	}
}

func TestQuantiles(t *testing.T) {
	h := &metrics.Float64Histogram{Counts: []uint64{50, 49, 0, 1}, Buckets: []float64{0, 1, 2, 3, math.Inf(1)}}
	if p50, p99, top, ok := quantiles(h, nil); p50 != 1 || p99 != 2 || top != 3 || !ok {
		t.Errorf("quantiles are %v, %v, %v, %v", p50, p99, top, ok)
	}
	if _, _, _, ok := quantiles(h, h.Counts); ok {
		t.Error("there are quantiles of nothing")
	}
}

func TestAppendJSON(t *testing.T) {
	var got string
	if err := json.Unmarshal(appendJSON(nil, "a \"b\" \\ c\n\xff"), &got); err != nil || got != `a "b" \ c??` {
		t.Errorf("got %q, %v", got, err)
	}
}
