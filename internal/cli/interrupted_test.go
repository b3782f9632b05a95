package cli

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// An interrupted command prints what it has so far. Its exit code is not one of a complete answer.
func TestInterrupted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "app.folded")
	if err := os.WriteFile(file, []byte("main;work 3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if asked.Add(1) == 100 {
			interrupt()
		}
	}))
	defer server.Close()
	var out, said bytes.Buffer
	sys := System{In: strings.NewReader(""), Out: &out, Err: &said, Env: func(string) string { return "" }, Dir: t.TempDir(), Zone: time.UTC}
	args := []string{"load", "-t", "1h", "-c", "2", "--warmup", "0", "--slo", "errors<100%", server.URL}
	if code := Main(ctx, sys, args); code != exitInterrupted {
		t.Errorf("hone load exits %d when it is interrupted; want %d\n%s%s", code, exitInterrupted, &out, &said)
	}
	if !strings.Contains(out.String(), "interrupted: this was done so far") || !strings.HasSuffix(said.String(), "hone: interrupted\n") {
		t.Errorf("hone load shows\n%s\nand says\n%s", &out, &said)
	}
	said.Reset()
	if code := Main(ctx, sys, []string{"top", file}); code != exitInterrupted || said.String() != "hone: interrupted\n" {
		t.Errorf("hone top exits %d when it is interrupted, and says\n%s", code, &said)
	}
}

// writes calls f when something is written.
type writes func()

func (f writes) Write(b []byte) (int, error) {
	f()
	return len(b), nil
}

// hone shell can be interrupted while it waits for a question.
func TestInterruptedShell(t *testing.T) {
	file := filepath.Join(t.TempDir(), "app.folded")
	if err := os.WriteFile(file, []byte("main;work 3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"shell", file}, {"pprof", file}} {
		t.Run(command[0], func(t *testing.T) {
			ctx, interrupt := context.WithCancel(context.Background())
			defer interrupt()
			in, asks := io.Pipe() // the writer stays open, so the shell waits
			defer asks.Close()
			go asks.Write([]byte("top\n"))
			code := make(chan int, 1)
			go func() {
				code <- Main(ctx, System{In: in, Out: writes(interrupt), Err: io.Discard, Env: func(string) string { return "" }, Dir: t.TempDir(), Zone: time.UTC}, command)
			}()
			select {
			case got := <-code:
				if want := map[string]int{"shell": exitInterrupted, "pprof": 2}[command[0]]; got != want {
					t.Errorf("exit code %d, want %d", got, want)
				}
			case <-time.After(time.Minute):
				t.Error("it goes on waiting for a line")
			}
		})
	}
}
