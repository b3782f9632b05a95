package receive

import (
	"net/http"
	"os"
	"strings"
	"testing"
)

// TestRecording holds that each profile in a recording is kept, once.
func TestRecording(t *testing.T) {
	raw, err := os.ReadFile("../../../testdata/docs/hi/hi0.hone")
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, nil)
	b.clock = b.clock.AddDate(0, 1, 0)
	first := b.ok(call{path: "/api/v1/profiles?service=hi&label=version=hi0", token: b.shop, body: raw})
	n := len(b.entries("shop"))
	if n == 0 || strings.Count(first, `"id"`) != n {
		t.Errorf("%d profiles are kept; the answer is %s", n, first)
	}
	second := b.ok(call{path: "/api/v1/profiles?service=hi&label=version=hi0", token: b.shop, body: raw})
	if strings.Count(second, `"repeated":true`) != n || len(b.entries("shop")) != n {
		t.Errorf("sent again, there are %d profiles; the answer is %s", len(b.entries("shop")), second)
	}
	for _, bad := range [][]byte{raw[:100], raw[:len(raw)/2], []byte("PK\x03\x04"), append([]byte("PK\x03\x04"), make([]byte, 1000)...)} {
		if w := b.do(call{path: "/api/v1/profiles?service=bad", token: b.shop, body: bad}); w.Code == http.StatusInternalServerError {
			t.Errorf("%d bytes of a recording: %d %s", len(bad), w.Code, w.Body)
		}
	}
	if w := b.do(call{path: "/api/v1/profiles?service=hi&kind=cpu", token: b.shop, body: raw}); w.Code != 400 {
		t.Errorf("a recording with a kind: %d %s", w.Code, w.Body)
	}
}
