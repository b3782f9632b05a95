package waits

import (
	"bytes"
	"compress/gzip"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/testrun"
)

// recorded returns traces by name: of each version of Go, and of examples/shop.
func recorded(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("../exectrace/testdata/*.trace.gz")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d traces (%v), want one of each version of Go", len(files), err)
	}
	all := map[string][]byte{}
	for _, name := range files {
		f, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := gzip.NewReader(bytes.NewReader(f))
		if err != nil {
			t.Fatal(err)
		}
		if all[strings.TrimSuffix(filepath.Base(name), ".trace.gz")], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	if all["shop"], err = os.ReadFile("../../testdata/trace/shop.trace"); err != nil {
		t.Fatal(err)
	}
	return all
}

func open(t *testing.T, b []byte) *exectrace.Trace {
	t.Helper()
	tr, err := exectrace.Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// TestSpans holds that the spans of a goroutine follow each other without a gap, from its begin, or that of the trace, to its end.
func TestSpans(t *testing.T) {
	for name, b := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			for _, w := range []Window{{}, {From: 2e6, To: 20e6}, {From: 5e6}} {
				last := map[int64]Span{}
				walk := &Walk{Window: w}
				walk.Span = func(s *Span) {
					before, ok := last[s.Goroutine.ID]
					switch {
					case ok && before.To != s.From:
						t.Errorf("%v: goroutine %d: a span from %d to %d follows one to %d", w, s.Goroutine.ID, s.From, s.To, before.To)
					case !ok && s.Begun && s.From != w.From:
						t.Errorf("%v: goroutine %d is there from the begin, and its first span begins at %d", w, s.Goroutine.ID, s.From)
					case s.From < w.From || s.To > w.end():
						t.Errorf("%v: a span from %d to %d", w, s.From, s.To)
					}
					last[s.Goroutine.ID] = *s
				}
				if err := walk.Run(open(t, b)); err != nil {
					t.Fatal(err)
				}
				for id := range walk.Goroutines {
					if s, ok := last[id]; !ok || s.To != walk.End {
						t.Errorf("%v: the last span of goroutine %d, which has not ended, is to %d of %d", w, id, s.To, walk.End)
					}
				}
			}
		})
	}
}

// closedSpans adds up closed spans as go tool trace does, which leaves out what a goroutine did before it ran for the first time in the trace: firsts.
func closedSpans(t *testing.T, b []byte) (closed, firsts map[string]int64) {
	t.Helper()
	closed, firsts = map[string]int64{}, map[string]int64{}
	tr := open(t, b)
	ran := map[int64]bool{}
	walk := &Walk{}
	walk.Span = func(s *Span) {
		if s.Open {
			return
		}
		switch s.State {
		case exectrace.Waiting:
			switch s.Reason {
			case exectrace.Network:
				closed["net"] += s.Length()
			case exectrace.ChanReceive, exectrace.ChanSend, exectrace.Select, exectrace.Sync, exectrace.Cond:
				closed["sync"] += s.Length()
			}
		case exectrace.Syscall:
			closed["syscall"] += s.Length()
		case exectrace.Ready:
			if !ran[s.Goroutine.ID] {
				firsts["sched"] += s.Length()
				return
			}
			closed["sched"] += s.Length()
		case exectrace.Running:
			ran[s.Goroutine.ID] = true
		}
	}
	if err := walk.Run(tr); err != nil {
		t.Fatal(err)
	}
	return closed, firsts
}

// TestGoToolTrace holds that times are those of go tool trace -pprof, but for what docs/compat-trace.md lists.
func TestGoToolTrace(t *testing.T) {
	testrun.Nightly(t, "builds go tool trace")
	dir := t.TempDir()
	for name, b := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(dir, name+".trace")
			if err := os.WriteFile(file, b, 0o600); err != nil {
				t.Fatal(err)
			}
			closed, firsts := closedSpans(t, b)
			for _, kind := range []string{"net", "sync", "syscall", "sched"} {
				cmd := exec.Command("go", "tool", "trace", "-pprof="+kind, file)
				var said bytes.Buffer
				cmd.Stderr = &said
				out, err := cmd.Output()
				if err != nil {
					t.Fatalf("%v: %v\n%s", cmd, err, &said)
				}
				p, err := pprof.ParseData(out)
				if err != nil {
					t.Fatal(err)
				}
				want := int64(0)
				for _, s := range p.Sample {
					want += s.Value[1]
				}
				// It makes equal times of events differ by a nanosecond each.
				if got := closed[kind]; math.Abs(float64(want-got)) > 1e-3*float64(want)+20e3 {
					t.Errorf("%s: %d ns, and %d of goroutines that had not run before; go tool trace has %d", kind, got, firsts[kind], want)
				}
			}
		})
	}
}

// TestSummary holds that an overview adds up.
func TestSummary(t *testing.T) {
	for name, b := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			s, err := Summarize(open(t, b), Window{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			blocked := int64(0)
			for _, c := range s.Causes {
				blocked += c.Total
			}
			if blocked != s.Blocked {
				t.Errorf("blocked for %d, by cause %d", s.Blocked, blocked)
			}
			if s.Busy <= 0 || s.Busy > s.Capacity || s.IdleReady > s.Capacity-s.Busy {
				t.Errorf("busy for %d and idle beside goroutines that were ready for %d, of %d", s.Busy, s.IdleReady, s.Capacity)
			}
			if s.Procs < 2 || s.Procs > 3 || s.Cycles == 0 || s.Latency.Count == 0 || s.Latency.P50 > s.Latency.P99 || s.Latency.P99 > s.Latency.Max {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestWakers holds who is said to end waits in the trace of the shop.
func TestWakers(t *testing.T) {
	b := recorded(t)["shop"]
	list, all, err := Wakers(open(t, b), Window{}, func(f string) bool { return strings.Contains(f, "(*shop).price") })
	if err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	by := map[string]int64{}
	for _, w := range list {
		total += w.Total
		by[w.Name] += w.Count
	}
	if total != all.Total || by["main.(*shop).load"] == 0 || by["main.(*shop).price"] == 0 || len(by) != 2 {
		t.Errorf("%v of %d ns, all %d", by, total, all.Total)
	}
}

func TestNames(t *testing.T) {
	stack := func(names ...string) []exectrace.Frame {
		var list []exectrace.Frame
		for _, n := range names {
			list = append(list, exectrace.Frame{Func: n})
		}
		return list
	}
	serve := []string{"net/http.serverHandler.ServeHTTP", "net/http.(*conn).serve"}
	tests := []struct {
		name          string
		frames        []exectrace.Frame
		root, handler string
		idle          bool
		phase         Phase
	}{
		{"handler", stack(append([]string{"runtime.chanrecv1", "main.get", "main.page", "net/http.HandlerFunc.ServeHTTP", "net/http.(*ServeMux).ServeHTTP"}, serve...)...),
			"net/http.(*conn).serve", "main.page", false, Handling},
		{"type with ServeHTTP", stack(append([]string{"sync.(*Mutex).Lock", "main.(*api).ServeHTTP"}, serve...)...), "net/http.(*conn).serve", "main.(*api).ServeHTTP", false, Handling},
		{"keep-alive", stack("internal/poll.runtime_pollWait", "net.(*conn).Read", "net/http.(*connReader).Read", "bufio.(*Reader).fill", "bufio.(*Reader).Peek", "net/http.(*conn).serve"),
			"net/http.(*conn).serve", "", true, NextRequest},
		{"accept", stack("internal/poll.runtime_pollWait", "internal/poll.(*FD).Accept", "net.(*netFD).accept", "main.main", "runtime.main"), "main.main", "", true, NoPhase},
		{"worker", stack("runtime.chanrecv2", "main.worker"), "main.worker", "", true, NoPhase},
		{"main waits for results", stack("runtime.chanrecv1", "main.main", "runtime.main"), "main.main", "", false, NoPhase},
		{"wrapped", stack("runtime.chansend1", "main.send", "main.fill", "sync.(*WaitGroup).Go.func1"), "main.fill", "", false, NoPhase},
		{"go with arguments", stack("main.f", "main.start.gowrap2"), "main.f", "", false, NoPhase},
		{"labeled", stack("runtime.chanrecv2", "main.start.func1", "runtime/pprof.Do"), "main.start.func1", "", true, NoPhase},
		{"region", stack("main.f", "main.start.func1", "runtime/trace.WithRegion", "main.start.gowrap1"), "main.start.func1", "", false, NoPhase},
		{"HTTP/2", stack("main.page", "net/http.HandlerFunc.ServeHTTP", "net/http.serverHandler.ServeHTTP", "net/http.(*http2serverConn).runHandler"),
			"net/http.(*http2serverConn).runHandler", "main.page", false, OwnGoroutine},
		{"gin", stack(append([]string{"time.Sleep", "main.get", "github.com/gin-gonic/gin.(*Context).Next", "main.logged.func1", "github.com/gin-gonic/gin.(*Context).Next", "github.com/gin-gonic/gin.(*Engine).ServeHTTP"},
			serve...)...), "net/http.(*conn).serve", "main.get", false, Handling},
		{"middleware of gin", stack(append([]string{"internal/poll.(*FD).Write", "github.com/gin-gonic/gin.LoggerWithConfig.func1", "github.com/gin-gonic/gin.(*Context).Next", "github.com/gin-gonic/gin.(*Engine).ServeHTTP"},
			serve...)...), "net/http.(*conn).serve", "github.com/gin-gonic/gin.(*Engine).ServeHTTP", false, Handling},
		{"echo", stack(append([]string{"time.Sleep", "main.get", "github.com/labstack/echo/v4.(*Echo).add.func1", "main.main.func1.1", "github.com/labstack/echo/v4.(*Echo).ServeHTTP"}, serve...)...),
			"net/http.(*conn).serve", "main.get", false, Handling},
		{"chi", stack(append([]string{"time.Sleep", "main.get", "net/http.HandlerFunc.ServeHTTP", "github.com/go-chi/chi/v5.(*Mux).routeHTTP", "net/http.HandlerFunc.ServeHTTP", "github.com/go-chi/chi/v5.(*Mux).ServeHTTP"},
			serve...)...), "net/http.(*conn).serve", "main.get", false, Handling},
		{"time limit", stack("time.Sleep", "main.get", "net/http.HandlerFunc.ServeHTTP", "net/http.(*timeoutHandler).ServeHTTP.func1"), "net/http.(*timeoutHandler).ServeHTTP.func1", "main.get", false, NoPhase},
		{"nothing", nil, "", "", false, NoPhase},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if c := look(test.frames); c.root != test.root || c.handler.Name != test.handler || (c.idle || c.loop) != test.idle || c.phase != test.phase {
				t.Errorf("root %q, handler %q, idle %t, phase %d; want %q, %q, %t, %d", c.root, c.handler.Name, c.idle || c.loop, c.phase, test.root, test.handler, test.idle, test.phase)
			}
		})
	}
}

func TestIsRuntime(t *testing.T) {
	for kind, want := range map[string]bool{"": true, "runtime.bgsweep": true, "runtime.main": false, "main.main": false, "runtime/pprof.profileWriter": true,
		"runtime/trace.(*traceMultiplexer).startLocked.func1": true, "runtime/pprof.Do": false, "runtime/trace.WithRegion": false} {
		if got := IsRuntime(kind); got != want {
			t.Errorf("IsRuntime(%q) = %t, want %t", kind, got, want)
		}
	}
}

// TestWindowsAddUp holds that parts of a trace are what the whole is made of, though most of what is going on in a part began before it.
func TestWindowsAddUp(t *testing.T) {
	all := recorded(t)
	if !testing.Short() {
		all["seconds"] = ofSeconds(t)
	}
	for name, b := range all {
		t.Run(name, func(t *testing.T) {
			tr := open(t, b)
			figures := func(s *Summary) map[string]int64 {
				out := map[string]int64{
					"events": s.Events, "born": s.Born, "capacity": s.Capacity, "busy": s.Busy, "Go": s.Go, "collector": s.Collector, "idle while ready": s.IdleReady,
					"running": s.Running, "ready": s.Ready, "syscall": s.Syscall, "blocked": s.Blocked, "idle": s.Idle,
					"marking": s.Marking, "assist": s.Assist.Total, "assist running": s.AssistRunning, "assist ready": s.AssistReady, "assist waiting": s.AssistWaiting,
				}
				for _, r := range s.Stops {
					out["stopped for "+r.Name] = r.Total
				}
				for _, c := range s.Causes {
					out["waiting for "+c.Name] = c.Total
				}
				return out
			}
			of := func(w Window) *Summary {
				s, err := Summarize(tr, w, nil)
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			whole := of(Window{})
			want, got := figures(whole), map[string]int64{}
			const parts = 37
			for i := range int64(parts) {
				s := of(Window{whole.End * i / parts, whole.End * (i + 1) / parts})
				if i == parts-1 {
					s = of(Window{From: whole.End * i / parts})
				}
				if ran := s.Go + s.Collector + s.Tracer; s.Busy > s.Capacity || ran > s.Busy+s.Capacity/1000 {
					t.Errorf("from %d on, Ps are busy for %d, goroutines run for %d, of %d", s.Begin, s.Busy, ran, s.Capacity)
				}
				for k, v := range figures(s) {
					got[k] += v
				}
			}
			for k, v := range want {
				// Of a goroutine that is there since before the trace, not all parts know what it is for.
				if d := got[k] - v; d != 0 && (v == 0 || d > v/1000 || -d > v/1000) && k != "capacity" {
					t.Errorf("%s: %d in parts, %d as a whole", k, got[k], v)
				}
			}
			if d := want["capacity"] - got["capacity"]; d < -whole.End/100 || d > whole.End/100 {
				t.Errorf("capacity: %d in parts, %d as a whole", got["capacity"], want["capacity"])
			}
		})
	}
}
