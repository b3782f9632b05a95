package report

import (
	"testing"
	"time"
)

func TestAgo(t *testing.T) {
	for d, want := range map[time.Duration]string{90*time.Second + 1: "90s ago", 47 * time.Hour: "47hrs ago", 220 * time.Hour: "9 days ago"} {
		if got := ago(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}
