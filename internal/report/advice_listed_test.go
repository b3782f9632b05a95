package report

import (
	"fmt"
	"strings"
	"testing"
)

// A ranking that leaves findings out says so; one finding is not called all 1.
func TestAdviceListed(t *testing.T) {
	for n, want := range map[int]string{1: "the finding, with its evidence", shownFindings: "all 6, with", shownFindings + 2: "the first 6 of 8 findings are listed"} {
		a := new(Advice)
		for i := range n {
			a.Findings = append(a.Findings, Finding{Number: i + 1, Title: "map as a set", Savings: []Saving{{Metric: "cpu", Short: "CPU", Share: 0.1}}})
		}
		var out strings.Builder
		for b := range a.Blocks() {
			switch b := b.(type) {
			case Note:
				fmt.Fprintln(&out, b.Text)
			case Commands:
				for _, c := range b.Items {
					fmt.Fprintln(&out, c.Answer)
				}
			}
		}
		if got := out.String(); !strings.Contains(got, want) || strings.Contains(got, "are listed") != (n > shownFindings) {
			t.Errorf("%d findings: got\n%swant %q", n, got, want)
		}
	}
}
