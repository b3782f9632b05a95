package cli

import (
	"context"
	"errors"
	"testing"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/view"
)

// A view that is no longer wanted is not waited for.
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
