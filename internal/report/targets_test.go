package report

import (
	"fmt"
	"testing"
)

// TestTargetsHeading holds how the number of targets that fail is said.
func TestTargetsHeading(t *testing.T) {
	for want, of := range map[string]Targets{
		"this server fetches no profiles; it only takes those that are sent": {None: true},
		"there are no targets":         {},
		"no target fails; there is 1":  {Found: 1},
		"no target fails; there are 3": {Found: 3},
		"1 of 3 targets fails":         {Found: 3, Failing: 1},
		"2 of 3 targets fail":          {Found: 3, Failing: 2},
	} {
		for b := range of.Blocks() {
			if got := fmt.Sprint(b.(Heading).Lines[0][0]); got != want {
				t.Errorf("%+v is %q, want %q", of, got, want)
			}
			break
		}
	}
}
