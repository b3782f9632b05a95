package latency

import (
	"strings"
	"testing"
	"time"
)

func TestGoals(t *testing.T) {
	l := &Log{Counts: Counts{Asked: 1000, Answered: 990, Good: 990}}
	for i := range 990 {
		l.Service.Add(time.Duration(i+1) * time.Millisecond)
	}
	for range 10 {
		l.Cut.Add(5 * time.Second)
	}
	for goal, met := range map[string]bool{
		"p50<510ms": true, "p50<499ms": false, "p99<1s": true, "p99.9<1s": false, "max<6s": true, "max<4s": false,
		"mean<1s": true, "mean<10ms": false, "errors<2%": true, "errors<1%": false, "errors<0.5": true, "p99 <= 1s": true,
	} {
		goals, err := ParseGoals(goal)
		if err != nil {
			t.Fatal(err)
		}
		if got, has := goals[0].Met(l); got != met {
			t.Errorf("%s is met: %v with %s", goal, got, has)
		}
		if got, _ := goals[0].Met(&Log{}); got {
			t.Errorf("%s is met by nothing", goal)
		}
	}
	if goals, err := ParseGoals("p99<50ms, errors<1%"); err != nil || len(goals) != 2 {
		t.Errorf("%v, %v", goals, err)
	}
	for _, bad := range []string{"", "p99", "p99>1s", "p0<1s", "p101<1s", "px<1s", "p99<1", "p99<0s", "errors<2s", "errors<0%", "errors<200%", "p99<1s,", "speed<1s"} {
		if goals, err := ParseGoals(bad); err == nil || !strings.Contains(err.Error(), "is not a goal") {
			t.Errorf("%q: %v, %v", bad, goals, err)
		}
	}
}
