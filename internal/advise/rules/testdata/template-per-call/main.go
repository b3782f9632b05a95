package main

import (
	"io"
	"os"
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
}

var shared = template.Must(template.New("shared").Parse("hey {{.}}\n"))

// What is parsed once is only executed here.
func executed(w io.Writer, name string) error {
	return shared.Execute(w, name) // cost: [cpu] text/template.(*Template).Execute text/template.(*Template).execute
}
