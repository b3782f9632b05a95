package cli

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/recording"
)

// A long recording is a large file of small profiles. Frequent collections are right for a large profile, but here they would take most of the time.
func TestProfileInRecording(t *testing.T) {
	const part = 1 << 20
	dir := t.TempDir()
	put := func(name string, size int) {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		text := make([]byte, size)
		rng := rand.NewChaCha8([32]byte{})
		rng.Read(text) // random bytes do not compress
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10 * time.Second / time.Second {
		put(recording.PartFile(recording.CPU, i*time.Second, (i+1)*time.Second), part)
	}
	put(recording.TraceFile, 12<<20)
	file := filepath.Join(dir, "x.hone")
	if _, err := recording.Pack(dir, file, &recording.Manifest{Format: recording.Format, KeepSecrets: true}); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if n, packed := profileIn([]string{"top", file}); n != part || !packed || st.Size() < manyBytes {
		t.Errorf("of a recording of %d bytes the largest profile has %d, packed %v; want %d", st.Size(), n, packed, part)
	}
	gz := filepath.Join(dir, "cpu.pb.gz")
	head := append([]byte("\x1f\x8b"), bytes.Repeat([]byte{1}, manyBytes)...)
	if err := os.WriteFile(gz, head, 0o644); err != nil {
		t.Fatal(err)
	}
	if n, packed := profileIn([]string{"top", file, gz}); n != int64(len(head)) || !packed {
		t.Errorf("of a profile of %d bytes the largest has %d, packed %v", len(head), n, packed)
	}
	// hone keeps little of a log, so its size says nothing about the heap.
	for _, command := range []string{"gc", "bench"} {
		if n, _ := profileIn([]string{command, gz}); n != 0 {
			t.Errorf("hone %s is said to read a profile of %d bytes", command, n)
		}
	}
}
