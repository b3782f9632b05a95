package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/maxrss"
	"github.com/hone-perf/hone/tools/study"
)

// A result is what hone said of a case, and whether it is right.
type result struct {
	Case    string    `json:"case"`
	Places  []place   `json:"places,omitempty"` // where the fix was made
	Found   []finding `json:"found"`            // in the order of the answer
	Find    float64   `json:"find_seconds"`     // from the profile to the findings
	CPU     float64   `json:"find_cpu_seconds"` // that it took of the cores, which does not depend on what else runs there
	Memory  int64     `json:"memory"`           // at most, in bytes
	Fixed   bool      `json:"fixed"`            // hone fix was run
	Kept    []kept    `json:"kept,omitempty"`
	Refused []kept    `json:"refused,omitempty"`
	Ended   string    `json:"ended,omitempty"`
	Gains   []gain    `json:"gains,omitempty"` // of the version after
}

// A finding is one of hone's, and how near it is.
type finding struct {
	Rule  string   `json:"rule"`
	Title string   `json:"title"`
	File  string   `json:"file"`
	Line  int      `json:"line"`
	Func  string   `json:"func"`
	Share float64  `json:"share"` // that it may save at most
	Hit   bool     `json:"hit"`   // in a function of the fix, or near to it
	Close bool     `json:"close"` // near to a line of the fix
	Right bool     `json:"right"` // the cause
	Fixes []string `json:"fixes,omitempty"`
	NoFix string   `json:"no_fix,omitempty"`
}

// A kept is a patch that hone fix tried, and what others say of it.
type kept struct {
	Rule   string `json:"rule"`
	Fix    string `json:"fix"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Func   string `json:"func"`
	Hit    bool   `json:"hit"`
	Reason string `json:"reason,omitempty"` // why it is not kept
	Patch  string `json:"patch,omitempty"`
	Wrong  string `json:"wrong,omitempty"` // what is wrong with it, though it is kept
	Check  string `json:"check,omitempty"` // what was looked at
}

// look asks hone about a case.
func (s *advising) look(ctx context.Context, c caseOf) (*result, error) {
	t, err := s.fetch(ctx, c, false)
	if err != nil {
		return nil, err
	}
	r := &result{Case: c.Name, Fixed: s.fix}
	if t.after != "" {
		if r.Places, err = changed(t.before, t.after, c.Within); err != nil {
			return nil, err
		}
		if len(r.Places) == 0 {
			return nil, fmt.Errorf("no function of %s is another in %s", c.Before, c.After)
		}
	}
	recorded := filepath.Join(t.dir, "before.hone")
	if _, err := s.ask(ctx, t.before, nil, "bench", "-count=3", "-o", recorded, "./"+c.Package, "-bench="+c.Bench); err != nil {
		return nil, err
	}
	var said advice
	began := time.Now()
	state, err := s.ask(ctx, t.before, &said, "advise", "--json", recorded)
	if err != nil {
		return nil, err
	}
	r.Find, r.Memory = time.Since(began).Seconds(), maxrss.Of(state)
	r.CPU = (state.UserTime() + state.SystemTime()).Seconds()
	r.judge(c, &said)
	if !s.fix {
		return r, nil
	}
	work := filepath.Join(t.dir, "fix", "before")
	if err := study.CopyTree(work, t.before); err != nil {
		return nil, err
	}
	var did fixes
	if _, err := s.ask(ctx, work, &did, "fix", "--json", "--budget", s.budget.String(), "--each", s.each.String(), "./"+c.Package, "-bench="+c.Bench); err != nil {
		return nil, err
	}
	r.Ended = did.Ended
	for i := range did.Kept {
		r.Kept = append(r.Kept, r.fixed(&did.Kept[i]))
	}
	for _, list := range [][]fixed{did.Refused, did.Left} {
		for i := range list {
			r.Refused = append(r.Refused, r.fixed(&list[i]))
		}
	}
	return r, s.checkKept(ctx, c, t, r, did.Kept)
}

// Of is the name of its case.
func (r *result) Of() string { return r.Case }

// judge says of findings how near they are to where the fix was made.
func (r *result) judge(c caseOf, a *advice) {
	r.Found = []finding{}
	for i := range a.Findings {
		f := &a.Findings[i]
		x := finding{Rule: f.Rule, Title: f.Title, File: f.Where.File, Line: f.Where.Line, Func: shortName(f.Where.Function), NoFix: f.NoFix}
		for _, sv := range f.Savings {
			x.Share = max(x.Share, sv.Share)
		}
		for _, one := range f.Fixes {
			x.Fixes = append(x.Fixes, one.Title)
		}
		for _, at := range append([]spot{f.Where}, f.Also...) {
			for j := range r.Places {
				x.Hit = x.Hit || r.Places[j].has(at.File, at.Line)
				x.Close = x.Close || r.Places[j].close(at.File, at.Line)
			}
		}
		x.Right = x.Hit && slices.ContainsFunc(c.Causes, func(cause string) bool {
			rule, title, _ := strings.Cut(cause, ": ")
			return rule == f.Rule && strings.HasPrefix(f.Title, title)
		})
		r.Found = append(r.Found, x)
	}
}

// fixed says what became of a patch. Lines move while patches are kept; functions do not.
func (r *result) fixed(x *fixed) kept {
	k := kept{Rule: x.Rule, Fix: x.Fix, File: x.Where.File, Line: x.Where.Line, Func: shortName(x.Where.Function), Reason: x.Reason, Patch: x.Patch}
	if k.Fix == "" {
		k.Fix = x.Title
	}
	k.Hit = slices.ContainsFunc(r.Places, func(p place) bool { return p.File == k.File && p.Func == k.Func })
	return k
}

// shortName returns what a function that a profile names is called in its package: T.m for example.com/p.(*T).m.func1.
func shortName(fn string) string {
	fn = fn[strings.LastIndexByte(fn, '/')+1:]
	if i := strings.IndexByte(fn, '['); i >= 0 { // of type parameters
		if j := strings.LastIndexByte(fn, ']'); j > i {
			fn = fn[:i] + fn[j+1:]
		}
	}
	_, fn, _ = strings.Cut(fn, ".")
	if rest, ok := strings.CutPrefix(fn, "(*"); ok {
		typ, rest, _ := strings.Cut(rest, ")")
		fn = typ + rest
	}
	var parts []string
	for part := range strings.SplitSeq(fn, ".") {
		if strings.HasPrefix(part, "func") && len(part) > 4 && part[4] >= '0' && part[4] <= '9' {
			break // a function literal
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ".")
}

// top returns the findings that a user reads.
func (r *result) top(n int) []finding { return r.Found[:min(n, len(r.Found))] }

// within reports whether one of the first findings is one.
func (r *result) within(n int, is func(finding) bool) bool { return slices.ContainsFunc(r.top(n), is) }

func (r *result) proven() bool {
	return slices.ContainsFunc(r.Kept, func(k kept) bool { return k.Hit && k.Wrong == "" })
}

// ask runs hone and reads its answer.
func (s *advising) ask(ctx context.Context, dir string, into any, args ...string) (*os.ProcessState, error) {
	cmd := exec.CommandContext(ctx, s.Hone, args...)
	cmd.Dir = dir
	// What was refused before shall not count, and what is refused here shall not be remembered; what was compiled may.
	cache, err := study.Command(ctx, dir, "go", "env", "GOCACHE")
	if err != nil {
		return nil, err
	}
	own, err := os.MkdirTemp(s.Dir, "cache-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(own)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+own, "GOCACHE="+strings.TrimSpace(string(cache)), "GOTOOLCHAIN=local", "GOWORK=off", "PWD="+dir)
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &wrong
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("hone %s: %w\n%s", strings.Join(args, " "), err, study.Last(wrong.String(), 2000))
	}
	if into == nil {
		return cmd.ProcessState, nil
	}
	if err := json.Unmarshal(out.Bytes(), into); err != nil {
		return nil, fmt.Errorf("hone %s: its answer: %w", strings.Join(args, " "), err)
	}
	return cmd.ProcessState, nil
}
