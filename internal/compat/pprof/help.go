package pprof

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// helpText is what pprof says about its commands and options. Old habits and scripts know these words.
//
//go:embed help.txt
var helpText string

// help returns the part of the help with this heading, and whether there is one.
func help(kind, name string) (string, bool) {
	_, rest, ok := strings.Cut("\n"+helpText, "\n== "+kind+" "+name+"\n")
	if !ok {
		return "", false
	}
	if text, _, more := strings.Cut(rest, "\n== "); more {
		return text + "\n", true
	}
	return rest, true
}

func summary(prefix, name, text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return fmt.Sprintf("    %-16s %s", prefix+name, first)
}

// usage lists commands and options, for the command line or the shell.
func usage(commandLine bool) string {
	heading, prefix := "  Commands:\n", ""
	if commandLine {
		heading, prefix = "  Output formats (select at most one):\n", "-"
	}
	var cmds, plain, groups []string
	for _, c := range commands {
		text, _ := help("command", c.name)
		cmds = append(cmds, summary(prefix, c.name, text))
	}
	slices.Sort(cmds)
	if !commandLine {
		cmds = append(cmds,
			summary("", "o/options", "List options and their current values"),
			summary("", "q/quit/exit/^D", "Exit pprof"))
	}
	for _, o := range options {
		if o.choices == nil {
			text, _ := help("option", o.name)
			plain = append(plain, summary(prefix, o.name, text))
			continue
		}
		group := []string{summary("", o.name, "")}
		for _, choice := range o.choices {
			text, _ := help("option", choice)
			group = append(group, "  "+summary(prefix, choice, text))
		}
		groups = append(groups, strings.Join(group, "\n"))
	}
	slices.Sort(plain)
	slices.Sort(groups)
	return heading + strings.Join(cmds, "\n") + "\n\n  Options:\n" + strings.Join(plain, "\n") +
		"\n\n  Option groups (only set one per group):\n" + strings.Join(groups, "\n")
}

// usageMessage is what -h prints.
func usageMessage() string {
	head, _ := help("usage", "head")
	sources, _ := help("usage", "sources")
	misc, _ := help("usage", "misc")
	return head + usage(true) + "\n\n" + sources + "\n" + misc
}
