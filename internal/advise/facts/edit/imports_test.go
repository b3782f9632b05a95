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
