package calls

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
)

// framesIn returns the frames of each stack of p, from the root on.
func framesIn(p *profile.Profile, t *FrameTable) [][]string {
	var out [][]string
	for i := range p.NumSamples() {
		var stack []string
		for _, l := range slices.Backward(p.Stack(i, nil)) {
			for _, f := range t.Of(l) {
				stack = append(stack, t.Frames[f].Name)
			}
		}
		out = append(out, stack)
	}
	return out
}

// inlined returns a profile of stacks from the root on: spaces stand between locations, and a plus sign between what is inlined into each other.
func inlined(t *testing.T, stacks ...string) *profile.Profile {
	t.Helper()
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "samples", Unit: "count"}}})
	functions, locations := make(map[string]uint32), make(map[string]uint32)
	for _, line := range stacks {
		var stack []uint32
		for name := range strings.FieldsSeq(line) {
			at, ok := locations[name]
			if !ok {
				at = uint32(len(b.Locations))
				locations[name] = at
				l := profile.Location{Mapping: profile.NoMapping}
				for f := range strings.SplitSeq(name, "+") {
					n, ok := functions[f]
					if !ok {
						n = uint32(len(b.Functions))
						functions[f] = n
						b.Functions = append(b.Functions, profile.Function{Name: f})
					}
					l.Lines = slices.Insert(l.Lines, 0, profile.Line{Function: n})
				}
				b.Locations = append(b.Locations, l)
			}
			stack = slices.Insert(stack, 0, at)
		}
		b.Add(stack, 0, []int64{1})
	}
	b.Renumber()
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// withoutCycles returns the frames of the stacks of p with cycles collapsed.
func withoutCycles(t *testing.T, p *profile.Profile) [][]string {
	t.Helper()
	d := Detail{Function: true}
	q, err := CollapseCycles(p, NewFrameTable(p, d, nil))
	if err != nil {
		t.Fatal(err)
	}
	ids := make(map[uint64]bool)
	for _, l := range q.Locations {
		ids[l.ID] = true
	}
	if len(ids) != len(q.Locations) {
		t.Errorf("%d locations have %d ids", len(q.Locations), len(ids))
	}
	return framesIn(q, NewFrameTable(q, d, nil))
}

func TestCollapseCycles(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"none", "m f g h", "m f g h"},
		{"direct", "m f f f g", "m f g"},
		{"two functions", "m f g f g f g h", "m f g h"},
		{"ends within the cycle", "m f g f g f", "m f g f"},
		{"three functions", "m a b c a b c d", "m a b c d"},
		{"a cycle within a cycle", "m a b b c a b c", "m a b c"},
		{"a function on different ways", "serve log serve auth serve handle", "serve log serve auth serve handle"},
		{"inlined", "m f+g f+g h", "m f g h"},
		{"inlined, half of a location", "m f g+f g+h", "m f g h"},
		{"inlined, in one location", "m+f+g+f+g+h", "m f g h"},
	} {
		got := strings.Join(withoutCycles(t, inlined(t, tt.in))[0], " ")
		if got != tt.want {
			t.Errorf("%s: %s becomes %s, want %s", tt.name, tt.in, got, tt.want)
		}
	}
}

// Whatever the stacks are, each function costs what it cost before, and each call that is left was made.
func TestCollapseCyclesKeepsCosts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var stacks []string
	for range 500 {
		var s strings.Builder
		for range 1 + rng.IntN(40) {
			s.WriteString([]string{" ", " ", "+"}[rng.IntN(3)])
			fmt.Fprintf(&s, "f%d", rng.IntN(4))
		}
		stacks = append(stacks, strings.Trim(s.String(), " +"))
	}
	p := inlined(t, stacks...)
	before := framesIn(p, NewFrameTable(p, Detail{Function: true}, nil))
	shorter := 0
	for i, got := range withoutCycles(t, p) {
		was := before[i]
		shorter += len(was) - len(got)
		if got[len(got)-1] != was[len(was)-1] || got[0] != was[0] {
			t.Fatalf("%v becomes %v, which begins or ends with another function", was, got)
		}
		for _, f := range was {
			if !slices.Contains(got, f) {
				t.Fatalf("%v becomes %v, without %s", was, got, f)
			}
		}
		for j := 1; j < len(got); j++ {
			made := false
			for k := 1; k < len(was); k++ {
				made = made || was[k-1] == got[j-1] && was[k] == got[j]
			}
			if !made {
				t.Fatalf("%v becomes %v, where %s calls %s", was, got, got[j-1], got[j])
			}
		}
	}
	if shorter < 1000 {
		t.Errorf("only %d frames of the stacks are gone", shorter)
	}
}
