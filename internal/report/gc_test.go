package report

import (
	"fmt"
	"strings"
	"testing"
)

// TestOneOver holds that one cycle is not called cycles.
func TestOneOver(t *testing.T) {
	for n, want := range map[int]string{1: "1 cycle ended more than a tenth above its goal: 50", 2: "2 cycles ended more than a tenth above theirs, at most 50"} {
		g := new(GC)
		g.Goal, g.Over, g.MostOver, g.OverGoal = 100, n, 50, 100
		for _, f := range g.facts() {
			var b strings.Builder
			for _, part := range f.Value.(Phrase) {
				switch v := part.(type) {
				case Share:
					b.WriteString(fmt.Sprint(v.Part))
				default:
					fmt.Fprint(&b, v)
				}
			}
			if f.Name == "goal" && !strings.Contains(b.String(), want) {
				t.Errorf("%d over: %s, want %q", n, b.String(), want)
			}
		}
	}
}
