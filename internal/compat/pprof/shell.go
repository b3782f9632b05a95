package pprof

import (
	"fmt"
	"io"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/prompt"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/view/profileview"
)

// remarkStart begins a remark on an option.
const remarkStart = "//:"

// interact reads commands and settings until the user leaves. All answers come from the profile as it was loaded.
func (s *session) interact() error {
	s.shell = true
	s.cfg.compact = true
	s.profile = s.profile.MapLabels(written)
	s.ui.Complete(s.completer())
	short := map[string][]string{":": {"focus=", "ignore=", "hide=", "tagfocus=", "tagignore="}}
	for _, t := range s.sampleTypes() {
		pick := "sample_index=" + t
		short[t] = []string{pick}
		short["total_"+t] = []string{"mean=0", pick}
		short["mean_"+t] = []string{"mean=1", pick}
	}
	s.greet()
	for {
		text, err := s.ui.ReadLine(s.ctx, "(pprof) ")
		if err != nil {
			if err != io.EOF {
				return err
			}
			if text == "" {
				return nil
			}
		}
		text = strings.TrimSpace(text)
		inputs, ok := short[text]
		if !ok {
			inputs = []string{text}
		}
		for _, in := range inputs {
			if s.assign(in) {
				continue
			}
			leave, err := s.execute(strings.Fields(in))
			if err != nil {
				s.complain("%v", err)
			}
			if leave {
				return nil
			}
		}
	}
}

// written returns what is left of labels when a profile is written and read again, as the shell of pprof does for each command: one of 0
// without a unit, which only the older forms of profiles have, looks like one that was left out.
func written(labels profile.LabelSet) profile.LabelSet {
	nothing := func(l profile.Label) bool { return l.Str == "" && l.Num == 0 && l.Unit == "" }
	if !slices.ContainsFunc(labels, nothing) {
		return labels
	}
	return slices.DeleteFunc(slices.Clone(labels), nothing)
}

// greet says what the profile is.
func (s *session) greet() {
	for _, u := range calls.UnitClashes(s.profile) {
		s.complain("For tag %s used unit %s, also encountered unit(s) %s", u.Key, u.Used, strings.Join(u.Others, ", "))
	}
	if head, err := profileview.Head([]*recording.Recording{{Profile: s.profile}}, query.Query{
		Metric: s.cfg.sampleIndex, Mean: s.cfg.mean, Divide: s.cfg.divideBy, Unit: s.cfg.unit, PProf: true,
	}); err == nil && s.cfg.divideBy != 0 {
		s.ui.Say(strings.Join(newForm(s.cfg, &head).profileLines(), "\n"))
		if head.Total == 0 && len(s.profile.SampleTypes) > 1 {
			s.ui.Say("No samples were found with the default sample value type.")
			s.ui.Say("Try \"sample_index\" command to analyze different sample values.\n")
		}
	}
	s.ui.Say(`Entering interactive mode (type "help" for commands, "o" for options)`)
}

// assign takes name=value, or the name of a switch. It reports whether the input was that.
func (s *session) assign(in string) bool {
	name, value, given := strings.Cut(in, "=")
	name = strings.TrimSpace(name)
	if i := strings.LastIndex(value, remarkStart); i >= 0 {
		value = value[:i]
	}
	value = strings.TrimSpace(value)
	o := findOption(name)
	if o == nil {
		return false
	}
	if !given && !o.isBool(name) {
		s.complain("please specify a value, e.g. %s=<val>", name)
		return true
	}
	if name == "sample_index" {
		i, err := s.profile.SampleIndex(value)
		if err != nil {
			s.complain("%v", asPprofSays(err))
			return true
		}
		if i < 0 {
			s.complain("invalid sample_index %q", value)
			return true
		}
		value = s.profile.SampleTypes[i].Type
	}
	if err := o.set(&s.cfg, name, value); err != nil {
		s.complain("%v", err)
	}
	return true
}

// execute runs a command and reports whether to leave.
func (s *session) execute(words []string) (leave bool, _ error) {
	if len(words) == 0 {
		return false, nil
	}
	switch words[0] {
	case "o", "options":
		s.ui.Say(s.listOptions())
		return false, nil
	case "exit", "quit", "q":
		return true, nil
	case "help":
		s.help(strings.Join(words[1:], " "))
		return false, nil
	}
	c, arg, cfg, pipe, err := s.read(words)
	if err != nil {
		return false, err
	}
	if pipe == nil {
		return false, s.report(cfg, c, arg, nil)
	}
	cmd := exec.CommandContext(s.ctx, pipe[0], pipe[1:]...)
	cmd.Stdout, cmd.Stderr = s.sys.Out, s.sys.Err
	w, err := cmd.StdinPipe()
	if err != nil {
		return false, err
	}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	// A program such as head may go before it has read all; that is not our error.
	reportErr := s.report(cfg, c, arg, &quietPipe{w: w})
	w.Close()
	if err := cmd.Wait(); reportErr == nil {
		reportErr = err
	}
	return false, reportErr
}

// A quietPipe drops what its reader does not want.
type quietPipe struct {
	w    io.Writer
	done bool
}

func (q *quietPipe) Write(b []byte) (int, error) {
	if !q.done {
		_, err := q.w.Write(b)
		q.done = err != nil
	}
	return len(b), nil
}

var trailingDigits = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("[0-9]+$") })

// read makes sense of a command line: which command, its argument, settings that hold for it alone, and the program
// that its output goes to.
func (s *session) read(words []string) (c *command, arg string, cfg config, pipe []string, _ error) {
	cfg = s.cfg
	name, words := words[0], words[1:]
	if c = findCommand(name); c == nil {
		// top10
		if d := trailingDigits().FindString(name); d != "" && d != name {
			name = strings.TrimSuffix(name, d)
			words = append([]string{d}, words...)
			c = findCommand(name)
		}
	}
	if c == nil {
		if _, ok := help("option", name); ok {
			value := "<val>"
			if len(words) > 0 {
				value = words[0]
			}
			return nil, "", cfg, nil, fmt.Errorf("did you mean: %s=%s", name, value)
		}
		return nil, "", cfg, nil, fmt.Errorf("unrecognized command: %q", name)
	}
	if c.param {
		if len(words) == 0 {
			return nil, "", cfg, nil, fmt.Errorf("command %s requires an argument", name)
		}
		arg, words = words[0], words[1:]
	}
	var focus, ignore []string
	for i := 0; i < len(words); i++ {
		w := words[i]
		if n, err := strconv.ParseInt(w, 10, 32); err == nil {
			cfg.nodeCount = int(n)
			continue
		}
		switch w[0] {
		case '>':
			if cfg.output = w[1:]; cfg.output == "" {
				if i++; i >= len(words) {
					return nil, "", cfg, nil, fmt.Errorf("unexpected end of line after >")
				}
				cfg.output = words[i]
			}
		case '|':
			pipe = append([]string{w[1:]}, words[i+1:]...)
			if pipe[0] == "" {
				pipe = pipe[1:]
			}
			if len(pipe) == 0 {
				return nil, "", cfg, nil, fmt.Errorf("unexpected end of line after |")
			}
			i = len(words)
		case '-':
			if w == "-cum" || w == "--cum" {
				cfg.sort = "cum"
			} else if w != "-" {
				ignore = append(ignore, w[1:])
			}
		default:
			focus = append(focus, w)
		}
	}
	f, ig := &cfg.focus, &cfg.ignore
	if name == "tags" {
		f, ig = &cfg.tagFocus, &cfg.tagIgnore
	}
	if focus != nil {
		*f = strings.Join(focus, "|")
	}
	if ignore != nil {
		*ig = strings.Join(ignore, "|")
	}
	if cfg.nodeCount == -1 && (name == "text" || name == "top") {
		cfg.nodeCount = 10
	}
	return c, arg, cfg, pipe, nil
}

// help prints the help on everything, or on a command or option.
func (s *session) help(about string) {
	if about == "" {
		s.ui.Say(usage(false) + "\n  :   Clear focus/ignore/hide/tagfocus/tagignore\n\n" +
			"  type \"help <cmd|option>\" for more information\n")
		return
	}
	if text, ok := help("command", about); ok {
		s.ui.Say(text)
		return
	}
	if text, ok := help("option", about); ok {
		if about == "sample_index" {
			text = strings.TrimSuffix(text, "\n") + "Or use sample_index=name, with name in " + words(s.sampleTypes()) + ".\n\n"
		}
		s.ui.Say(text)
		return
	}
	s.complain("Unknown command: %s", about)
}

// listOptions returns all options with their values.
func (s *session) listOptions() string {
	var lines []string
	for _, o := range options {
		value, remark := o.get(&s.cfg), ""
		switch {
		case o.choices != nil:
			remark = "[" + strings.Join(slices.Sorted(slices.Values(o.choices)), " | ") + "]"
		case o.name == "sample_index":
			types := s.sampleTypes()
			if value == "" && len(types) > 0 {
				value = types[len(types)-1]
			}
			remark = "[" + strings.Join(types, " | ") + "]"
		case o.name == "source_path":
			continue
		case o.name == "nodecount" && value == "-1":
			remark = "default"
		case value == "":
			value = `""`
		}
		if o.name == "granularity" && value == "" {
			value = "(default)"
		}
		if remark != "" {
			remark = remarkStart + " " + remark
		}
		lines = append(lines, fmt.Sprintf("  %-25s = %-20s %s", o.name, value, remark))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// completer returns what completes a line: the first word as a command or option, others as functions.
func (s *session) completer() func(string) string {
	known := make(map[string]bool)
	for _, c := range commands {
		known[c.name] = true
	}
	for _, o := range options {
		known[o.name] = true
		for _, c := range o.choices {
			known[c] = true
		}
	}
	wordsByName := slices.Sorted(maps.Keys(known))
	word := func(start string) string {
		return prompt.TheOnly(start, wordsByName, strings.HasPrefix)
	}
	var functions []string
	for _, f := range s.profile.Functions {
		functions = append(functions, f.Name)
	}
	slices.Sort(functions)
	functions = slices.Compact(functions)
	return func(line string) string {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
			return line
		case len(words) == 1:
			return word(words[0])
		case len(words) == 2 && words[0] == "help":
			return "help " + word(words[1])
		}
		if findCommand(words[0]) == nil || words[0] == "tags" {
			return line
		}
		last := &words[len(words)-1]
		if rest, ok := strings.CutPrefix(*last, "-"); ok {
			*last = "-" + prompt.TheOnly(rest, functions, strings.Contains)
		} else {
			*last = prompt.TheOnly(*last, functions, strings.Contains)
		}
		return strings.Join(words, " ")
	}
}
