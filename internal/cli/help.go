package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/secret"
	"github.com/hone-perf/hone/internal/view"
	"github.com/hone-perf/hone/internal/views"
)

// These are the parts of the help of a command, in this order: the question first, then what becomes of the answer.
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

// sectionOf returns the section that a flag is in.
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

// help writes what a command is for and how to call it.
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

// exitCodes is what the exit codes of hone's own commands mean. hone record, time and gc end with that of the program that they run.
var exitCodes = [][2]string{
	{"0", "done"},
	{"1", "hone failed, or could not read all of the input"},
	{"2", "the command line is wrong"},
	{"3", "prove, race, compare --gate, advise --gate or load --slo found something, or fix did not prove a finding"},
	{"4", "compare --gate or prove --fail-undecided could not decide"},
	{"130", "interrupted"},
}

// commands lists the commands below cmd.
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

// viewOrder puts views in their own order, and what is no view behind them, in that of the alphabet.
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
			i = others // the certificate of a server, not of who asks for profiles
		}
		text := doc(f)
		if f.Name == "output" && !applies(cmd, "json") {
			text = "write to FILE" // there are no formats to select
		}
		rows[i] = append(rows[i], [2]string{spelling(f), text})
	}
	// Their order is that in which they were made.
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

// applies reports whether a flag means something to cmd. All commands inherit those about output, but not all of them
// write answers.
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
	// A zero stands for "not given"; what that means is in the text where it is not plain.
	if !slices.Contains([]string{"", "false", "[]", "0", "-1"}, f.DefValue) {
		usage += " (default " + f.DefValue + ")"
	}
	return usage
}

// pairs writes names and what they mean in two columns; 0 cols is as wide as it takes.
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

// wrap cuts text into lines of so many columns, at least one. Where there is next to no room, it stays as it is.
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
	return out
}

// commandLine turns a query as it is written at the prompt into a command line.
func commandLine(v *view.View, text string) string {
	words := []string{"hone"}
	profile := "cpu.pprof"
	if v.Kind != "" {
		profile = v.Kind + ".pprof"
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
		if strings.HasPrefix(w, "metric=alloc") || strings.HasPrefix(w, "metric=inuse") {
			profile = "heap.pprof"
		}
	}
	if old != "" {
		words = append(words, old)
		profile = "new.pprof"
	}
	return strings.Join(append(words, profile), " ")
}

// promptWords splits at blanks that are not between single quotes, which it removes.
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

// quoted returns s as a shell takes it for one word.
func quoted(s string) string {
	s = new(secret.Hider).Text(s) // what is shown ends up in logs of builds, and in reports of bugs
	if s != "" && !strings.ContainsAny(s, " \t\n\"'`$\\*?[](){}|&;<>#~!") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// helpCommand is cobra's, but refuses what there is no help for.
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

// nearestCommand returns the command that word was probably meant to be, or "".
func nearestCommand(root *cobra.Command, word string) string {
	var names []string
	for _, c := range root.Commands() {
		names = append(append(names, c.Name()), c.Aliases...)
	}
	return query.Nearest(word, names)
}

func unknownCommand(root *cobra.Command, word string) error {
	hint := "hone --help lists the commands"
	if near := nearestCommand(root, word); near != "" {
		hint = "did you mean " + near + "? " + hint
	}
	return usagef(hint, "there is no command %q", word)
}
