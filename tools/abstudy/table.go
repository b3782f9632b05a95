package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/stat"
)

var changes = []int{0, 1, 2, 3, 5, 10}

// tables writes what the trials of files show.
func tables(w io.Writer, budget time.Duration, files []string) error {
	var all []trial
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		for dec := json.NewDecoder(f); ; {
			var t trial
			if err := dec.Decode(&t); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			all = append(all, t)
		}
	}
	measured(w, all)
	dealt(w, all, budget)
	spreads(w, all)
	fours(w, all)
	return nil
}

// fours is how close to half or twice the time any four pairs of identical programs came that followed one another. hone fix counts a
// benchmark as faster where each of at least four pairs takes less than half the time.
func fours(w io.Writer, all []trial) {
	n, most := 0, 0.0
	for _, t := range all {
		if t.Change != 0 {
			continue
		}
		for i := 4; i <= len(t.Pairs); i++ {
			n++
			four := t.Pairs[i-4 : i]
			most = max(most, slices.Min(four), -slices.Max(four))
		}
	}
	if n > 0 {
		fmt.Fprintf(w, "\n%d times four pairs in a row, of identical programs: at most, each was %.2f times as fast as the other\n", n, math.Exp(most))
	}
}

// percent prints a share of so many.
func percent(n, of int) string {
	if of == 0 {
		return ""
	}
	return fmt.Sprintf("%.3g %%", 100*float64(n)/float64(of))
}

// measured is the table of trials as they went.
func measured(w io.Writer, all []trial) {
	fmt.Fprintf(w, "| change | comparisons | hone: found | wrong | undecided | same | s each | with building | in turn: found | wrong | nothing found |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	var loads []float64
	for _, change := range changes {
		var of, found, wrong, undecided, same, ofInTurn, found2, wrong2 int
		took, whole := 0.0, 0.0
		count := func(v stat.Verdict, found, wrong *int) {
			switch {
			case change > 0 && v == stat.Higher:
				*found++
			case v.Changed():
				*wrong++
			}
		}
		for _, t := range all {
			if t.Change != change {
				continue
			}
			of++
			took += t.Took
			whole += t.Whole
			var load float64
			if json.Unmarshal(t.Load, &load) == nil {
				loads = append(loads, load)
			}
			count(t.Verdict, &found, &wrong)
			if t.InTurn != "" {
				ofInTurn++
				count(t.InTurn, &found2, &wrong2)
			}
			switch t.Verdict {
			case stat.Same:
				same++
			case stat.Undecided:
				undecided++
			}
		}
		if of == 0 {
			continue
		}
		fmt.Fprintf(w, "| %s | %d | %s | %s | %s | %s | %.1f | %.1f | %s | %s | %s |\n", changeName(change), of, percent(found, of), percent(wrong, of), percent(undecided, of),
			percent(same, of), took/float64(of), whole/float64(of), percent(found2, ofInTurn), percent(wrong2, ofInTurn), percent(ofInTurn-found2-wrong2, ofInTurn))
	}
	if len(loads) > 0 {
		slices.Sort(loads)
		fmt.Fprintf(w, "\nload average: %.1f to %.1f, %.1f in the middle\n", loads[0], loads[len(loads)-1], stat.Median(loads))
	}
}

func changeName(percent int) string {
	if percent == 0 {
		return "none"
	}
	return fmt.Sprintf("+%d %%", percent)
}

// deals is how often the pairs of a benchmark are dealt out for each change.
const deals = 300

// pools returns the pairs of identical programs by benchmark, and how long one takes, in the order of the trials.
func pools(all []trial) (names []string, pairs map[string][]float64, each map[string]float64) {
	pairs, each = map[string][]float64{}, map[string]float64{}
	took := map[string]float64{}
	for _, t := range all {
		if t.Change != 0 || len(t.Pairs) == 0 {
			continue
		}
		if pairs[t.Bench] == nil {
			names = append(names, t.Bench)
		}
		pairs[t.Bench] = append(pairs[t.Bench], t.Pairs...)
		took[t.Bench] += t.Took
	}
	for name, ds := range pairs {
		each[name] = took[name] / float64(len(ds))
	}
	return names, pairs, each
}

// dealt is the table of pairs that were dealt out again.
func dealt(w io.Writer, all []trial, budget time.Duration) {
	names, pairs, each := pools(all)
	if len(names) == 0 {
		return
	}
	total := 0
	for _, ds := range pairs {
		total += len(ds)
	}
	fmt.Fprintf(w, "\n%d pairs of identical programs, dealt out %d times for each of %d benchmarks:\n\n", total, deals, len(names))
	fmt.Fprintf(w, "| change | found | wrong | undecided | same | pairs | s each | found of the worst benchmark |\n|---|---:|---:|---:|---:|---:|---:|---|\n")
	r := rand.New(rand.NewPCG(1, 2))
	plan := stat.Plan{}
	for _, change := range changes {
		var of, found, wrong, undecided, same int
		took, used := 0.0, 0
		worst, worstOf := math.Inf(1), ""
		for _, name := range names {
			right := 0
			for range deals {
				c := deal(r, plan, pairs[name], math.Log1p(float64(change)/100), int(budget.Seconds()/each[name]))
				of++
				used += c.N
				took += float64(c.N) * each[name]
				switch {
				case c.Verdict == stat.Higher && change > 0:
					found++
					right++
				case c.Verdict.Changed():
					wrong++
				case c.Verdict == stat.Same:
					same++
				default:
					undecided++
				}
			}
			if share := float64(right) / deals; share < worst {
				worst, worstOf = share, fmt.Sprintf("%.0f %% (%s)", 100*share, name)
			}
		}
		if change == 0 {
			worstOf = ""
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %.0f | %.1f | %s |\n", changeName(change), percent(found, of), percent(wrong, of), percent(undecided, of),
			percent(same, of), float64(used)/float64(of), took/float64(of), worstOf)
	}
}

// deal makes a trial of pairs that were measured, as long as there are some and time for more.
func deal(r *rand.Rand, plan stat.Plan, pool []float64, shift float64, most int) stat.Comparison {
	order := r.Perm(len(pool))
	most = min(max(most, 1), len(pool))
	ds := make([]float64, 0, most)
	for {
		c, want := plan.Judge(ds)
		if want == 0 {
			return c
		}
		for len(ds) < min(want, most) {
			d := pool[order[len(ds)]]
			if r.IntN(2) == 0 {
				d = -d
			}
			ds = append(ds, d+shift)
		}
		if want > most {
			return plan.Conclude(ds)
		}
	}
}

// spreads is by how much pairs of identical programs differ.
func spreads(w io.Writer, all []trial) {
	names, pairs, each := pools(all)
	if len(names) == 0 {
		return
	}
	fmt.Fprintf(w, "\n| benchmark | pairs | s each | spread | nine of ten within |\n|---|---:|---:|---:|---:|\n")
	for _, name := range names {
		ds := slices.Clone(pairs[name])
		for i := range ds {
			ds[i] = math.Abs(ds[i])
		}
		slices.Sort(ds)
		fmt.Fprintf(w, "| %s | %d | %.2f | %.1f %% | %.1f %% |\n", name, len(ds), each[name], 148.26*stat.Median(ds), 100*ds[len(ds)*9/10])
	}
}
