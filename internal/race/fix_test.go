package race

import (
	"testing"

	"github.com/hone-perf/hone/internal/report"
)

// A patch that makes goroutines wait for each other is not proven, also where others did before.
func TestNewHang(t *testing.T) {
	hang := func(kind string, in ...string) *report.Hang {
		h := &report.Hang{Kind: kind, Text: kind}
		for i, name := range in {
			h.Waiting = append(h.Waiting, report.Waiting{RaceFrame: report.RaceFrame{Func: name, File: "a.go", Line: i}})
		}
		return h
	}
	before := []*report.Hang{hang("deadlock", "m.Both", "m.Other")}
	for _, tt := range []struct {
		now *report.Hang
		new bool
	}{
		{hang("deadlock", "m.Both"), false}, // at another line
		{hang("deadlock", "m.Other", "m.Both"), false},
		{hang("deadlock", "m.Count"), true},
		{hang("deadlock", "m.Both", "m.Count"), true},
		{hang("map", "m.Both"), true},
	} {
		s := &Search{hangs: []*report.Hang{tt.now}}
		if got := s.newHang(before); (got != nil) != tt.new {
			t.Errorf("%+v behind %+v: new: %v, want %v", *tt.now, *before[0], got != nil, tt.new)
		}
	}
	if (&Search{}).newHang(before) != nil {
		t.Error("there is no deadlock, and it is new")
	}
}
