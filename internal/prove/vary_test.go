package prove

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/testrun"
)

const varyOld = `package one

import (
	"fmt"
	"math/rand"
)

func ID(user string) string { return fmt.Sprintf("%s-%d-%08x", user, len(user), rand.Uint32()) }

func Any(m map[int8]int8) (int8, int) {
	for k := range m {
		return k, int(k)
	}
	return 0, 0
}

func Pairs(m map[string]bool) []string {
	var out []string
	for k, v := range m {
		if v {
			out = append(out, k)
		}
	}
	return out
}

func Size(s string) int { return len(s) }

type Item struct{ Name *string }

func Items(m map[string]bool) []Item {
	var out []Item
	for k := range m {
		out = append(out, Item{&k})
	}
	return out
}
`

// What varies from call to call of the old version cannot be compared, which is a doubt if the change could show there alone. What is left of
// it is compared: the text around numbers, and lists without their order.
func TestWhatVariesIsADoubt(t *testing.T) {
	testrun.Live(t, "builds and calls pairs of versions")
	replace := strings.NewReplacer("int(k)\n", "0 + int(k)\n", "len(user), rand", "len(user)+1, rand", "return len(s)", "n := len(s); return n")
	p, _ := alarmsOf(t, varyOld, replace.Replace(varyOld), Options{Executions: 1500})
	// Which of the two results of Any is met in a call where it varies is chance.
	want := regexp.MustCompile(`^not compared, since they vary from call to call of the old version: numbers in result of ID, result [12] of Any`)
	if p.Verdict != report.NotProven || !slices.ContainsFunc(p.Doubts, func(d report.Doubt) bool { return want.MatchString(d.Text) }) {
		t.Errorf("it is %s: %q; want a doubt: %s", p.Verdict, p.Doubts, want)
	}
	if notes := p.Notes.String(); !strings.Contains(notes, "make it an argument") {
		t.Errorf("no note says what to do: %s", notes)
	}
	// Those of a function that neither changed nor uses what changed are none.
	p, _ = alarmsOf(t, varyOld, strings.NewReplacer("return len(s)", "n := len(s); return n", "if v {\n", "if v == true {\n").Replace(varyOld), Options{Executions: 6000})
	if p.Verdict != report.Proven {
		t.Errorf("it is %s: %q; want it proven", p.Verdict, p.Reasons)
	}
	p, _ = alarmsOf(t, varyOld, strings.NewReplacer("%s-%d", "%s+%d", "if v {\n", "", "\t\t\tout = append(out, k)\n\t\t}\n", "\t\t_ = v; out = append(out, k)\n", "for k := range m {\n\t\tout", "out = append(out, Item{})\n\tfor k := range m {\n\t\tout").Replace(varyOld), Options{Executions: 1500})
	found := false
	for _, d := range p.Differences {
		found = found || d.Function == "ID" && strings.Contains(d.New, "+#-#") && strings.HasPrefix(d.Note, "# stands for a number")
		// Lists show themselves, empty or not. Whether it is known by then that their order varies is chance, and so is which differences are shown.
		if d.Old == "" || d.New == "" {
			t.Errorf("the difference of %s is %s: %q → %q", d.Function, d.What, d.Old, d.New)
		}
	}
	if !found {
		t.Errorf("the texts around numbers are not compared: %+v", p.Differences)
	}
}
