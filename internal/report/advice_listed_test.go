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

// Lines that are left out, although they allocate much, are counted.
func TestAdviceUnsaid(t *testing.T) {
	for n, want := range map[int]string{0: "", 1: "1 line that makes much", 3: "3 lines that make much"} {
		a := &Advice{Functions: 1, Unsaid: n}
		got := ""
		for b := range a.Blocks() {
			if note, ok := b.(Note); ok {
				got += fmt.Sprintln(note.Text)
			}
		}
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%d lines: %q; want %q", n, got, want)
		}
	}
}
