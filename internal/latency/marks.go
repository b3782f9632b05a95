package latency

import (
	"errors"
	"sort"
	"time"
)

// A Mark is how many requests had been answered by some time, those of the warm-up, too.
type Mark struct {
	At       time.Duration `json:"at_ns"` // since the run began, warm-up included
	Answered int64         `json:"answered"`
}

// MaxMarks is how many of them a log has at most.
const MaxMarks = 2048

// AnsweredBy returns how many requests had been answered by a time since the run began. Between two marks answers came
// evenly.
func (l *Log) AnsweredBy(at time.Duration) float64 {
	m := l.Marks
	i := sort.Search(len(m), func(i int) bool { return m[i].At >= at })
	switch {
	case len(m) == 0 || i == 0 && m[0].At > at:
		return 0
	case i == len(m):
		return float64(m[i-1].Answered)
	case m[i].At == at:
		return float64(m[i].Answered)
	}
	a, b := m[i-1], m[i]
	return float64(a.Answered) + float64(b.Answered-a.Answered)*float64(at-a.At)/float64(b.At-a.At)
}

// Steady returns the time since the run began in which requests were sent that count, without the wait for the last answers;
// ok is false when it is not known, or nothing.
func (l *Log) Steady() (from, to time.Duration, ok bool) {
	if len(l.Marks) == 0 {
		return 0, 0, false
	}
	from, to = l.Warmup, l.Marks[len(l.Marks)-1].At
	return from, to, from < to
}

func checkMarks(marks []Mark) error {
	if len(marks) > MaxMarks {
		return errors.New("it has too many marks")
	}
	for i, m := range marks {
		if m.At < 0 || m.Answered < 0 || i > 0 && (m.At <= marks[i-1].At || m.Answered < marks[i-1].Answered) {
			return errors.New("its marks are out of order")
		}
	}
	return nil
}
