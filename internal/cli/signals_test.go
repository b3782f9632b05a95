package cli

import (
	"context"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hone-perf/hone/internal/capture"
)

// A second signal right after the first, as timeout sends it, does not kill the program.
func TestSecondSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		asked := make(chan os.Signal, 1)
		var stopped time.Time
		start := time.Now()
		go endWhenAsked(ctx, asked, cancel, func() { stopped = time.Now() })
		asked <- syscall.SIGTERM
		<-ctx.Done()
		synctest.Wait()
		if !stopped.IsZero() {
			t.Fatal("hone no longer listens right after the first signal")
		}
		time.Sleep(time.Second)
		if took := stopped.Sub(start); took != capture.Pair {
			t.Errorf("hone stopped listening after %v, want %v", took, capture.Pair)
		}
	})
}
