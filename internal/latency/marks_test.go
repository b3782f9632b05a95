package latency

import (
	"strings"
	"testing"
	"time"
)

func TestAnsweredBy(t *testing.T) {
	l := &Log{Warmup: 2 * time.Second, Marks: []Mark{{At: time.Second, Answered: 100}, {At: 2 * time.Second, Answered: 300}, {At: 4 * time.Second, Answered: 300}}}
	for _, tt := range []struct {
		at   time.Duration
		want float64
	}{
		{0, 0}, {time.Second, 100}, {1500 * time.Millisecond, 200}, {2 * time.Second, 300}, {3 * time.Second, 300}, {9 * time.Second, 300},
	} {
		if got := l.AnsweredBy(tt.at); got != tt.want {
			t.Errorf("by %v %v were answered, want %v", tt.at, got, tt.want)
		}
	}
	from, to, ok := l.Steady()
	if from != 2*time.Second || to != 4*time.Second || !ok {
		t.Errorf("steady from %v to %v, %v", from, to, ok)
	}
	if got := (&Log{}).AnsweredBy(time.Second); got != 0 {
		t.Errorf("a log without marks has %v answers", got)
	}
	if _, _, ok := (&Log{}).Steady(); ok {
		t.Error("a log without marks is steady")
	}
}

func TestMarksAreChecked(t *testing.T) {
	for _, marks := range []string{
		`[{"at_ns":2,"answered":1},{"at_ns":1,"answered":1}]`, `[{"at_ns":1,"answered":2},{"at_ns":2,"answered":1}]`,
		`[{"at_ns":-1,"answered":1}]`, `[{"at_ns":1,"answered":-1}]`,
	} {
		if _, err := Read(strings.NewReader(`{"format":1,"service":{},"marks":` + marks + `}`)); err == nil {
			t.Errorf("%s was taken", marks)
		}
	}
}
