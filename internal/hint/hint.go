// Package hint holds what a user can do next, as values: what to set, what to ask, and texts and errors that name these.
//
// The rooms in the middle know what would help, and not how a user would say it. Each front has a Speller of its own: Option{"limit"} is
// --limit on the command line, limit= at the prompt, and a field in the browser.
package hint

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// An Option is something that can be set for a question or a run. Without a value, the user is to choose one.
type Option struct{ Name, Value string }

// A Command is a next step: a question or something to run, in the order in which a user would type it.
type Command struct {
	Program string // "" is hone
	Verb    string // "" is the first look
	About   string // pattern or place
	Options []Option
	Args    []string // refs, packages
	Behind  []string // arguments of the program that is run
	Answer  string   // what it answers
}

// A Text is words for people. Its items are options, commands, and whatever fmt prints.
type Text []any

// A Speller says how options and commands are written in some place.
type Speller interface {
	Option(Option) string
	Command(Command) string
}

// Ask returns a question about some refs.
func Ask(verb string, refs ...string) Command { return Command{Verb: verb, Args: refs} }

// Of returns c about what a pattern names.
func (c Command) Of(pattern string) Command {
	c.About = pattern
	return c
}

// With returns c with one more option. Without a value it is a switch.
func (c Command) With(name, value string) Command {
	c.Options = append(c.Options[:len(c.Options):len(c.Options)], Option{name, value})
	return c
}

// For returns c with what it answers.
func (c Command) For(answer string) Command {
	c.Answer = answer
	return c
}

// String is the name of o where no front spells it.
func (o Option) String() string {
	if o.Value == "" {
		return o.Name
	}
	return o.Name + "=" + o.Value
}

// String is c where no front spells it.
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

// String is t where no front spells it.
func (t Text) String() string { return t.Spell(nil) }

// Spell returns t as some front words it. A nil Speller is for nobody in particular.
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

// SpellOption spells o, for nobody in particular where by is nil.
func SpellOption(by Speller, o Option) string {
	if by == nil {
		return o.String()
	}
	return by.Option(o)
}

// SpellCommand spells c, for nobody in particular where by is nil.
func SpellCommand(by Speller, c Command) string {
	if by == nil {
		return c.String()
	}
	return by.Command(c)
}

// MarshalJSON writes t as a string: programs that read it do not follow hints.
func (t Text) MarshalJSON() ([]byte, error) { return json.Marshal(t.String()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (t *Text) UnmarshalJSON(in []byte) error {
	var s string
	if err := json.Unmarshal(in, &s); err != nil {
		return err
	}
	*t = Text{s}
	return nil
}

// Texts are remarks that go with an answer.
type Texts []Text

// Add adds a remark.
func (t *Texts) Add(items ...any) { *t = append(*t, items) }

// AddNew adds a remark unless it is there.
func (t *Texts) AddNew(text Text) {
	if !slices.ContainsFunc(*t, func(was Text) bool { return reflect.DeepEqual(was, text) }) {
		*t = append(*t, text)
	}
}

// String is t where no front spells it, a line for each.
func (t Texts) String() string {
	lines := make([]string, len(t))
	for i, text := range t {
		lines[i] = text.String()
	}
	return strings.Join(lines, "\n")
}

// Said returns remarks that name nothing to set or to ask.
func Said(remarks ...string) Texts {
	var t Texts
	for _, r := range remarks {
		t.Add(r)
	}
	return t
}

// Map returns t with its words, but not what it names, as f changes them.
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

// Renamed returns t for those who call an option by another name.
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

// Error is an error with what can be done about it.
type Error struct {
	Err  error
	Next Text
}

// Errorf is fmt.Errorf with what can be done about it.
func Errorf(next Text, format string, args ...any) error {
	return &Error{fmt.Errorf(format, args...), next}
}

// A Knows is an error that says by itself what can be done about it.
type Knows interface{ Hint() Text }

// Next returns what can be done about err, or nil.
func Next(err error) Text {
	var knows Knows
	if errors.As(err, &knows) {
		return knows.Hint()
	}
	return nil
}

// With returns what err says, and what can be done about it.
func With(err error) Text {
	if next := Next(err); next != nil {
		return Text{err, ": ", next}
	}
	return Text{err}
}

// Hint is what can be done about it.
func (e *Error) Hint() Text { return e.Next }

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }
