package disk

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
)

// Each sample gets the entry of its stack and labels: also when there are more new stacks than are put in order together, and when a later profile shares some.
func TestEntriesOf(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	make := func(stacks int) *profile.Profile {
		b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "samples", Unit: "count"}}})
		for i := range 50 {
			b.Functions = append(b.Functions, profile.Function{Name: fmt.Sprint("f", i)})
			b.Locations = append(b.Locations, profile.Location{Mapping: profile.NoMapping, Lines: []profile.Line{{Function: uint32(i)}}})
		}
		b.Renumber()
		sets := []uint32{0, b.Labels([]profile.Label{{Key: "k", Str: "v"}})}
		for i := range stacks {
			stack := []uint32{}
			for range rng.IntN(60) {
				stack = append(stack, uint32(rng.IntN(3+i%48)))
			}
			b.Add(stack, sets[i%2], []int64{1})
			b.Add(stack, sets[i/2%2], []int64{1})
		}
		p, err := b.Profile()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first := make(4 * addTogether / 60)
	d := newDict()
	seen := map[uint32]string{}
	for _, p := range []*profile.Profile{make(100), first, make(100), first} {
		for i, id := range d.entriesOf(p) {
			var want, got []string
			for _, l := range p.Stack(i, nil) {
				want = append(want, p.Functions[p.Locations[l].Lines[0].Function].Name)
			}
			e := d.entries[id]
			for at := e.node; at != 0; at = d.nodes[at].Parent {
				got = d.functionsOf(d.nodes[at].Frame, got)
			}
			labels := p.LabelSets()[p.Label(i)]
			if !slices.Equal(got, want) || len(d.sets[e.set]) != len(labels) {
				t.Fatalf("the entry of sample %d is %v %v, want %v %v", i, got, d.sets[e.set], want, labels)
			}
			text := fmt.Sprint(want, len(labels))
			if was, ok := seen[id]; ok && was != text {
				t.Fatalf("entry %d is of %s and of %s", id, was, text)
			}
			seen[id] = text
		}
	}
	texts := map[string]bool{}
	for _, text := range seen {
		if texts[text] {
			t.Fatalf("%s has two entries", text)
		}
		texts[text] = true
	}
	children := map[string]bool{}
	for i, n := range d.nodes[1:] {
		key := fmt.Sprint(n)
		if children[key] || int(n.Parent) > i {
			t.Fatalf("node %d below %d is there twice, or before the one above it", i+1, n.Parent)
		}
		children[key] = true
	}
}
