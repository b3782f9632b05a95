package race

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/prove"
)

func TestListens(t *testing.T) {
	for text, want := range map[string]string{
		"2026/01/15 09:30:00 listening on http://127.0.0.1:8080\n": "8080",
		"Serving at localhost:80":                                  "80",
		"level=INFO msg=\"server started\" addr=[::]:9090":         "9090",
		"connected to postgres at 127.0.0.1:5432":                  "",
		"listening on 10.0.0.7:8080":                               "",
		"listening\non 127.0.0.1:8080":                             "",
	} {
		got := ""
		if m := listens().FindStringSubmatch(text); m != nil {
			got = m[1]
		}
		if got != want {
			t.Errorf("%q: port %q; want %q", text, got, want)
		}
	}
}

// TestAsker holds that what a program prints comes through, and that it is asked until it is to end.
func TestAsker(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/a" && r.Header.Get("X") == "1" {
			asked.Add(1)
		}
	}))
	defer server.Close()
	var out bytes.Buffer
	a := &asker{next: &out, list: []prove.MadeRequest{{Method: "POST", Target: "/a", Header: [][]string{{"X", "1"}}, Body: "b"}, {Method: "GET", Target: "%zz"}}}
	text := "starting\nlistening on " + strings.TrimPrefix(server.URL, "http://") + "\n"
	for _, part := range []string{text[:15], text[15:25], text[25:]} { // as it comes
		fmt.Fprint(a, part)
	}
	for end := time.Now().Add(time.Minute); asked.Load() < 20 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	n := a.stop()
	if out.String() != text {
		t.Errorf("%q came through", out.String())
	}
	if asked.Load() < 20 || n < 20 {
		t.Errorf("it was asked %d times, and counts %d", asked.Load(), n)
	}
	if (&asker{}).stop() != 0 {
		t.Error("one that found no server has answers")
	}
}

func TestBounded(t *testing.T) {
	b := &bounded{most: 100}
	for i := range 50 {
		fmt.Fprintf(b, "line %d\n", i)
	}
	if got := b.buf.String(); len(got) > 100 || !strings.HasSuffix(got, "line 49\n") {
		t.Errorf("%d bytes are left: %q", len(got), got)
	}
}
