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

// Lines that are left out, although they allocate much, are counted, and those named that make most.
func TestAdviceUnsaid(t *testing.T) {
	for n, want := range map[int]string{0: "", 1: "no rule knows a cheaper way: a.go:1 (50% objects, 25% bytes); a lower", 3: "3 lines that make much", 4: "a.go:3 (50% objects, 25% bytes), …; a lower"} {
		a := &Advice{Functions: 1}
		for i := range n {
			a.Unsaid = append(a.Unsaid, UnsaidLine{Where: Spot{File: "a.go", Line: i + 1}, Objects: 0.5, Bytes: 0.25})
		}
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
