package agent

import "testing"

func TestQueueMean(t *testing.T) {
	var q queue
	if n, ok := q.mean(); ok {
		t.Errorf("nobody looked, and there were %v", n)
	}
	for _, n := range []int64{0, 1, 5} {
		q.sum.Add(n)
		q.looks.Add(1)
	}
	if n, ok := q.mean(); n != 2 || !ok {
		t.Errorf("of 0, 1 and 5 the mean is %v, %v", n, ok)
	}
	if _, ok := q.mean(); ok {
		t.Error("it was asked before, and nobody looked since")
	}
}
