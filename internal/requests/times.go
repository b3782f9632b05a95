package requests

import (
	"cmp"
	"slices"
)

// Times are how long the requests of a trace took, which is a fraction of what is known of them.
type Times struct {
	Took    []int64 // of the requests of which that is known; where there are none, of all
	Count   int
	Slowest Request // the first of those that took longest
	List    []Brief // those of a goroutine one after the other
}

// TimesOf returns how long requests took.
func TimesOf(list []Request) *Times {
	t := &Times{Count: len(list)}
	for i := range list {
		r := &list[i]
		if i == 0 || r.Took() > t.Slowest.Took() {
			t.Slowest = *r
		}
		one := briefOf(r)
		t.List = append(t.List, one)
		if one.whole {
			t.Took = append(t.Took, r.Took())
		}
	}
	if len(t.Took) > 0 {
		return t
	}
	for i := range list {
		t.Took = append(t.Took, list[i].Took())
	}
	return t
}

// A Brief is what Times knows of a request.
type Brief struct {
	From, To, Goroutine int64
	Handler             string
	whole               bool
}

// briefs are found while somebody goes through a trace.
type briefs struct {
	list    []Brief
	slowest Request
}

func compareEnds(a, b *Brief) int {
	return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(a.Goroutine, b.Goroutine), cmp.Compare(a.From, b.From))
}

func briefOf(r *Request) Brief {
	return Brief{r.From, r.To, r.Goroutine, r.Handler, !r.Begun && !r.Open}
}

func (s *briefs) add(r *Request) {
	if len(s.list) == cap(s.list) {
		s.list = slices.Grow(s.list, max(block, len(s.list)))
	}
	one := briefOf(r)
	s.list = append(s.list, one)
	slowest := briefOf(&s.slowest)
	if len(s.list) == 1 || r.Took() > s.slowest.Took() || r.Took() == s.slowest.Took() && compareEnds(&one, &slowest) < 0 {
		s.slowest = *r
	}
}

func (s *briefs) times() *Times {
	t := &Times{Count: len(s.list), Slowest: s.slowest, List: s.list, Took: make([]int64, 0, len(s.list))}
	slowest := briefOf(&s.slowest)
	t.Slowest.Number = 1
	for i := range s.list {
		r := &s.list[i]
		if compareEnds(r, &slowest) < 0 {
			t.Slowest.Number++ // see Request.Number
		}
		if r.whole {
			t.Took = append(t.Took, r.To-r.From)
		}
	}
	if len(t.Took) == 0 {
		for i := range s.list {
			t.Took = append(t.Took, s.list[i].To-s.list[i].From)
		}
	}
	return t
}
