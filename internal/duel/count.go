package duel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/stat"
)

// Instructions can be counted where time cannot be told from noise: their number hardly depends on what else the machine does.
// It says nothing about waiting for memory. Valgrind, which counts, takes some fifty times as long as the program by itself.
const (
	counts    = 3                     // of each side
	countTime = 10 * time.Millisecond // of CPU time, that a third of the operations take without it
)

// ErrNoValgrind is that instructions cannot be counted.
var ErrNoValgrind = errors.New("counting instructions needs valgrind, which is not installed")

// findValgrind returns the path of valgrind.
func findValgrind() (string, error) {
	file, err := exec.LookPath("valgrind")
	if err != nil {
		return "", ErrNoValgrind
	}
	return file, nil
}

// count counts the instructions of both sides of all that run on one core: how those of others share out the work is chance.
func (d *duel) count(ctx context.Context) error {
	var rows []*row
	for _, r := range d.rows {
		if r.Error == "" && r.Only == "" && r.alone() && len(r.Pairs) > 0 {
			rows = append(rows, r)
		}
	}
	i := 0
	failed := make(map[*row]bool)
	return d.work(ctx, func() *job {
		for i < counts*len(rows) && failed[rows[i/counts]] {
			i++
		}
		if i == counts*len(rows) {
			return nil
		}
		r := rows[i/counts]
		i++
		d.say("%s: counting instructions, %d of %d", r.Name, i, counts*len(rows))
		lots := d.draw(r)
		var p recording.DuelPair
		var wrong error
		return &job{
			do: func(cpu int) (err error) {
				p, wrong, err = d.counted(ctx, r, lots, cpu)
				return err
			},
			done: func(time.Duration) {
				if wrong != nil {
					failed[r] = true
					d.note("the instructions of %s could not be counted: %v", r.Name, wrong)
					return
				}
				r.Counts = append(r.Counts, p)
			},
		}
	})
}

// note notes something once.
func (d *duel) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, n := range d.out.Notes {
		if n == fmt.Sprintf(format, args...) {
			return
		}
	}
	d.out.Notes = append(d.out.Notes, fmt.Sprintf(format, args...))
}

// counted counts the instructions of an operation on each side.
func (d *duel) counted(ctx context.Context, r *row, lots draw, cpu int) (p recording.DuelPair, wrong, err error) {
	var costs []float64
	for _, p := range r.Pairs {
		costs = append(costs, p.Old[cpuUnit])
	}
	n := max(int(float64(countTime)/max(stat.Median(costs), 1)), 1)
	for i, prog := range []*program{r.old[lots.old%len(r.old)], r.new[lots.new%len(r.new)]} {
		few, wrong, err := d.instructions(ctx, prog, r.bench, n, cpu)
		if wrong != nil || err != nil {
			return p, wrong, err
		}
		many, wrong, err := d.instructions(ctx, prog, r.bench, 3*n, cpu)
		if wrong != nil || err != nil {
			return p, wrong, err
		}
		*[]*map[string]float64{&p.Old, &p.New}[i] = map[string]float64{recording.Instructions: (many - few) / float64(2*n)}
	}
	return p, nil, nil
}

var countLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`I\s+refs:\s+([0-9,]+)`) })

// instructions counts those of a program that runs a benchmark n times.
func (d *duel) instructions(ctx context.Context, prog *program, bench string, n, cpu int) (sum float64, wrong, err error) {
	f, err := os.CreateTemp(d.dir, "count")
	if err != nil {
		return 0, nil, err
	}
	f.Close()
	defer os.Remove(f.Name())
	limit := cmp.Or(d.opt.countLimit, 2*time.Minute)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	results, err := d.do(limited, run{
		prog: prog, bench: bench, time: strconv.Itoa(n) + "x", alone: true, cpu: cpu,
		under: []string{d.valgrind, "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=" + os.DevNull, "--log-file=" + filepath.ToSlash(f.Name())},
	})
	if limited.Err() != nil && ctx.Err() == nil {
		return 0, fmt.Errorf("valgrind did not finish within %v", limit), nil
	}
	if err != nil {
		return 0, nil, err
	}
	if results[0].failed != nil {
		return 0, results[0].failed, nil
	}
	log, err := os.ReadFile(f.Name())
	if err != nil {
		return 0, nil, err
	}
	m := countLine().FindSubmatch(log)
	if m == nil {
		return 0, errors.New("valgrind printed no instruction count"), nil
	}
	sum, wrong = strconv.ParseFloat(strings.ReplaceAll(string(m[1]), ",", ""), 64)
	return sum, wrong, nil
}
