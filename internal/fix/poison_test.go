package fix

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"testing"
)

// What is added to a package compiles in it, whatever else it calls bytes and io, and as the Go before there was any.
func TestPoisonCode(t *testing.T) {
	set := token.NewFileSet()
	var files []*ast.File
	for name, text := range map[string]string{
		"own.go":   "package old\n\nvar bytes, any int\n\nfunc io() {}\n",
		poisonFile: fmt.Sprintf(poisonCode, "old"),
	} {
		f, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	conf := types.Config{GoVersion: "go1.16", Importer: importer.ForCompiler(set, "source", nil)}
	if _, err := conf.Check("example.com/old", set, files, nil); err != nil {
		t.Error(err)
	}
}
