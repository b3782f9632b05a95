package cli

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Who ends a command gets what there is until then, and an exit code that no script takes for an answer.
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
	if !strings.Contains(out.String(), "interrupted: this is what had been done") || !strings.HasSuffix(said.String(), "hone: interrupted\n") {
		t.Errorf("hone load shows\n%s\nand says\n%s", &out, &said)
	}
	said.Reset()
	if code := Main(ctx, sys, []string{"top", file}); code != exitInterrupted || said.String() != "hone: interrupted\n" {
		t.Errorf("hone top exits %d when it is interrupted, and says\n%s", code, &said)
	}
}
