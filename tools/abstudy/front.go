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
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/stat"
)

// askHone compares two versions as a user does, and reads what the program answers.
func (s *study) askHone(ctx context.Context, old, new duel.Side, change int) error {
	hone, err := filepath.Abs(s.hone)
	if err != nil {
		return err
	}
	args := []string{"compare", "--json", "--no-why", "--budget", s.budget.String(), "--bench", s.bench}
	for _, side := range []duel.Side{old, new} {
		version := side.Dir
		if !s.sources {
			version = filepath.Join(side.Dir, "work.test")
		}
		args = append(args, version)
	}
	cmd := exec.CommandContext(ctx, hone, args...)
	cmd.Dir = old.Dir
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &wrong
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("hone compare: %w\n%s", err, wrong.Bytes())
	}
	took := time.Since(began).Seconds()
	var answer struct {
		Within float64
		Rows   []struct {
			Name, What        string
			Change, Low, High float64
			N                 int
			Verdict           string
		}
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		return fmt.Errorf("the answer of hone compare: %w", err)
	}
	var trials []trial
	for _, r := range answer.Rows {
		if r.What != "CPU time" {
			continue // what is counted is exact
		}
		trials = append(trials, trial{
			Change: change, Bench: r.Name, Ratio: 1 + r.Change, Lo: 1 + r.Low, Hi: 1 + r.High, Within: answer.Within, Verdict: verdictOf(r.Verdict), N: r.N, Load: loadAverage(),
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
