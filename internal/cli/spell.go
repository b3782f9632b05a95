package cli

import (
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/mcp"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/view"
	"github.com/hone-perf/hone/internal/views"
)

// readerVariable is the environment variable that hone mcp sets for the commands that it runs. They then spell hints as tool arguments instead of
// flags.
const readerVariable, readerTools = "HONE_READER", "tools"

// forTools reports whether the output goes to a client of hone mcp.
func (s *System) forTools() bool { return s.Env(readerVariable) == readerTools }

// speller returns the speller of hints for the reader of the output.
func (s *System) speller() hint.Speller {
	if s.forTools() {
		return mcp.Speller{Others: flagSpeller{}}
	}
	return flagSpeller{}
}

// A flagSpeller spells hints as flags and command lines that can be pasted into a shell.
type flagSpeller struct{}

func (flagSpeller) Option(o hint.Option) string {
	dashes := "--"
	if len(o.Name) == 1 || goFlags[o.Name] {
		dashes = "-"
	}
	if o.Value == "" {
		return dashes + o.Name
	}
	return dashes + o.Name + " " + quotedHint(o.Value)
}

func (l flagSpeller) Command(c hint.Command) string {
	program := c.Program
	if program == "" {
		program = "hone"
	}
	words := []string{program}
	if c.Verb != "" {
		words = append(words, c.Verb)
	}
	if c.About != "" {
		words = append(words, quotedHint(c.About))
	}
	for _, o := range c.Options {
		words = append(words, l.Option(o))
	}
	for _, a := range c.Args {
		words = append(words, quotedHint(a))
	}
	if len(c.Behind) > 0 {
		words = append(words, "--")
		for _, a := range c.Behind {
			words = append(words, quotedHint(a))
		}
	}
	return strings.Join(words, " ")
}

// quotedHint is quoted, except that … stays as it is: it stands for more arguments.
func quotedHint(s string) string {
	if s == "…" {
		return s
	}
	return quoted(s)
}

// goFlags are flags of the go command, which have one dash.
var goFlags = map[string]bool{"bench": true, "benchtime": true, "count": true, "tags": true, "run": true}

// A promptSpeller spells hints as lines at the prompt.
type promptSpeller struct {
	refs []string // the refs of the prompt
}

func (promptSpeller) Option(o hint.Option) string {
	k := query.Find(o.Name)
	switch {
	case k == nil:
		return flagSpeller{}.Option(o) // the prompt has no such setting
	case o.Value != "":
		return o.Name + "=" + o.Value
	case k.Switch():
		return o.Name
	}
	return o.Name + "=" + k.Value
}

// Command spells a question about the refs of the prompt as a line at the prompt. It spells other commands for a shell.
func (l promptSpeller) Command(c hint.Command) string {
	if v, ok := views.Find(c.Verb); !ok || v.Part != view.Profile || c.Program != "" || len(c.Behind) > 0 || !slices.Equal(c.Args, l.refs) {
		return flagSpeller{}.Command(c)
	}
	words := []string{c.Verb}
	if c.About != "" {
		words = append(words, quotedHint(c.About))
	}
	for _, o := range c.Options {
		switch {
		case o.Name == query.Cum:
			words = append(words, o.Name)
			continue
		case query.Find(o.Name) == nil:
			return flagSpeller{}.Command(c)
		case o.Value != "":
			o.Value = quotedHint(o.Value)
		}
		words = append(words, l.Option(o))
	}
	return strings.Join(words, " ")
}
