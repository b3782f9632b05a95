package mcp

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/views"
)

// A Speller spells hints as calls of tools: top {"ref": "a.hone"} for a question, and {"limit": 50} for a setting.
type Speller struct {
	Others hint.Speller // spells what no tool does, as something to type
}

// knownTools are those that hints may name.
var knownTools = sync.OnceValue(func() []*tool { return append(lookTools(), stepTools...) })

// Option spells an input. Tools share the names of inputs, so which tool it belongs to does not matter.
func (s Speller) Option(o hint.Option) string {
	if o.Name == dryRun { // what a call does that leaves apply out
		return `{"apply": false}`
	}
	for _, t := range knownTools() {
		c := said{tool: t}
		switch in := t.option(o.Name); {
		case in == nil:
		case o.Value == "" && in.is != yes:
			return in.name
		case c.set(in, o.Value):
			return c.object()
		}
	}
	return s.Others.Option(o) + " on the command line"
}

// Command spells a call, or a command line where no tool does all of that.
func (s Speller) Command(c hint.Command) string {
	if call := sayCall(c); call != nil {
		return call.tool.name + " " + call.object()
	}
	return s.Others.Command(c)
}

// A said is a call of a tool as its caller writes it.
type said struct {
	tool   *tool
	inputs []*input // in the order in which they are set
	values []any
}

// sayCall returns the call that does what c does, or nil.
func sayCall(c hint.Command) *said {
	name := strings.ReplaceAll(c.Verb, "-", "_")
	if name == "" {
		name = "look"
	}
	at := slices.IndexFunc(knownTools(), func(t *tool) bool { return t.name == name })
	if at < 0 || c.Program != "" || len(c.Behind) > 0 && len(c.Args) == 0 { // no tool runs any command
		return nil
	}
	call := &said{tool: knownTools()[at]}
	args := c.Args
	if v, ok := views.Find(c.Verb); ok && v.NeedsBase && len(args) == 2 {
		call.set(call.tool.input("base"), args[0])
		args = args[1:]
	}
	tests := slices.ContainsFunc(c.Options, func(o hint.Option) bool { return o.Name == "test" })
	writes := true
	for _, o := range c.Options {
		if o.Name == dryRun {
			writes = false
			continue
		}
		if o.Name != "test" && !call.set(call.tool.option(o.Name), o.Value) {
			return nil
		}
	}
	if c.About != "" && !call.argument(c.About, tests) {
		return nil
	}
	for _, a := range args {
		name, value, flag := strings.Cut(a, "=")
		switch {
		case a == "--"+dryRun:
			writes = false
		case flag && strings.HasPrefix(name, "-"):
			if !call.set(call.tool.option(strings.TrimLeft(name, "-")), value) {
				return nil
			}
		case !call.argument(a, tests):
			return nil
		}
	}
	for _, a := range c.Behind {
		if !call.set(call.tool.input("args"), a) {
			return nil
		}
	}
	if call.tool.writes && writes { // the command writes unless it is told not to
		call.set(call.tool.input("apply"), "")
	}
	return call
}

// input returns the input of t of that name, or nil.
func (t *tool) input(name string) *input {
	all := t.all()
	if i := slices.IndexFunc(all, func(in input) bool { return in.name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// option returns the input that becomes a flag of that name, or nil.
func (t *tool) option(name string) *input {
	switch name {
	case cum:
		name = "sort"
	case "o":
		name = "output"
	}
	in := t.input(strings.ReplaceAll(name, "-", "_"))
	if in == nil || in.flag == "" && !in.own && in.name != asJSON.name || in.rest {
		return nil
	}
	return in
}

// dryRun is an option of the commands whose tools have apply: the tools write nothing unless they are told to.
const dryRun = "dry-run"

// cum is short for sort=cum, on the command line as well.
const cum = "cum"

// argument sets the first input that takes a, of those that are arguments of the command line.
func (c *said) argument(a string, tests bool) bool {
	_, err := strconv.Atoi(a)
	isNumber := err == nil
	isPackage := a == "." || strings.HasPrefix(a, "./") || a == "PACKAGE"
	all := c.tool.all()
	for i := range all {
		in := &all[i]
		if in.flag != "" || in.rest || in.is == yes || in.is == file || c.has(in) && !in.list {
			continue
		}
		fits := true
		switch in.is {
		case pattern:
			fits = isPackage && (c.tool.input("test") == nil || (in.name == "test") == tests)
		case ref, version:
			fits = !isPackage && !(isNumber && c.tool.input("finding") != nil)
		case number:
			fits = isNumber
		}
		if fits {
			return c.set(in, a)
		}
	}
	return false
}

func (c *said) has(in *input) bool {
	return slices.ContainsFunc(c.inputs, func(was *input) bool { return was.name == in.name })
}

// set sets an input, or adds to a list, and reports whether that is possible.
func (c *said) set(in *input, value string) bool {
	if in == nil {
		return false
	}
	var v any = value
	switch {
	case in.is == yes:
		if value != "" && value != "true" {
			return false
		}
		v = true
	case value == "" && in.name == "sort":
		v = cum
	case in.is == number, in.is == rows:
		if n, err := strconv.Atoi(value); err == nil {
			v = n
		}
	}
	for i, was := range c.inputs {
		if was.name != in.name {
			continue
		}
		if !in.list {
			return false
		}
		list, ok := c.values[i].([]any)
		if !ok {
			list = []any{c.values[i]}
		}
		c.values[i] = append(list, v)
		return true
	}
	c.inputs, c.values = append(c.inputs, in), append(c.values, v)
	return true
}

// object is the input of the call, with inputs in the order in which the tool lists them.
func (c *said) object() string {
	var b strings.Builder
	b.WriteByte('{')
	for _, in := range c.tool.all() {
		for i, was := range c.inputs {
			if was.name != in.name {
				continue
			}
			if b.Len() > 1 {
				b.WriteString(", ")
			}
			b.WriteString(quoted(in.name) + ": ")
			list, ok := c.values[i].([]any)
			if !ok {
				b.WriteString(quoted(c.values[i]))
				continue
			}
			var each []string
			for _, v := range list {
				each = append(each, quoted(v))
			}
			b.WriteString("[" + strings.Join(each, ", ") + "]")
		}
	}
	b.WriteByte('}')
	return b.String()
}

// quoted is JSON as people write it: < and > stay as they are.
func quoted(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // these are strings, numbers and lists of them
	}
	return strings.TrimSuffix(b.String(), "\n")
}
