// Package settings reads configuration in YAML. Every mistake is named by file, line and column, with the choices that there are; keys that
// nobody knows are mistakes too.
//
// Parse gives the Value of a file. Whoever knows its shape walks down with Mapping, Each and the readers of scalars, which note mistakes and
// go on, so that a user sees all of them at once; Err returns them at the end.
package settings

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/unit"
)

// Limits of a file. An alias stands for what it names each time, so that a small file could be read as an endless one.
const (
	maxBytes    = 4 << 20
	maxDepth    = 40
	maxValues   = 1 << 18
	maxMistakes = 20
)

// A Mistake is something in a file that cannot be used.
type Mistake struct {
	File    string
	Line    int
	Column  int // 0 where nobody knows it
	What    string
	Nearest string   // the choice that was probably meant, or ""
	Choices []string // what would be possible; nil where that is no list
}

func (m *Mistake) Error() string {
	at := m.File + ":" + strconv.Itoa(m.Line)
	if m.Column > 0 {
		at += ":" + strconv.Itoa(m.Column)
	}
	text := at + ": " + m.What
	if m.Nearest != "" {
		text += fmt.Sprintf("; did you mean %s?", m.Nearest)
	}
	if len(m.Choices) > 0 {
		text += "; the choices are " + strings.Join(m.Choices, ", ")
	}
	return text
}

// A file is what all values of one file share.
type file struct {
	name     string
	mistakes []*Mistake
	values   int // that were looked at
}

// A Value is a part of a file.
type Value struct {
	node  *yaml.Node
	file  *file
	depth int
}

// Parse reads a file whose text is given. An empty one is an empty mapping.
func Parse(name string, text []byte) (Value, error) {
	v := Value{file: &file{name: name}}
	fail := func(line, column int, what string) (Value, error) {
		return v, &Mistake{File: name, Line: line, Column: column, What: what}
	}
	if len(text) > maxBytes {
		return fail(1, 1, fmt.Sprintf("the file has %d bytes; the limit is %d", len(text), maxBytes))
	}
	if !utf8.Valid(text) {
		line := 1
		for rest := range strings.Lines(string(text)) {
			if !utf8.ValidString(rest) {
				return fail(line, 1, "the text is not UTF-8")
			}
			line++
		}
	}
	dec := yaml.NewDecoder(strings.NewReader(string(text)))
	var doc, more yaml.Node
	if err := decode(dec, &doc); err != nil {
		line, what := syntax(err)
		return fail(line, indentOf(string(text), line), what)
	}
	if decode(dec, &more) == nil && more.Line > 0 {
		return fail(more.Line, more.Column, "a second document begins; there can be one only")
	}
	v.node = &yaml.Node{Kind: yaml.MappingNode, Line: 1, Column: 1}
	if len(doc.Content) == 1 && !isNull(doc.Content[0]) {
		v.node = doc.Content[0]
	}
	return v, nil
}

// decode reads the next document. The library panics for some broken ones, and recovers from what it knows.
func decode(dec *yaml.Decoder, into *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("yaml: this is not YAML")
		}
	}()
	if err = dec.Decode(into); err != nil && err.Error() == "EOF" {
		err = nil
	}
	return err
}

// syntax returns where a text stops to be YAML, and what is wrong there. The library quotes names of anchors, which may be a password that
// begins with a star and should have been in quotes.
func syntax(err error) (line int, what string) {
	what = strings.TrimPrefix(err.Error(), "yaml: ")
	line = 1
	if rest, ok := strings.CutPrefix(what, "line "); ok {
		if number, text, ok := strings.Cut(rest, ": "); ok {
			if n, err := strconv.Atoi(number); err == nil {
				line, what = n, text
			}
		}
	}
	if strings.HasPrefix(what, "unknown anchor") {
		what = "a text that begins with * has to be in quotes"
	}
	return line, "this is not YAML: " + what
}

// indentOf returns the column of the first character of a line.
func indentOf(text string, line int) int {
	for l := range strings.Lines(text) {
		if line--; line == 0 {
			return 1 + len(l) - len(strings.TrimLeftFunc(l, unicode.IsSpace))
		}
	}
	return 0
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// Err returns all mistakes so far, in the order of the file.
func (v Value) Err() error {
	list := v.file.mistakes
	if len(list) == 0 {
		return nil
	}
	slices.SortStableFunc(list, func(a, b *Mistake) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
	all := make([]error, len(list))
	for i, m := range list {
		all[i] = m
	}
	return errors.Join(all...)
}

// Wrong notes a mistake.
func (v Value) Wrong(format string, args ...any) {
	v.note(&Mistake{What: fmt.Sprintf(format, args...)})
}

// WrongChoice notes that something is none of its choices.
func (v Value) WrongChoice(what, got string, choices []string) {
	v.note(&Mistake{What: fmt.Sprintf("%s %q is not known", what, profile.Shorten(got, 60)), Nearest: query.Nearest(got, choices), Choices: choices})
}

func (v Value) note(m *Mistake) {
	m.File, m.Line, m.Column = v.file.name, v.node.Line, v.node.Column
	if len(v.file.mistakes) < maxMistakes {
		v.file.mistakes = append(v.file.mistakes, m)
	}
}

// Line returns where v begins.
func (v Value) Line() int { return v.node.Line }

// below returns the value of a node below v, with what an alias stands for.
func (v Value) below(n *yaml.Node) (Value, bool) {
	w := Value{node: n, file: v.file, depth: v.depth + 1}
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	w.node = n
	v.file.values++
	switch {
	case w.depth > maxDepth:
		w.Wrong("this is nested more than %d levels deep", maxDepth)
		return w, false
	case v.file.values > maxValues:
		if v.file.values == maxValues+1 {
			w.Wrong("the file has more than %d values, with aliases expanded", maxValues)
		}
		return w, false
	}
	return w, true
}

// A Key is a key of a mapping, and what reads its value.
type Key struct {
	Name string
	Read func(Value)
}

// Mapping reads a mapping that has these keys and no others. A key without a value is as if it were not there. Keys that begin with x- are
// for the user: anchors can be put there.
func (v Value) Mapping(keys ...Key) { v.mapping(nil, keys) }

// MappingBut is Mapping with a word about keys that users bring along from elsewhere.
func (v Value) MappingBut(instead map[string]string, keys ...Key) { v.mapping(instead, keys) }

func (v Value) mapping(instead map[string]string, keys []Key) {
	v.Pairs(func(name, value Value) {
		key := name.node.Value
		i := slices.IndexFunc(keys, func(k Key) bool { return k.Name == key })
		switch {
		case i >= 0:
			keys[i].Read(value)
		case strings.HasPrefix(key, "x-"):
		case instead[key] != "":
			name.Wrong("unknown key %q: %s", key, instead[key])
		default:
			names := make([]string, len(keys))
			for i, k := range keys {
				names[i] = k.Name
			}
			name.note(&Mistake{What: fmt.Sprintf("unknown key %q", profile.Shorten(key, 60)), Nearest: query.Nearest(key, names), Choices: names})
		}
	})
}

// Pairs calls yield with the keys and values of a mapping. Keys without a value are left out.
func (v Value) Pairs(yield func(key, value Value)) {
	v.PairsAll(func(key, value Value) {
		if !value.IsNothing() {
			yield(key, value)
		}
	})
}

// PairsAll is Pairs with keys that have no value.
func (v Value) PairsAll(yield func(key, value Value)) {
	if v.node.Kind != yaml.MappingNode {
		v.Wrong("%s stands where a mapping of keys to values has to be", v.kind())
		return
	}
	seen := map[string]bool{}
	v.pairs(seen, false, yield)
}

// pairs goes through a mapping, then through those that it takes over with <<, whose keys count where there is none yet.
func (v Value) pairs(seen map[string]bool, merged bool, yield func(key, value Value)) {
	var merges []Value
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		key, ok := v.below(v.node.Content[i])
		if !ok {
			return
		}
		value, ok := v.below(v.node.Content[i+1])
		switch {
		case !ok:
			return
		case key.node.Kind != yaml.ScalarNode:
			key.Wrong("%s stands where a key has to be", key.kind())
		case key.node.ShortTag() == "!!merge":
			merges = append(merges, value)
		case seen[key.node.Value] && merged:
		case seen[key.node.Value]:
			key.Wrong("the key %q is there twice", profile.Shorten(key.node.Value, 60))
		default:
			seen[key.node.Value] = true
			yield(key, value)
		}
	}
	for _, m := range merges {
		switch m.node.Kind {
		case yaml.MappingNode:
			m.pairs(seen, true, yield)
		case yaml.SequenceNode:
			for _, n := range m.node.Content {
				if one, ok := m.below(n); ok && one.node.Kind == yaml.MappingNode {
					one.pairs(seen, true, yield)
				} else if ok {
					one.Wrong("%s stands where a mapping has to be", one.kind())
				}
			}
		default:
			m.Wrong("%s stands where a mapping has to be", m.kind())
		}
	}
}

// Each calls yield with the items of a list.
func (v Value) Each(yield func(Value)) {
	if v.node.Kind != yaml.SequenceNode {
		v.Wrong("%s stands where a list has to be", v.kind())
		return
	}
	for _, n := range v.node.Content {
		item, ok := v.below(n)
		if !ok {
			return
		}
		yield(item)
	}
}

// Only notes that two keys are there of which only one can be.
func (v Value) Only(name string, has bool, other string, hasOther bool) {
	if has && hasOther {
		v.Wrong("there can be either %s or %s", name, other)
	}
}

// IsNothing reports whether v is a key without a value.
func (v Value) IsNothing() bool { return isNull(v.node) }

// IsList reports whether v is a list.
func (v Value) IsList() bool { return v.node.Kind == yaml.SequenceNode }

// IsMapping reports whether a value is a mapping of keys to values.
func (v Value) IsMapping() bool { return v.node.Kind == yaml.MappingNode }

// kind names what v is. What it holds is not shown: it may be a secret.
func (v Value) kind() string {
	switch v.node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default:
		if isNull(v.node) {
			return "nothing"
		}
		return "a single value"
	}
}

// Text returns a scalar as it is written, without quotes.
func (v Value) Text() (string, bool) {
	if v.node.Kind != yaml.ScalarNode {
		v.Wrong("%s stands where a single value has to be", v.kind())
		return "", false
	}
	if isNull(v.node) {
		return "", true
	}
	return v.node.Value, true
}

// Name returns a scalar that must not be empty.
func (v Value) Name() (string, bool) {
	s, ok := v.Text()
	if ok && s == "" {
		v.Wrong("this must not be empty")
		return "", false
	}
	return s, ok
}

// Readers for keys.

// Text reads a string.
func Text(into *string) func(Value) {
	return func(v Value) {
		if s, ok := v.Text(); ok {
			*into = s
		}
	}
}

// Name reads a string that must not be empty.
func Name(into *string) func(Value) {
	return func(v Value) {
		if s, ok := v.Name(); ok {
			*into = s
		}
	}
}

// Choice reads one of some words.
func Choice(into *string, what string, choices ...string) func(Value) {
	return func(v Value) {
		s, ok := v.Text()
		if !ok {
			return
		}
		if !slices.Contains(choices, s) {
			v.WrongChoice(what, s, choices)
			return
		}
		*into = s
	}
}

// Texts reads a list of strings that are not empty.
func Texts(into *[]string) func(Value) {
	return func(v Value) {
		out := []string{}
		v.Each(func(v Value) {
			if s, ok := v.Name(); ok {
				out = append(out, s)
			}
		})
		*into = out
	}
}

// Bool reads true or false.
func Bool(into *bool) func(Value) {
	return func(v Value) {
		s, ok := v.Text()
		if !ok {
			return
		}
		switch s {
		case "true", "True", "TRUE":
			*into = true
		case "false", "False", "FALSE":
			*into = false
		default:
			v.WrongChoice("the value", s, []string{"true", "false"})
		}
	}
}

// Int reads a whole number within bounds.
func Int(into *int, least, most int) func(Value) {
	return func(v Value) {
		s, ok := v.Text()
		if !ok {
			return
		}
		n, err := strconv.Atoi(s)
		if err != nil || n < least || n > most {
			v.Wrong("%q is not a whole number from %d to %d", profile.Shorten(s, 40), least, most)
			return
		}
		*into = n
	}
}

// Size reads a number of bytes within bounds, such as 512MB.
func Size(into *int64, least, most int64) func(Value) {
	return func(v Value) {
		text, ok := v.Name()
		if !ok {
			return
		}
		n, ok := unit.ParseSize(text)
		switch {
		case !ok:
			v.Wrong("%q is not a size such as 512MB or 2GB", profile.Shorten(text, 40))
		case n < least || n > most:
			v.Wrong("%s is not a size from %s to %s", profile.Shorten(text, 40), unit.Size(least), unit.Size(most))
		default:
			*into = n
		}
	}
}

// A Duration is a time as Prometheus writes it: 30s, 1h30m, 7d.
type Duration time.Duration

var units = []struct {
	name string
	is   time.Duration
}{
	{"ms", time.Millisecond}, {"s", time.Second}, {"m", time.Minute}, {"h", time.Hour},
	{"d", 24 * time.Hour}, {"w", 7 * 24 * time.Hour}, {"y", 365 * 24 * time.Hour},
}

// ParseDuration reads a Duration.
func ParseDuration(text string) (Duration, error) {
	wrong := fmt.Errorf("%q is not a time such as 30s, 1h30m or 7d", profile.Shorten(text, 40))
	if text == "0" {
		return 0, nil
	}
	var sum time.Duration
	for rest := text; ; {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.ParseInt(rest[:digits], 10, 64)
		if err != nil {
			return 0, wrong
		}
		rest = rest[digits:]
		letters := len(rest) - len(strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyz"))
		i := slices.IndexFunc(units, func(u struct {
			name string
			is   time.Duration
		}) bool {
			return u.name == rest[:letters]
		})
		if i < 0 || n > int64((100*365*24*time.Hour)/units[i].is) {
			return 0, wrong
		}
		if sum += time.Duration(n) * units[i].is; sum > 100*365*24*time.Hour {
			return 0, wrong
		}
		if rest = rest[letters:]; rest == "" {
			return Duration(sum), nil
		}
	}
}

func (d Duration) String() string {
	if d == 0 {
		return "0s"
	}
	var b strings.Builder
	rest := time.Duration(d)
	for i := 4; i >= 0; i-- { // days and below
		if n := rest / units[i].is; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, units[i].name)
			rest -= n * units[i].is
		}
	}
	return b.String()
}

// MarshalText writes d as ParseDuration reads it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Time reads a Duration within bounds.
func Time(into *Duration, least, most time.Duration) func(Value) {
	return func(v Value) {
		s, ok := v.Text()
		if !ok {
			return
		}
		d, err := ParseDuration(s)
		switch {
		case err != nil:
			v.Wrong("%v", err)
		case time.Duration(d) < least || time.Duration(d) > most:
			v.Wrong("%s is not a time from %s to %s", s, Duration(least), Duration(most))
		default:
			*into = d
		}
	}
}

// IsPort reports whether s can be the port of an address. In a URL, it may be missing.
func IsPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return s == "" || err == nil && n > 0
}

// A Secret is a string that is never printed. Convert it to use it.
type Secret string

// hidden is what stands in place of a secret, as in Prometheus.
const hidden = "<secret>"

func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// GoString is String: a secret is not printed by %#v either.
func (s Secret) GoString() string { return s.String() }

// MarshalText writes what stands in place of the secret.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Hidden reads a Secret. Variables of the environment are not put in: $HOME is a password like any other.
func Hidden(into *Secret) func(Value) {
	return func(v Value) {
		if s, ok := v.Text(); ok {
			*into = Secret(s)
		}
	}
}
