package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/prompt"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/unit"
	"github.com/hone-perf/hone/internal/view"
	"github.com/hone-perf/hone/internal/view/profileview"
	"github.com/hone-perf/hone/internal/views"
)

// shellCommand is the prompt, at which users ask one question after another about a profile.
func shellCommand(sys *System) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "shell PROFILE…",
		Short: "Ask questions at an interactive prompt",
		Long: `Query a profile interactively. hone reads the profile only once.

A line is the name of a view, its argument, and settings, as in top limit=20 or
list json.Decode metric=alloc_space. Settings on their own line apply to all later
queries: focus=json, metric=alloc_space, by=package. undo removes the last setting, reset
removes all of them. > FILE writes a report to a file, whose extension selects the format;
| PROGRAM pipes it to a program. help lists views, settings and commands; help VIEW says more.

If standard input is not a terminal, hone runs the lines one by one, and exits with 1 if one failed.`,
		Example: "  hone shell cpu.pprof\n  echo 'top limit=5' | hone shell cpu.pprof",
		GroupID: groupLook,
	}
	if !sys.names(cmd) {
		return cmd
	}
	opt := sourceFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef("for example: hone shell cpu.pprof", "shell needs a profile to look at")
		}
		if slices.Contains(args, "-") {
			return usagef("save the profile to a file first", "standard input has the questions, so it cannot also be the profile")
		}
		out, err := outputOf(cmd, sys)
		if err != nil {
			return err
		}
		out.opt.By = promptSpeller{args}
		s := &shell{
			cmd: cmd, sys: sys, opt: opt, refs: args, out: out, ui: prompt.New(sys.In, sys.Out, sys.Err, sys.Env),
			read: make(map[string]readFor),
		}
		return s.run()
	}
	return cmd
}

// A shell answers questions about the profiles that refs name.
type shell struct {
	cmd    *cobra.Command
	sys    *System
	opt    *source.Options
	refs   []string
	out    output
	ui     prompt.Prompt
	held   []query.Query // settings after each line that changed some; the last one applies
	read   map[string]readFor
	failed bool

	recorded bool // refs name a recording or a store, with profiles of several kinds
}

// A readFor is the cached input of a question.
type readFor struct {
	in     []*recording.Recording
	metric string // sample type for the metric of the question
}

// settings returns the settings that apply now.
func (s *shell) settings() query.Query {
	if len(s.held) == 0 {
		return query.Query{}
	}
	return s.held[len(s.held)-1]
}

func (s *shell) run() error {
	if source.IsStored(s.refs[0]) {
		s.recorded = true // it is opened by the first question
	} else if rec, _, err := openWhole(s.cmd.Context(), s.refs[0]); rec != nil && err == nil {
		rec.Close()
		s.recorded = true
	}
	first, metric, err := s.open(query.Query{})
	if err != nil {
		return err // without input there is nothing to ask about
	}
	if s.ui.Asks() {
		if r, err := profileview.Look(first, query.Query{View: "look", Refs: s.refs, Metric: metric}); err == nil {
			if err := s.out.write(s.sys, r); err != nil {
				return err
			}
		}
		s.ui.Say("help lists the questions; quit ends the shell")
	}
	s.ui.Complete(s.complete(first[0]))
	for s.cmd.Context().Err() == nil {
		ask := ""
		if s.ui.Asks() {
			ask = strings.TrimSpace("hone "+s.settings().String()) + "> "
		}
		line, err := s.ui.ReadLine(s.cmd.Context(), ask)
		if s.cmd.Context().Err() != nil {
			break
		}
		if err != nil && err != io.EOF {
			return fmt.Errorf("reading a line: %w", err)
		}
		line = strings.TrimSpace(line)
		if line == "quit" || line == "exit" || line == "q" || line == "" && err == io.EOF {
			break
		}
		if problem := s.do(line); problem != nil {
			s.failed = true
			s.ui.Complain(problem.Error())
			for _, h := range hints(problem, s.out.opt.By) {
				s.ui.Say("hint: " + h)
			}
		}
		if err == io.EOF {
			break
		}
	}
	if err := s.cmd.Context().Err(); err != nil {
		return err
	}
	if s.failed && !s.ui.Asks() {
		return &exited{code: exitFailed}
	}
	return nil
}

// do executes a line.
func (s *shell) do(line string) error {
	line, where, to := divert(views.Numbered(line))
	words := strings.Fields(line)
	if len(words) == 0 || strings.HasPrefix(words[0], "#") {
		return nil
	}
	silent := func() error { // returns an error if a line that prints no answer has a > or |
		if where == "" {
			return nil
		}
		return fmt.Errorf("%s: this prints no answer that could go to %s", strings.TrimSpace(line), to)
	}
	switch words[0] {
	case "help", "?", "undo", "reset", "settings":
		if err := silent(); err != nil {
			return err
		}
	}
	switch words[0] {
	case "help", "?":
		return s.help(words[1:])
	case "undo":
		if len(s.held) == 0 {
			return errors.New("there is nothing to undo")
		}
		s.held = s.held[:len(s.held)-1]
		return nil
	case "reset":
		s.held = nil
		return nil
	case "settings":
		s.ui.Say(s.settings().String())
		return nil
	}
	name, _, set := strings.Cut(words[0], "=")
	if k := query.Find(name); set || k != nil && k.Switch() || name == "cum" {
		q, err := query.Parse(line)
		switch {
		case err != nil:
			return err
		case len(q.Refs) > 0:
			return usagef("hone shell "+quoted(q.Refs[0])+" does", "the shell only asks about the profiles that it was started with")
		case q.Arg != "":
			return fmt.Errorf("%s: a line of settings applies to later questions; a question begins with a view", line)
		}
		if err := silent(); err != nil {
			return err
		}
		every := make([]string, len(query.Keys))
		for i := range query.Keys {
			every[i] = query.Keys[i].Name
		}
		all := q.On(s.settings(), every)
		if q.Metric != "" || q.Unit != "" {
			if err := s.check(all); err != nil {
				return err
			}
		}
		s.held = append(s.held, all)
		return nil
	}
	if _, ok := views.Find(words[0]); !ok {
		return unknownWord(words[0])
	}
	return s.answer(line, where, to)
}

// check returns an error if no question could be answered with the metric and the unit of settings. A unit has to suit one of the metrics, as a
// question may name another than the settings do.
func (s *shell) check(settings query.Query) error {
	in, metric, err := s.open(query.Query{Metric: settings.Metric})
	if err != nil {
		return err
	}
	if err := checkMetric(in, metric); err != nil {
		return err
	}
	var units []string
	for _, t := range in[0].Profile.SampleTypes {
		units = append(units, t.Unit)
	}
	if s.recorded {
		units = append(units, "nanoseconds", "bytes") // of its other profiles
	}
	if slices.ContainsFunc(units, func(own string) bool { return unit.Compatible(settings.Unit, own) }) {
		return nil
	}
	return checkUnit(in[0], query.Query{Metric: metric, Unit: settings.Unit})
}

// shellWords are the commands of the prompt.
var shellWords = []string{"help", "undo", "reset", "settings", "quit"}

// unknownWord returns the error for a line whose first word is not a view, a setting or a command.
func unknownWord(word string) error {
	if k := query.Find(word); k != nil {
		return usagef("for example: "+k.Name+"="+k.Example, "%s needs a value", word)
	}
	names := slices.Clone(shellWords)
	for v := range views.All() {
		if v.Part == view.Profile {
			names = append(names, v.Name)
		}
	}
	if near := query.Nearest(word, names); near != "" {
		return usagef("help lists the questions", "unknown view or command %q; did you mean %s?", word, near)
	}
	return usagef("help lists the questions", "unknown view or command %q", word)
}

// keysAt returns the keys that a view accepts at the prompt: the same as on the command line.
func keysAt(name string) ([]string, error) {
	v, ok := views.Find(name)
	if !ok {
		_, err := views.Keys(name)
		return nil, err
	}
	return keysOf(v), nil
}

// answer answers a question. where is ">" or "|" if the answer goes to a file or a program.
func (s *shell) answer(line, where, to string) error {
	q, err := query.Grammar(keysAt).Parse(line)
	if err != nil {
		return err
	}
	v, q, err := views.Resolve(q)
	if err != nil {
		return err
	}
	if v.Part != view.Profile {
		return withHint(fmt.Errorf("%s does not show profiles", v.Name), "hone "+v.Name+" "+quotedRefs(s.refs))
	}
	q = q.On(s.settings(), keysOf(v))
	if v.NeedsBase && len(q.Base) == 0 && len(q.BaseTags) == 0 {
		return usagef("for example: "+v.Name+" base=old.pprof", "%s needs a base to compare with", v.Name)
	}
	q.Refs = s.refs
	in, metric, err := s.open(q)
	if err != nil {
		return err
	}
	q.Metric = metric
	if in, err = fitting(v, in, q); err != nil {
		return err
	}
	ctx := s.cmd.Context()
	switch where {
	case ">":
		return s.toFile(ctx, v, to, in, q)
	case "|":
		return s.toProgram(ctx, v, strings.Fields(to), in, q)
	}
	return show(ctx, s.sys, v, s.out.on(s.sys), in, q)
}

// open returns the input of a question, which it caches, and the sample type for its metric.
func (s *shell) open(q query.Query) (in []*recording.Recording, metric string, _ error) {
	const most = 16 // cached inputs, for questions about many periods of a recording
	q.Refs = s.refs
	opt := *s.opt
	if v, ok := views.Find(q.View); ok {
		opt.Kind = v.Kind
	}
	key := fmt.Sprintf("%q %v %q %q %q", q.Base, q.At, q.SourcePath, q.TrimPath, opt.Kind)
	if s.recorded {
		key += " " + q.Metric // the metric selects one of its profiles
	}
	found, ok := s.read[key]
	if !ok {
		var err error
		var resolved query.Query
		if found.in, resolved, err = recordings(s.cmd, s.sys, &opt, q); err != nil {
			return nil, "", err
		}
		found.metric = resolved.Metric
		if len(s.read) >= most {
			clear(s.read)
		}
		s.read[key] = found
	}
	if s.recorded {
		return found.in, found.metric, nil
	}
	return found.in, q.Metric, nil
}

// divert splits off the destination of the answer: > FILE or | PROGRAM, after a space and outside of quotes.
func divert(line string) (rest, where, to string) {
	quote := rune(0)
	for i, r := range line {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '\'' || r == '"':
			quote = r
		case (r == '>' || r == '|') && i > 0 && line[i-1] == ' ' && strings.TrimSpace(line[i+1:]) != "":
			return line[:i], string(r), strings.TrimSpace(line[i+1:])
		}
	}
	return line, "", ""
}

func (s *shell) toFile(ctx context.Context, v *view.View, name string, in []*recording.Recording, q query.Query) error {
	if strings.HasPrefix(name, ">") {
		return usagef("> FILE overwrites it", ">%s: answers cannot be appended to a file", name)
	}
	out := s.out
	out.file, out.opt.Width, out.opt.Color, out.format = name, 0, false, "text"
	if f := formatOf[strings.ToLower(filepath.Ext(name))]; f != "" {
		out.format = f
	}
	if err := drawable(v, out); err != nil {
		return err
	}
	return show(ctx, s.sys, v, out, in, q)
}

func (s *shell) toProgram(ctx context.Context, v *view.View, words []string, in []*recording.Recording, q query.Query) error {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr = s.sys.Out, s.sys.Err
	w, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	sys := *s.sys
	sys.Out = w
	out := s.out.on(&sys)
	out.opt.Color, out.format = false, "text"
	err = show(ctx, &sys, v, out, in, q)
	err = errors.Join(err, w.Close())
	if wrong := cmd.Wait(); wrong != nil {
		err = errors.Join(err, fmt.Errorf("%s: %w", words[0], wrong))
	}
	return err
}

// help lists the views and commands, or describes a view.
func (s *shell) help(words []string) error {
	var b strings.Builder
	if len(words) > 0 {
		v, ok := views.Find(words[0])
		if !ok {
			return unknownWord(words[0])
		}
		fmt.Fprintf(&b, "%s\n", strings.TrimSpace(v.Name+" "+v.Arg))
		fmt.Fprintf(&b, "  %s\n\nsettings\n", v.Doc)
		for _, name := range keysOf(v) {
			if k := query.Find(name); name != "ref" {
				fmt.Fprintf(&b, "  %-22s %s\n", setting(k), k.Doc)
			}
		}
		s.ui.Say(b.String())
		return nil
	}
	b.WriteString("views\n")
	for v := range views.All() {
		if v.Part == view.Profile {
			fmt.Fprintf(&b, "  %-22s %s\n", strings.TrimSpace(v.Name+" "+v.Arg), v.Doc)
		}
	}
	b.WriteString("\nsettings, after a view or alone\n")
	for i := range query.Keys {
		if k := &query.Keys[i]; k.Name != "ref" {
			fmt.Fprintf(&b, "  %-22s %s\n", setting(k), k.Doc)
		}
	}
	b.WriteString(`
commands
  settings               show the current settings
  undo                   remove the last setting
  reset                  remove all settings
  … > FILE               write the answer to a file; the extension selects the format: .json .csv .md .svg .png .html
  … | PROGRAM            pipe the answer to a program
  help VIEW              the settings of a view
  quit                   leave
`)
	s.ui.Say(b.String())
	return nil
}

// setting returns the spelling of a key at the prompt.
func setting(k *query.Key) string {
	if k.Switch() {
		return k.Name
	}
	return k.Name + "=" + k.Value
}

// complete returns the completion of a line: the first word is a view, a setting or a command, other words are functions.
func (s *shell) complete(rec *recording.Recording) func(string) string {
	first := slices.Clone(shellWords)
	for v := range views.All() {
		if v.Part == view.Profile {
			first = append(first, v.Name)
		}
	}
	var settings []string
	for i := range query.Keys {
		switch k := &query.Keys[i]; {
		case k.Name == "ref":
		case k.Switch():
			settings = append(settings, k.Name)
		default:
			settings = append(settings, k.Name+"=")
		}
	}
	first = append(first, settings...)
	var functions []string
	if rec.Profile != nil {
		for i := range rec.Profile.Functions {
			functions = append(functions, rec.Profile.Functions[i].Name)
		}
	}
	slices.Sort(functions)
	functions = slices.Compact(functions)
	return func(line string) string {
		at := strings.LastIndexByte(line, ' ') + 1
		last := line[at:]
		switch key, value, set := strings.Cut(last, "="); {
		case last == "":
			return line
		case at == 0 && !set:
			return prompt.TheOnly(last, first, strings.HasPrefix)
		case set:
			if k := query.Find(key); k != nil && len(k.Choices) > 0 {
				return line[:at] + key + "=" + prompt.TheOnly(value, k.Choices, strings.HasPrefix)
			}
			return line[:at] + key + "=" + prompt.TheOnly(value, functions, strings.Contains)
		}
		if done := prompt.TheOnly(last, settings, strings.HasPrefix); done != last {
			return line[:at] + done
		}
		return line[:at] + prompt.TheOnly(last, functions, strings.Contains)
	}
}
