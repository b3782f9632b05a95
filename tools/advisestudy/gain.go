package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/tools/study"
)

// A gain is a benchmark of two trees, as the go command runs it.
type gain struct {
	Name   string     `json:"name"`
	Allocs [2]float64 `json:"allocs"` // for each operation
	Bytes  [2]float64 `json:"bytes"`
	Time   [2]float64 `json:"time"` // nanoseconds, the best of some
}

const benchTime = "60ms"

// better reports whether the second tree allocates less, or takes clearly less time at best. allocs alone are known for sure.
func (g *gain) better() bool {
	return g.Allocs[1] < g.Allocs[0] || g.Bytes[1] < 0.99*g.Bytes[0] || g.Time[1] < 0.95*g.Time[0]
}

// worse reports whether it allocates more, and takes no less time.
func (g *gain) worse() bool {
	return (g.Allocs[1] > g.Allocs[0]*1.01+0.5 && g.Bytes[1] > 1.01*g.Bytes[0] || g.Bytes[1] > 1.2*g.Bytes[0]+16) && g.Time[1] > 0.95*g.Time[0]
}

// race runs the benchmarks of a package in two trees, in turns.
func race(ctx context.Context, work string, dirs [2]string, pkg, pattern string, rounds int) ([]gain, error) {
	var binary [2]string
	for i, dir := range dirs {
		binary[i] = filepath.Join(work, fmt.Sprintf("bench%d.test", i))
		if _, err := study.Command(ctx, dir, "go", "test", "-vet=off", "-c", "-o", binary[i], "./"+pkg); err != nil {
			return nil, err
		}
	}
	var order []string
	seen := map[string]*gain{}
	counts := map[string][2]int{}
	for range rounds {
		for i, dir := range dirs {
			cmd := exec.CommandContext(ctx, binary[i], "-test.run=^$", "-test.bench="+pattern, "-test.benchmem", "-test.benchtime="+benchTime, "-test.cpu=1")
			cmd.Dir = filepath.Join(dir, filepath.FromSlash(pkg))
			out, err := cmd.CombinedOutput()
			if err != nil {
				return nil, fmt.Errorf("benchmarks of %s: %w\n%s", dir, err, study.Last(string(out), 1000))
			}
			for line := range bytes.Lines(out) {
				name, values := benchLine(string(line))
				if name == "" {
					continue
				}
				g := seen[name]
				if g == nil {
					g = &gain{Name: name, Time: [2]float64{math.Inf(1), math.Inf(1)}, Allocs: [2]float64{math.Inf(1), math.Inf(1)}, Bytes: [2]float64{math.Inf(1), math.Inf(1)}}
					seen[name] = g
					order = append(order, name)
				}
				n := counts[name]
				n[i]++
				counts[name] = n
				g.Time[i] = min(g.Time[i], values["ns/op"])
				g.Allocs[i] = min(g.Allocs[i], values["allocs/op"])
				g.Bytes[i] = min(g.Bytes[i], values["B/op"])
			}
		}
	}
	var out []gain
	for _, name := range order {
		if n := counts[name]; n[0] > 0 && n[1] > 0 {
			out = append(out, *seen[name])
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no benchmark matches %q in both", pattern)
	}
	return out, nil
}

// benchLine reads a line that a benchmark prints; name is "" for other lines.
func benchLine(line string) (name string, values map[string]float64) {
	words := strings.Fields(line)
	if len(words) < 4 || !strings.HasPrefix(words[0], "Benchmark") {
		return "", nil
	}
	if _, err := strconv.Atoi(words[1]); err != nil {
		return "", nil
	}
	values = make(map[string]float64)
	for i := 2; i+1 < len(words); i += 2 {
		v, err := strconv.ParseFloat(words[i], 64)
		if err != nil {
			return "", nil
		}
		values[words[i+1]] = v
	}
	return strings.TrimPrefix(words[0], "Benchmark"), values
}

// gain says what the version after wins.
func (s *advising) gain(ctx context.Context, c caseOf) (*result, error) {
	t, err := s.fetch(ctx, c, true)
	if err != nil {
		return nil, err
	}
	r := &result{Case: c.Name}
	if r.Places, err = changed(t.before, t.after, c.Within); err != nil {
		return nil, err
	}
	r.Gains, err = race(ctx, t.dir, [2]string{t.before, t.after}, c.Package, c.Bench, 2)
	slices.SortStableFunc(r.Gains, func(a, b gain) int { return strings.Compare(a.Name, b.Name) })
	return r, err
}
