package profileview

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// TestListCall holds that the lines of a call add up to what the call costs where it is in a flame graph.
func TestListCall(t *testing.T) {
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}})
	for _, name := range []string{"main", "work", "read", "a;b"} {
		b.Functions = append(b.Functions, profile.Function{Name: name, SystemName: name, File: "/src/a.go"})
	}
	location := func(lines ...profile.Line) uint32 {
		b.Locations = append(b.Locations, profile.Location{Mapping: profile.NoMapping, Address: uint64(len(b.Locations) + 1), Lines: lines})
		return uint32(len(b.Locations) - 1)
	}
	main1, main2 := location(profile.Line{Function: 0, Line: 1}), location(profile.Line{Function: 0, Line: 2})
	work5, work6 := location(profile.Line{Function: 1, Line: 5}), location(profile.Line{Function: 1, Line: 6})
	readInWork7 := location(profile.Line{Function: 2, Line: 20}, profile.Line{Function: 1, Line: 7}) // inlined
	odd := location(profile.Line{Function: 3, Line: 30})
	add := func(v int64, leafFirst ...uint32) { b.Add(leafFirst, 0, []int64{v}) }
	add(1, work5, main1)
	add(2, work6, main1)
	add(4, readInWork7, main2)
	add(8, work5, work6, main2) // calls itself
	add(16, work5, odd, main1)
	b.Renumber()
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	rec := &recording.Recording{Profile: p, Sources: fakeSources{}}
	tests := []struct {
		root string
		want string // line: flat/cum
	}{
		{"main", "1:0/19 2:0/12"},
		{"main;work", "5:1/1 6:2/10 7:0/4"},
		{"main;work;work", "5:8/8"},
		{"main;work;read", "20:4/4"},
		{"main;a;b", "30:0/16"},
		{"main;a;b;work", "5:16/16"},
		{"work", ""},
		{"main;wor", ""},
		{"main;", ""},
		{"", ""},
	}
	for _, tt := range tests {
		r, err := ListCall([]*recording.Recording{rec}, query.Query{Root: tt.root})
		if err != nil {
			t.Errorf("%s: %v", tt.root, err)
			continue
		}
		var got []string
		for _, f := range r.(*report.Source).Functions {
			if !strings.HasSuffix(tt.root, f.Name) {
				t.Errorf("%s: the function is %s", tt.root, f.Name)
			}
			for _, l := range f.Files[0].Lines {
				if l.Cum != 0 {
					got = append(got, fmt.Sprintf("%d:%d/%d", l.Line, l.Flat, l.Cum))
				}
			}
		}
		if slices.Sort(got); strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %q, want %q", tt.root, got, tt.want)
		}
	}
}
