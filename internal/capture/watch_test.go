package capture

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/testrun"
)

// TestMeasureEnd checks that the end of a recording is measured, and not only each second of it.
func TestMeasureEnd(t *testing.T) {
	if processOf(os.Getpid()).RSS() == 0 {
		testrun.Unable(t, "this system does not say how much memory a process has")
	}
	s := Options{}.session()
	s.folder = t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	(&watcher{session: s}).measure(ctx, os.Getpid(), time.Now())
	text, err := os.ReadFile(filepath.Join(s.folder, recording.MetricsFile))
	if err != nil || !strings.Contains(string(text), recording.ProcessRSS) {
		t.Errorf("metrics are %v %q; want those of the end", err, text)
	}
}
