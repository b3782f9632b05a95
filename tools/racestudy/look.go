package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/tools/study"
)

// A result is what hone race said of a case.
type result struct {
	Case  string      `json:"case"`
	Races []foundRace `json:"races,omitempty"`
	Hangs []string    `json:"hangs,omitempty"`
	Calls int         `json:"calls"`
	Tests int         `json:"tests"`
	Runs  int         `json:"runs"`
	Took  float64     `json:"seconds"`
	CPU   float64     `json:"cpu_seconds"` // with builds, and all that it started
	Notes []string    `json:"notes,omitempty"`
}

// Of is the name of its case.
func (r *result) Of() string { return r.Case }

// A foundRace is a race as hone shows it.
type foundRace struct {
	Variable string   `json:"variable"`
	Funcs    []string `json:"funcs"` // of both stacks, without their package
	At       []string `json:"at"`    // where it is accessed
	By       string   `json:"by"`
	Calls    string   `json:"calls,omitempty"`
}

// look asks hone about a case.
func (s *racing) look(ctx context.Context, c caseOf) (*result, error) {
	dir := filepath.Join(s.Dir, c.Name)
	if err := study.Fetch(ctx, dir, c.Module, c.Version); err != nil {
		return nil, err
	}
	if err := study.MakeBuild(ctx, dir, c.Module, "list", "-deps", "-test", "./"+c.Package); err != nil {
		return nil, err
	}
	args := []string{"race", "--json", "--for", s.time.String(), "--seed", fmt.Sprint(s.seed), "./" + c.Package}
	cmd := exec.CommandContext(ctx, s.Hone, args...)
	cmd.Dir = dir
	cmd.Env = study.Environ(dir)
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &wrong
	began := time.Now()
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 3 { // there are races
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("hone %s: %w\n%s", strings.Join(args, " "), err, study.Last(wrong.String(), 2000))
	}
	var found report.Races
	if err := json.Unmarshal(out.Bytes(), &found); err != nil {
		return nil, fmt.Errorf("hone %s: its answer: %w", strings.Join(args, " "), err)
	}
	r := newResult(c, &found)
	r.Took = time.Since(began).Seconds()
	r.CPU = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	return r, nil
}

func newResult(c caseOf, found *report.Races) *result {
	r := &result{Case: c.Name, Calls: found.Tried.Calls, Tests: found.Tried.Tests, Runs: found.Tried.Runs}
	for i := range found.Races {
		d := &found.Races[i]
		f := foundRace{Variable: d.Variable, By: d.By, Calls: d.Calls}
		for _, a := range d.Accesses {
			for i, at := range a.Stack {
				if i == 0 {
					f.At = append(f.At, at.String())
				}
				f.Funcs = append(f.Funcs, shortName(at.Func))
			}
		}
		f.Funcs = slices.Compact(slices.Sorted(slices.Values(f.Funcs)))
		r.Races = append(r.Races, f)
	}
	for i := range found.Hangs {
		h := &found.Hangs[i]
		at := make([]string, len(h.Waiting))
		for i, w := range h.Waiting {
			at[i] = shortName(w.Func)
		}
		r.Hangs = append(r.Hangs, fmt.Sprintf("%s: %s", h.Kind, strings.Join(at, ", ")))
	}
	for _, n := range found.Notes {
		r.Notes = append(r.Notes, fmt.Sprint(n...))
	}
	return r
}

// shortName returns what a function on a stack is called in its package: T.M for p.(*T).M.func1.
func shortName(fn string) string {
	fn = fn[strings.LastIndexByte(fn, '/')+1:]
	_, name, ok := strings.Cut(fn, ".")
	if !ok {
		name = fn
	}
	name = strings.NewReplacer("(*", "", ")", "", "[...]", "").Replace(name)
	var parts []string
	for part := range strings.SplitSeq(name, ".") {
		if rest, ok := strings.CutPrefix(part, "func"); ok && rest != "" && strings.Trim(rest, "0123456789") == "" {
			break // a function literal
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ".")
}

// A verdict is what a race is.
type verdict string

const (
	known verdict = "known"
	other verdict = "other" // and real
	wrong verdict = "false"
)

func (f *foundRace) verdict(c caseOf) verdict {
	in := func(list []string) bool {
		return slices.ContainsFunc(f.Funcs, func(fn string) bool { return slices.Contains(list, fn) })
	}
	switch {
	case in(c.Racy):
		return known
	case in(c.Real):
		return other
	}
	return wrong
}
