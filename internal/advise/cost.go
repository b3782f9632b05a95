package advise

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// A metric is something that costs.
type metric int

const (
	cpu metric = iota
	bytesMade
	objectsMade
	inUse
	blocked
	held // what others waited for while a mutex was held
	goroutines
	numMetrics
)

// Behind the metrics, a cost has how far the sampling of the heap can have put three of them off: sums of squares, as variances
// are, so that they add up as the metrics do.
const (
	objectsMadeSpread = numMetrics + iota
	bytesMadeSpread   // in units of spreadUnit
	inUseSpread       // as well
	numCosts
)

// spreadUnit keeps squares of bytes small enough for an int64.
const spreadUnit = 1 << 20

// metricInfo is how each metric is called and counted.
var metricInfo = [numMetrics]struct {
	name, short, unit string
	kind, typ         string // of profile, and sample type in it
}{
	cpu:         {"cpu", "CPU", "nanoseconds", recording.CPU, "cpu"},
	bytesMade:   {"alloc_space", "bytes", "bytes", recording.Heap, "alloc_space"},
	objectsMade: {"alloc_objects", "objects", "count", recording.Heap, "alloc_objects"},
	inUse:       {"inuse_space", "live", "bytes", recording.Heap, "inuse_space"},
	blocked:     {"block:delay", "waiting", "nanoseconds", recording.Block, "delay"},
	held:        {"mutex:delay", "waiting for locks", "nanoseconds", recording.Mutex, "delay"},
	goroutines:  {"goroutine", "goroutines", "count", recording.Goroutine, "goroutine"},
}

// A cost is an amount of each metric, and how uncertain some of them are.
type cost [numCosts]int64

func (c *cost) add(d *cost) {
	for m := range c {
		c[m] += d[m]
	}
}

// A lineKey is a line as a profile names it.
type lineKey struct {
	file string
	line int
}

// A Line is what a line of source costs, and what it is below it that does.
type Line struct {
	key     lineKey
	fn      string // as the profile names it
	start   int    // line where the function begins, or 0
	cum     cost
	made    [2]int64 // objects and bytes that no line of the module below it makes
	started cost     // on stacks of main, or of what runs before it
	chains  []*chain
	byHash  map[hash]*chain // of what is below, while it is being collected
}

// A chain is what lies between a line and the leaf of stacks, and what the stacks cost.
type chain struct {
	below []string // functions, that which the line calls first; none when the line itself is the leaf
	traits
	v    cost
	ids  []int32 // the same as below
	next *chain  // another with the same hash
}

// Traits tell samples of one stack apart: no chain is of two kinds.
type traits struct {
	labels string
	onCPU  bool  // of CPU time: only such samples have functions of the runtime
	size   int64 // of the heap: of each object, as a power of two that is no less; 0 when it isn't known
}

// first returns the function that the line calls.
func (c *chain) first() string {
	if len(c.below) == 0 {
		return ""
	}
	return c.below[0]
}

// has reports whether a function is anywhere in the chain.
func (c *chain) has(fns ...string) bool {
	return slices.ContainsFunc(c.below, func(b string) bool { return slices.Contains(fns, b) })
}

// direct reports whether nothing but the runtime is below the line: it allocates, copies or locks by itself.
func (c *chain) direct() bool {
	return !slices.ContainsFunc(c.below, func(b string) bool { return !isRuntime(b) })
}

func isRuntime(fn string) bool {
	return strings.HasPrefix(fn, "runtime.") || strings.HasPrefix(fn, "internal/runtime/") || strings.HasPrefix(fn, "internal/abi.") ||
		strings.HasPrefix(fn, "internal/bytealg.") || fn == "memeqbody" || fn == "cmpbody" || fn == "memeq" || fn == "aeshashbody"
}

// sum adds up the chains that match.
func (l *Line) sum(match func(*chain) bool) (out cost) {
	if l == nil {
		return out
	}
	for _, c := range l.chains {
		if match(c) {
			out.add(&c.v)
		}
	}
	return out
}

// costs are what profiles say of lines of source.
type costs struct {
	inputs []input
	total  cost
	gc     int64   // CPU of the collector that is on no stack of the program
	sample int64   // CPU that one sample stands for, where that is known
	lines  []*Line // that cost something and are known, those that cost most first
	notes  []string

	// What is in tests alone.
	tests cost
	has   [numMetrics]bool

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
func (c *costs) reach() int {
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

// collect walks over profiles twice: first to find the lines that cost something, then to see what is below those that are known.
// mine says which functions may be looked at; known is asked about lines that cost something, those that cost most first.
func collect(ctx context.Context, inputs []input, mine func(fn, file string) class, least float64, known func(*Line) bool) *costs {
	c := &costs{inputs: inputs, least: least}
	w := newWalker(ctx, mine)
	samples := 0
	for i := range inputs {
		samples += inputs[i].profile.NumSamples()
		c.sample = max(c.sample, inputs[i].sample())
		w.walk(&inputs[i], func(v *cost, fs []frame, _ traits) { c.count(w, v, fs) })
	}
	for _, l := range w.at {
		if l == nil {
			continue
		}
		for m := range l.cum {
			l.cum[m] = max(l.cum[m], 0)
		}
		if c.share(&l.cum) >= least {
			c.lines = append(c.lines, l)
		}
	}
	slices.SortFunc(c.lines, func(a, b *Line) int {
		return cmp.Or(cmp.Compare(c.weight(&b.cum), c.weight(&a.cum)), cmp.Compare(a.key.file, b.key.file), cmp.Compare(a.key.line, b.key.line))
	})
	clear(w.at)
	c.lines = slices.DeleteFunc(c.lines, func(l *Line) bool { return !known(l) })
	for _, l := range c.lines {
		w.at[w.lines[l.key]] = l
	}
	if samples > maxSamples {
		c.notes = append(c.notes, "the profiles are too large to say what is below each line")
		return c
	}
	for i := range inputs {
		w.walk(&inputs[i], func(v *cost, fs []frame, t traits) { c.chain(w, v, fs, t) })
	}
	if c.chains >= maxChains {
		c.notes = append(c.notes, "there are so many different stacks that for some only what is near a line is told apart: a finding may be missing, or save more than it says")
	}
	for _, l := range c.lines {
		l.byHash = nil
		for _, ch := range l.chains {
			ch.below, ch.ids, ch.next = w.named(ch.ids), nil, nil
		}
		slices.SortFunc(l.chains, func(a, b *chain) int {
			return cmp.Or(-slices.Compare(a.v[:], b.v[:]), slices.Compare(a.below, b.below))
		})
	}
	return c
}

// believed is the share that a cost has to have for sure to be worth a word, unless as much is not asked for: half of the usual --min. All of
// that would leave out what is as large as was asked for, where samples tell its size only roughly; two to four samples of some hundred are
// never enough.
const believed = 0.005

// share returns the largest part of anything that a cost is, of those that are no matter of chance.
func (c *costs) share(v *cost) (most float64) {
	for m := range metric(numMetrics) {
		if part := c.part(v, m); part > most && c.surely(v, m) >= min(c.least, believed) {
			most = part
		}
	}
	return most
}

// surely returns which part of all there is of a metric a cost is at least, with a confidence of 95%: the lower bound of what would
// be counted if no metric were sampled. A sample of the heap stands for thousands of small objects, and one of CPU time for 10 ms, so
// a few samples can be a large part of a short run by chance alone. One sample is always chance, however few there are: any line that
// ran may get one.
func (c *costs) surely(v *cost, m metric) float64 {
	x, rest, spread := float64(v[m]), float64(c.total[m]-v[m]), c.spread(v, m)
	if x <= 0 || rest <= 0 || c.total[m] <= 0 {
		if x*x < chance*spread {
			return 0
		}
		return c.part(v, m)
	}
	// The bounds of the two amounts make one of what they are to each other, as their variances would: the method of Zou and Donner.
	off := 0.0
	if spread > 0 {
		n := x * x / spread // as many samples of equal weight would be as uncertain
		if n < chance {
			return 0
		}
		off = math.Log(n / leastMean(n))
	}
	if spread = c.spread(&c.total, m) - spread; spread > 0 {
		n := rest * rest / spread
		off = math.Hypot(off, math.Log(mostMean(n)/n))
	}
	odds := x / rest * math.Exp(-off)
	return odds / (1 + odds)
}

// chance is how many samples say nothing: one, and some that weigh next to nothing beside it.
const chance = 1.5

// spread returns the variance of an amount that samples tell of, each of which stands for more; 0 where all was counted.
func (c *costs) spread(v *cost, m metric) float64 {
	switch m {
	case cpu:
		return float64(v[cpu]) * float64(c.sample)
	case objectsMade:
		return float64(v[objectsMadeSpread])
	case bytesMade:
		return float64(v[bytesMadeSpread]) * spreadUnit
	case inUse:
		return float64(v[inUseSpread]) * spreadUnit
	}
	return 0
}

// leastMean and mostMean are the least and the largest mean of what happens by chance and happened n times, with a confidence of 95%
// each: bounds of a Poisson distribution, in the approximation of Wilson and Hilferty.
func leastMean(n float64) float64 {
	root := 1 - 1/(9*n) - quantile95/(3*math.Sqrt(n))
	return n * max(root*root*root, 0)
}

func mostMean(n float64) float64 {
	root := 1 - 1/(9*(n+1)) + quantile95/(3*math.Sqrt(n+1))
	return (n + 1) * root * root * root
}

// quantile95 is the 95th percentile of the normal distribution.
const quantile95 = 1.645

// part returns which part of all there is of a metric a cost is.
func (c *costs) part(v *cost, m metric) float64 {
	if c.total[m] <= 0 {
		return 0
	}
	return float64(v[m]) / float64(c.total[m])
}

// count adds a sample to the lines on its stack, once to each.
func (c *costs) count(w *walker, v *cost, fs []frame) {
	c.total.add(v)
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
		tested = tested || f.class == test
		idle = idle || f.idle
		if f.class != own && f.class != foreign || !w.first(f.line) {
			continue
		}
		seen = true
		l := w.at[f.line]
		if l == nil {
			fresh := w.fresh[f.line]
			l = &fresh
			w.at[f.line] = l
		}
		l.cum.add(v)
		if started {
			l.started.add(v)
		}
		if i == makes {
			l.made[0] += v[objectsMade]
			l.made[1] += v[bytesMade]
		}
	}
	if idle {
		c.gc += v[cpu]
	}
	if tested && !seen {
		c.tests.add(v)
	}
}

// maker returns the frame of a stack whose line is said to make what the leaf allocates: the innermost of the module, or else of another
// module. There is none, and -1 is returned, where a test makes it.
func maker(fs []frame) int {
	foreigner := -1
	for i := range fs {
		switch fs[i].class {
		case own:
			return i
		case test:
			return -1
		case foreign:
			if foreigner < 0 {
				foreigner = i
			}
		}
	}
	return foreigner
}

// chain adds a sample to what is below the lines on its stack.
func (c *costs) chain(w *walker, v *cost, fs []frame, t traits) {
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
			ch.v.add(v)
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
		if isSized(out[i]) && (i == 0 || !isRuntime(out[i-1])) {
			out[i] = "runtime.newobject"
		}
	}
	return out
}

// isSized reports whether a function allocates a value of one size, such as runtime.mallocgcSmallNoScanSC2. Since Go 1.27 compiled code calls those
// where it called runtime.newobject before; in Go 1.26 the runtime alone does.
func isSized(fn string) bool {
	kind, ok := strings.CutPrefix(fn, "runtime.mallocgc")
	if !ok {
		return false
	}
	kind, size, ok := strings.Cut(kind, "SC")
	return ok && kind != "" && size != "" && strings.Trim(size, "0123456789") == ""
}

// known returns the chain of what is below, or nil when there is none yet.
func (l *Line) known(b under, t traits) *chain {
	ch := l.byHash[b.hash]
	for ch != nil && (ch.traits != t || !b.is(ch.ids)) {
		ch = ch.next
	}
	return ch
}

func (l *Line) add(b under, t traits) *chain {
	if l.byHash == nil {
		l.byHash = make(map[hash]*chain)
	}
	ch := &chain{traits: t, ids: make([]int32, b.len()), next: l.byHash[b.hash]}
	for i := range ch.ids {
		ch.ids[i] = b.fn(i)
	}
	l.byHash[b.hash] = ch
	l.chains = append(l.chains, ch)
	return ch
}

// A hash is FNV-1a of the numbers of functions, from the leaf on, so that one function more is one step more.
type hash uint64

const noHash hash = 14695981039346656037

func (h hash) and(fn int32) hash { return (h ^ hash(fn)) * 1099511628211 }

// savings says what a cost is of all there is, the largest share first, with what the collector would be spared.
func (c *costs) savings(v cost) []report.Saving {
	var out []report.Saving
	if c.gc > 0 && c.total[bytesMade] > 0 {
		// The collector runs as often as bytes are allocated.
		v[cpu] += int64(float64(c.gc) * float64(v[bytesMade]) / float64(c.total[bytesMade]))
	}
	for m := range metric(numMetrics) {
		if share := c.part(&v, m); share >= leastShown {
			out = append(out, report.Saving{
				Metric: metricInfo[m].name, Short: metricInfo[m].short, Unit: metricInfo[m].unit,
				Value: v[m], Total: c.total[m], Share: min(share, 1),
			})
		}
	}
	return out
}

// leastShown is the smallest share that is worth a word beside others.
const leastShown = 0.005

// weight is what findings are ranked by. CPU is what most people are after; what is allocated shows only in part in it, and
// waiting costs nobody anything when there is other work.
func (c *costs) weight(v *cost) float64 {
	w := c.part(v, cpu) + (c.part(v, bytesMade)+c.part(v, objectsMade))/4
	if c.total[bytesMade] > 0 && c.total[cpu] > 0 {
		w += float64(c.gc) / float64(c.total[cpu]) * c.part(v, bytesMade)
	}
	return w + (c.part(v, inUse)+max(c.part(v, blocked), c.part(v, held))+c.part(v, goroutines))/2
}
