package calls_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
)

// stacked returns a profile of stacks. A line is one stack from the root on, with spaces between the locations and a plus
// sign between what is inlined into each other.
func stacked(t *testing.T, stacks string) *profile.Profile {
	t.Helper()
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "samples", Unit: "count"}}})
	functions, locations := make(map[string]uint32), make(map[string]uint32)
	for line := range strings.Lines(stacks) {
		var stack []uint32
		for name := range strings.FieldsSeq(line) {
			at, ok := locations[name]
			if !ok {
				at = uint32(len(b.Locations))
				locations[name] = at
				l := profile.Location{ID: uint64(at) + 1, Mapping: profile.NoMapping}
				for f := range strings.SplitSeq(name, "+") {
					n, ok := functions[f]
					if !ok {
						n = uint32(len(b.Functions))
						functions[f] = n
						b.Functions = append(b.Functions, profile.Function{ID: uint64(n) + 1, Name: f})
					}
					l.Lines = slices.Insert(l.Lines, 0, profile.Line{Function: n})
				}
				b.Locations = append(b.Locations, l)
			}
			stack = slices.Insert(stack, 0, at)
		}
		b.Add(stack, 0, []int64{1})
	}
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// written is the opposite of stacked, without what tells locations apart.
func written(p *profile.Profile) string {
	var out []string
	for i := range p.NumSamples() {
		var stack []string
		for _, l := range slices.Backward(p.Stack(i, nil)) {
			for _, ln := range slices.Backward(p.Locations[l].Lines) {
				stack = append(stack, p.Functions[ln.Function].Name)
			}
		}
		out = append(out, strings.Join(stack, " "))
	}
	return strings.Join(out, "\n")
}

func TestCollapse(t *testing.T) {
	for _, tt := range []struct {
		name string
		op   query.Op
		rx   string
		in   string
		want string
	}{
		{"package", query.CollapsePackage, "^a/x$", "main.m a/x.f a/x.(*T).g a/y.h a/x.f", "main.m a/x.* a/y.h a/x.*"},
		{"two packages", query.CollapsePackage, "^a/", "a/x.f a/x.g a/y.f a/y.g", "a/x.* a/y.*"},
		{"a package alone", query.CollapsePackage, "^a/x$", "a/x.f a/x.g", "a/x.*"},
		{"inlined", query.CollapsePackage, "^a/x$", "main.m a/x.f+a/x.g a/x.h+main.n main.m+a/x.f", "main.m a/x.* main.n main.m a/x.*"},
		{"inlined into itself", query.CollapsePackage, "^a/x$", "a/x.f a/x.g+b.h+a/x.i a/x.f", "a/x.* b.h a/x.*"},
		{"no package", query.CollapsePackage, "", "__libc_start malloc", "__libc_start malloc"},
		{"another package", query.CollapsePackage, "^a/z$", "a/x.f a/x.g", "a/x.f a/x.g"},

		{"direct", query.CollapseRecursion, "^m.f$", "m.m m.f m.f m.f m.g", "m.m m.f m.g"},
		{"through others", query.CollapseRecursion, "^m.f$", "m.m m.f m.g m.f m.h m.f m.g", "m.m m.f m.g"},
		{"two that call each other", query.CollapseRecursion, "^m.[fg]$", "m.m m.f m.g m.f m.g m.h", "m.m m.f m.g m.h"},
		{"side by side", query.CollapseRecursion, "^m.[fg]$", "m.f m.a m.f m.g m.b m.g m.c", "m.f m.g m.c"},
		{"recursion inlined", query.CollapseRecursion, "^m.f$", "m.m+m.f+m.a m.b+m.f+m.c m.d", "m.m m.f m.c m.d"},
		{"recursion in one location", query.CollapseRecursion, "^m.f$", "m.m+m.f+m.a+m.f+m.b", "m.m m.f m.b"},
		{"once", query.CollapseRecursion, "^m.f$", "m.m m.f+m.a m.b", "m.m m.f m.a m.b"},
		{"several stacks", query.CollapseRecursion, "f", "m.f m.a m.f\nm.a\nm.f m.b", "m.f\nm.a\nm.f m.b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, _, err := calls.Apply(stacked(t, tt.in), []query.Step{{Op: tt.op, Arg: tt.rx}}, "", false)
			if err != nil {
				t.Fatal(err)
			}
			if got := written(p); got != tt.want {
				t.Errorf("%s=%s of %s\n got %s\nwant %s", tt.op, tt.rx, tt.in, got, tt.want)
			}
			var b bytes.Buffer
			if err := p.Write(&b); err != nil {
				t.Fatal(err)
			}
			if again, err := profile.ParseBytes(b.Bytes()); err != nil || written(again) != tt.want {
				t.Errorf("written and read again it has %v, %v", again, err)
			}
		})
	}
}
