package words

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/heapgraph"
)

// TestUnread has words for each note that reading a heap may leave.
func TestUnread(t *testing.T) {
	files, err := filepath.Glob("../../capture/heap/*.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]bool{}
	note := regexp.MustCompile(`\.note\("(\w+)"`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range note.FindAllStringSubmatch(string(text), -1) {
			codes[m[1]] = true
		}
	}
	if len(codes) < 8 {
		t.Errorf("notes are %v", codes)
	}
	for code := range codes {
		unknown := strings.ReplaceAll(Unread(heapgraph.Note{Code: "new", Count: 3}), "new", code)
		if got := Unread(heapgraph.Note{Code: code, Count: 3}); got == unknown {
			t.Errorf("no words for %q: %s", code, got)
		}
	}
	for want, n := range map[string]heapgraph.Note{
		"read only in part: 1 stack; each word of the rest that may be a pointer counts as one": {Code: "frames", Count: 1},
		"could not be read: 2000 stacks of goroutines":                                          {Code: "stack", Count: 2000},
		"could not be read: 3 news: x":                                                          {Code: "new", Count: 3, Name: "x"},
	} {
		if got := Unread(n); got != want {
			t.Errorf("Unread(%+v) = %q, want %q", n, got, want)
		}
	}
}
