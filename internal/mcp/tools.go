package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/view"
	"github.com/hone-perf/hone/internal/views"
)

// A tool is a command of hone.
type tool struct {
	name   string
	doc    string
	args   []string // the command line begins with
	inputs []input
	runs   bool // it builds, runs or measures something
	writes bool // it changes files of the user
	plain  bool // its answer has no JSON
	keeps  bool // it may keep a recording in Options.Runs

	// finish changes the command line, once all inputs are read.
	finish func(s *server, c *call) error
}

// An input is something that a tool is told. It becomes a flag or an argument.
type input struct {
	name string
	doc  string
	is   kind
	flag string // it becomes, without = and value; "" is an argument
	need bool
	list bool // of values, too
	rest bool // goes behind --
	own  bool // finish puts it where it belongs

	with  string // the input that it goes with
	usual string // the value where none is given
}

// A kind says what a value is, and how it is checked.
type kind int

const (
	text    kind = iota // any
	ref                 // what to look at
	pattern             // packages
	version             // what a change is compared with
	place               // a line or a function
	file                // in the folder
	number              // counts, from 1
	tests               // names of tests or benchmarks
	rows                // how many rows to show
	yes                 // or no
)

// A call is what one call of a tool is going to run.
type call struct {
	args  []string // the command line
	flags []string
	refs  []string
	rest  []string
	given map[string][]string
	json  bool
	makes string   // the recording that it makes
	notes []string // that come before the answer
}

// asJSON is an input of all tools whose answers have that form.
var asJSON = input{name: "json", doc: "answer as JSON", is: yes}

// schema returns what a tool takes, for its callers.
func (t *tool) schema() *schema {
	s := &schema{Type: "object", Additional: new(false)}
	for _, in := range t.all() {
		p := property{name: in.name, schema: schema{Description: in.doc}}
		if in.with != "" {
			p.Description = "with " + in.with + ": " + in.doc
		}
		switch {
		case in.is == yes:
			p.Type = "boolean"
		case in.is == number, in.is == rows:
			p.Type = "integer"
		case in.list:
			p.Type, p.Items = []string{"string", "array"}, &schema{Type: "string"}
		default:
			p.Type = "string"
		}
		s.Properties = append(s.Properties, p)
		if in.need {
			s.Required = append(s.Required, in.name)
		}
	}
	return s
}

// all returns the inputs of t.
func (t *tool) all() []input {
	if t.plain {
		return t.inputs
	}
	return append(slices.Clip(t.inputs), asJSON)
}

// mostRows is how many rows an answer may have: some ten pages of a usual table. A caller that asks for all would get as many as there are functions
// in a program.
const mostRows = 1000

// maxList is how many values a list may have.
const maxList = 64

// read makes a command line of what a caller says.
func (t *tool) read(s *server, raw json.RawMessage) (*call, error) {
	given := map[string]any{}
	if len(bytes.TrimSpace(raw)) > 0 {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		if err := dec.Decode(&given); err != nil {
			return nil, fmt.Errorf("the input: %w", err)
		}
	}
	inputs := t.all()
	var names []string
	for _, in := range inputs {
		names = append(names, in.name)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if slices.Contains(names, name) {
			continue
		}
		if near := query.Nearest(name, names); near != "" {
			return nil, fmt.Errorf("there is no input %q; did you mean %s?", clip(name), near)
		}
		return nil, fmt.Errorf("there is no input %q; the inputs are %s", clip(name), strings.Join(names, ", "))
	}
	c := &call{given: map[string][]string{}}
	for _, in := range inputs {
		v, ok := given[in.name]
		if in.usual != "" && v == nil {
			v, ok = in.usual, true
		}
		if !ok || v == nil {
			if in.need {
				return nil, fmt.Errorf("it needs %s: %s", in.name, in.doc)
			}
			continue
		}
		values, err := in.values(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", in.name, err)
		}
		if in.need && len(values) == 0 {
			return nil, fmt.Errorf("it needs %s: %s", in.name, in.doc)
		}
		if in.with != "" && given[in.with] == nil && len(values) > 0 {
			return nil, fmt.Errorf("%s goes with %s", in.name, in.with)
		}
		for _, value := range values {
			if value, err = s.check(in.is, value); err != nil {
				return nil, fmt.Errorf("%s: %w", in.name, err)
			}
			if n, _ := strconv.Atoi(value); in.is == rows && (n < 1 || n > mostRows) {
				c.notes = append(c.notes, fmt.Sprintf("note: %s %s is not possible here; %d rows are the most, and filters such as focus choose others", in.name, value, mostRows))
				value = strconv.Itoa(mostRows)
			}
			c.given[in.name] = append(c.given[in.name], value)
			switch {
			case in.name == asJSON.name:
				c.json = true
			case in.own:
			case in.is == yes:
				c.flags = append(c.flags, in.flag)
			case in.rest:
				c.rest = append(c.rest, value)
			case in.flag != "":
				c.flags = append(c.flags, in.flag+"="+value)
			default:
				c.refs = append(c.refs, value)
			}
		}
	}
	if t.finish != nil {
		if err := t.finish(s, c); err != nil {
			return nil, err
		}
	}
	if c.json {
		c.flags = append(c.flags, "--json")
	}
	c.args = slices.Concat(t.args, c.flags, c.refs)
	if len(c.rest) > 0 {
		c.args = append(append(c.args, "--"), c.rest...)
	}
	return c, nil
}

// values returns a value as texts: none for a switch that is off.
func (in *input) values(v any) ([]string, error) {
	switch v := v.(type) {
	case bool:
		if in.is == yes {
			if v {
				return []string{"true"}, nil
			}
			return nil, nil
		}
	case json.Number:
		if in.is != yes {
			return []string{in.digits(v)}, nil
		}
	case string:
		if in.is != yes {
			return []string{v}, nil
		}
	case []any:
		if !in.list {
			return nil, errors.New("want one value, not a list")
		}
		if len(v) > maxList {
			return nil, fmt.Errorf("there are %d values; the limit is %d", len(v), maxList)
		}
		var out []string
		for _, one := range v {
			text, ok := one.(string)
			if !ok {
				return nil, errors.New("want a list of texts")
			}
			out = append(out, text)
		}
		return out, nil
	}
	want := "a text"
	if in.is == yes {
		want = "true or false"
	}
	return nil, errors.New("want " + want)
}

// digits returns a number as it goes into the command line. JSON Schema takes 5.0 and 5e0 for integers, too.
func (in *input) digits(n json.Number) string {
	const exact = 1 << 53 // all integers below are float64 values
	if f, err := n.Float64(); (in.is == number || in.is == rows) && err == nil && f == math.Trunc(f) && math.Abs(f) < exact {
		return strconv.FormatInt(int64(f), 10)
	}
	return n.String()
}

// check returns a value as it goes into the command line.
func (s *server) check(is kind, value string) (string, error) {
	switch is {
	case ref:
		return s.ref(value)
	case pattern:
		return s.pattern(value)
	case version:
		return s.version(value)
	case place:
		return s.place(value)
	case file:
		return s.inside(value)
	case rows:
		n, err := strconv.Atoi(value)
		if value != "all" && (err != nil || n < -1) {
			return "", fmt.Errorf("%q: want a number from 1 to %d", clip(value), mostRows)
		}
	case number:
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return "", fmt.Errorf("%q: want a number from 1 on", clip(value))
		}
		return strconv.Itoa(n), nil
	case tests:
		if err := query.CheckRegexp(value); err != nil {
			return "", err
		}
	}
	return value, plain(value)
}

// looks are the views that are tools. The others are for files, pictures and people.
var looks = []string{
	"top", "list", "peek", "flame", "flamechart", "search", "tags", "diff", "goroutines", "mem", "gc",
	"trace", "waits", "requests", "request", "blame", "idle", "kinds", "timeline",
}

// lookKeys are the settings of views that are inputs of their tools.
var lookKeys = []string{"base", "metric", "at", "focus", "ignore", "hide", "tag", "by", "sort", "limit", "min", "root", "invert"}

// lookLimits are how many rows of a view are shown where the caller does not say. More than these do not help to decide what to ask next.
var lookLimits = map[string]string{"top": "30", "diff": "30", "flame": "60", "gc": "10"}

// lookTools returns a tool for each of the looks.
func lookTools() []*tool {
	out := []*tool{{
		name: "look", doc: "Take a first look at a recording, profile or server: headline costs, hottest functions, what to ask next",
		inputs: []input{{name: "ref", doc: "what to look at", is: ref, need: true, list: true}},
	}}
	for _, name := range looks {
		v, ok := views.Find(name)
		if !ok {
			continue
		}
		// The pictures of a flame chart are most of its data; its text is what can be read.
		t := &tool{name: v.Name, doc: v.Doc, args: []string{v.Name}, plain: v.Name == "flamechart"}
		if v.Arg != "" {
			in := input{name: "match", doc: "regular expression for functions", need: true, own: true}
			if v.Part == view.Trace {
				in.name, in.doc = "what", "what to look at: "+v.Arg
			}
			t.inputs = append(t.inputs, in)
			t.finish = argument(in.name)
		}
		switch {
		case v.NeedsBase:
			t.inputs = append(t.inputs, input{name: "base", doc: "before", is: ref, need: true, flag: "--base"}, input{name: "ref", doc: "after", is: ref, need: true})
		default:
			t.inputs = append(t.inputs, input{name: "ref", doc: "what to look at; several are added up", is: ref, need: true, list: true})
		}
		for i := range query.Keys {
			k := &query.Keys[i]
			if !v.Uses.Has(k.Name) && (k.Name != "base" || !v.Uses.Has("metric")) || !slices.Contains(lookKeys, k.Name) ||
				k.Name == "base" && v.NeedsBase {
				continue
			}
			in := input{name: strings.ReplaceAll(k.Name, "-", "_"), doc: k.Doc, flag: "--" + k.Name, list: k.Repeats}
			switch {
			case k.Name == "base":
				in.is = ref
			case k.Switch():
				in.is = yes
			case k.Name == "limit":
				in.is, in.doc = rows, fmt.Sprintf("how many rows to show, from 1 to %d", mostRows)
				if usual := lookLimits[v.Name]; usual != "" {
					in.doc, in.usual = fmt.Sprintf("%s (default %s)", in.doc, usual), usual
				}
			}
			t.inputs = append(t.inputs, in)
		}
		out = append(out, t)
	}
	return out
}

// argument puts an input before all other arguments.
func argument(name string) func(s *server, c *call) error {
	return func(_ *server, c *call) error {
		value := c.given[name][0]
		c.refs = slices.Insert(c.refs, 0, value)
		if err := word(value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
}

// moreTool reads results on.
var moreTool = &tool{
	name: "more", doc: "Read another page of a result", plain: true,
	inputs: []input{
		{name: "result", doc: "what the answer called it", need: true},
		{name: "page", doc: "from 1 on", is: number, need: true},
	},
}

// stepTools build, run, measure and change.
var stepTools = []*tool{
	{
		name: "record", runs: true, plain: true, args: []string{"record"},
		doc: "Record everything about one run of a program, of tests or benchmarks, or about a server, into a file for the other tools",
		inputs: []input{
			{name: "package", doc: "main package to build and run, such as ./cmd/app", is: pattern, own: true},
			{name: "args", doc: "its arguments", list: true, rest: true, with: "package"},
			{name: "test", doc: "or a package whose tests to run, such as ./codec", is: pattern, own: true},
			{name: "bench", doc: "run the benchmarks that match", is: tests, flag: "-bench", with: "test"},
			{name: "run", doc: "run the tests that match; ^$ is none", is: tests, flag: "-run", with: "test"},
			{name: "server", doc: "or a server that has /debug/pprof, such as localhost:6060", is: ref, own: true},
			{name: "for", doc: "how long; then a program is told to exit (default 30s)", flag: "--for"},
			{name: "trace", doc: "also record an execution trace, for requests, waits and trace", is: yes, flag: "--trace"},
			{name: "leaks", doc: "find goroutines that nothing can wake", is: yes, flag: "--leaks"},
			{name: "output", doc: "file to write, such as before.hone", is: file, own: true},
		},
		finish: record,
	},
	{
		name: "holders", runs: true, args: []string{"holders"},
		doc: "Show who keeps memory alive in a running Go program: variables, goroutines, finalizers, and what would be freed without each",
		inputs: []input{
			{name: "pid", doc: "number of the process, which stands still for some 30 ms for each GB", is: number, own: true},
			{name: "ref", doc: "or a recording of holders", is: ref, own: true},
			{name: "base", doc: "before: an older recording of holders", is: ref, flag: "--base"},
			{name: "focus", doc: "only holders and ways that match", flag: "--focus"},
			{name: "limit", doc: "how many rows to show, from 1 to 1000", is: rows, flag: "--limit"},
			{name: "output", doc: "file to keep it in, such as before.hone", is: file, own: true, with: "pid"},
		},
		finish: holders,
	},
	{
		name: "advise", runs: true, keeps: true, args: []string{"advise"},
		doc: "Find avoidable work that costs something: line, cause, what a fix could save, and a patch where one is known to be safe",
		inputs: []input{
			{name: "ref", doc: "a recording, profiles or a server", is: ref, list: true},
			{name: "package", doc: "or packages, whose benchmarks are run first", is: pattern, list: true},
			{name: "bench", doc: "benchmarks that match", is: tests, flag: "-bench", with: "package"},
			{name: "finding", doc: "show only this one, in full", is: number, flag: "--finding"},
			{name: "all", doc: "show all in full", is: yes, flag: "--all"},
			{name: "min", doc: "leave out findings that would save less than this share, such as 5%", flag: "--min"},
			{name: "source", doc: "folder of the module that was profiled", is: file, flag: "--source"},
		},
		finish: needs("ref", "package"),
	},
	{
		name: "why_alloc", runs: true, args: []string{"why-alloc"},
		doc: "Explain why a line or function allocates: what escapes and how, what is inlined, what is checked",
		inputs: []input{
			{name: "where", doc: "FILE:LINE or a function", is: place, need: true},
			{name: "ref", doc: "a recording or profile, to show what it costs", is: ref, list: true},
		},
		finish: func(_ *server, c *call) error { c.flags = append(c.flags, "--no-code"); return nil },
	},
	{
		name: "fix", runs: true, writes: true, args: []string{"fix"},
		doc: "Try the patches of findings on a copy, and show those that are proven: same behavior, and faster or fewer allocations. With apply, write them",
		inputs: []input{
			{name: "package", doc: "packages, such as ./codec", is: pattern, list: true},
			{name: "ref", doc: "or a recording or profile", is: ref, list: true},
			{name: "finding", doc: "try only this finding", is: number, own: true, with: "ref"},
			{name: "bench", doc: "benchmarks that match", is: tests, flag: "-bench", with: "package"},
			{name: "apply", doc: "write proven patches to the files", is: yes, own: true},
			{name: "budget", doc: "limit on the whole, such as 5m (default 10m)", flag: "--budget"},
			{name: "each", doc: "for each patch, how long to look for differences and to measure (default 15s)", flag: "--each"},
			{name: "source", doc: "folder of the module that was recorded", is: file, flag: "--source", with: "ref"},
		},
		finish: func(s *server, c *call) error {
			c.refs = append(c.refs, c.given["finding"]...) // behind what it is a finding of
			if c.given["apply"] == nil {
				c.flags = append(c.flags, "--"+dryRun)
			}
			return needs("ref", "package")(s, c)
		},
	},
	{
		name: "prove", runs: true, args: []string{"prove"},
		doc: "Prove that a change does the same as before: builds, tests and races, and calls of both versions side by side",
		inputs: []input{
			{name: "base", doc: "revision, A..B, or a patch file (default: the working tree against where the branch left the main one)", is: version},
			{name: "func", doc: "only this function, such as Parse or Type.Method", flag: "--func"},
			{name: "for", doc: "how long to call both versions (default 60s)", flag: "--for"},
			{name: "faster", doc: "also compare speed", is: yes, flag: "--faster"},
		},
	},
	{
		name: "compare", runs: true, args: []string{"compare"},
		doc: "Measure whether a change is faster: benchmarks of two versions against each other, right also on a busy machine",
		inputs: []input{
			{name: "base", doc: "revision, or A..B (default: the working tree against where the branch left the main one)", is: version},
			{name: "package", doc: "packages (default ./...)", is: pattern, list: true},
			{name: "bench", doc: "benchmarks that match", is: tests, flag: "-bench"},
			{name: "budget", doc: "how long each benchmark may take (default 20s)", flag: "--budget"},
		},
		finish: func(s *server, c *call) error {
			if base := c.given["base"]; base != nil {
				return s.names(base[0])
			}
			return nil
		},
	},
	{
		name: "race", runs: true, args: []string{"race"},
		doc: "Find data races and deadlocks that tests alone do not show",
		inputs: []input{
			{name: "package", doc: "packages, such as ./...", is: pattern, list: true},
			{name: "run", doc: "tests that match", is: tests, flag: "--run"},
			{name: "for", doc: "how long to search (default 30s)", flag: "--for"},
		},
	},
	{
		name: "services", args: []string{"services"},
		doc:    "List the services in the store of hone serve with what each costs; then store:SERVICE@-1h is a ref",
		inputs: []input{{name: "last", doc: "of how long, such as 24h (default 1h)", flag: "--last"}},
	},
	{
		name: "events", args: []string{"events"},
		doc: "List what happened to services in the store of hone serve: functions that cost more or less, deploys, broken rules, restarts, processes out of memory",
		inputs: []input{
			{name: "service", doc: "only this one", own: true},
			{name: "last", doc: "of how long, such as 7d (default 1d)", flag: "--last"},
			{name: "kind", doc: "only these kinds, such as change, deploy, rule, oom", flag: "--kind", list: true},
			{name: "limit", doc: "at most so many, the newest first (default 50)", is: rows, flag: "--limit"},
		},
		finish: func(s *server, c *call) error {
			if c.given["service"] == nil {
				return nil
			}
			return argument("service")(s, c)
		},
	},
}

// needs refuses a call that has none, or several, of some inputs.
func needs(names ...string) func(s *server, c *call) error {
	return func(_ *server, c *call) error {
		given := 0
		for _, n := range names {
			if c.given[n] != nil {
				given++
			}
		}
		if given != 1 {
			return fmt.Errorf("it needs one of %s", strings.Join(names, ", "))
		}
		return nil
	}
}

// record finishes the command line of a recording.
func record(s *server, c *call) error {
	var what []string
	for _, name := range []string{"package", "test", "server"} {
		if v := c.given[name]; v != nil {
			what = append(what, name)
			c.refs = append(c.refs, v[0])
		}
	}
	switch {
	case len(what) != 1:
		return errors.New("it needs one of package, test, server")
	case what[0] == "server" && s.there(c.refs[0]):
		return fmt.Errorf("server: %s is a file; want an address such as localhost:6060", c.refs[0])
	case what[0] == "test":
		c.flags = append(c.flags, "--test")
	case c.given["for"] == nil:
		c.flags = append(c.flags, "--for=30s")
	}
	if err := c.make(s); err != nil {
		return err
	}
	for n := 1; c.makes == ""; n++ {
		if name := fmt.Sprintf("recorded-%d.hone", n); !s.there(name) {
			c.makes = name
		}
	}
	c.flags = append(c.flags, "--output="+c.makes)
	return nil
}

// make takes the name of the recording that the caller wants, if any.
func (c *call) make(s *server) error {
	output := c.given["output"]
	if output == nil {
		return nil
	}
	c.makes = output[0]
	if !strings.HasSuffix(c.makes, ".hone") {
		return fmt.Errorf("output: %s: recordings are called .hone", clip(c.makes))
	}
	if s.there(c.makes) {
		return fmt.Errorf("output: %s is there already; choose another name", clip(c.makes))
	}
	return nil
}

// holders finishes the command line that reads a process, or a recording of one.
func holders(s *server, c *call) error {
	if err := errors.Join(needs("pid", "ref")(s, c), c.make(s)); err != nil {
		return err
	}
	if c.makes != "" {
		c.flags = append(c.flags, "--output="+c.makes)
	}
	c.refs = slices.Concat(c.given["pid"], c.given["ref"])
	return nil
}
