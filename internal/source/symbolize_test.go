package source

import (
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
)

// go tool trace writes profiles that have all names, but do not say so. Nothing is missing in them.
func TestNamesWithoutFlag(t *testing.T) {
	for _, test := range []struct {
		text string
		want []string
	}{
		{"main;walk 3\n", nil},
		{"heap profile: 1: 1024 [1: 1024] @ heapprofile\n1: 1024 [1: 1024] @ 0x10001 0x10002\n\nMAPPED_LIBRARIES:\n00010000-00020000 r-xp 00000000 00:00 0  /nowhere/app\n", []string{"app"}},
	} {
		p, err := profile.Parse(strings.NewReader(test.text))
		if err != nil {
			t.Fatal(err)
		}
		tables := p.Tables
		tables.Mappings = slices.Clone(tables.Mappings)
		for i := range tables.Mappings {
			m := &tables.Mappings[i]
			m.HasFunctions, m.HasFilenames, m.HasLineNumbers = false, false, false
		}
		var absent []string
		o := Options{Absent: func(programs []string) { absent = programs }}
		if _, err := o.symbolize(context.Background(), p.WithTables(tables), nil); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(absent, test.want) {
			t.Errorf("%q: %q are absent, want %q", test.text, absent, test.want)
		}
	}
}

// In a profile that was cut off before its names, which a note says, it is no use to look for the program.
func TestNamesThatWereCutOff(t *testing.T) {
	packed, err := os.Open("../../testdata/corpus/profiles/heap.pb.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "heap.pb")
	if err := os.WriteFile(file, b[:1000], 0o644); err != nil {
		t.Fatal(err)
	}
	o := Options{Absent: func(programs []string) { t.Errorf("%q are looked for", programs) }}
	g, err := o.Gather(t.Context(), []string{file})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Finish(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	if g.Profile.Damage == nil {
		t.Error("the profile is not damaged")
	}
}
