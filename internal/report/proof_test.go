package report

import "testing"

// What a difference says: of values, of memory that they share, and of what causes it.
func TestDifferenceText(t *testing.T) {
	const head = "different: another result, a.go:3\n  F(1)\n"
	at := Difference{Kind: "another result", Grave: true, File: "a.go", Line: 3, Call: "F(1)", What: "result", Old: "1", New: "2"}
	tests := []struct {
		name   string
		change func(d *Difference)
		want   string
	}{
		{"values", func(*Difference) {}, "    result: 1 → 2\n"},
		{"memory that the new version shares", func(d *Difference) {
			d.What, d.Old, d.New, d.Shared = "result of call 1 is changed by later calls", "false", "true", true
		}, "    only in the new version: result of call 1 is changed by later calls\n"},
		{"where the old one has no such result", func(d *Difference) {
			d.What, d.Old, d.New, d.Shared = "result of call 1 is changed by later calls", "nothing", "true", true
		}, "    only in the new version: result of call 1 is changed by later calls\n"},
		{"memory that the old version shares", func(d *Difference) {
			d.What, d.Old, d.New, d.Shared = "a change of the results shows in the next call", "true", "false", true
		}, "    only in the old version: a change of the results shows in the next call\n"},
		{"truth values", func(d *Difference) { d.Old, d.New = "false", "true" }, "    result: false → true\n"},
		{"others", func(d *Difference) { d.Also = []string{"G", "H"} }, "    result: 1 → 2\n    also in 2 other functions that use it: G, H\n"},
		{"a cause", func(d *Difference) { d.Cause = "f" }, "    result: 1 → 2\n    most likely caused by the change to f\n"},
		{"a cause, and others", func(d *Difference) { d.Cause, d.Also = "f", []string{"G"} },
			"    result: 1 → 2\n    most likely caused by the change to f, which also shows in 1 other function that uses it: G\n"},
		{"a cause that is not clear", func(d *Difference) { d.Cause, d.Unclear = "f", []string{"g", "h"} },
			"    result: 1 → 2\n    most likely caused by the change to f, or to a function it uses that cannot be compared by itself: g, h\n"},
		{"a cause that is not clear, and others", func(d *Difference) { d.Cause, d.Unclear, d.Also = "f", []string{"g"}, []string{"G"} },
			"    result: 1 → 2\n    most likely caused by the change to f, or to a function it uses that cannot be compared by itself: g\n    also in 1 other function that uses f: G\n"},
	}
	for _, tt := range tests {
		d := at
		tt.change(&d)
		if got := d.text(); got != head+tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, head+tt.want)
		}
	}
}
