package spans

import (
	"io"
	"os"
	"testing"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/requests"
	"github.com/hone-perf/hone/internal/waits"
)

func BenchmarkFiles(b *testing.B) {
	f, err := os.Open("../../testdata/trace/shop.trace")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	opened := func() *exectrace.Trace {
		t, err := exectrace.Open(f, st.Size())
		if err != nil {
			b.Fatal(err)
		}
		return t
	}
	found, err := requests.Find(opened())
	if err != nil {
		b.Fatal(err)
	}
	for name, write := range map[string]func(io.Writer, *exectrace.Trace, waits.Window, []requests.Request) error{
		"parquet": Parquet, "csv": CSV,
		"perfetto": func(out io.Writer, t *exectrace.Trace, w waits.Window, found []requests.Request) error {
			return Perfetto(out, t, w, found, "shop")
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(st.Size())
			b.ReportAllocs()
			for b.Loop() {
				if err := write(io.Discard, opened(), waits.Window{}, found.Requests); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
