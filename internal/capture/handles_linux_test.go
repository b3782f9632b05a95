package capture

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// An interrupt that hone ignores, as in the background of a script, is for the program if that has asked for it.
func TestIgnoredInterrupt(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	signal.Ignore(os.Interrupt)
	defer func() {
		signal.Reset(os.Interrupt)
		listen()
	}()
	p := Program{Args: []string{self}, Env: append(os.Environ(), "HONE_TEST_CHILD=interrupted")}
	// Until the program has asked for it, nothing comes of an interrupt.
	end, err := run(t.Context(), p, watch{limit: time.Minute, while: func(over context.Context) {
		for over.Err() == nil {
			syscall.Kill(os.Getpid(), syscall.SIGINT)
			select {
			case <-over.Done():
			case <-time.After(2 * Pair):
			}
		}
	}})
	if err != nil || codeOf(end.state) != 5 {
		t.Errorf("the program ended with %d, %v", codeOf(end.state), err)
	}
}
