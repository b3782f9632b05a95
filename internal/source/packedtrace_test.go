package source

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/recording"
)

// TestPackedTrace holds that an execution trace which is packed with gzip reads as one, whatever its name, from a file and from a pipe.
func TestPackedTrace(t *testing.T) {
	shop, err := os.ReadFile("../../testdata/trace/shop.trace")
	if err != nil {
		t.Fatal(err)
	}
	pack := func(b []byte) []byte {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		w.Write(b)
		w.Close()
		return out.Bytes()
	}
	dir := t.TempDir()
	packed := filepath.Join(dir, "shop")
	other := filepath.Join(dir, "other.trace.gz")
	for name, b := range map[string][]byte{packed: pack(shop), other: pack([]byte("main;work 3\n"))} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !IsTrace(packed) || IsTrace(other) {
		t.Errorf("a packed trace is one: %v, and packed stacks are: %v", IsTrace(packed), IsTrace(other))
	}
	count := func(in io.Reader) (n int) {
		rec, err := recording.Execution.ReadAlone("shop", in)
		if err != nil {
			t.Error(err)
			return 0
		}
		n, err = recording.Once(recording.Execution.In(rec), "count", func(tr *exectrace.Trace) (n int, err error) {
			for _, err := range tr.Events() {
				if err != nil {
					return n, err
				}
				n++
			}
			return n, nil
		})
		if err != nil {
			t.Error(err)
		}
		return n
	}
	open := func() *os.File {
		f, err := os.Open(packed)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	want := count(bytes.NewReader(shop))
	if file, pipe := count(open()), count(io.MultiReader(open())); want == 0 || file != want || pipe != want {
		t.Errorf("there are %d events; packed, in a file %d, in a pipe %d", want, file, pipe)
	}
	// A trace is a profile, too, and what is packed and none is something else.
	o := &Options{}
	for _, in := range []io.Reader{open(), io.MultiReader(open())} {
		if p, err := o.read(in); err != nil || p.SampleTypes[0].Type != "blocked" {
			t.Errorf("as a profile it is %v, %v", p, err)
		}
	}
	f, err := os.Open(other)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if p, err := o.read(f); err != nil || p.NumSamples() != 1 {
		t.Errorf("packed stacks are %v, %v", p, err)
	}
	// One that was cut short is read as far as it goes.
	half := pack(shop)
	if n := count(bytes.NewReader(half[:len(half)/2])); n == 0 {
		t.Error("half of a packed trace has no events")
	}
}
