package query

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hone-perf/hone/internal/hint"
)

// A Grammar returns the keys of a view, or an error for an unknown view. The nil Grammar allows all keys for all views.
type Grammar func(view string) ([]string, error)

// Parse reads a query as it is written at the prompt: a view, what it is about, and settings.
//
//	top limit=20 focus=json by=line
//	list 'json.(*Decoder).Decode' metric=alloc_space
//
// Quotes, single or double, hold together what contains spaces or would be taken for a setting. Between single quotes
// nothing has a special meaning, between double quotes \" and \\ stand for the quote and the backslash; a backslash
// anywhere else is just that, so that regexps can be written as they are. Filters apply in the order in which they
// are written. Several things to be about become one regexp.
func Parse(s string) (Query, error) { return Grammar(nil).Parse(s) }

// Parse is the function Parse, restricted to the keys of the view.
func (g Grammar) Parse(s string) (Query, error) {
	words, err := split(s)
	if err != nil {
		return Query{}, fmt.Errorf("%s: %w", s, err)
	}
	var q Query
	if len(words) > 0 && !words[0].isSetting() {
		q.View = words[0].text
		words = words[1:]
	}
	set, err := g.setter(q.View)
	if err != nil {
		return Query{}, err
	}
	var args []string
	for _, w := range words {
		switch name, value, ok := w.assignment(); {
		case ok:
			err = set(&q, name, value)
		case w.isSetting():
			err = set(&q, w.text, "")
		case w.text != "":
			args = append(args, w.text)
		}
		if err != nil {
			return Query{}, err
		}
	}
	q.Arg = Pattern(strings.Join(args, "|"))
	return q, nil
}

// setter returns a function that sets keys in queries about a view.
func (g Grammar) setter(view string) (func(q *Query, name, value string) error, error) {
	var names []string
	if g == nil {
		for i := range Keys {
			names = append(names, Keys[i].Name)
		}
	} else {
		var err error
		if names, err = g(view); err != nil {
			return nil, err
		}
	}
	return func(q *Query, name, value string) error {
		if name == Cum && value == "" {
			name, value = "sort", Cum
		}
		k := Find(name)
		if k == nil || !slices.Contains(names, name) {
			return unknown(name, names, view)
		}
		if err := k.Set(q, value); err != nil {
			return fmt.Errorf("%s=%s: %w", name, shown(value), err)
		}
		return nil
	}, nil
}

// unknown is the error for an unknown key.
func unknown(name string, names []string, view string) error {
	near := Nearest(name, names)
	for _, n := range names {
		if k := Find(n); k != nil && k.Pprof == name {
			near = n
		}
	}
	msg, keys := "unknown key "+shown(name), "the keys"
	if Find(name) != nil {
		msg, keys = fmt.Sprintf("%s has no key %s", view, name), "its keys"
	} else if view != "" {
		keys += " of " + view
	}
	if near != "" {
		msg += "; did you mean " + near + "?"
	}
	return fmt.Errorf("%s; %s are %s", msg, keys, strings.Join(names, ", "))
}

// String returns q in the syntax of the prompt. Parse returns the same query, and shells accept it as well.
func (q Query) String() string {
	var words []string
	if q.View != "" || q.Arg != "" {
		words = append(words, quoteWord(q.View))
	}
	if q.Arg != "" {
		words = append(words, quoteWord(q.Arg))
	}
	q.settings(func(k *Key, value string) {
		switch {
		case k.Switch():
			words = append(words, k.Name)
		case k.Name == "sort" && value == Cum:
			words = append(words, Cum)
		default:
			words = append(words, k.Name+"="+quote(value))
		}
	})
	return strings.Join(words, " ")
}

// Command returns q as a next step.
func (q Query) Command() hint.Command {
	c := hint.Command{Verb: q.View, About: q.Arg}
	q.settings(func(k *Key, value string) {
		switch {
		case k.Name == "ref":
			c.Args = append(c.Args, value)
		case k.Switch():
			c = c.With(k.Name, "")
		case k.Name == "sort" && value == Cum:
			c = c.With(Cum, "")
		default:
			c = c.With(k.Name, value)
		}
	})
	return c
}

// settings calls yield for the keys without their default value.
func (q *Query) settings(yield func(k *Key, value string)) {
	steps := q.Steps
	for i := range Keys {
		k := &Keys[i]
		if k.op == "" {
			for _, v := range k.get(q) {
				yield(k, v)
			}
			continue
		}
		// Steps keep their order, so the first key of a step writes them all.
		for _, s := range steps {
			yield(Find(string(s.Op)), s.Arg)
		}
		steps = nil
	}
}

// On returns q with defaults replaced by the values of base, for the given keys. The filters of base come first.
func (q Query) On(base Query, keys []string) Query {
	var steps []Step
	base.settings(func(k *Key, value string) {
		switch {
		case !slices.Contains(keys, k.Name):
		case k.op != "":
			steps = append(steps, Step{k.op, value})
		case len(k.get(&q)) == 0:
			k.Set(&q, value) // cannot fail, because the value comes from a query
		}
	})
	q.Steps = append(steps, q.Steps...)
	return q
}

// A word is a word of a query without its quotes.
type word struct {
	text   string
	plain  int // bytes before the first quote
	quoted bool
}

// assignment splits w into a key and a value. A word with quotes before the equals sign is not an assignment.
func (w word) assignment() (name, value string, ok bool) {
	name, value, ok = strings.Cut(w.text, "=")
	return name, value, ok && len(name) < w.plain && isName(name)
}

// isSetting reports whether w is a setting.
func (w word) isSetting() bool {
	if _, _, ok := w.assignment(); ok {
		return true
	}
	k := Find(w.text)
	return !w.quoted && (w.text == Cum || k != nil && k.Switch())
}

func isName(s string) bool {
	for i, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
		case i > 0 && (r == '-' || r == '_' || r >= '0' && r <= '9'):
		default:
			return false
		}
	}
	return s != ""
}

// split splits s into words.
func split(s string) ([]word, error) {
	var words []word
	var text strings.Builder
	var w word
	inside := false
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case unicode.IsSpace(r):
			if inside {
				w.text = text.String()
				words = append(words, w)
			}
			text.Reset()
			w, inside = word{}, false
		case r == '"' || r == '\'':
			n := unquote(&text, s[i:])
			if n == 0 {
				return nil, fmt.Errorf("the quote at character %d is not closed", utf8.RuneCountInString(s[:i])+1)
			}
			w.quoted, inside = true, true
			i += n
			continue
		default:
			text.WriteString(s[i : i+size])
			if !w.quoted {
				w.plain += size
			}
			inside = true
		}
		i += size
	}
	if inside {
		w.text = text.String()
		words = append(words, w)
	}
	return words, nil
}

// unquote writes the quoted text at the start of s without its quotes. It returns the length with quotes, or 0 if the closing quote is missing.
func unquote(text *strings.Builder, s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == s[0]:
			return i + 1
		case s[0] == '"' && s[i] == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			i++
		}
		text.WriteByte(s[i])
	}
	return 0
}

// quoteWord returns text as a word that cannot be taken for a setting.
func quoteWord(text string) string {
	if (word{text: text, plain: len(text)}).isSetting() {
		return inQuotes(text)
	}
	return quote(text)
}

// quote quotes text if the prompt or a shell requires it.
func quote(text string) string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-./:,=@%+^", r)
	}
	if text != "" && utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		return text
	}
	return inQuotes(text)
}

func inQuotes(text string) string {
	switch {
	case !strings.Contains(text, "'"):
		return "'" + text + "'"
	case !strings.ContainsAny(text, "\"\\$`!"):
		return `"` + text + `"`
	}
	return "'" + strings.ReplaceAll(text, "'", `'"'"'`) + "'"
}
