package prove

import (
	"context"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hone-perf/hone/internal/prove/worker"
)

// Limits of how many smaller programs are tried for one finding, and for how long.
const (
	shrinkTries = 2000
	shrinkTime  = 10 * time.Second

	shrinkLeast   = 4 * time.Second // for the first findings, when there is no time left
	firstFindings = 3
)

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
	s := &shrinker{search: f, ctx: ctx, d: d, best: d.program, careful: careful, until: time.Now().Add(shrinkTime)}
	switch {
	case f.opt.Executions > 0:
		s.until = s.until.Add(time.Hour) // then the number of tries is the limit, however busy the machine
	case s.until.After(f.late):
		s.until = f.late
		if least := time.Now().Add(shrinkLeast); f.shrunk < firstFindings && least.After(f.late) {
			s.until = least // what is shown first is worth some time more
		}
		if most := f.last.Add(-replayTime); s.until.After(most) {
			s.until = most
		}
	}
	f.shrunk++
	defer s.stop()
	for range 5 {
		before := s.best
		s.steps()
		s.arguments()
		s.together()
		if s.best == before || !s.left() {
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
	a.target, a.calls = d.target, d.calls
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
	if c == nil || c.bucket() != s.d.bucket() || c.note != s.d.note || s.rank(c) > s.rank(s.d) {
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
	for size := len(s.best.Steps) / 2; size > 0 && s.left(); size /= 2 {
		for i := len(s.best.Steps) - size; i >= 0 && s.left(); i -= size {
			p := cloneProgram(s.best)
			removed := false
			for j := min(i+size, len(p.Steps)) - 1; j >= i && len(p.Steps) > 1; j-- { // from behind: what comes later may use it
				removed = removeStep(p, j) || removed
			}
			if removed {
				s.try(p)
			}
		}
	}
	for i := len(s.best.Steps) - 2; i >= 0 && s.left(); i-- {
		if i >= len(s.best.Steps)-1 {
			continue
		}
		if p := withoutStep(s.best, i); p != nil {
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
	case worker.Bool:
		if v.Int != 0 {
			set(worker.Value{Kind: worker.Bool})
		}
	case worker.Int:
		s.number(at)
	case worker.Float:
		s.fraction(at)
	case worker.Time:
		for _, n := range []int64{0, 1e9, 1700000000e9} {
			if v.Int == n && v.Text == "" || set(worker.Value{Kind: worker.Time, Int: n}) {
				break
			}
		}
	case worker.Writer:
		if v.Int != 0 && !set(worker.Value{Kind: v.Kind}) {
			s.number(at)
		}
	case worker.Func: // what always answers the same is plainer than what goes by its arguments
		for _, n := range []int64{worker.FuncZero, worker.FuncSame} {
			if v.Int == n || set(worker.Value{Kind: v.Kind, Int: n}) {
				break
			}
		}
	case worker.Iface:
		if v.Text != "int" {
			set(aNumber())
		}
	case worker.Ref:
		for _, plain := range s.plain(*v) {
			if set(plain) {
				break
			}
		}
	case worker.Error:
		if !set(aNumber()) { // which is no error, but may stand for anything
			s.text(at)
		}
	case worker.String, worker.Reader:
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

// aNumber is the plainest value of those that may stand for anything.
func aNumber() worker.Value {
	return worker.Value{Kind: worker.Iface, Text: "int", Elems: []worker.Value{{Kind: worker.Int}}}
}

// plain returns what may stand for a result that is a number or a text: nothing, and what it was.
func (s *shrinker) plain(ref worker.Value) []worker.Value {
	step, i := int(ref.Int>>8), int(ref.Int&255)
	if step >= len(s.best.Steps) {
		return nil
	}
	e := s.entries[s.best.Steps[step].Func]
	if i >= len(e.results) || !isBasic(e.results[i]) {
		return nil
	}
	list := []worker.Value{{}}
	for _, l := range s.d.lines[0] {
		if l.Step != step || l.Path != "result" && l.Path != "result "+strconv.Itoa(i+1) {
			continue
		}
		if text, err := strconv.Unquote(l.Text); err == nil {
			list = append(list, worker.Value{Kind: worker.String, Text: text})
		} else if n, err := strconv.ParseInt(l.Text, 10, 64); err == nil {
			list = append(list, worker.Value{Kind: worker.Int, Int: n})
		}
	}
	return list
}

// number looks for a plain number, and else for the one that is nearest to nothing.
func (s *shrinker) number(at func(p *worker.Program) *worker.Value) {
	set := func(n int64) bool {
		return magnitude(n) < magnitude(at(s.best).Int) && s.change(func(p *worker.Program) { at(p).Int = n })
	}
	for _, n := range []int64{0, 1, -1, 2, -2, 3, -3, 5, 10, 'a', 'é', 100, 1000, -at(s.best).Int} {
		if set(n) {
			break
		}
	}
	for step := at(s.best).Int / 2; step != 0 && s.left(); {
		if !set(at(s.best).Int - step) {
			step /= 2
		}
	}
}

// fraction looks for a plain number, and else for one with few digits.
func (s *shrinker) fraction(at func(p *worker.Program) *worker.Value) {
	was := at(s.best).Int
	f := math.Float64frombits(uint64(was))
	tries := []float64{0, 1, 2, 0.5, -1, 1.5, math.Trunc(f)}
	for digits := 1; digits <= 6; digits++ {
		if short, err := strconv.ParseFloat(strconv.FormatFloat(f, 'g', digits, 64), 64); err == nil {
			tries = append(tries, short)
		}
	}
	for _, n := range tries {
		w := floatValue(n)
		if w.Int == was || s.change(func(p *worker.Program) { *at(p) = w }) {
			return
		}
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
	for size := powerOfTwo(len(at(s.best).Text)); size > 0 && s.left(); size /= 2 {
		for from := 0; from+size <= len(at(s.best).Text) && s.left(); {
			if !s.change(func(p *worker.Program) { v := at(p); v.Text = v.Text[:from] + v.Text[from+size:] }) {
				from += size
			}
		}
	}
	for i, n := 0, 0; i < len(at(s.best).Text) && n < 24 && s.left(); n++ {
		text := at(s.best).Text
		c, size := utf8.DecodeRuneInString(text[i:])
		for _, plain := range plainer(c, size) {
			if s.change(func(p *worker.Program) { at(p).Text = text[:i] + plain + text[i+size:] }) {
				size = len(plain)
				break
			}
		}
		i += size
	}
	if v := at(s.best); v.Int != 0 {
		s.change(func(p *worker.Program) { at(p).Int = 0 })
	}
}

// powerOfTwo returns the largest up to n. What depends on a length most often depends on it by one of those.
func powerOfTwo(n int) int {
	if n == 0 {
		return 0
	}
	return 1 << (bits.Len(uint(n)) - 1)
}

// plainer returns characters that say more than c, the plainest first. One of another kind, such as a character of more
// than one byte, may be what it takes.
func plainer(c rune, size int) []string {
	list := []string{"a", "0", "é", "\xff"}
	for i, p := range list {
		if r, _ := utf8.DecodeRuneInString(p); r == c {
			return list[:i]
		}
	}
	if c < utf8.RuneSelf {
		return list[:2]
	}
	return append(list[:3:3], strings.Repeat("a", size)) // the length in bytes may be what it takes
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
	for size := powerOfTwo(len(v.Elems) / n); size > 0; size /= 2 {
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
	for { // one part of the path after the other
		path, query, ok := strings.Cut(at(s.best).Text, "?")
		i := strings.LastIndexByte(path, '/')
		if i < 0 || i == strings.IndexByte(path, '/') {
			break
		}
		text := path[:i]
		if ok {
			text += "?" + query
		}
		if !s.change(func(p *worker.Program) { at(p).Text = text }) {
			break
		}
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
		for k, plain := range []string{"", escape(sampleFor(name)), "0", "a"} {
			if plain == value {
				break
			}
			if plain == "" && k > 0 {
				continue // nothing is known about the name
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
