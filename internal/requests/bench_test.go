package requests

import (
	"os"
	"testing"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/waits"
)

func BenchmarkProfile(b *testing.B) {
	name := os.Getenv("HONE_TRACE")
	if name == "" {
		b.Skip("HONE_TRACE names a trace")
	}
	f, err := os.Open(name)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(st.Size())
	for b.Loop() {
		t, err := exectrace.Open(f, st.Size())
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Profile(t, waits.Window{}); err != nil {
			b.Fatal(err)
		}
	}
}
