package capture

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/recording"
)

// The changes in the standard library are known to fit the Go that the tests run with: where one does not, recording goes on
// without, and nobody else would say so.
func TestOverlayFits(t *testing.T) {
	about, err := gocmd.Command{}.About(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	goroot := filepath.Clean(about.GOROOT)
	replace := gocmd.Overlay{}
	if _, err := addAgent(gocmd.About{GOROOT: goroot, GOOS: runtime.GOOS}, "", t.TempDir(), true, replace); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"runtime/pprof/pprof.go", "runtime/pprof/zz_hone.go", "runtime/pprof/zz_honerate.go", "runtime/pprof/proto.go",
		"runtime/pprof/zz_honepack.go", "os/signal/zz_hone.go", requestsFile, "net/http/server.go", agentFile("host.go"), agentFile("host_cpu.go"), agentFile("host_heap.go"),
	} {
		if replace[filepath.Join(goroot, "src", filepath.FromSlash(name))] == "" {
			t.Errorf("%s is not in the overlay", name)
		}
	}
}

// Another standard library is left as it is.
func TestOverlayMisfits(t *testing.T) {
	goroot := t.TempDir()
	for _, name := range []string{"runtime/pprof/pprof.go", "runtime/pprof/proto.go", "runtime/cpuprof.go", "runtime/mprof.go"} {
		file := filepath.Join(goroot, "src", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("package pprof\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	replace := gocmd.Overlay{}
	if _, err := addAgent(gocmd.About{GOROOT: goroot, GOOS: runtime.GOOS}, "", t.TempDir(), false, replace); err != nil {
		t.Fatal(err)
	}
	for name := range replace {
		if dir := filepath.Base(filepath.Dir(name)); dir == "pprof" || dir == "runtime" {
			t.Errorf("%s is in the overlay", name)
		}
	}
	for name, is := range map[string]bool{"host_nocpu.go": false, "host_cpu.go": true, "host_noheap.go": true, "host_heap.go": false} {
		if _, there := replace[filepath.Join(goroot, "src", filepath.FromSlash(agentFile(name)))]; there != is {
			t.Errorf("%s is in the overlay: %v", name, there)
		}
	}
}

// A program that keeps nothing has next to nothing alive while it is recorded, too: it collects its garbage as often as it
// would by itself.
func TestWeight(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	dir := work(t, "garbage.txtar")
	r, err := Record(t.Context(), Options{
		Out: filepath.Join(t.TempDir(), "a.hone"), Dir: dir, Build: &Build{Targets: []string{"."}, Dir: dir},
		Every: 500 * time.Millisecond,
	})
	if err != nil || r.Code != 0 {
		t.Fatalf("it ends with %d, %v", r.Code, err)
	}
	rec, err := recording.Open(r.File)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	series, err := recording.Metrics.Read(rec)
	if err != nil || series == nil {
		t.Fatalf("there are no metrics: %v", err)
	}
	// What the recorder needs for a moment may be alive at some times. There was no collection before the first one.
	least := math.Inf(1)
	for _, live := range series.Values("/gc/heap/live:bytes") {
		if live > 0 {
			least = min(least, live)
		}
	}
	if least > 600_000 {
		t.Errorf("there are always %.0f bytes alive", least)
	}
}
