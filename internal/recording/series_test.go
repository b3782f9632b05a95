package recording

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestLiveAsOf holds that a heap profile that was taken right after the program had its garbage collected is as of that, though the log of the
// collector counts from a little before the recorder does, and that one of another time is as of the collection but one before it.
func TestLiveAsOf(t *testing.T) {
	dir := t.TempDir()
	const log = `gc 1 @0.100s 0%: 0.04+2.4+0.006 ms clock, 0.08+0/0.24/0.29+0.013 ms cpu, 4->4->4 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P
gc 2 @0.200s 0%: 0.04+2.4+0.006 ms clock, 0.08+0/0.24/0.29+0.013 ms cpu, 28->28->28 MB, 28 MB goal, 0 MB stacks, 0 MB globals, 2 P
gc 3 @5.204s 0%: 0.07+0.51+0.004 ms clock, 0.15+0/0.07/0.36+0.009 ms cpu, 70->70->70 MB, 110 MB goal, 0 MB stacks, 0 MB globals, 2 P (forced)
`
	if err := os.WriteFile(filepath.Join(dir, GCFile), []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := WriteManifest(dir, &Manifest{Format: Format, How: Built}); err != nil {
		t.Fatal(err)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for at, want := range map[time.Duration]int{5204 * time.Millisecond: 0, 5201 * time.Millisecond: 0, 4 * time.Second: 1} {
		got := 0
		if c := r.LiveAsOf(at); c != nil {
			got = c.N
		}
		if got != want {
			t.Errorf("the heap profile of %v is as of gc %d, want %d", at, got, want)
		}
	}
}
