package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/fleet/event"
)

// A chooser is the value of a flag that takes some words. Shells complete them.
type chooser interface{ choices() []string }

// A choiceFlag is one of some words.
type choiceFlag struct {
	to    *string
	words []string
}

func (f *choiceFlag) Set(text string) error {
	if !slices.Contains(f.words, text) {
		last := len(f.words) - 1
		return errors.New("want " + strings.Join(f.words[:last], ", ") + " or " + f.words[last])
	}
	*f.to = text
	return nil
}

func (f *choiceFlag) String() string {
	if f.to == nil {
		return ""
	}
	return *f.to
}

// Type returns the type as which pflag's GetString knows it.
func (f *choiceFlag) Type() string      { return "string" }
func (f *choiceFlag) choices() []string { return f.words }

func (f *flagValue) choices() []string   { return f.key.Choices }
func (*symbolizeFlag) choices() []string { return symbolizers }

// A kindsFlag is kinds of events. The flag may be repeated.
type kindsFlag struct{ to *[]string }

func (f *kindsFlag) Set(text string) error {
	for kind := range strings.SplitSeq(text, ",") {
		if !slices.Contains(f.choices(), kind) {
			return errors.New("the kinds are " + event.KindNames())
		}
		*f.to = append(*f.to, kind)
	}
	return nil
}

func (f *kindsFlag) String() string { return "" }
func (*kindsFlag) Type() string     { return "KIND" }

func (*kindsFlag) choices() []string {
	var out []string
	for _, k := range event.Kinds {
		out = append(out, string(k))
	}
	return out
}
