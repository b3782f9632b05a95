package fix

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/prove"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// maxRisk is how much longer a benchmark may take at most, for all that is known, where a patch is kept for what it does not
// allocate.
const maxRisk = 0.05

// maxDoubt is by how much a benchmark may seem to take longer, where that is not decided and another one is.
const maxDoubt = 0.02

// leastLoss is what memory has to grow by to count: it is often known to the byte, and the byte is nobody's loss. It is also what time
// has to grow by in one benchmark where another got faster.
const leastLoss = 0.01

// leastGain is how much of its time some benchmark has to save where nothing less is allocated: what saves less may do so only by where its code
// lies in memory, runs of the go command hardly show it, and it is hardly worth a change.
const leastGain = 0.05

// leastForMore is how much of its time a benchmark has to save for sure that allocates more for it.
const leastForMore = 0.05

// rows returns what was measured.
func (y *trial) rows() []report.CompareRow {
	if c := y.proof.Speed; c != nil {
		return c.Rows
	}
	return nil
}

// gains decides whether it is known that a patch helps: less is allocated, which runs tell that are the same each time, or
// less time is needed, or less of the heap is in use at a time, where that is what it is for; and no benchmark got worse.
// In one benchmark it has to be enough to be worth a change. That is asked of the estimate, of a gain that is certain, and not of its
// whole interval: a benchmark runs until it is decided whether it got faster, so that the interval is as wide as that allows, and a patch
// that saves 4 % would be kept or not by how busy the machine was.
func (y *trial) gains() {
	rows := y.rows()
	if y.vain != "" {
		y.refuse(true, "%s", y.vain)
		return
	}
	if len(rows) == 0 {
		y.unmeasured()
		return
	}
	t := &tally{
		holds:  y.finding != nil && y.finding.Live,
		faster: map[string]bool{}, undecided: map[string]bool{}, lighter: map[string]bool{}, worth: map[string]bool{}, slower: map[string]*report.CompareRow{},
	}
	for i := range rows {
		t.add(&rows[i])
	}
	t.weighMemory(rows)
	t.weighRisks()
	y.score = t.score()
	y.costs = append(y.costs, t.littleSlower()...)
	slices.Sort(y.costs)
	switch {
	case len(t.slower) > 0:
		y.refuse(true, "slower: %s", said(t.slowest()))
	case t.heavier != nil:
		y.refuse(true, "it needs more memory and is hardly or not faster: %s", said(t.heavier))
	case (t.helps || t.less != nil) && t.gain < y.least-1e-9:
		y.tooLittle(t.most, t.gain, t.open)
	case t.helps, len(t.faster) > 0 && t.less != nil:
	case t.less != nil && t.risky != nil:
		y.refuse(false, "it allocates less, but there was too little time to see whether it is slower: %s", said(t.risky))
		y.try = moreEach
	case t.less != nil:
	case t.holds && t.held != nil: // what it was to save is what counts, whatever else got a little less
		y.refuse(t.held.Verdict != report.Undecided, "no gain: %s", said(t.held))
	case t.little != nil:
		y.refuse(t.open == nil, "it gains little: %s", said(t.little))
	case t.open != nil:
		y.refuse(false, "there was too little time to see whether it helps: %s", said(t.open))
		y.try = moreEach
	default:
		y.refuse(true, "no gain: %s", said(&rows[0]))
	}
}

// unmeasured refuses a patch of which no benchmark says anything.
func (y *trial) unmeasured() {
	if c := y.proof.Speed; c != nil && len(c.Identical) > 0 {
		y.refuse(true, "no gain: the program is byte for byte the same; the compiler already does that")
		return
	}
	why := "no benchmark reaches it, and none could be generated"
	if err := y.proof.Unpaced; err != nil {
		why = fmt.Sprintf("speed could not be compared: %v", err)
	}
	y.refuse(false, "it is unknown whether it helps: %s", why)
}

// A tally is what benchmarks say about a patch. Maps are by the name of the benchmark.
type tally struct {
	holds bool // the patch is for less of the heap to be in use

	faster, undecided map[string]bool
	worth             map[string]bool // much faster
	slower            map[string]*report.CompareRow
	lighter           map[string]bool // fewer bytes are allocated

	helps bool // faster by as much as it has to be
	timed bool // some benchmark says for sure

	most                                     *report.CompareRow // what gains most,
	gain                                     float64            // which is how much
	less, little, open, risky, heavier, held *report.CompareRow
	risks                                    []*report.CompareRow

	times, allocs float64 // sums of the logarithms of ratios,
	n, m          int     // and of how many
}

// ratioOf returns by which factor the costs of a row changed, where that is known.
func ratioOf(row *report.CompareRow) float64 {
	ratio := row.Ratio
	if row.What == report.Throughput {
		ratio = 1 / ratio
	}
	if row.Verdict == report.Undecided || math.IsInf(ratio, 0) || math.IsNaN(ratio) {
		ratio = 1
	}
	return max(ratio, 1e-3) // where nothing is left
}

// add counts one row.
func (t *tally) add(row *report.CompareRow) {
	ratio := ratioOf(row)
	counts := row.What.IsTime() || row.What.IsMemory() && (!t.holds || row.What == report.LiveHeap)
	if row.Verdict == report.Better && counts && (t.most == nil || 1-ratio > t.gain) {
		t.most, t.gain = row, 1-ratio
	}
	switch {
	case row.What.IsTime():
		t.times, t.n = t.times+math.Log(ratio), t.n+1
		t.addTime(row, ratio)
	case row.What.IsMemory():
		name := nameOf(row)
		t.lighter[name] = t.lighter[name] || row.What == report.Memory && row.Verdict == report.Better
		if row.What == report.LiveHeap && (t.held == nil || row.Ratio < t.held.Ratio) {
			t.held = row
		}
		if row.Verdict == report.Better && (!t.holds || row.What == report.LiveHeap) && (ratio <= 1-leastLoss || row.What == report.Allocations && row.Old-row.New > 0.5) {
			t.allocs, t.m = t.allocs+math.Log(ratio), t.m+1
			t.less = row
		}
	}
}

func (t *tally) addTime(row *report.CompareRow, ratio float64) {
	name := nameOf(row)
	switch row.Verdict {
	case report.Better:
		t.faster[name], t.little = true, row
		t.helps = t.helps || ratio <= 1-leastGain
		if row.What != report.Throughput && row.Hi <= 1-leastForMore || row.What == report.Throughput && row.Lo >= 1+leastForMore {
			t.worth[name] = true
		}
		t.timed = t.timed || row.What == report.CPUTime
	case report.Worse:
		t.slower[name] = row
	case report.Same:
		t.timed = t.timed || row.What == report.CPUTime
	case report.Undecided:
		t.open, t.undecided[name] = row, true
		t.timed = t.timed || row.What == report.CPUTime && row.High != nil && row.Hi <= 1+maxRisk // that it takes no longer than it may
		if row.What != report.Throughput && row.Hi > 1+maxRisk {
			t.risks = append(t.risks, row)
		}
	}
}

// weighMemory finds what needs more memory with nothing to show for it.
func (t *tally) weighMemory(rows []report.CompareRow) {
	for i := range rows {
		row := &rows[i]
		name := nameOf(row)
		switch {
		case !row.What.IsMemory() || row.Verdict != report.Worse || row.Ratio < 1+leastLoss:
		case t.worth[name], (t.faster[name] || t.undecided[name]) && len(t.worth) > 0: // a benchmark speaks for it in which it did show
		case row.What == report.Allocations && t.lighter[name]: // more and smaller ones
		default:
			t.heavier = row
		}
	}
}

// weighRisks finds the benchmark that may have become slowest. If another one is decided, it need not be; but CPU times vary so little that one that
// seems to be longer usually is.
func (t *tally) weighRisks() {
	for _, row := range t.risks {
		if (!t.timed || row.What == report.CPUTime && row.Ratio > 1+maxDoubt) && (t.risky == nil || row.Ratio > t.risky.Ratio) {
			t.risky = row
		}
	}
}

// score tells patches of one place apart: less is better.
func (t *tally) score() float64 {
	score := 1.0
	if t.n > 0 {
		score = math.Exp(t.times / float64(t.n))
	}
	if t.m > 0 {
		score *= math.Exp(t.allocs / float64(t.m) / 4) // where times are close, allocations decide
	}
	return score
}

// littleSlower takes out what is slower by no more than a patch may cost, and says what that is.
func (t *tally) littleSlower() (costs []string) {
	// A little longer in one benchmark is what all others are faster for, and so much less is in use.
	paid := t.holds && t.less != nil && t.times < 0 && maxHi(t.slower) <= 1+maxRisk
	for name, row := range t.slower {
		// Less than a hundredth is what code takes longer for lying elsewhere in memory, though nothing of it changed.
		place := len(t.faster) > 0 && t.times < 0 && row.What != report.Throughput && row.Ratio < 1+leastLoss && row.Hi <= 1+maxDoubt
		if paid || place {
			costs = append(costs, "it takes a little longer in one benchmark: "+said(row))
			delete(t.slower, name)
		}
	}
	return costs
}

func (t *tally) slowest() *report.CompareRow {
	return slices.MinFunc(slices.Collect(maps.Values(t.slower)), func(a, b *report.CompareRow) int {
		return cmp.Or(cmp.Compare(b.New/b.Old, a.New/a.Old), cmp.Compare(a.Name, b.Name))
	})
}

// nameOf returns the name of a benchmark, with its package.
func nameOf(row *report.CompareRow) string { return row.Pkg + "." + row.Name }

// enough reports whether it is known while benchmarks run that a patch is not worth it: each of them ran once, and none allocates less where that
// is all that the finding says, or one is slower for sure.
func (y *trial) enough(d *recording.Duel) bool {
	y.vain = y.savesNoMemory(d)
	if y.vain == "" && !y.finding.Live {
		y.vain = slowerForSure(d)
	}
	return y.vain != ""
}

// savesNoMemory says that no benchmark allocates less with a patch that is only to save memory. What is allocated in a run is the same in each, as
// far as that matters here, so that one run tells it.
func (y *trial) savesNoMemory(d *recording.Duel) string {
	if len(y.finding.Savings) == 0 || y.finding.Live || slices.ContainsFunc(y.finding.Savings, func(s report.Saving) bool { return !strings.HasPrefix(s.Metric, "alloc_") }) {
		return ""
	}
	least := 1 - min(leastLoss, y.least)
	name := ""
	for i := range d.Benchmarks {
		b := &d.Benchmarks[i]
		if b.Only != "" || b.Error != "" {
			continue
		}
		if len(b.Pairs) == 0 {
			return ""
		}
		for _, p := range b.Pairs {
			_, counted := p.Old["allocs/op"]
			if !counted || p.New["allocs/op"] < p.Old["allocs/op"] || p.New["B/op"] < least*p.Old["B/op"] {
				return ""
			}
		}
		name = cmp.Or(name, b.Name)
	}
	if name == "" {
		return ""
	}
	return fmt.Sprintf("no gain: allocations of %s are the same", name)
}

// slowerForSure says which benchmark is slower than a patch may make it, whatever others do.
func slowerForSure(d *recording.Duel) string {
	decided := *d
	decided.Benchmarks = slices.DeleteFunc(slices.Clone(d.Benchmarks), func(b recording.DuelBenchmark) bool { return b.Stop != "decided" && b.Stop != "clear" })
	if len(decided.Benchmarks) == 0 {
		return ""
	}
	s, err := prove.SpeedOf(&decided)
	if err != nil || s.Report == nil {
		return ""
	}
	for i := range s.Report.Rows {
		row := &s.Report.Rows[i]
		if !row.What.IsTime() || row.Verdict != report.Worse {
			continue
		}
		if row.What != report.Throughput && row.Lo > 1+maxRisk || row.What == report.Throughput && row.Hi < 1/(1+maxRisk) {
			return "slower: " + said(row)
		}
	}
	return ""
}

// tooLittle refuses a patch that gains less than it has to. Where it is not known how long a benchmark takes, it may yet turn out to gain more.
func (y *trial) tooLittle(most *report.CompareRow, gain float64, open *report.CompareRow) {
	what, ok := map[report.Dimension]string{report.Memory: "bytes", report.Allocations: "objects", report.Throughput: "time", report.LiveHeap: "the live heap"}[most.What]
	if !ok {
		what = string(most.What)
	}
	text := fmt.Sprintf("gains %s of %s, but the minimum is %s", percent(gain), what, unit.Share(y.least))
	try := hint.Text{hint.Option{Name: "min-gain"}, " sets another minimum"}
	if open != nil {
		text += "; there was too little time to see whether it is faster"
		try = append(try, ", ", moreEach)
	}
	y.short, y.most = true, *most
	y.refuse(open == nil, "%s", text)
	y.try = try
}

// moreEach says how there would be more time for a patch.
var moreEach = hint.Text{hint.Option{Name: "each"}, " gives more"}

// percent writes a share.
func percent(share float64) string {
	const least = 0.00001
	if share < least {
		return "less than " + unit.Share(least)
	}
	return unit.Share(share)
}

// maxHi returns by how much any of some rows may have grown.
func maxHi(rows map[string]*report.CompareRow) (hi float64) {
	for _, row := range rows {
		hi = max(hi, row.Hi)
	}
	return hi
}

// said puts what was measured into a few words.
func said(r *report.CompareRow) string {
	text := fmt.Sprintf("%s of %s ", r.What, r.Name)
	switch {
	case r.Exact || r.Low == nil || r.High == nil:
		if r.Old == r.New {
			return text + "is the same"
		}
		return text + unit.Relative(r.Ratio)
	}
	return text + fmt.Sprintf("%s (%s to %s)", unit.Relative(r.Ratio), unit.Relative(r.Lo), unit.Relative(r.Hi))
}
