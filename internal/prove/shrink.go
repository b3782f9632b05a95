package prove

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/prove/worker"
)

// shrinkTries is how many smaller programs are tried for one finding.
const shrinkTries = 600

// A shrinker looks for a smaller program with the same difference.
type shrinker struct {
	*search
	ctx  context.Context
	d    *finding
	best *worker.Program

	careful bool // a difference may stay in the workers: they are not used again
	live    [2]*process
	tries   int
	until   time.Time
}

// shrink cuts the program of a finding down to the least that still shows it.
func (f *search) shrink(ctx context.Context, d *finding) error {
	if d.lines[0] == nil {
		return nil // it ended a worker: each try would take as long again
	}
	// Most functions remember nothing, and can be tried in the same workers over and over.
	for _, careful := range []bool{false, true} {
		done, err := f.shrinkIn(ctx, d, careful)
		if err != nil || done {
			return err
		}
	}
	return nil
}

// shrinkIn reports whether what it arrived at shows the difference in workers that saw nothing else.
func (f *search) shrinkIn(ctx context.Context, d *finding, careful bool) (bool, error) {
	s := &shrinker{search: f, ctx: ctx, d: d, best: d.program, careful: careful, until: time.Now().Add(10 * time.Second)}
	defer s.stop()
	for range 4 {
		before := weight(s.best)
		s.steps()
		s.arguments()
		if weight(s.best) >= before || !s.left() {
			break
		}
	}
	if s.best == d.program {
		return true, ctx.Err()
	}
	seen, err := f.replay(ctx, []*worker.Program{s.best}, 2, confirmLimit)
	if err != nil {
		return false, err
	}
	a, b := f.compare(s.best, seen[0], seen[1]), f.compare(s.best, seen[2], seen[3])
	if a == nil || b == nil || a.bucket() != d.bucket() || b.bucket() != d.bucket() || a.note != d.note {
		return false, nil
	}
	a.target = d.target
	*d = *a
	return true, nil
}

func (s *shrinker) stop() {
	for i, p := range s.live {
		if p != nil {
			p.stop()
			s.live[i] = nil
		}
	}
}

func (s *shrinker) left() bool {
	return s.tries < shrinkTries && s.ctx.Err() == nil && time.Now().Before(s.until)
}

// try keeps p when it shows the same difference.
func (s *shrinker) try(p *worker.Program) bool {
	if !s.left() {
		return false
	}
	s.tries++
	var seen [2]*worker.Seen
	for i := range s.live {
		if s.live[i] != nil && s.live[i].dead {
			s.live[i].stop()
			s.live[i] = nil
		}
		if s.live[i] == nil {
			fresh, err := start(s.ctx, s.files[i].file, s.config(runLimit))
			if err != nil {
				return false
			}
			s.live[i] = fresh
		}
		seen[i] = s.live[i].run([]*worker.Program{p}, worker.Full)[0]
	}
	c := s.compare(p, seen[0], seen[1])
	if s.careful && (c != nil || seen[0].Status != seen[1].Status) {
		s.stop() // what they hold may differ from now on
	}
	if c == nil || c.bucket() != s.d.bucket() || c.note != s.d.note {
		return false
	}
	s.best = p
	return true
}

// change tries what edit makes of the best program so far.
func (s *shrinker) change(edit func(p *worker.Program)) bool {
	p := cloneProgram(s.best)
	edit(p)
	return s.try(p)
}

func (s *shrinker) steps() {
	if s.best.After {
		s.change(func(p *worker.Program) { p.After = false })
	}
	for i := len(s.best.Steps) - 1; i >= 0 && len(s.best.Steps) > 1; i-- {
		p := cloneProgram(s.best)
		if i < len(p.Steps) && removeStep(p, i) {
			s.try(p)
		}
	}
}

// arguments makes arguments plainer, one after the other.
func (s *shrinker) arguments() {
	for i := range s.best.Steps {
		for j := range s.best.Steps[i].Args {
			s.value(func(p *worker.Program) *worker.Value { return &p.Steps[i].Args[j] })
		}
	}
}

// value makes one value plainer. at finds it in a program.
func (s *shrinker) value(at func(p *worker.Program) *worker.Value) {
	v := at(s.best)
	set := func(with worker.Value) bool {
		return s.change(func(p *worker.Program) { *at(p) = with })
	}
	switch v.Kind {
	case worker.Int:
		for _, n := range []int64{0, 1, -1, 2, -2, 3, -3, 5, 10, 'a', 'é', v.Int / 2, -v.Int, v.Int - 1} {
			if magnitude(n) < magnitude(v.Int) && set(worker.Value{Kind: worker.Int, Int: n}) {
				break
			}
		}
	case worker.Float:
		for _, n := range []float64{0, 1, 2, 0.5} {
			w := floatValue(n)
			if v.Int != w.Int && set(w) {
				break
			}
		}
	case worker.Writer, worker.Func:
		if v.Int != 0 {
			set(worker.Value{Kind: v.Kind})
		}
	case worker.String, worker.Reader, worker.Error:
		s.text(at)
	case worker.List, worker.Map, worker.Struct, worker.Request, worker.Chan:
		s.elements(at)
	}
	if v := at(s.best); v.Kind == worker.Request {
		s.request(at)
	}
	for k := range at(s.best).Elems {
		s.value(func(p *worker.Program) *worker.Value {
			if v := at(p); k < len(v.Elems) {
				return &v.Elems[k]
			}
			return &worker.Value{}
		})
	}
}

// magnitude orders numbers by how much there is to them. A small character says more than a number below zero.
func magnitude(n int64) uint64 {
	if n < 0 {
		return uint64(-n) + 1000
	}
	return uint64(n)
}

// text takes pieces out of a text, large ones first, and then makes its characters plain.
func (s *shrinker) text(at func(p *worker.Program) *worker.Value) {
	for size := len(at(s.best).Text); size > 0 && s.left(); size /= 2 {
		for from := 0; from+size <= len(at(s.best).Text) && s.left(); {
			if !s.change(func(p *worker.Program) { v := at(p); v.Text = v.Text[:from] + v.Text[from+size:] }) {
				from += size
			}
		}
	}
	for i := 0; i < len(at(s.best).Text) && i < 24 && s.left(); i++ {
		if c := at(s.best).Text[i]; c != 'a' && c != '0' && c < 0x80 {
			_ = s.change(func(p *worker.Program) { v := at(p); v.Text = v.Text[:i] + "a" + v.Text[i+1:] }) ||
				s.change(func(p *worker.Program) { v := at(p); v.Text = v.Text[:i] + "0" + v.Text[i+1:] })
		}
	}
	if v := at(s.best); v.Int != 0 {
		s.change(func(p *worker.Program) { at(p).Int = 0 })
	}
}

// elements takes elements out of a list, a map, a struct, and headers out of a request.
func (s *shrinker) elements(at func(p *worker.Program) *worker.Value) {
	v := at(s.best)
	if v.Kind == worker.List && v.Int != 0 {
		s.change(func(p *worker.Program) { at(p).Int = 0 })
	}
	n := 1
	if v.Kind == worker.Map {
		n = 2
	}
	for size := len(v.Elems) / n; size > 0; size /= 2 {
		for from := 0; s.left(); {
			v := at(s.best)
			end := len(v.Elems)
			if v.Kind == worker.Request {
				end--
			}
			if from+size*n > end {
				break
			}
			ok := s.change(func(p *worker.Program) {
				v := at(p)
				v.Elems = slices.Delete(v.Elems, from, from+size*n)
				if v.Kind == worker.Struct || v.Kind == worker.Request {
					v.Names = slices.Delete(v.Names, from, from+size)
				}
			})
			if !ok {
				from += size * n
			}
		}
	}
}

// request makes the address of a request plainer.
func (s *shrinker) request(at func(p *worker.Program) *worker.Value) {
	if method, rest, _ := strings.Cut(at(s.best).Text, " "); method != "GET" {
		s.change(func(p *worker.Program) { at(p).Text = "GET " + rest })
	}
	if path, query, ok := strings.Cut(at(s.best).Text, "?"); path != "GET /" {
		text := "GET /"
		if ok {
			text += "?" + query
		}
		s.change(func(p *worker.Program) { at(p).Text = text })
	}
	path, query, _ := strings.Cut(at(s.best).Text, "?")
	pairs := strings.Split(query, "&")
	for i := 0; i < len(pairs) && query != ""; {
		less := slices.Delete(slices.Clone(pairs), i, i+1)
		text := path
		if len(less) > 0 {
			text += "?" + strings.Join(less, "&")
		}
		if s.change(func(p *worker.Program) { at(p).Text = text }) {
			pairs = less
			continue
		}
		i++
	}
	for i := range pairs { // a plain value, where any will do
		name, value, ok := strings.Cut(pairs[i], "=")
		if !ok {
			continue
		}
		for _, plain := range []string{"", "red", "0", "a"} {
			if plain == value {
				break
			}
			with := slices.Clone(pairs)
			with[i] = name + "=" + plain
			if s.change(func(p *worker.Program) { at(p).Text = path + "?" + strings.Join(with, "&") }) {
				pairs = with
				break
			}
		}
	}
}
