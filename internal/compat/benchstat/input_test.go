package benchstat

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"
)

// zeros are as many as somebody wants to read.
type zeros struct{ read int }

func (z *zeros) Read(b []byte) (int, error) {
	clear(b)
	z.read += len(b)
	return len(b), nil
}

// A line without an end is refused in the words of the original, which looks at 64 KB of it, and does not take memory until it is.
func TestEndlessLine(t *testing.T) {
	for lines, want := range map[string]string{
		"": "benchstat: -:0: bufio.Scanner: token too long\n",
		"goos: linux\nBenchmarkA 100 12.5 ns/op\n": "benchstat: -:2: bufio.Scanner: token too long\n",
	} {
		in := &zeros{}
		var out, errs bytes.Buffer
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		code := Main(System{In: io.MultiReader(strings.NewReader(lines), in), Out: &out, Err: &errs}, []string{"-"})
		runtime.ReadMemStats(&after)
		if code != 1 || !strings.HasSuffix(errs.String(), want) {
			t.Errorf("after %q: exit code %d, %q, want %q", lines, code, errs.String(), want)
		}
		if in.read > 17<<20 {
			t.Errorf("after %q: %d bytes were read", lines, in.read)
		}
		if made := after.TotalAlloc - before.TotalAlloc; made > 32<<20 {
			t.Errorf("after %q: %d MB were allocated", lines, made>>20)
		}
	}
}
