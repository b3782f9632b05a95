package edit

import (
	"bytes"
	"go/parser"
	"go/token"
	"testing"
)

// TestNeededTwice holds that an import that several attempts at a fix need is added once, as it would be for one of them.
func TestNeededTwice(t *testing.T) {
	const text = "package p\n\nfunc F() { strings.ToUpper(\"\") }\n"
	old, err := parser.ParseFile(token.NewFileSet(), "", "package p\n\nfunc F() {}\n", 0)
	if err != nil {
		t.Fatal(err)
	}
	once, err := MendImports(old, []byte(text), []string{"strings"})
	if err != nil {
		t.Fatal(err)
	}
	twice, err := MendImports(old, []byte(text), []string{"strings", "strings"})
	if err != nil || !bytes.Equal(once, twice) {
		t.Errorf("needed twice: %v\n%s\nand once\n%s", err, twice, once)
	}
}

// What another patch of the same finding needs is no import of this one.
func TestNeededByAnother(t *testing.T) {
	const text = "package p\n\nfunc F() {}\n"
	old, err := parser.ParseFile(token.NewFileSet(), "", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := MendImports(old, []byte(text), []string{"slices", "math/rand/v2"}); err != nil || string(got) != text {
		t.Errorf("needed by another: %v\n%s", err, got)
	}
}
