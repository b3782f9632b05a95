package capture

import (
	"bytes"
	"context"
	"encoding/json"
	_ "expvar"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"path"
	"path/filepath"
	rpprof "runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/recording"
)

func TestMemStatsOfHeap(t *testing.T) {
	var text bytes.Buffer
	if err := rpprof.Lookup("heap").WriteTo(&text, 1); err != nil {
		t.Fatal(err)
	}
	got := memStatsOfHeap(text.Bytes())
	for _, name := range []string{"Sys", "HeapAlloc", "HeapInuse", "StackInuse", "StackSys", "MSpanSys", "NextGC"} {
		if got[name] <= 0 {
			t.Errorf("%s is %v", name, got[name])
		}
	}
	named := ofMemStats(got)
	// The parts are the whole, as in runtime/metrics.
	sum := 0.0
	for name, v := range named {
		if v < 0 {
			t.Errorf("%s is %v", name, v)
		}
		if len(name) > 16 && name[:16] == "/memory/classes/" && name != "/memory/classes/total:bytes" {
			sum += v
		}
	}
	if total := named["/memory/classes/total:bytes"]; sum != total {
		t.Errorf("parts add up to %.0f, and there are %.0f", sum, total)
	}
	for _, text := range []string{"", "heap profile: 1", "\n# runtime.MemStats\n# Stack = x / y\n# Sys = \n"} {
		if got := ofMemStats(memStatsOfHeap([]byte(text))); got != nil {
			t.Errorf("%q says %v", text, got)
		}
	}
}

func TestGoroutinesIn(t *testing.T) {
	for text, want := range map[string]float64{
		"<tr><td>12</td><td><a href='goroutine?debug=1'>goroutine</a></td></tr>":       12,
		"<tr><td align=right>7<td><a href=\"goroutine?debug=1\">goroutine</a>":         7,
		"<tr><td>3</td><td><a href='heap?debug=1'>heap</a></td></tr>":                  -1,
		"<a href=\"goroutine?debug=2\">full goroutine stack dump</a>":                  -1,
		"<tr><td>99999999999999999999999999</td><td><a href='goroutine?debug=1'>x</a>": 1e26,
	} {
		got, ok := goroutinesIn([]byte(text))
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q has %v, %v; want %v", text, got, ok, want)
		}
	}
}

// What servers say of their memory comes from where they say it, and it is said where they do not.
func TestFetchMetrics(t *testing.T) {
	needs(t)
	profiles := func(mux *http.ServeMux, heap http.HandlerFunc) {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		if heap != nil {
			mux.HandleFunc("/debug/pprof/heap", heap)
		}
	}
	for name, tt := range map[string]struct {
		heap http.HandlerFunc
		vars bool
		note bool
	}{
		"vars":    {http.NotFound, true, false},
		"heap":    {nil, false, false},
		"neither": {http.NotFound, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mux := http.NewServeMux()
			profiles(mux, tt.heap)
			if tt.vars {
				mux.Handle("/debug/vars", http.DefaultServeMux)
			}
			srv := httptest.NewServer(mux)
			defer srv.Close()
			dir := t.TempDir()
			out, err := Fetch(context.Background(), Options{Out: "a.hone", Dir: dir, For: 2 * interval}, Server{Target: srv.URL})
			if err != nil {
				t.Fatal(err)
			}
			r, err := recording.Open(filepath.Join(dir, out.File))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			s, err := recording.Metrics.Read(r)
			if err != nil || s == nil || len(s.Times) == 0 {
				t.Fatalf("there are no metrics: %v", err)
			}
			if v, ok := s.At(recording.NumGoroutine, 0); !ok || v < 1 {
				t.Errorf("there are %v goroutines, %v", v, ok)
			}
			if v, ok := s.At("/memory/classes/heap/objects:bytes", 0); ok == tt.note || ok && v < 1<<10 {
				t.Errorf("the heap has %v bytes, %v", v, ok)
			}
			// What the server allocates by being asked is seen at the end, also where memory is not asked for in between.
			first, _ := s.At("/gc/heap/allocs:bytes", 0)
			if v, ok := s.At("/gc/heap/allocs:bytes", len(s.Times)-1); ok == tt.note || ok && v <= first {
				t.Errorf("it had allocated %v bytes at first and %v at last, %v", first, v, ok)
			}
			noted := false
			for _, n := range r.Manifest.Notes {
				noted = noted || bytes.Contains([]byte(n), []byte("how it uses memory"))
			}
			if noted != tt.note {
				t.Errorf("notes are %q", r.Manifest.Notes)
			}
		})
	}
}

// TestFetchCollectsOnce holds that a server is made to collect its garbage once, at the end: by the profile of leaked goroutines where it has one, and
// else by that of the heap.
func TestFetchCollectsOnce(t *testing.T) {
	needs(t)
	for name, leaks := range map[string]bool{"leaks": true, "no leaks": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var asked []string
			mux := http.NewServeMux()
			mux.HandleFunc("/debug/pprof/", func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				kind := path.Base(r.URL.Path)
				if r.FormValue("debug") != "" {
					return
				}
				switch kind {
				case "pprof":
					fmt.Fprint(w, "<a href='heap?debug=1'> <a href='goroutine?debug=1'>")
					if leaks {
						fmt.Fprint(w, "<a href='goroutineleak?debug=1'>")
					}
				case recording.Leaks:
					kind = recording.Goroutine // as good as any
					fallthrough
				case recording.Heap, recording.Goroutine:
					asked = append(asked, path.Base(r.URL.RequestURI()))
					rpprof.Lookup(kind).WriteTo(w, 0)
				default:
					http.NotFound(w, r)
				}
			})
			srv := httptest.NewServer(mux)
			defer srv.Close()
			if _, err := Fetch(context.Background(), Options{Out: "a.hone", Dir: t.TempDir(), For: time.Second, Every: 300 * time.Millisecond}, Server{Target: srv.URL}); err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			defer mu.Unlock()
			collects, heap := "heap?gc=1", "heap?gc=1"
			if leaks {
				collects, heap = recording.Leaks, "heap"
			}
			var forced []int
			for i, what := range asked {
				if what == recording.Leaks || strings.Contains(what, "gc=") {
					forced = append(forced, i)
				}
			}
			if len(forced) != 1 || asked[forced[0]] != collects || !slices.Contains(asked[:forced[0]], "heap") || !slices.Contains(asked[forced[0]:], heap) {
				t.Errorf("the server was asked for %q; want %s once, and then the heap", asked, collects)
			}
		})
	}
}

// TestLinesOfTime holds that the times of metrics do not go back: readers leave such lines out.
func TestLinesOfTime(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), recording.MetricsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	g := gauge{fetched: &fetched{session: &session{}}, file: file}
	for _, at := range []time.Duration{3 * time.Second, time.Second, 4 * time.Second} {
		g.line(at, nil)
	}
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	var got []float64
	for line := range bytes.Lines(text) {
		var of map[string]float64
		if err := json.Unmarshal(line, &of); err != nil {
			t.Fatal(err)
		}
		got = append(got, of["t"])
	}
	if want := []float64{3000, 3000, 4000}; !slices.Equal(got, want) {
		t.Errorf("the lines are of %v, want %v", got, want)
	}
}
