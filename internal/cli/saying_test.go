package cli

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hone-perf/hone/internal/mcp"
)

// TestProgressWithoutTerminal holds that a log gets a progress line every ten seconds, and none while there is no message.
func TestProgressWithoutTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		reader, locale := "", ""
		sys := &System{Err: &said, Env: func(name string) string {
			if name == "LC_ALL" {
				return locale
			}
			return reader
		}}
		say := newSaying(sys)
		after := func(d time.Duration, want string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			say.mu.Lock()
			defer say.mu.Unlock()
			if got := said.String(); got != want {
				t.Errorf("it wrote %q, want %q", got, want)
			}
			said.Reset()
		}
		after(time.Minute, "")
		say.now("looking for handlers")
		after(4*time.Second, "")
		say.now("building ./cmd/server")
		after(17*time.Second, "hone: building ./cmd/server… (10s)\nhone: building ./cmd/server… (20s)\n")
		say.now("recording")
		after(time.Minute, "")
		say.now("packing")
		after(11*time.Second, "hone: packing… (91s)\n")
		reader = readerTools // hone mcp takes the line for progress, and does not show it with the answer
		after(10*time.Second, mcp.Progress+"hone: packing… (101s)\n")
		say.now("")
		after(time.Minute, "")
		reader, locale = "", "C"
		say = newSaying(sys)
		say.now("building")
		after(11*time.Second, "hone: building... (10s)\n")
		say.now("")
		after(time.Minute, "")
	})
}
