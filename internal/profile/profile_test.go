package profile

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/hone-perf/hone/internal/testrun"
)

// corpus returns the profiles of the corpus, or those of a folder in it.
func corpus(t testing.TB, dir string) []string {
	return testrun.Corpus(t, filepath.Join("profiles", dir))
}

// sameAsLibrary checks that Parse reads data as the pprof library does, by writing both back.
func sameAsLibrary(t *testing.T, data []byte) {
	t.Helper()
	lp, lerr := pprof.ParseData(data)
	p, err := ParseBytes(data)
	if lerr != nil {
		return // what hone reads beyond the library has tests of its own
	}
	if err != nil && strings.HasSuffix(err.Error(), "gzip: invalid header") {
		return // flags that RFC 1952 reserves, which the standard library lets pass
	}
	if err != nil {
		t.Fatalf("Parse: %v; the pprof library reads it", err)
	}
	var want, got bytes.Buffer
	if err := lp.WriteUncompressed(&want); err != nil {
		t.Fatal(err)
	}
	if err := p.WriteUncompressed(&got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want.Bytes()) {
		lp2, err := pprof.ParseData(got.Bytes())
		if err != nil {
			t.Fatalf("the pprof library cannot read what was written: %v", err)
		}
		i := 0
		for i < min(got.Len(), want.Len()) && got.Bytes()[i] == want.Bytes()[i] {
			i++
		}
		t.Fatalf("written back differs at byte %d: %.40q, want %.40q\n%.2000s\nwant:\n%.2000s", i, got.Bytes()[i:], want.Bytes()[i:], lp2, lp)
	}
}

func TestCorpus(t *testing.T) {
	for _, f := range append(corpus(t, ""), corpus(t, "malformed")...) {
		t.Run(filepath.Base(f), func(t *testing.T) {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			sameAsLibrary(t, data)
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range append(corpus(f, ""), corpus(f, "malformed")...) {
		if data, err := os.ReadFile(name); err == nil && len(data) < 20_000 {
			f.Add(data)
			if p, err := ParseBytes(data); err == nil {
				var b bytes.Buffer
				p.WriteUncompressed(&b)
				f.Add(b.Bytes())
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) { sameAsLibrary(t, data) })
}
