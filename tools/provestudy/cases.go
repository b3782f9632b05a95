package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
)

//go:embed cases.json
var casesFile []byte

// A kind says what a case is an example of.
type kind string

const (
	changed  kind = "changed"  // something that a caller sees is different
	harmless kind = "harmless" // only the code is
)

// A caseOf is two versions of a module.
type caseOf struct {
	Name    string   `json:"name"`
	Module  string   `json:"module"`
	Before  string   `json:"before"`
	After   string   `json:"after"`
	Kind    kind     `json:"kind"`
	Package string   `json:"package,omitempty"` // folder of the witness in the module; "" is its root
	Func    string   `json:"func,omitempty"`    // the one function to compare, where a user would say it
	Witness string   `json:"witness,omitempty"` // pattern of tests of the version after, or in Add, that fail in the one before
	Add     string   `json:"add,omitempty"`     // text of a test, where the version after has none that knows of the change
	Within  []string `json:"within,omitempty"`  // functions in which the change shows; an alarm about others is not about it
	What    string   `json:"what"`              // what changed
	From    string   `json:"from"`              // where that is written
	Held    bool     `json:"held,omitempty"`    // hone was not mended after a look at what it says of it
	Dropped string   `json:"dropped,omitempty"` // why it is no case
}

// readCases reads a list of cases, by default the one that comes with the study.
func readCases(file string) (all []caseOf, err error) {
	text, name := casesFile, "cases.json"
	if file != "" {
		name = file
		if text, err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&all); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	seen := map[string]bool{}
	for _, c := range all {
		switch {
		case c.Name == "" || c.Module == "" || c.Before == "" || c.After == "":
			return nil, fmt.Errorf("%s: %q needs a name, a module and two versions", name, c.Name)
		case seen[c.Name]:
			return nil, fmt.Errorf("%s: two cases are called %q", name, c.Name)
		case c.Kind != changed && c.Kind != harmless:
			return nil, fmt.Errorf("%s: %s: a case is %q or %q, and not %q", name, c.Name, changed, harmless, c.Kind)
		case c.What == "" || c.From == "":
			return nil, fmt.Errorf("%s: %s: it is not said what changed, and where that is written", name, c.Name)
		case (c.Kind == changed) != (c.Witness != ""):
			return nil, fmt.Errorf("%s: %s: a case needs a witness exactly if something changed", name, c.Name)
		}
		seen[c.Name] = true
	}
	return all, nil
}
