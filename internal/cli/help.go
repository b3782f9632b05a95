package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/secret"
	"github.com/hone-perf/hone/internal/view"
	"github.com/hone-perf/hone/internal/views"
)

// The sections of the help of a command, in this order: first flags about the question, then flags about the output.
const (
	question = iota
	filters
	outputs
	inputs
	others
	sections
)

var sectionTitles = [sections]string{
	question: "Query:",
	filters:  "Filters, applied in the order given; RX is a regular expression:",
	outputs:  "Output:",
	inputs:   "Profiles, symbols and sources:",
	others:   "Flags:",
}

// sectionOf returns the section of a flag.
func sectionOf(name string) int {
	switch query.Op(name) {
	case query.Focus, query.Ignore, query.Hide, query.Show, query.ShowFrom, query.PruneFrom,
		query.CollapsePackage, query.CollapseRecursion,
		query.TagFocus, query.TagIgnore, query.TagShow, query.TagHide, query.TagRoot, query.TagLeaf:
		return filters
	case "source-path", "trim-path":
		return inputs
	}
	switch {
	case slices.Contains(outputNames, name):
		return outputs
	case slices.Contains(sourceNames, name):
		return inputs
	case name == "cum", query.Find(name) != nil:
		return question
	}
	return others
}

// help writes the help of a command.
func help(cmd *cobra.Command, w io.Writer, cols int) {
	about := cmd.Long
	if about == "" {
		about = strings.ToUpper(cmd.Short[:1]) + cmd.Short[1:] + "."
	}
	fmt.Fprintf(w, "%s\n\nUsage:\n  %s\n", strings.TrimSpace(about), cmd.UseLine())
	if cmd.Example != "" {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	commands(cmd, w, cols)
	flags(cmd, w, cols)
	if !cmd.HasParent() {
		pairs(w, "Exit codes:", exitCodes, cols)
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\nRun %s COMMAND --help for details.\n", cmd.CommandPath())
	}
}

// exitCodes lists the exit codes of hone's own commands. hone record, time and gc exit with the code of the program that they run.
var exitCodes = [][2]string{
	{"0", "done"},
	{"1", "hone failed, or could not read all of the input"},
	{"2", "the command line is wrong"},
	{"3", "prove, race, compare --gate, advise --gate or load --slo found something, or fix did not prove a finding"},
	{"4", "compare --gate or prove --fail-undecided could not decide"},
	{"130", "interrupted"},
}

// commands lists the subcommands of cmd.
func commands(cmd *cobra.Command, w io.Writer, cols int) {
	groups := cmd.Groups()
	if len(groups) == 0 {
		groups = []*cobra.Group{{Title: "Commands:"}}
	}
	for _, g := range groups {
		var rows [][2]string
		list := slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool {
			return c.GroupID != g.ID || !c.IsAvailableCommand()
		})
		if slices.Contains([]string{groupLook, groupRun, groupTrace}, g.ID) {
			slices.SortStableFunc(list, func(a, b *cobra.Command) int { return cmp.Compare(viewOrder(a), viewOrder(b)) })
		}
		for _, c := range list {
			rows = append(rows, [2]string{c.Name(), c.Short})
		}
		pairs(w, g.Title, rows, cols)
	}
}

// viewOrder returns the place of a view's command in views.All. Other commands come after the views and keep their order.
func viewOrder(c *cobra.Command) int {
	i := 0
	for v := range views.All() {
		if v.Name == c.Name() {
			break
		}
		i++
	}
	return i
}

// flags lists the flags of cmd in sections.
func flags(cmd *cobra.Command, w io.Writer, cols int) {
	var rows [sections][][2]string
	add := func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || !applies(cmd, f.Name) {
			return
		}
		i := sectionOf(f.Name)
		if strings.HasPrefix(f.Name, "tls-") && cmd.Flags().Lookup("tls-ca") == nil {
			i = others // this is the certificate of a server, not of a client
		}
		text := doc(f)
		if f.Name == "output" && !applies(cmd, "json") {
			text = "write to FILE" // the command has one format
		}
		rows[i] = append(rows[i], [2]string{spelling(f), text})
	}
	// Keep the order in which the flags were added.
	cmd.Flags().SortFlags = false
	cmd.PersistentFlags().SortFlags = false
	cmd.LocalFlags().VisitAll(add)
	inherited := cmd.InheritedFlags()
	inherited.SortFlags = false
	inherited.VisitAll(add)
	for i, title := range sectionTitles {
		pairs(w, title, rows[i], cols)
	}
}

// applies reports whether a flag applies to cmd. All commands inherit the output flags, but not all of them write answers.
func applies(cmd *cobra.Command, flag string) bool {
	switch {
	case !slices.Contains(outputNames, flag), !cmd.HasParent():
		return true
	case cmd.Name() == "merge", cmd.Name() == "record", cmd.Name() == "init", cmd.Name() == "tour":
		return flag == "output"
	case cmd.Name() == "version":
		return flag == "output" || flag == "json"
	case cmd.Name() == "pgo":
		return !slices.Contains([]string{interactiveFlag, flameFlag, darkFlag, upFlag}, flag)
	case cmd.Name() == "web":
		return false
	}
	switch cmd.GroupID {
	case groupLook, groupRun, groupTrace:
		return true
	case groupLoad, groupAdvise, groupProve:
		return !slices.Contains([]string{interactiveFlag, flameFlag, darkFlag, upFlag}, flag)
	}
	return false
}

// spelling returns how a flag is written.
func spelling(f *pflag.Flag) string {
	s := "    --" + f.Name
	if f.Shorthand != "" {
		s = "-" + f.Shorthand + ", --" + f.Name
	}
	switch value, _ := pflag.UnquoteUsage(f); {
	case value == "":
	case f.NoOptDefVal != "" && f.Value.Type() != "bool":
		s += "[=" + value + "]"
	default:
		s += " " + value
	}
	return s
}

func doc(f *pflag.Flag) string {
	_, usage := pflag.UnquoteUsage(f)
	// Zero means "not given"; the help text says what happens then.
	if !slices.Contains([]string{"", "false", "[]", "0", "-1"}, f.DefValue) {
		usage += " (default " + f.DefValue + ")"
	}
	return usage
}

// pairs writes names and their descriptions in two columns of cols characters in all. With 0 cols, lines are as long as needed.
func pairs(w io.Writer, title string, rows [][2]string, cols int) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", title)
	left := 0
	for _, r := range rows {
		left = max(left, utf8.RuneCountInString(r[0]))
	}
	margin := 2 + left + 2
	for _, r := range rows {
		fmt.Fprintf(w, "  %s", r[0])
		blanks := margin - 2 - utf8.RuneCountInString(r[0])
		for _, line := range wrap(r[1], cols-margin) {
			fmt.Fprintf(w, "%s%s\n", strings.Repeat(" ", blanks), line)
			blanks = margin
		}
	}
}

// wrap splits text into lines of cols characters. If cols is too small, it returns the text in one line.
func wrap(text string, cols int) []string {
	const least = 16
	if cols < least {
		return []string{text}
	}
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > cols {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// examples returns the examples of a view as command lines.
func examples(v *view.View) []string {
	var out []string
	for _, e := range v.Examples {
		out = append(out, commandLine(v, e))
	}
	if v.Timed {
		out = append(out, "hone "+v.Name+" trace.out")
	}
	return out
}

// commandLine converts a query in the syntax of the prompt into a command line.
func commandLine(v *view.View, text string) string {
	words := []string{"hone"}
	profile := "cpu.pprof"
	switch {
	case v.Kind == recording.Held:
		profile = "before.hone" // hone holders -o makes it; no Go program does
	case v.Kind != "":
		profile = v.Kind + ".pprof"
	case v.Timed:
		profile = "server.hone" // a single profile does not say when things happened
	}
	old := ""
	for i, w := range promptWords(text) {
		name, value, ok := strings.Cut(w, "=")
		switch k := query.Find(name); {
		case i == 0:
			words = append(words, w)
		case ok && k != nil && name == "base" && v.NeedsBase:
			old = value
		case ok && k != nil:
			words = append(words, "--"+name, quoted(value))
		case name == "cum", k != nil && k.Switch():
			words = append(words, "--"+name)
		default:
			words = append(words, quoted(w))
		}
		if !v.Timed && (strings.HasPrefix(w, "metric=alloc") || strings.HasPrefix(w, "metric=inuse")) {
			profile = "heap.pprof"
		}
	}
	if old != "" {
		words = append(words, old)
		profile = "new.pprof"
	}
	return strings.Join(append(words, profile), " ")
}

// promptWords splits a line at spaces outside of single quotes, and removes the quotes.
func promptWords(text string) []string {
	var words []string
	for i, part := range strings.Split(text, "'") {
		if i%2 == 1 {
			words[len(words)-1] += part
			continue
		}
		for j, w := range strings.Split(part, " ") {
			if i == 0 || j > 0 {
				words = append(words, "")
			}
			words[len(words)-1] += w
		}
	}
	return slices.DeleteFunc(words, func(w string) bool { return w == "" })
}

// quoted returns s quoted for a shell, as one word.
func quoted(s string) string {
	s = new(secret.Hider).Text(s) // hints end up in build logs and bug reports, so they show no secrets
	if s != "" && !strings.ContainsAny(s, " \t\n\"'`$\\*?[](){}|&;<>#~!") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// helpCommand is the one of cobra, except that it refuses unknown topics.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Show help for a command",
		GroupID: groupOther,
		Example: "  hone help top",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(cmd.Root(), strings.Join(args, " "))
			}
			return about.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var out []cobra.Completion
			if len(args) == 0 {
				for _, c := range cmd.Root().Commands() {
					if !c.IsAvailableCommand() {
						continue // cobra's own
					}
					out = append(out, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// meant are commands by what people call them elsewhere.
var meant = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"run": "record", "profile": "record", "start": "record", "watch": "record --when",
		"test": "record go test", "benchmark": "bench", "gobench": "bench",
		"cpu": "top", "hot": "top", "report": "top", "heap": "top --metric heap", "allocs": "top --metric alloc_space", "mutex": "top --metric mutex", "block": "top --metric block",
		"memory": "mem", "leak": "holders", "leaks": "holders", "retained": "holders", "viewcore": "holders", "escape": "why-alloc", "escapes": "why-alloc",
		"callees": "sandwich", "callgraph": "graph", "svg": "graph -o graph.svg", "png": "graph -o graph.png",
		"ui": "web", "http": "web", "view": "web", "show": "web", "open": "web", "browser": "web",
		"analyze": "advise", "check": "advise", "lint": "advise", "optimize": "fix", "verify": "prove",
		"wrk": "load", "hey": "load", "stress": "load", "collect": "serve", "agent": "serve", "server": "serve", "annotate": "list",
	}
})

// nearestCommand returns the command that word probably means, with its arguments, or "": one that has this name elsewhere, or whose name is most like it.
func nearestCommand(root *cobra.Command, word string) string {
	if as := meant()[strings.ToLower(word)]; as != "" {
		return as
	}
	if n, ok := strings.CutPrefix(word, "top"); ok && strings.Trim(n, "0123456789") == "" && n != "" {
		return "top --limit " + n // as in pprof
	}
	var names []string
	for _, c := range root.Commands() {
		names = append(append(names, c.Name()), c.Aliases...)
	}
	return query.Nearest(word, names)
}

func unknownCommand(root *cobra.Command, word string) error {
	hint := "hone --help lists the commands"
	if near := nearestCommand(root, word); near != "" {
		near, _, _ = strings.Cut(near, " ")
		hint = "did you mean " + near + "? " + hint
	}
	return usagef(hint, "there is no command %q", word)
}
