package cli

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/view"
)

// An interrupt does not wait for the view.
func TestInterruptedView(t *testing.T) {
	ctx, interrupt := context.WithCancel(context.Background())
	end := make(chan bool)
	defer close(end)
	endless := &view.View{Run: func([]*recording.Recording, query.Query) (report.Report, error) {
		interrupt()
		<-end
		return nil, nil
	}}
	if _, err := askView(ctx, endless, nil, query.Query{}); !errors.Is(err, context.Canceled) {
		t.Errorf("askView of an interrupted view: %v, want that it was canceled", err)
	}
}

// The error for an unknown metric suggests the nearest one or lists all, in the spelling of each front end.
func TestMetricHints(t *testing.T) {
	p, err := profile.Parse(strings.NewReader("main;work 3\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ ref, metric, want string }{
		{"a.folded", "smaples", `did you mean --metric samples?`},
		{"a.folded", "inuse_space", ""},
		{"localhost:6060", "inuse_space", "localhost:6060/debug/pprof/heap, /allocs, /block and /mutex have others"},
		{"localhost:6060/debug/pprof/heap", "inuse_space", ""},
	} {
		err := checkMetric([]*recording.Recording{{Ref: test.ref, Profile: p}}, test.metric)
		var wrong *usageError
		if got := hint.Next(err).Spell(flagSpeller{}); !errors.As(err, &wrong) || got != test.want {
			t.Errorf("%s of %s: %v %q, want %q", test.metric, test.ref, err, got, test.want)
		}
	}
}
