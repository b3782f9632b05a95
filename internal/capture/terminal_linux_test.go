package capture

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminalChild writes what it knows of its standard error, and does so again when the terminal has another size.
func terminalChild() {
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	size := func() string {
		s, err := unix.IoctlGetWinsize(2, unix.TIOCGWINSZ)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%dx%d", s.Col, s.Row)
	}
	fmt.Fprintln(os.Stderr, "size", size())
	fmt.Fprintln(os.Stderr, "gc 1 @0.012s 2%: 0.026+0.39+0.10 ms clock, 0.21+0.88/0.52/0+0.84 ms cpu, 4->4->0 MB, 5 MB goal, 0 MB stacks, 0 MB globals, 8 P")
	for size() == "80x24" {
		<-changed
	}
	fmt.Fprintln(os.Stderr, "size", size())
}

// A program whose standard error is a terminal has one below hone, too, which is as large, and stays so. What the collector writes does not get to it.
func TestStandardErrorIsATerminal(t *testing.T) {
	const child = "HONE_TEST_TERMINAL"
	if os.Getenv(child) != "" {
		terminalChild()
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	user := os.NewFile(uintptr(fd), "terminal")
	defer user.Close()
	resize := func(col, row uint16) {
		t.Helper()
		if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: col, Row: row}); err != nil {
			t.Fatal(err)
		}
	}
	resize(80, 24)
	screen := programEnd(fd, &unix.Termios{Oflag: unix.OPOST | unix.ONLCR})
	if screen == nil {
		t.Fatal("there is no end of the terminal to write to")
	}
	defer screen.Close()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	lines := make(chan string, 3)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(user); in.Scan(); {
			lines <- strings.TrimSuffix(in.Text(), "\r")
		}
	}()
	var kept []string
	p := Program{Args: []string{self, "-test.run=^" + t.Name() + "$"}, Env: append(os.Environ(), child+"=1"), Err: screen}
	end, err := run(ctx, p, watch{gctrace: true, kept: func(line string) { kept = append(kept, line) }, while: func(over context.Context) {
		for _, want := range []string{"size 80x24", "size 100x50"} {
			select {
			case got := <-lines:
				if got != want {
					t.Errorf("the terminal shows %q, want %q", got, want)
				}
			case <-ctx.Done():
				t.Errorf("the terminal does not show %q", want)
			}
			resize(100, 50)
			syscall.Kill(os.Getpid(), syscall.SIGWINCH)
		}
		<-over.Done()
	}})
	if err != nil || codeOf(end.state) != 0 {
		t.Fatalf("%+v, %v", end, err)
	}
	if len(end.log.Cycles) == 0 || len(kept) == 0 {
		t.Errorf("of the collector, there is %+v, from %q", end.log, kept)
	}
}
