package gocmd

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// TestMain is a go command that cleans up when it is interrupted, where a test runs itself as one.
func TestMain(m *testing.M) {
	if dir := os.Getenv("GOCMD_TEST_DIR"); dir != "" {
		c := make(chan os.Signal, 1)
		signal.Notify(c, os.Interrupt)
		os.WriteFile(filepath.Join(dir, "begun"), nil, 0o600)
		<-c
		os.WriteFile(filepath.Join(dir, "cleaned"), nil, 0o600)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestInterrupted holds that the go command can clean up when nobody wants its answer any more.
func TestInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no interrupt for another process")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	go func() {
		_, err := Command{Tool: self, Env: append(os.Environ(), "GOCMD_TEST_DIR="+dir)}.Run(ctx, "build")
		done <- err
	}()
	for {
		if _, err := os.Stat(filepath.Join(dir, "begun")); err == nil {
			break
		}
		select {
		case err := <-done:
			t.Fatalf("it ended by itself: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v; want %v", err, context.Canceled)
	}
	if _, err := os.Stat(filepath.Join(dir, "cleaned")); err != nil {
		t.Errorf("it was not left the time to clean up: %v", err)
	}
}

func TestIs(t *testing.T) {
	for program, want := range map[string]bool{
		"go": true, "/usr/local/go/bin/go": true, "go1.26.8": true, "go1.27rc1": true, "go.exe": true,
		"gopls": false, "gofmt": false, "./go/app": false, "gold": false, "go-run": false, "": false,
	} {
		if got := Is(program); got != want {
			t.Errorf("Is(%q) = %v", program, got)
		}
	}
}
