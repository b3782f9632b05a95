package report

import "testing"

// TestEnded holds that waits of leaked goroutines do not count where it is decided what is too small to be shown.
func TestEnded(t *testing.T) {
	for _, test := range []struct {
		head Head
		want float64
	}{
		{Head{}, 1}, {Head{Total: 100}, 1}, {Head{Total: 100, Lasting: 75}, 0.25}, {Head{Total: 100, Lasting: 200}, 0},
	} {
		if got := test.head.Ended(); got != test.want {
			t.Errorf("of %d with %d: %g, want %g", test.head.Total, test.head.Lasting, got, test.want)
		}
	}
}
