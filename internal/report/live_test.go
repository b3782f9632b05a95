package report

import (
	"strings"
	"testing"
)

// TestNextOfServer holds that after an answer about a trace that a server recorded just then, no next step is a question about another trace.
func TestNextOfServer(t *testing.T) {
	slowest := []RequestLine{{Number: 1, Took: 1}}
	for live, want := range map[bool]string{
		false: "request slowest localhost:6060",
		true:  "record trace localhost:6060",
	} {
		r := &Requests{Work: RequestWork, Ref: "localhost:6060", Live: live, Of: 1, Slowest: slowest}
		var got []string
		for b := range r.Blocks() {
			if c, ok := b.(Commands); ok {
				for _, item := range c.Items {
					got = append(got, item.String())
				}
			}
		}
		if len(got) == 0 || !strings.HasPrefix(got[0], want) || live && len(got) != 1 {
			t.Errorf("live %t: %q, want %q", live, got, want)
		}
	}
}
