package capture

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/hone-perf/hone/internal/heapgraph/heapgraphtest"
	"github.com/hone-perf/hone/internal/recording"
)

// TestHolders writes who holds memory into a recording that can be read back.
func TestHolders(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what is known about a process comes from /proc")
	}
	h := heapgraphtest.Leaky(64, 3)
	h.PID = os.Getpid()
	dir := t.TempDir()
	made, out, err := Holders(Options{Dir: dir, Out: "x.hone"}, h)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := recording.Open(filepath.Join(dir, "x.hone"))
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	if out.Bytes == 0 || len(rec.Lost) > 0 || rec.Manifest.Program.Go != runtime.Version() {
		t.Errorf("%d bytes, lost %v, program %v", out.Bytes, rec.Lost, rec.Manifest.Program)
	}
	for _, r := range []*recording.Recording{made, rec} {
		picked, typ, err := r.Pick("", 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		read := picked.HeapRead()
		if typ != "held_space" || read == nil || read.Garbage.Objects != 2 || read.Pause != h.Pause || len(read.Notes) != 1 {
			t.Errorf("%s: %s, %+v", r.Ref, typ, read)
		}
		sum := int64(0)
		for _, v := range picked.Profile.Values(1) {
			sum += v
		}
		if want := int64(48 + 8*(32+208) + 64*4160 + 100*(48+1024) + 128 + 16 + 3*(96+16384) + 768 + 32*65536 + 64 + 96 + 64 + 512); sum != want {
			t.Errorf("%s: %d bytes, want %d", r.Ref, sum, want)
		}
	}
	if _, _, err := Holders(Options{Dir: dir, Out: "x.hone"}, h); err == nil {
		t.Error("a file was overwritten")
	}
}
