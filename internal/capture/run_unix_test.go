//go:build unix

package capture

import (
	"os"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestForwardTo has the program get one of two signals that timeout sends at once, and both of those that somebody sends in turn.
func TestForwardTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, done := make(chan os.Signal, 16), make(chan struct{})
		var got []os.Signal
		go forwardTo(c, done, func(s os.Signal) { got = append(got, s) })
		c <- syscall.SIGTERM
		c <- syscall.SIGTERM
		c <- syscall.SIGUSR1
		time.Sleep(Pair)
		c <- syscall.SIGTERM
		synctest.Wait()
		close(done)
		if want := []os.Signal{syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGTERM}; !slices.Equal(got, want) {
			t.Errorf("the program got %v, want %v", got, want)
		}
	})
}
