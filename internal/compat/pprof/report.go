package pprof

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/safefile"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/unit"
	"github.com/hone-perf/hone/internal/view"
)

// report runs a command and sends the result where it belongs. pipe, when not nil, takes what would go to standard
// output.
func (s *session) report(cfg config, c *command, arg string, pipe io.Writer) error {
	for _, u := range calls.UnitClashes(s.profile) {
		s.complain("For tag %s used unit %s, also encountered unit(s) %s", u.Key, u.Used, strings.Join(u.Others, ", "))
	}
	if err := s.check(cfg, c, arg); err != nil {
		return err
	}
	rec := recording.Recording{Profile: s.profile}
	if c.name == "list" || c.name == "weblist" {
		rec.Sources = newFiles(cfg.sourcePath, cfg.trimPath)
	}
	var code *binaries
	if c.name == "disasm" || c.name == "weblist" {
		var err error
		if code, err = newBinaries(s.sys.Out, cfg.intel, arg); err != nil {
			return err
		}
		defer code.close()
		if kept := s.recordings(); len(kept) > 0 {
			code.kept = (&source.Options{}).Code(kept...)
			defer func() {
				for _, r := range kept {
					r.Close()
				}
			}()
		}
		rec.Code = code
	}
	r, err := c.run([]*recording.Recording{&rec}, c.query(cfg, arg))
	var none *view.NoMatch
	switch {
	case errors.As(err, &none):
		s.remark(none.Remarks)
		if c.name == "disasm" {
			return code.noMatch()
		}
		return err
	case err != nil: // in the report, for which pprof has applied the filters
		s.remarkOn(cfg, cfg.steps())
		return err
	}
	head := headOf(r)
	f := newForm(cfg, head)
	f.source = s.profile
	if head != nil {
		s.remark(head.Remarks)
	}
	return s.deliver(cfg, c, pipe, func(w io.Writer) error { return c.print(w, r, f) })
}

// check finds mistakes in the order in which pprof does. What the filters that pprof has applied by then did not match, it
// says before the mistake.
func (s *session) check(cfg config, c *command, arg string) error {
	steps := cfg.steps()
	applied := labelFrames(steps)
	if cfg.relative {
		if err := s.checkFilters(cfg, steps); err != nil {
			return err
		}
		applied = steps
	}
	err := func() error {
		if len(s.profile.SampleTypes) == 0 {
			return errors.New("profile has no samples")
		}
		if _, err := s.profile.SampleIndex(cfg.sampleIndex); err != nil {
			return asPprofSays(err)
		}
		if cfg.divideBy == 0 {
			return errors.New("zero divisor specified")
		}
		if c.param {
			if _, err := regexp.Compile(arg); err != nil {
				return fmt.Errorf("parsing argument regexp %s: %v", arg, err)
			}
		}
		return nil
	}()
	if err != nil {
		s.remarkOn(cfg, applied)
		return err
	}
	if cfg.relative {
		return nil
	}
	return s.checkFilters(cfg, steps)
}

// checkFilters compiles filters. pprof does so with those of the names of labels when it has applied the others.
func (s *session) checkFilters(cfg config, steps []query.Step) error {
	late := func(st query.Step) bool { return st.Op == query.TagShow || st.Op == query.TagHide }
	order := append(slices.DeleteFunc(slices.Clone(steps), late),
		slices.DeleteFunc(slices.Clone(steps), func(st query.Step) bool { return !late(st) })...)
	var ranges []report.Remark
	for i, st := range order {
		asRange, err := calls.CheckStep(st)
		if err == nil {
			if asRange != "" {
				ranges = append(ranges, report.Remark{Op: st.Op, Range: asRange})
			}
			continue
		}
		if late(st) {
			s.remarkOn(cfg, order[:i])
		} else {
			s.remarkOn(cfg, labelFrames(steps))
			s.remark(ranges)
		}
		return fmt.Errorf("parsing %s regexp: %v", stepNames[st.Op][0], errors.Unwrap(err))
	}
	return nil
}

// labelFrames returns those of steps that make frames of labels, which come first.
func labelFrames(steps []query.Step) []query.Step {
	i := 0
	for i < len(steps) && (steps[i].Op == query.TagRoot || steps[i].Op == query.TagLeaf) {
		i++
	}
	return steps[:i]
}

// remarkOn says what there is to know about steps that were applied before a mistake was found.
func (s *session) remarkOn(cfg config, steps []query.Step) {
	if _, remarks, err := calls.Apply(s.profile, steps, cmp.Or(cfg.unit, unit.Auto), true); err == nil {
		s.remark(remarks)
	}
}

// names of steps in the words of pprof: as options, and in messages.
var stepNames = map[query.Op][2]string{
	query.TagRoot:   {"tagroot", "TagRoot"},
	query.TagLeaf:   {"tagleaf", "TagLeaf"},
	query.Focus:     {"focus", "Focus"},
	query.Ignore:    {"ignore", "Ignore"},
	query.Hide:      {"hide", "Hide"},
	query.Show:      {"show", "Show"},
	query.ShowFrom:  {"show_from", "ShowFrom"},
	query.TagFocus:  {"tagfocus", "TagFocus"},
	query.TagIgnore: {"tagignore", "TagIgnore"},
	query.TagShow:   {"tagshow", "TagShow"},
	query.TagHide:   {"taghide", "TagHide"},
	query.PruneFrom: {"prune_from", ""},
}

// remark says what there is to know about filters.
func (s *session) remark(remarks []report.Remark) {
	for _, r := range remarks {
		if r.Op == query.TagRoot || r.Op == query.TagLeaf {
			s.complain("%s expression matched no samples", stepNames[r.Op][1])
		}
	}
	for _, r := range remarks {
		if r.Range != "" {
			s.complain("%s:Interpreted '%s' as range, not regexp", stepNames[r.Op][0], r.Range)
		}
	}
	for _, r := range remarks {
		if r.Range == "" && r.Op != query.TagRoot && r.Op != query.TagLeaf {
			s.complain("%s expression matched no samples", stepNames[r.Op][1])
		}
	}
}

func headOf(r report.Report) *report.Head {
	switch r := r.(type) {
	case *report.Top:
		return &r.Head
	case *report.Graph:
		return &r.Head
	case *report.Source:
		return &r.Head
	case *report.Traces:
		return &r.Head
	case *report.Tags:
		return &r.Head
	case *report.Disasm:
		return &r.Head
	case *report.Raw:
		return &r.Head
	case *weblist:
		return &r.Head
	case *report.Comments:
		return &r.Head
	}
	return nil
}

// deliver writes a report where it belongs: a file, a viewer, standard output, but never binary data to a terminal.
func (s *session) deliver(cfg config, c *command, pipe io.Writer, write func(io.Writer) error) error {
	if c.dot != "" {
		// Graphviz may be missing, or fail: until it has made the picture, no file is announced or created.
		var picture bytes.Buffer
		if err := runDot(c.dot, write, &picture, s.sys.Err); err != nil {
			return err
		}
		write = func(w io.Writer) error {
			_, err := picture.WriteTo(w)
			return err
		}
	}
	switch {
	case pipe != nil:
		return buffered(pipe, write)
	case cfg.output != "":
		s.complain("Generating report in %s", cfg.output)
		return safefile.Write(cfg.output, func(w io.Writer) error { return buffered(w, write) })
	case c.viewer != nil:
		return s.show(c, write)
	case c.file != "" && (s.shell || s.ui.Terminal()):
		f, err := newFile("", "profile", "."+c.file)
		if err != nil {
			return err
		}
		s.complain("Generating report in %s", f.Name())
		return toFile(f, write)
	}
	return buffered(s.sys.Out, write)
}

func buffered(w io.Writer, write func(io.Writer) error) error {
	b := bufio.NewWriterSize(w, 64<<10)
	if err := write(b); err != nil {
		return err
	}
	return b.Flush()
}

func toFile(f *os.File, write func(io.Writer) error) error {
	err := buffered(f, write)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// runDot has graphviz make a picture of a graph.
func runDot(format string, write func(io.Writer) error, w, errs io.Writer) error {
	var graph bytes.Buffer
	if err := write(&graph); err != nil {
		return err
	}
	cmd := exec.Command("dot", "-T"+format)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &graph, w, errs
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("failed to execute dot. Is Graphviz installed? Error: %v", err)
	}
	return nil
}

// show writes a report to a temporary file and opens that with the first viewer there is.
func (s *session) show(c *command, write func(io.Writer) error) error {
	suffix := cmp.Or(c.ending, c.dot, "grind")
	f, err := newFile(os.TempDir(), "pprof", "."+suffix)
	if err != nil {
		return err
	}
	if !s.shell {
		defer os.Remove(f.Name())
	}
	if err := toFile(f, write); err != nil {
		return err
	}
	for _, v := range c.viewer {
		args := strings.Split(v, " ")
		cmd := exec.Command(args[0], append(args[1:], f.Name())...)
		cmd.Stderr = s.sys.Err
		if err = cmd.Start(); err != nil {
			continue
		}
		if s.shell {
			// The next command can be typed while it is open.
			go cmd.Wait()
			return nil
		}
		err = cmd.Wait()
		time.Sleep(time.Second) // some viewers return before they have opened the file
		return err
	}
	return err
}

// browsers are programs that show a page.
func browsers() []string {
	var list []string
	if b := os.Getenv("BROWSER"); b != "" {
		list = append(list, b)
	}
	switch runtime.GOOS {
	case "darwin":
		return append(list, "/usr/bin/open")
	case "windows":
		return append(list, "cmd /c start")
	}
	list = append(list, "chrome", "google-chrome", "chromium", "firefox", "sensible-browser")
	if os.Getenv("DISPLAY") != "" {
		list = append(list, "xdg-open")
	}
	return list
}

// recordings opens those of the refs that are recordings, which keep machine code. pprof itself knows none.
func (s *session) recordings() (out []*recording.Recording) {
	for _, ref := range s.refs {
		if r, _, err := source.Recording(s.ctx, ref); err == nil && r != nil {
			out = append(out, r)
		}
	}
	return out
}
