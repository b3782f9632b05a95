// Package hint has the next steps of a user as values: settings, commands, and texts and errors that contain them.
//
// Packages below the front ends know which setting helps, but not its spelling. Each front end has a Speller: Option{"limit"} is --limit on the
// command line, limit= at the prompt, and a field in the browser.
package hint

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// An Option is a setting of a question or a run. If the value is empty, the user chooses one.
type Option struct{ Name, Value string }

// A Command is a next step, with its parts in the order in which a user types them.
type Command struct {
	Program string // "" means hone
	Verb    string // "" means a first look
	About   string // regexp or place
	Options []Option
	Args    []string // refs, packages
	Behind  []string // arguments of the program to run, after --
	Answer  string   // what the command shows
}

// A Text is a text for users. Its items are options, commands, and values for fmt.
type Text []any

// A Speller spells options and commands for a front end.
type Speller interface {
	Option(Option) string
	Command(Command) string
}

// Ask returns a command about some refs.
func Ask(verb string, refs ...string) Command { return Command{Verb: verb, Args: refs} }

// Of returns c with About set.
func (c Command) Of(pattern string) Command {
	c.About = pattern
	return c
}

// With returns c with one more option. A switch has an empty value.
func (c Command) With(name, value string) Command {
	c.Options = append(c.Options[:len(c.Options):len(c.Options)], Option{name, value})
	return c
}

// For returns c with a description of what it shows.
func (c Command) For(answer string) Command {
	c.Answer = answer
	return c
}

// String returns a neutral spelling of o.
func (o Option) String() string {
	if o.Value == "" {
		return o.Name
	}
	return o.Name + "=" + o.Value
}

// String returns a neutral spelling of c.
func (c Command) String() string {
	var words []string
	if c.Program != "" {
		words = append(words, c.Program)
	}
	if c.Verb != "" {
		words = append(words, c.Verb)
	}
	if c.About != "" {
		words = append(words, c.About)
	}
	for _, o := range c.Options {
		words = append(words, o.String())
	}
	words = append(words, c.Args...)
	if len(c.Behind) > 0 {
		words = append(append(words, "--"), c.Behind...)
	}
	return strings.Join(words, " ")
}

// String returns a neutral spelling of t.
func (t Text) String() string { return t.Spell(nil) }

// Spell returns t in the spelling of a front end. A nil Speller means the neutral spelling.
func (t Text) Spell(by Speller) string {
	var b strings.Builder
	for _, item := range t {
		switch item := item.(type) {
		case string:
			b.WriteString(item)
		case Option:
			b.WriteString(SpellOption(by, item))
		case Command:
			b.WriteString(SpellCommand(by, item))
		case Text:
			b.WriteString(item.Spell(by))
		default:
			fmt.Fprint(&b, item)
		}
	}
	return b.String()
}

// SpellOption spells o. A nil by means the neutral spelling.
func SpellOption(by Speller, o Option) string {
	if by == nil {
		return o.String()
	}
	return by.Option(o)
}

// SpellCommand spells c. A nil by means the neutral spelling.
func SpellCommand(by Speller, c Command) string {
	if by == nil {
		return c.String()
	}
	return by.Command(c)
}

// MarshalJSON writes t as a string, because programs do not follow hints.
func (t Text) MarshalJSON() ([]byte, error) { return json.Marshal(t.String()) }

// UnmarshalJSON reads the output of MarshalJSON.
func (t *Text) UnmarshalJSON(in []byte) error {
	var s string
	if err := json.Unmarshal(in, &s); err != nil {
		return err
	}
	*t = Text{s}
	return nil
}

// Texts are the remarks of an answer.
type Texts []Text

// Add adds a remark.
func (t *Texts) Add(items ...any) { *t = append(*t, items) }

// AddNew adds a remark, unless it is there already.
func (t *Texts) AddNew(text Text) {
	if !slices.ContainsFunc(*t, func(was Text) bool { return reflect.DeepEqual(was, text) }) {
		*t = append(*t, text)
	}
}

// String returns the remarks in the neutral spelling, one per line.
func (t Texts) String() string {
	lines := make([]string, len(t))
	for i, text := range t {
		lines[i] = text.String()
	}
	return strings.Join(lines, "\n")
}

// Said returns remarks without options and commands.
func Said(remarks ...string) Texts {
	var t Texts
	for _, r := range remarks {
		t.Add(r)
	}
	return t
}

// Map returns t with its words changed by f. Options and commands stay.
func (t Text) Map(f func(string) string) Text {
	out := slices.Clone(t)
	for i, item := range out {
		switch item := item.(type) {
		case string:
			out[i] = f(item)
		case error:
			out[i] = f(item.Error())
		}
	}
	return out
}

// Renamed returns t with an option renamed.
func (t Texts) Renamed(from, to string) Texts {
	out := make(Texts, len(t))
	for i, text := range t {
		out[i] = slices.Clone(text)
		for k, item := range text {
			if o, ok := item.(Option); ok && o.Name == from {
				o.Name = to
				out[i][k] = o
			}
		}
	}
	return out
}

// Error is an error with a next step.
type Error struct {
	Err  error
	Next Text
}

// Errorf is fmt.Errorf with a next step.
func Errorf(next Text, format string, args ...any) error {
	return &Error{fmt.Errorf(format, args...), next}
}

// A Knows is an error that has its own next step.
type Knows interface{ Hint() Text }

// Next returns the next step of err, or nil.
func Next(err error) Text {
	var knows Knows
	if errors.As(err, &knows) {
		return knows.Hint()
	}
	return nil
}

// With returns err with a next step.
func With(err error) Text {
	if next := Next(err); next != nil {
		return Text{err, ": ", next}
	}
	return Text{err}
}

// Hint returns the next step.
func (e *Error) Hint() Text { return e.Next }

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }
