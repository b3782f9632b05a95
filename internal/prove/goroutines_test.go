package prove

import (
	"strings"
	"testing"
)

// Goroutines that a change starts, and that its function does not wait for, are a doubt.
func TestNewGoroutines(t *testing.T) {
	const head = "package p\n\nimport \"sync\"\n\n"
	for _, tt := range []struct{ old, now, want string }{
		{"", "done := make(chan bool); go func() { done <- true }()", "F"},
		{"go print()", "go print(1)", ""},
		{"go print()", "go print(); go print()", "F"},
		{"", "var wg sync.WaitGroup; wg.Add(1); go func() { wg.Done() }(); wg.Wait()", ""},
		{"", "var wg sync.WaitGroup; go func() { wg.Wait() }()", "F"},
	} {
		code := func(body string) string { return head + "var _ sync.Mutex\n\nfunc F() { " + body + " }\n" }
		_, pairs := versions(t, code(tt.old), code(tt.now))
		r := &run{}
		r.doubtGoroutines(pairs)
		if tt.want == "" && len(r.doubts) > 0 || tt.want != "" && (len(r.doubts) != 1 || !strings.HasSuffix(r.doubts[0].Text, "in "+tt.want)) {
			t.Errorf("%s: %q", tt.now, r.doubts)
		}
	}
}
