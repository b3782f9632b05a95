package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/template"
)

func page(w io.Writer, name string) error {
	t := template.Must(template.New("page").Parse("hello {{.}}\n")) // cost: text/template.(*Template).Parse text/template/parse.Parse; want
	return t.Execute(w, name)
}

func extended(w io.Writer, name string) error {
	t := template.Must(template.New("page").Parse("hi {{template `x` .}}\n")) // cost: text/template.(*Template).Parse text/template/parse.Parse; want
	template.Must(t.New("x").Parse("X{{.}}"))
	return t.Execute(w, name)
}

func main() {
	page(os.Stdout, "you")
	page(os.Stdout, "me")
	extended(os.Stdout, "them")
	delimited(os.Stdout, "us")
	if len(os.Args) > 1000 {
		broken(os.Stdout)
		unknown(os.Stdout)
		option(os.Stdout)
	}
	fmt.Println(early)
}

var shared = template.Must(template.New("shared").Parse("hey {{.}}\n"))

// What is parsed once is only executed here.
func executed(w io.Writer, name string) error {
	return shared.Execute(w, name) // cost: [cpu] text/template.(*Template).Execute text/template.(*Template).execute
}

// What does not parse ends the program when it is used, which it need not be.
func broken(w io.Writer) error {
	t := template.Must(template.New("broken").Parse("{{if}}")) // cost: text/template.(*Template).Parse text/template/parse.Parse; want
	return t.Execute(w, nil)
}

func unknown(w io.Writer) error {
	t := template.Must(template.New("unknown").Parse("{{upper .}}")) // cost: text/template.(*Template).Parse text/template/parse.Parse; want
	return t.Execute(w, nil)
}

func option(w io.Writer) error {
	t := template.Must(template.New("option").Option("missingkey=what").Parse("{{.}}")) // cost: text/template.(*Template).Parse text/template/parse.Parse; want
	return t.Execute(w, nil)
}

func delimited(w io.Writer, name string) error {
	t := template.Must(template.New("delimited").Delims("<<", ">>").Option("missingkey=zero").Parse("<<.>> {{\n")) // cost: text/template.(*Template).Parse text/template/parse.Parse; want
	return t.Execute(w, name)
}

// A tag is shown before a variable behind it would have its value.
type tag struct{ name string }

var early = fmt.Sprint([]any{tag{"early"}})

func (t tag) String() string { return rendered(t.name) }

func rendered(name string) string {
	var b strings.Builder
	t := template.Must(template.New("tag").Parse("<{{.}}>")) // cost: text/template.(*Template).Parse text/template/parse.Parse; want
	t.Execute(&b, name)
	return b.String()
}
