package main

import "testing"

// TestWebBundle holds that the page which hone web serves is what its sources give.
func TestWebBundle(t *testing.T) {
	t.Parallel()
	long(t)
	goCommand(t, "-C", "tools/web", "run", ".", "-check")
}
