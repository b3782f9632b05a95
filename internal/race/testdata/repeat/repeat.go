// Package repeat has races in what is done with values that only tests know how to make.
package repeat

import "strings"

// A Data is what a template is about. Only NewData makes one that is complete.
type Data interface{ secret() map[string]string }

type data map[string]string

func (d data) secret() map[string]string { return d }

// NewData reads pairs of which each has its key twice, as in "a a=1".
func NewData(text string) Data {
	d := data{}
	for _, line := range strings.Split(text, "\n") {
		k, v, ok := strings.Cut(line, "=")
		one, two, _ := strings.Cut(k, " ")
		if !ok || one != two || one == "" {
			return nil
		}
		d[one] = v
	}
	return d
}

// A Template is compiled when it is used for the first time.
type Template struct {
	text  string
	parts []string
}

// Parse parses a template.
func Parse(text string) *Template { return &Template{text: text} }

// Render fills it in.
func (t *Template) Render(d Data) string {
	values := d.secret()
	if values == nil {
		panic("no data")
	}
	if t.parts == nil {
		t.parts = strings.Fields(t.text)
	}
	var out []string
	for _, p := range t.parts {
		if v, ok := values[p]; ok {
			p = v
		}
		out = append(out, p)
	}
	return strings.Join(out, " ")
}

// A Program is compiled by Compile.
type Program struct {
	code      []string
	variables []string
}

// Compile compiles what begins with "let x=".
func Compile(d Data) (*Program, bool) {
	code, ok := d.secret()["let"]
	return &Program{code: strings.Fields(code), variables: make([]string, 1)}, ok
}

// Run runs a program.
func Run(p *Program, with string) string {
	p.variables[0] = with
	return strings.Join(p.code, p.variables[0])
}

// A Pen writes. Nobody says that goroutines may share one.
type Pen struct{ n int }

// NewPen makes a pen.
func NewPen(d Data) *Pen { return &Pen{n: len(d.secret())} }

// Write counts.
func (p *Pen) Write(d Data) { p.n += len(d.secret()) }

// A Policy asks who is there.
type Policy struct{ who interface{ Who() string } }

// NewPolicy makes a policy.
func NewPolicy(who interface{ Who() string }) *Policy { return &Policy{who} }

// Apply asks.
func (p *Policy) Apply(d Data) bool { return d.secret()[p.who.Who()] != "" }

// A Validator holds what it saw last. A Validator must not be used by several goroutines.
type Validator struct{ last Data }

// Validate checks data.
func (v *Validator) Validate(d Data) bool {
	v.last = d
	return d != nil
}
