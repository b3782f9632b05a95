package capture

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/gclog"
)

func TestMain(m *testing.M) {
	switch os.Getenv("HONE_TEST_CHILD") {
	case "":
		listen()
		// Most tests wait for programs, which wait for what is written once a second.
		flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0)))
		os.Exit(m.Run())
	case "interrupted":
		c := make(chan os.Signal, 1)
		signal.Notify(c, os.Interrupt)
		<-c
		os.Exit(5)
	case "work":
		var keep [][]byte
		for i := range 200 {
			keep = append(keep, make([]byte, 1<<20))
			if i%50 == 49 {
				keep = nil
				// The collector may write at any time; what comes in the middle of its lines can't be told apart.
				debug.SetGCPercent(-1)
				runtime.GC()
				time.Sleep(20 * time.Millisecond)
				os.Stderr.WriteString("half a line, ")
				os.Stderr.WriteString("and its end\n")
				debug.SetGCPercent(100)
			}
		}
		runtime.KeepAlive(keep)
		io.Copy(os.Stdout, os.Stdin)
		os.Stdout.WriteString(os.Getenv("GODEBUG"))
		os.Exit(7)
	}
}

// listen makes programs that are started listen to hangups and interrupts. Where these are ignored, as below nohup or in the background of a script,
// they would ignore them, too, unless somebody listens here.
func listen() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

func TestGC(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	log, code, err := GC(context.Background(), Program{
		Args: []string{self}, Env: append(os.Environ(), "HONE_TEST_CHILD=work", "GODEBUG=inittrace=0"),
		In: strings.NewReader("input "), Out: &out, Err: &errs,
	})
	if err != nil || code != 7 {
		t.Fatalf("exit code %d, %v", code, err)
	}
	if len(log.Cycles) < 5 || len(log.Processes) != 1 {
		t.Errorf("%d cycles of %d processes", len(log.Cycles), len(log.Processes))
	}
	if got := out.String(); got != "input inittrace=0,gctrace=1" {
		t.Errorf("standard output is %q", got)
	}
	if got, want := errs.String(), strings.Repeat("half a line, and its end\n", 4); got != want {
		t.Errorf("standard error is %q, want %q", got, want)
	}
}

// A user who asks for lines about garbage collection sees them, and so does hone.
func TestGCAskedFor(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	log, _, err := GC(context.Background(), Program{Args: []string{self}, Env: append(os.Environ(), "HONE_TEST_CHILD=work", "GODEBUG=gctrace=1"), Err: &errs})
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(errs.String(), " ms clock, "); n < 5 || n != len(log.Cycles) {
		t.Errorf("standard error has %d lines, and hone read %d:\n%s", n, len(log.Cycles), &errs)
	}
}

func TestGCProgramNotFound(t *testing.T) {
	_, _, err := GC(context.Background(), Program{Args: []string{"no-such-program-anywhere"}})
	if !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("err is %v", err)
	}
}

func TestWithGCTrace(t *testing.T) {
	tests := []struct{ in, want string }{
		{"A=1", "A=1 GODEBUG=gctrace=1"},
		{"GODEBUG=x=1 A=1", "A=1 GODEBUG=x=1,gctrace=1"},
		{"GODEBUG=gctrace=2,x=1", "GODEBUG=gctrace=2,x=1"},
		{"GODEBUG=gctrace=0", "GODEBUG=gctrace=0,gctrace=1"},
		{"GODEBUG=", "GODEBUG=gctrace=1"},
	}
	for _, tt := range tests {
		if got := withGCTrace(strings.Fields(tt.in)); !slices.Equal(got, strings.Fields(tt.want)) {
			t.Errorf("withGCTrace(%s) = %s, want %s", tt.in, got, tt.want)
		}
	}
}

// A question without the end of its line is seen before it is answered.
func TestPassQuestion(t *testing.T) {
	from, to := io.Pipe()
	seen, show := io.Pipe()
	done := make(chan error)
	go func() { done <- pass(new(gclog.Parser).Line, from, show) }()
	to.Write([]byte("Continue? "))
	buf := make([]byte, 64)
	deadline := time.AfterFunc(30*time.Second, func() { seen.CloseWithError(errors.New("nothing was passed on")) })
	defer deadline.Stop()
	if n, err := seen.Read(buf); err != nil || string(buf[:n]) != "Continue? " {
		t.Errorf("saw %q, %v", buf[:n], err)
	}
	to.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
