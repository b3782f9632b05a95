package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/hone-perf/hone/internal/duel"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/stat"
)

// askHone compares two versions as a user does, and reads what the program answers.
func (s *study) askHone(ctx context.Context, old, new duel.Side, change int) error {
	hone, err := filepath.Abs(s.hone)
	if err != nil {
		return err
	}
	file := filepath.Join(old.Dir, "study.hone")
	if err := os.RemoveAll(file); err != nil {
		return err
	}
	args := []string{"compare", "-o", file, "--no-why", "--budget", s.budget.String(), "--bench", s.bench}
	for _, side := range []duel.Side{old, new} {
		version := side.Dir
		if !s.sources {
			version = filepath.Join(side.Dir, "work.test")
		}
		args = append(args, version)
	}
	began := time.Now()
	if _, err := ask(ctx, old.Dir, hone, args...); err != nil {
		return err
	}
	took := time.Since(began).Seconds()
	text, err := ask(ctx, old.Dir, hone, "compare", file, "--json")
	if err != nil {
		return err
	}
	rec, err := recording.Open(file)
	if err != nil {
		return err
	}
	versions, err := recording.Versions.Read(rec)
	if err != nil {
		return err
	}
	pairs := map[string][]float64{}
	for _, b := range versions.Benchmarks {
		pairs[b.Name] = recording.Ratios(b.Pairs, b.Unit)
	}
	var answer struct {
		Within float64
		Rows   []struct {
			Name, What        string
			Change, Low, High float64
			N                 int
			Verdict           string
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return fmt.Errorf("the answer of hone compare: %w", err)
	}
	var trials []trial
	for _, r := range answer.Rows {
		if r.What != "CPU time" {
			continue // what is counted is exact
		}
		trials = append(trials, trial{
			Change: change, Bench: r.Name, Ratio: 1 + r.Change, Lo: 1 + r.Low, Hi: 1 + r.High, Within: answer.Within, Verdict: verdictOf(r.Verdict), N: r.N,
			Pairs: pairs[r.Name], Load: loadAverage(),
		})
	}
	for i := range trials {
		t := &trials[i]
		t.Took = took / float64(len(trials))
		t.Whole = t.Took
		fmt.Fprintf(os.Stderr, "%+d%% %s: %s %+.2f%% (%+.2f … %+.2f), %d pairs; load %s\n", change, t.Bench, t.Verdict, 100*(t.Ratio-1), 100*(t.Lo-1), 100*(t.Hi-1), t.N, t.Load)
		if err := s.log.Encode(t); err != nil {
			return err
		}
	}
	return nil
}

// ask runs hone, and returns what it writes.
func ask(ctx context.Context, dir, hone string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, hone, args...)
	cmd.Dir = dir
	var wrong bytes.Buffer
	cmd.Stderr = &wrong
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("hone compare: %w\n%s", err, wrong.Bytes())
	}
	return text, nil
}

// verdictOf is what a verdict about a cost says of the new side.
func verdictOf(v string) stat.Verdict {
	switch v {
	case report.Better:
		return stat.Lower
	case report.Worse:
		return stat.Higher
	}
	return stat.Verdict(v)
}
