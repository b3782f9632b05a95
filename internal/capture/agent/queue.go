package agent

import (
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// A queue looks how many goroutines could go on and wait for a P. By how many these are on average, and by how
// many requests there are a second, it is known how long each waits: Little's law. The histogram of such waits that the
// runtime keeps cannot tell, since it has every eighth wait of a goroutine, and goroutines that serve do the same again and
// again: it may be the long one each time, or never.
type queue struct {
	sum, looks atomic.Int64
}

// lookQueue is how often it looks.
const lookQueue = 10 * time.Millisecond

// watch looks for as long as the program runs.
func (q *queue) watch() {
	ready := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}}
	for {
		time.Sleep(lookQueue)
		metrics.Read(ready)
		if ready[0].Value.Kind() != metrics.KindUint64 {
			return // since Go 1.26
		}
		q.sum.Add(int64(ready[0].Value.Uint64()))
		q.looks.Add(1)
	}
}

// mean returns how many there were since it was asked last, and whether that is known.
func (q *queue) mean() (float64, bool) {
	n, sum := q.looks.Swap(0), q.sum.Swap(0)
	if n == 0 {
		return 0, false
	}
	return float64(sum) / float64(n), true
}
