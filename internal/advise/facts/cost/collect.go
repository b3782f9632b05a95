package cost

import (
	"cmp"
	"context"
	"slices"

	"github.com/hone-perf/hone/internal/advise/facts/symbol"
)

// Costs are what profiles say of lines of source.
type Costs struct {
	Inputs []Input
	Total  Cost
	gc     int64   // CPU of the collector that is on no stack of the program
	sample int64   // CPU that one sample stands for, where that is known
	Lines  []*Line // that cost something and are known, those that cost most first
	Most   *Line   // the one with the largest share, which may be less than is worth a word; nil where no line costs anything
	Notes  []string

	Tests   Cost // what is in tests alone
	Untimed Cost // what benchmarks do not time, which is not in Total
	has     [NumMetrics]bool

	chains int     // that there are, of all lines
	least  float64 // share that is worth a word
}

// maxBelow bounds how much of a chain is kept: the leaf is what matters, and what is near the line.
const maxBelow = 48

// maxChains bounds how many chains are told apart by all that is below a line. When there are more, what is near the line and the
// leaf decide, and when there are many more, what the line calls and the leaf. Where every stack is another, as in profiles of
// millions of samples, chains would else take more memory than the machine has.
const maxChains = 150_000

// reach returns how many functions below a line are kept beside the leaf.
func (c *Costs) reach() int {
	switch {
	case c.chains < maxChains:
		return maxBelow
	case c.chains < 2*maxChains:
		return 8
	default:
		return 1
	}
}

// maxSamples bounds how many samples are walked. The heaviest profiles of a day have fewer.
const maxSamples = 20_000_000

// Collect walks over profiles twice: first to find the lines that cost something, then to see what is below those that are known.
// whose selects the functions to look at. known is called for lines that have a cost, the most expensive first.
func Collect(ctx context.Context, inputs []Input, whose Whose, least float64, known func(*Line) bool) *Costs {
	c := &Costs{Inputs: inputs, least: least}
	w := newWalker(ctx, whose)
	samples := 0
	for i := range inputs {
		samples += inputs[i].Profile.NumSamples()
		c.sample = max(c.sample, inputs[i].sample())
		w.walk(&inputs[i], func(v *Cost, fs []frame, _ Traits) {
			if untimed(fs) {
				c.Untimed.Add(v)
				return
			}
			c.count(w, v, fs)
		})
	}
	most := 0.0
	for _, l := range w.at {
		if l == nil {
			continue
		}
		for m := range l.Cum {
			l.Cum[m] = max(l.Cum[m], 0)
		}
		share := c.Share(&l.Cum)
		if share >= least {
			c.Lines = append(c.Lines, l)
		}
		if share > most {
			most, c.Most = share, l
		}
	}
	slices.SortFunc(c.Lines, func(a, b *Line) int {
		return cmp.Or(cmp.Compare(c.Weight(&b.Cum), c.Weight(&a.Cum)), cmp.Compare(a.Key.File, b.Key.File), cmp.Compare(a.Key.Line, b.Key.Line))
	})
	clear(w.at)
	c.Lines = slices.DeleteFunc(c.Lines, func(l *Line) bool { return !known(l) })
	for _, l := range c.Lines {
		w.at[w.lines[l.Key]] = l
	}
	if samples > maxSamples {
		c.Notes = append(c.Notes, "the profiles are too large to compute the callees of each line")
		return c
	}
	for i := range inputs {
		w.walk(&inputs[i], func(v *Cost, fs []frame, t Traits) {
			if !untimed(fs) {
				c.chain(w, v, fs, t)
			}
		})
	}
	if c.chains >= maxChains {
		c.Notes = append(c.Notes, "there are so many different stacks that for some only what is near a line is told apart: a finding may be missing, or save more than it says")
	}
	for _, l := range c.Lines {
		l.byHash = nil
		for _, ch := range l.Chains {
			ch.Below, ch.ids, ch.next = w.named(ch.ids), nil, nil
		}
		slices.SortFunc(l.Chains, func(a, b *Chain) int {
			return cmp.Or(-slices.Compare(a.Cost[:], b.Cost[:]), slices.Compare(a.Below, b.Below))
		})
	}
	return c
}

// untimed reports whether a stack leads through a part of a benchmark that it does not time.
func untimed(fs []frame) bool {
	return slices.ContainsFunc(fs, func(f frame) bool { return f.untimed })
}

// count adds a sample to the lines on its stack, once to each.
func (c *Costs) count(w *walker, v *Cost, fs []frame) {
	c.Total.Add(v)
	for m := range c.has {
		c.has[m] = c.has[m] || v[m] != 0
	}
	tested, seen, idle, started := false, false, false, false
	for i := range fs {
		started = started || fs[i].starts
	}
	makes := maker(fs)
	for i := range fs {
		f := &fs[i]
		tested = tested || f.class == Test
		idle = idle || f.idle
		if f.class != Own && f.class != Foreign || !w.first(f.line) {
			continue
		}
		seen = true
		l := w.at[f.line]
		if l == nil {
			fresh := w.fresh[f.line]
			l = &fresh
			w.at[f.line] = l
		}
		l.Cum.Add(v)
		if started {
			l.Started.Add(v)
		}
		if i == makes {
			l.Made[0] += v[ObjectsMade]
			l.Made[1] += v[BytesMade]
		}
	}
	if idle {
		c.gc += v[CPU]
	}
	if tested && !seen {
		c.Tests.Add(v)
	}
}

// maker returns the frame of a stack whose line is said to make what the leaf allocates: the innermost of the module, or else of another
// module. There is none, and -1 is returned, where a test makes it.
func maker(fs []frame) int {
	foreigner := -1
	for i := range fs {
		switch fs[i].class {
		case Own:
			return i
		case Test:
			return -1
		case Foreign:
			if foreigner < 0 {
				foreigner = i
			}
		}
	}
	return foreigner
}

// chain adds a sample to what is below the lines on its stack.
func (c *Costs) chain(w *walker, v *Cost, fs []frame, t Traits) {
	all := noHash // of the functions up to here
	for i := range fs {
		f := &fs[i]
		if l := w.at[f.line]; l != nil && w.first(f.line) {
			b := under{fs: fs[:i], near: i, hash: all}
			if i > maxBelow {
				b = newUnder(fs[:i], maxBelow)
			}
			ch := l.known(b, t)
			if reach := c.reach(); ch == nil && reach < maxBelow {
				b = newUnder(fs[:i], reach)
				ch = l.known(b, t)
			}
			if ch == nil {
				ch = l.add(b, t)
				c.chains++
			}
			ch.Cost.Add(v)
		}
		all = all.and(f.fn)
	}
}

// An under is what is below a line: the functions of all or some of the frames there.
type under struct {
	fs   []frame // the leaf first
	near int     // as many of those next to the line
	leaf bool    // and the leaf
	hash hash
}

// newUnder returns what is below a line, of which fs are the frames: so many functions that are next to the line, and the leaf when
// there are more and few are wanted.
func newUnder(fs []frame, most int) under {
	b := under{fs: fs, near: min(most, len(fs)), leaf: most < maxBelow && len(fs) > most, hash: noHash}
	if b.leaf {
		b.hash = b.hash.and(fs[0].fn)
	}
	for i := len(fs) - b.near; i < len(fs); i++ {
		b.hash = b.hash.and(fs[i].fn)
	}
	return b
}

// len returns how many functions there are.
func (b *under) len() int {
	if b.leaf {
		return b.near + 1
	}
	return b.near
}

// fn returns the number of a function, that which the line calls first.
func (b *under) fn(i int) int32 {
	if i == b.near {
		return b.fs[0].fn
	}
	return b.fs[len(b.fs)-1-i].fn
}

// is reports whether ids are the functions.
func (b *under) is(ids []int32) bool {
	if len(ids) != b.len() {
		return false
	}
	for i, id := range ids {
		if id != b.fn(i) {
			return false
		}
	}
	return true
}

// named returns the names of functions.
func (w *walker) named(ids []int32) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = w.fns[id]
		if symbol.IsSized(out[i]) && (i == 0 || !symbol.IsRuntime(out[i-1])) {
			out[i] = "runtime.newobject"
		}
	}
	return out
}

// A hash is FNV-1a of the numbers of functions, from the leaf on, so that one function more is one step more.
type hash uint64

const noHash hash = 14695981039346656037

func (h hash) and(fn int32) hash { return (h ^ hash(fn)) * 1099511628211 }
