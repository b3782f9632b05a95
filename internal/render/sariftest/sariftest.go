// Package sariftest holds what is written as SARIF against the schema of the standard, for tests.
//
// The schema is the one of OASIS, errata 01 of SARIF 2.1.0. It is not copied here: it stands in the source of go-sarif, which
// is pinned by go.sum, and is read from there.
package sariftest

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Check returns what is wrong with a SARIF log: where it is not as the schema has it, or where a library that programs read
// such logs with reads something else than is there.
func Check(log []byte) error {
	schema, err := compiled()
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(log))
	if err != nil {
		return err
	}
	if err := schema.Validate(v); err != nil {
		return err
	}
	read, err := sarif.FromBytes(log)
	if err != nil {
		return fmt.Errorf("go-sarif does not read it: %w", err)
	}
	return alike(read, v)
}

// alike compares what go-sarif read with what is there.
func alike(read *sarif.Report, v any) error {
	runs := v.(map[string]any)["runs"].([]any)
	if len(read.Runs) != len(runs) {
		return fmt.Errorf("go-sarif reads %d runs of %d", len(read.Runs), len(runs))
	}
	for i, run := range read.Runs {
		results, _ := runs[i].(map[string]any)["results"].([]any)
		if len(run.Results) != len(results) {
			return fmt.Errorf("go-sarif reads %d results of %d", len(run.Results), len(results))
		}
		for k, r := range run.Results {
			want := results[k].(map[string]any)
			if r.RuleID == nil || *r.RuleID != want["ruleId"] {
				return fmt.Errorf("go-sarif reads another rule than %v in result %d", want["ruleId"], k)
			}
		}
	}
	return nil
}

const (
	library    = "github.com/owenrumney/go-sarif/v3"
	schemaFile = "pkg/report/v210/sarif/schema.go"
	schemaName = "schema" // of the constant
)

var compiled = sync.OnceValues(func() (*jsonschema.Schema, error) {
	text, err := schemaText()
	if err != nil {
		return nil, err
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	id, _ := v.(map[string]any)["id"].(string)
	if !strings.Contains(id, "docs.oasis-open.org/sarif/sarif/v2.1.0/") {
		return nil, fmt.Errorf("%s has the schema %q, which is not that of SARIF 2.1.0", library, id)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat() // URIs have to be URIs
	if err := c.AddResource(id, v); err != nil {
		return nil, err
	}
	return c.Compile(id)
})

// schemaText returns the schema that stands in go-sarif.
func schemaText() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", library).Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return "", fmt.Errorf("finding %s: %w: %s", library, err, failed.Stderr)
	}
	if err != nil {
		return "", err
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(out)), filepath.FromSlash(schemaFile)), nil, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	for _, d := range file.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok || decl.Tok != token.CONST {
			continue
		}
		for _, s := range decl.Specs {
			v := s.(*ast.ValueSpec)
			if lit, ok := v.Values[0].(*ast.BasicLit); ok && v.Names[0].Name == schemaName {
				return strconv.Unquote(lit.Value)
			}
		}
	}
	return "", fmt.Errorf("%s of %s has no constant %s any more", schemaFile, library, schemaName)
}
