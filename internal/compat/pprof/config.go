package pprof

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A config is the settings of a report, from flags or from assignments in the shell.
type config struct {
	output string

	callTree     bool
	relative     bool
	unit         string
	compact      bool
	sourcePath   string
	trimPath     string
	intel        bool
	mean         bool
	sampleIndex  string
	divideBy     float64
	normalize    bool
	sort         string
	tagRoot      string
	tagLeaf      string
	dropNegative bool
	nodeCount    int
	nodeFraction float64
	edgeFraction float64
	trim         bool
	focus        string
	ignore       string
	pruneFrom    string
	hide         string
	show         string
	showFrom     string
	tagFocus     string
	tagIgnore    string
	tagShow      string
	tagHide      string
	noInlines    bool
	showColumns  bool
	granularity  string
}

func defaultConfig() config {
	return config{
		unit:         "minimum",
		nodeCount:    -1,
		nodeFraction: 0.005,
		edgeFraction: 0.001,
		trim:         true,
		divideBy:     1,
		sort:         "flat",
	}
}

// An option is a setting by its name.
type option struct {
	name    string
	field   func(*config) any // pointer to the field
	choices []string          // what a text may be; each is also an option of its own
}

var options = []option{
	{"output", func(c *config) any { return &c.output }, nil},
	{"call_tree", func(c *config) any { return &c.callTree }, nil},
	{"relative_percentages", func(c *config) any { return &c.relative }, nil},
	{"unit", func(c *config) any { return &c.unit }, nil},
	{"compact_labels", func(c *config) any { return &c.compact }, nil},
	{"source_path", func(c *config) any { return &c.sourcePath }, nil},
	{"trim_path", func(c *config) any { return &c.trimPath }, nil},
	{"intel_syntax", func(c *config) any { return &c.intel }, nil},
	{"mean", func(c *config) any { return &c.mean }, nil},
	{"sample_index", func(c *config) any { return &c.sampleIndex }, nil},
	{"divide_by", func(c *config) any { return &c.divideBy }, nil},
	{"normalize", func(c *config) any { return &c.normalize }, nil},
	{"sort", func(c *config) any { return &c.sort }, []string{"cum", "flat"}},
	{"tagroot", func(c *config) any { return &c.tagRoot }, nil},
	{"tagleaf", func(c *config) any { return &c.tagLeaf }, nil},
	{"drop_negative", func(c *config) any { return &c.dropNegative }, nil},
	{"nodecount", func(c *config) any { return &c.nodeCount }, nil},
	{"nodefraction", func(c *config) any { return &c.nodeFraction }, nil},
	{"edgefraction", func(c *config) any { return &c.edgeFraction }, nil},
	{"trim", func(c *config) any { return &c.trim }, nil},
	{"focus", func(c *config) any { return &c.focus }, nil},
	{"ignore", func(c *config) any { return &c.ignore }, nil},
	{"prune_from", func(c *config) any { return &c.pruneFrom }, nil},
	{"hide", func(c *config) any { return &c.hide }, nil},
	{"show", func(c *config) any { return &c.show }, nil},
	{"show_from", func(c *config) any { return &c.showFrom }, nil},
	{"tagfocus", func(c *config) any { return &c.tagFocus }, nil},
	{"tagignore", func(c *config) any { return &c.tagIgnore }, nil},
	{"tagshow", func(c *config) any { return &c.tagShow }, nil},
	{"taghide", func(c *config) any { return &c.tagHide }, nil},
	{"noinlines", func(c *config) any { return &c.noInlines }, nil},
	{"showcolumns", func(c *config) any { return &c.showColumns }, nil},
	{"granularity", func(c *config) any { return &c.granularity }, []string{"functions", "filefunctions", "files", "lines", "addresses"}},
}

// findOption returns the option called name, or the one that has name as a choice.
func findOption(name string) *option {
	for i := range options {
		if options[i].name == name || slices.Contains(options[i].choices, name) {
			return &options[i]
		}
	}
	return nil
}

// isBool reports whether name needs no value: a setting that is on or off, or a choice.
func (o *option) isBool(name string) bool {
	_, ok := o.field(&config{}).(*bool)
	return ok || name != o.name
}

func (o *option) get(c *config) string {
	switch p := o.field(c).(type) {
	case *string:
		return *p
	case *int:
		return strconv.Itoa(*p)
	case *float64:
		return fmt.Sprint(*p)
	case *bool:
		return strconv.FormatBool(*p)
	}
	panic("pprof: option " + o.name + " has a type of its own")
}

// set gives c the value of an assignment to name, which is o or one of its choices.
func (o *option) set(c *config, name, value string) error {
	if name != o.name {
		if on, err := strconv.ParseBool(value); err != nil || !on {
			return fmt.Errorf("unknown config field %q", name)
		}
		value = name
	}
	switch p := o.field(c).(type) {
	case *string:
		if o.choices != nil && !slices.Contains(o.choices, value) {
			return fmt.Errorf("invalid %q value %q", o.name, value)
		}
		*p = value
	case *int:
		v, err := strconv.Atoi(value)
		if err != nil {
			return err
		}
		*p = v
	case *float64:
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return err
		}
		*p = v
	case *bool:
		switch strings.ToLower(value) {
		case "true", "t", "yes", "y", "1", "":
			*p = true
		case "false", "f", "no", "n", "0":
			*p = false
		default:
			return fmt.Errorf(`illegal value "%s" for bool variable`, value)
		}
	}
	return nil
}
