package fleet

import (
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/fleet/event"
)

// TestWrongLabels holds that errors about labels of an event come in one order.
func TestWrongLabels(t *testing.T) {
	now := time.Now()
	told := tale{Kind: event.Deployed, Service: "api", Time: now, Version: "v1", Labels: map[string]string{}}
	var want []string
	for _, name := range []string{"a", "b", "c", "d"} {
		told.Labels[name] = "\n"
		want = append(want, "the label "+name+": want one line of UTF-8 of at most 1024 bytes")
	}
	for range 20 { // maps come in another order each time
		if _, err := told.event(now); err == nil || err.Error() != strings.Join(want, "\n") {
			t.Fatalf("%v; want %s", err, strings.Join(want, "\n"))
		}
	}
}
