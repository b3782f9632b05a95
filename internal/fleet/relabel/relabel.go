// Package relabel changes, keeps and drops sets of labels by rules, which mean what they mean in Prometheus.
package relabel

import (
	"crypto/md5"
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/hone-perf/hone/internal/fleet/settings"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// The actions of rules.
const (
	Replace   = "replace"
	Keep      = "keep"
	Drop      = "drop"
	KeepEqual = "keepequal"
	DropEqual = "dropequal"
	HashMod   = "hashmod"
	LabelMap  = "labelmap"
	LabelDrop = "labeldrop"
	LabelKeep = "labelkeep"
	Lowercase = "lowercase"
	Uppercase = "uppercase"
)

// Actions are all actions.
var Actions = []string{Replace, Keep, Drop, KeepEqual, DropEqual, HashMod, LabelMap, LabelDrop, LabelKeep, Lowercase, Uppercase}

// What a rule has that says nothing else.
const (
	usualSeparator   = ";"
	usualPattern     = "(.*)"
	usualReplacement = "$1"
)

// maxValue bounds labels, which a rule could double each time it is applied.
const maxValue = 1 << 20

// A Rule is one step. Its zero values are not those of a config; Read and New fill them in.
type Rule struct {
	Sources     []string `json:"source_labels,omitempty"`
	Separator   string   `json:"separator"`
	Pattern     string   `json:"regex,omitempty"`
	Modulus     uint64   `json:"modulus,omitempty"`
	Target      string   `json:"target_label,omitempty"`
	Replacement string   `json:"replacement"`
	Action      string   `json:"action"`

	re *regexp.Regexp
}

// usual is what a rule is that says nothing.
func usual() Rule {
	return Rule{Separator: usualSeparator, Pattern: usualPattern, Replacement: usualReplacement, Action: Replace, re: anyValue()}
}

var anyValue = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^(?s:" + usualPattern + ")$") })

// ReadAll reads a list of rules.
func ReadAll(into *[]Rule) func(settings.Value) {
	return func(v settings.Value) {
		rules := []Rule{}
		v.Each(func(v settings.Value) { rules = append(rules, read(v)) })
		*into = rules
	}
}

func read(v settings.Value) Rule {
	r, known := usual(), true
	v.Mapping(
		settings.Key{Name: "source_labels", Read: func(v settings.Value) {
			settings.Texts(&r.Sources)(v)
			for _, name := range r.Sources {
				if !ValidName(name) {
					v.Wrong("%q is not a label name", profile.Shorten(name, 60))
				}
			}
		}},
		settings.Key{Name: "separator", Read: settings.Text(&r.Separator)},
		settings.Key{Name: "regex", Read: func(v settings.Value) {
			s, ok := v.Text()
			if !ok {
				return
			}
			if _, err := regexp.Compile(s); err != nil { // as it was written, without what anchors it
				v.Wrong("%v", err)
				return
			}
			re, err := regexp.Compile("^(?s:" + s + ")$")
			if err != nil {
				v.Wrong("%v", err)
				return
			}
			r.Pattern, r.re = s, re
			if s == usualPattern {
				r.re = anyValue()
			}
		}},
		settings.Key{Name: "modulus", Read: func(v settings.Value) {
			s, ok := v.Text()
			if !ok {
				return
			}
			n, err := strconv.ParseUint(s, 0, 64)
			if err != nil {
				v.Wrong("%q is not a whole number", profile.Shorten(s, 40))
				return
			}
			r.Modulus = n
		}},
		settings.Key{Name: "target_label", Read: settings.Text(&r.Target)},
		settings.Key{Name: "replacement", Read: settings.Text(&r.Replacement)},
		settings.Key{Name: "action", Read: func(v settings.Value) {
			s, ok := v.Text()
			if !ok {
				return
			}
			if r.Action = strings.ToLower(s); !slices.Contains(Actions, r.Action) {
				v.WrongChoice("action", s, Actions)
				known = false
			}
		}},
	)
	if !known { // what it needs is not known either
		return usual()
	}
	if err := r.check(); err != nil {
		v.Wrong("%v", err)
	}
	return r
}

// check reports what a rule lacks, and what it has that its action does not use.
func (r *Rule) check() error {
	isUsual := func(separator, pattern, replacement bool) bool {
		return (!separator || r.Separator == usualSeparator) && (!pattern || r.Pattern == usualPattern) &&
			(!replacement || r.Replacement == usualReplacement) && r.Modulus == 0
	}
	switch r.Action {
	case Replace, HashMod, Lowercase, Uppercase, KeepEqual, DropEqual:
		if r.Target == "" {
			return fmt.Errorf("action %s needs target_label", r.Action)
		}
		if !ValidName(r.Target) {
			return fmt.Errorf("%q is not a label name", profile.Shorten(r.Target, 60))
		}
	}
	switch r.Action {
	case HashMod:
		if r.Modulus == 0 {
			return fmt.Errorf("action %s needs a modulus above 0", r.Action)
		}
	case Lowercase, Uppercase:
		if r.Replacement != usualReplacement {
			return fmt.Errorf("action %s has no replacement", r.Action)
		}
	case LabelMap:
		if !ValidName(r.Replacement) {
			return fmt.Errorf("the replacement %q is not a label name", profile.Shorten(r.Replacement, 60))
		}
	case KeepEqual, DropEqual:
		if !isUsual(true, true, true) {
			return fmt.Errorf("action %s takes only source_labels and target_label", r.Action)
		}
	case LabelDrop, LabelKeep:
		if r.Sources != nil || r.Target != "" || !isUsual(true, false, true) {
			return fmt.Errorf("action %s takes only regex", r.Action)
		}
	}
	return nil
}

// ValidName reports whether a label can have this name. As in Prometheus 3, any text will do.
func ValidName(name string) bool { return name != "" && utf8.ValidString(name) }

// Apply applies rules to labels, in order. It returns false when one of them says to drop what has these labels.
func Apply(rules []Rule, labels *Labels) (keep bool) {
	for i := range rules {
		if !rules[i].apply(labels) {
			return false
		}
	}
	return true
}

func (r *Rule) apply(l *Labels) (keep bool) {
	values := make([]string, len(r.Sources))
	for i, name := range r.Sources {
		values[i] = l.Get(name)
	}
	val := strings.Join(values, r.Separator)
	switch r.Action {
	case Drop:
		return !r.re.MatchString(val)
	case Keep:
		return r.re.MatchString(val)
	case DropEqual:
		return l.Get(r.Target) != val
	case KeepEqual:
		return l.Get(r.Target) == val
	case Replace:
		r.replace(l, val)
	case Lowercase:
		l.Set(r.Target, strings.ToLower(val))
	case Uppercase:
		l.Set(r.Target, strings.ToUpper(val))
	case HashMod:
		sum := md5.Sum([]byte(val))
		l.Set(r.Target, strconv.FormatUint(binary.BigEndian.Uint64(sum[8:])%r.Modulus, 10))
	case LabelMap:
		for _, one := range slices.Clone(l.list) {
			if r.re.MatchString(one.Name) {
				if name := r.re.ReplaceAllString(one.Name, r.Replacement); len(name) <= maxValue {
					l.Set(name, one.Value)
				}
			}
		}
	case LabelDrop, LabelKeep:
		for _, one := range slices.Clone(l.list) {
			if r.re.MatchString(one.Name) == (r.Action == LabelDrop) {
				l.Set(one.Name, "")
			}
		}
	}
	return true
}

func (r *Rule) replace(l *Labels, val string) {
	// Without anything to match or to put in, the label is set as it is written, which also means that its name is not looked at again.
	if val == "" && r.re == anyValue() && !strings.Contains(r.Target, "$") && !strings.Contains(r.Replacement, "$") {
		l.Set(r.Target, r.Replacement)
		return
	}
	at := r.re.FindStringSubmatchIndex(val)
	if at == nil {
		return
	}
	if name := string(r.re.ExpandString(nil, r.Target, val, at)); ValidName(name) && len(name) <= maxValue {
		if value := r.re.ExpandString(nil, r.Replacement, val, at); len(value) <= maxValue {
			l.Set(name, string(value))
		}
	}
}

// Labels is a set of labels that is being changed. Those that were changed come behind the others, in the order in which they first were,
// as in Prometheus: it decides which label wins when a rule maps several to one name.
type Labels struct {
	list    []store.Label
	changed int // how many at the end of list have been changed
}

// NewLabels returns a set with these labels.
func NewLabels(from map[string]string) *Labels {
	l := &Labels{}
	for name, value := range from {
		if value != "" {
			l.list = append(l.list, store.Label{Name: name, Value: value})
		}
	}
	order.Stable(l.list, func(a, b store.Label) int { return strings.Compare(a.Name, b.Name) })
	return l
}

func (l *Labels) index(name string) int {
	return slices.IndexFunc(l.list, func(one store.Label) bool { return one.Name == name })
}

// Get returns the value of a label, or "".
func (l *Labels) Get(name string) string {
	if i := l.index(name); i >= 0 {
		return l.list[i].Value
	}
	return ""
}

// Set sets a label. With "" for a value, there is no such label any more.
func (l *Labels) Set(name, value string) {
	i := l.index(name)
	isChanged := i >= len(l.list)-l.changed && i >= 0
	switch {
	case value == "" && i < 0:
	case value == "":
		l.list = slices.Delete(l.list, i, i+1)
		if isChanged {
			l.changed--
		}
	case isChanged:
		l.list[i].Value = value
	default:
		if i >= 0 {
			l.list = slices.Delete(l.list, i, i+1)
		}
		l.list = append(l.list, store.Label{Name: name, Value: value})
		l.changed++
	}
}

// Sorted returns the labels in order.
func (l *Labels) Sorted() store.Labels { return store.NewLabels(slices.Clone(l.list)...) }
