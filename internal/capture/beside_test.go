package capture

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/recording"
)

// TestMetricsFromOutside adds metrics measured from outside to the lines with the same time. Lines that have them already, and a torn line, stay as
// they are.
func TestMetricsFromOutside(t *testing.T) {
	const text = `{"t":100,"process/cpu":0.5}
{"t":1100,"process/cpu":1}
{"t":2100,"process/cpu":2,"process/rss":5}
{"t":9000,"process/cpu":3}
{"t":99`
	const want = `{"t":100,"process/cpu":0.5,"process/rss":10}
{"t":1100,"process/cpu":1,"process/rss":20,"process/threads":7}
{"t":2100,"process/cpu":2,"process/rss":5}
{"t":9000,"process/cpu":3}
{"t":99
`
	dir, zero := t.TempDir(), time.Now()
	name := filepath.Join(dir, recording.MetricsFile)
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	b := beside{{zero.Add(150 * time.Millisecond), 10, 0}, {zero.Add(1200 * time.Millisecond), 20, 7}, {zero.Add(2200 * time.Millisecond), 30, 7}}
	if err := b.add(dir, zero); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
