package fix

import (
	"testing"

	"github.com/hone-perf/hone/internal/report"
)

// A line is named as the user's file has it: with all that was written, and as it was in the beginning where nothing is written.
func TestPlace(t *testing.T) {
	const (
		first  = "a\nb\nc\n"
		second = "import\na\nb\nc\n"       // by fix 1
		third  = "import\na\nB\nB\nB\nc\n" // by fix 2
	)
	changes := map[string][]change{"x.go": {{1, []byte(first), []byte(second)}, {2, []byte(second), []byte(third)}}}
	for _, tt := range []struct {
		name              string
		dry               bool
		began, line       int // of the advice
		wantLine, wantFix int
	}{
		{"dry, in the beginning", true, 0, 3, 3, 0},
		{"dry, behind fix 1", true, 1, 4, 3, 0},
		{"dry, in fix 1", true, 1, 1, 1, 1},
		{"dry, behind fix 2", true, 2, 6, 3, 0},
		{"dry, in fix 2", true, 2, 4, 2, 2},
		{"written, in the beginning", false, 0, 3, 6, 0},
		{"written, behind fix 1", false, 1, 4, 6, 0},
		{"written, behind fix 2", false, 2, 6, 6, 0},
	} {
		r := &run{opt: Options{DryRun: tt.dry}, changes: changes, began: tt.began}
		at, inFix := r.place(report.Spot{File: "x.go", Line: tt.line})
		if at.Line != tt.wantLine || inFix != tt.wantFix {
			t.Errorf("%s: line %d is %d, in fix %d; want %d, in fix %d", tt.name, tt.line, at.Line, inFix, tt.wantLine, tt.wantFix)
		}
		if at, inFix := r.place(report.Spot{File: "y.go", Line: 7}); at.Line != 7 || inFix != 0 {
			t.Errorf("%s: another file: line 7 is %d, in fix %d", tt.name, at.Line, inFix)
		}
	}
}
