package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/maxrss"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/tools/study"
)

// A result is what hone prove said of a case.
type result struct {
	Case    string   `json:"case"`
	Verdict string   `json:"verdict"`
	Alarms  []alarm  `json:"alarms,omitempty"`
	Noted   int      `json:"noted,omitempty"` // differences that are not held against the change
	Calls   int      `json:"calls"`
	Search  float64  `json:"search_seconds"` // for calling both versions
	Took    float64  `json:"seconds"`
	CPU     float64  `json:"cpu_seconds"` // with builds, and all that it started
	Memory  int64    `json:"memory"`      // of the process that needed most, in bytes
	Why     []string `json:"why,omitempty"`
	Masked  []string `json:"masked,omitempty"`
}

// An alarm is a difference that hone holds against the change.
type alarm struct {
	Layer    string   `json:"layer"`
	Function string   `json:"function"`
	Also     []string `json:"also,omitempty"`
	Call     string   `json:"call"`
	What     string   `json:"what"`
	Old      string   `json:"old"`
	New      string   `json:"new"`
	Cause    string   `json:"cause,omitempty"`
	Calls    int      `json:"calls"` // of the function until it showed
}

// look asks hone about a case.
func (s *proving) look(ctx context.Context, c caseOf) (*result, error) {
	dir, err := s.repository(ctx, c)
	if err != nil {
		return nil, err
	}
	args := []string{"prove", "--json", "--no-tests", "--for", s.time.String(), "--seed", fmt.Sprint(s.seed)}
	if c.Func != "" {
		args = append(args, "--func", c.Func)
	}
	args = append(args, "HEAD~1..HEAD")
	cmd := exec.CommandContext(ctx, s.Hone, args...)
	cmd.Dir = dir
	cmd.Env = study.Environ(dir)
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &wrong
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 3 { // the versions differ
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("hone %s: %w\n%s", strings.Join(args, " "), err, study.Last(wrong.String(), 2000))
	}
	var p report.Proof
	if err := json.Unmarshal(out.Bytes(), &p); err != nil {
		return nil, fmt.Errorf("hone %s: its answer: %w", strings.Join(args, " "), err)
	}
	return newResult(c, &p, cmd.ProcessState), nil
}

// Of is the name of its case.
func (r *result) Of() string { return r.Case }

func newResult(c caseOf, p *report.Proof, state *os.ProcessState) *result {
	r := &result{Case: c.Name, Verdict: string(p.Verdict), Calls: p.Executions, Search: p.Calling.Seconds(), Took: p.Took.Seconds(), Why: p.Reasons, Masked: p.Masked}
	if state != nil {
		r.CPU = (state.UserTime() + state.SystemTime()).Seconds()
		r.Memory = maxrss.Of(state)
	}
	for _, d := range p.Differences {
		if !d.Grave {
			r.Noted++
			continue
		}
		r.Alarms = append(r.Alarms, alarm{Layer: d.Layer, Function: d.Function, Also: d.Also, Call: d.Call, What: d.What, Old: study.Last(d.Old, 300), New: study.Last(d.New, 300), Cause: d.Cause, Calls: d.Calls})
	}
	return r
}

// raised reports whether hone speaks against the change.
func (r *result) raised() bool { return r.Verdict == string(report.Different) }

// about reports whether an alarm is about what is known to have changed.
func (a *alarm) about(c caseOf) bool {
	return len(c.Within) == 0 || slices.ContainsFunc(append([]string{a.Function, a.Cause}, a.Also...), func(name string) bool {
		name = strings.NewReplacer("(*", "", ")", "").Replace(name)
		return slices.ContainsFunc(c.Within, func(w string) bool { return name == w || strings.HasSuffix(name, "."+w) })
	})
}
