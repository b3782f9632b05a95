package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/fleet/demo"
)

// A demo that continues on another day prints dates, and its commands reach back to the slowdown.
func TestSayDemo(t *testing.T) {
	slower := time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)
	story := demo.Story{Slower: slower, Next: slower.Add(43 * time.Minute)}
	for _, c := range []struct {
		after time.Duration
		want  string
	}{
		{40 * time.Minute, `
The shop became slower with v3 at 10:00 UTC; search gets a new version at 10:43 UTC. Try, in another terminal:
  export HONE_STORE=http://127.0.0.1:1234
  hone services
  hone top store:shop
  hone diff --cum --per second 'store:shop{version="v2"}@-2h' 'store:shop{version="v3"}@-2h'
`},
		{26 * time.Hour, `
The shop became slower with v3 at 2026-09-01 10:00 UTC; search got a new version at 2026-09-01 10:43 UTC. Try, in another terminal:
  export HONE_STORE=http://127.0.0.1:1234
  hone services
  hone top store:shop
  hone diff --cum --per second 'store:shop{version="v2"}@-28h' 'store:shop{version="v3"}@-28h'
`},
	} {
		var out bytes.Buffer
		sayDemo(&System{Out: &out}, "http://127.0.0.1:1234", story, slower.Add(c.after))
		if out.String() != c.want {
			t.Errorf("after %v it says:%s\nwant:%s", c.after, out.String(), c.want)
		}
	}
}
