package report

import (
	"fmt"
	"strings"
	"testing"
)

// That a machine is noisier than the changes it can tell is no contradiction, and is said so.
func TestNoiseLineTellsSingleRunsFromMany(t *testing.T) {
	c := &Compare{Paired: true, Noise: 0.011, NoisePairs: 6, Within: 0.01, Alpha: 0.01}
	lines := c.heading()
	got := fmt.Sprint(lines[len(lines)-1]...)
	want := "single runs of the same program differ by 1.1% here (6 pairs); many pairs together show changes down to 1%, and smaller ones count as none; at most 1% of verdicts are false"
	if strings.TrimSpace(got) != want {
		t.Errorf("the line says %q; want %q", got, want)
	}
	c.Surely, c.Within = true, 0.07
	lines = c.heading()
	got = fmt.Sprint(lines[len(lines)-1]...)
	want = "single runs of the same program differ by 1.1% here (6 pairs); only changes that are surely larger than 7% count; at most 1% of verdicts are false"
	if strings.TrimSpace(got) != want {
		t.Errorf("the line says %q; want %q", got, want)
	}
}
