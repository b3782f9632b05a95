package render

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/profiletest"
	"github.com/hone-perf/hone/internal/testrun"
)

// checkRaw compares what WriteRaw makes of a profile with what the library makes of it.
func checkRaw(t *testing.T, in []byte) {
	t.Helper()
	theirs, err := pprof.ParseData(in)
	if err != nil {
		t.Skip("the library cannot read it:", err)
	}
	ours, err := profile.ParseBytes(in)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := WriteRaw(&got, ours); err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := strings.Split(got.String(), "\n"), strings.Split(theirs.String(), "\n")
	for i := range min(len(gotLines), len(wantLines)) {
		if gotLines[i] != wantLines[i] {
			t.Fatalf("line %d:\n%q\nwant\n%q", i+1, gotLines[i], wantLines[i])
		}
	}
	if len(gotLines) != len(wantLines) {
		t.Fatalf("%d lines, want %d", len(gotLines), len(wantLines))
	}
}

func TestWriteRaw(t *testing.T) {
	empty := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "a", Unit: "b"}}})
	none, err := empty.Profile()
	if err != nil {
		t.Fatal(err)
	}
	labeled, err := profile.ParseBytes(profiletest.Bytes(profiletest.Config{Samples: 500, Labels: true, SparseIDs: true}))
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*profile.Profile{"handmade": handmade(), "labeled": labeled, "empty": none} {
		t.Run(name, func(t *testing.T) {
			var buf bytes.Buffer
			if err := p.Write(&buf); err != nil {
				t.Fatal(err)
			}
			checkRaw(t, buf.Bytes())
		})
	}
}

func TestWriteRawCorpus(t *testing.T) {
	for _, f := range testrun.Corpus(t, "profiles") {
		if info, err := os.Stat(f); err != nil || info.Size() > 1<<20 {
			continue
		}
		t.Run(filepath.Base(f), func(t *testing.T) {
			in, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			checkRaw(t, in)
		})
	}
}

// A brokenPipe takes some bytes and then no more.
type brokenPipe struct{ left int }

var errPipe = errors.New("broken pipe")

func (p *brokenPipe) Write(b []byte) (int, error) {
	if p.left -= len(b); p.left < 0 {
		return 0, errPipe
	}
	return len(b), nil
}

func BenchmarkWriteRaw(b *testing.B) {
	p, err := profile.ParseBytes(profiletest.Bytes(profiletest.Config{Samples: 10_000, Labels: true}))
	if err != nil {
		b.Fatal(err)
	}
	var size countWriter
	if err := WriteRaw(&size, p); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if err := WriteRaw(io.Discard, p); err != nil {
			b.Fatal(err)
		}
	}
}

type countWriter int64

func (c *countWriter) Write(b []byte) (int, error) {
	*c += countWriter(len(b))
	return len(b), nil
}
