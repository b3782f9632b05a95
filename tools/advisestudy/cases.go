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

//go:embed tuned.json
var tunedFile []byte

// A caseOf is two versions of a module, of which the second has a fix for speed; or one version of a tuned one.
type caseOf struct {
	Name    string   `json:"name"`
	Module  string   `json:"module"`
	Before  string   `json:"before"`
	After   string   `json:"after,omitempty"`   // "" in a tuned package
	Package string   `json:"package,omitempty"` // folder in the module; "" is its root
	Bench   string   `json:"bench"`             // pattern
	Tests   []string `json:"tests,omitempty"`   // test files that are taken from the version after, as the benchmark came with the fix
	Add     string   `json:"add,omitempty"`     // text of a benchmark, where the module has none
	Within  []string `json:"within,omitempty"`  // functions that the fix is in, where a release changed others for other reasons; from its description
	Causes  []string `json:"causes,omitempty"`  // rules that name the right cause, with the beginning of what they say where they know several; none where there is no such rule
	What    string   `json:"what,omitempty"`    // what the fix did, in words
	From    string   `json:"from,omitempty"`    // where it is described
	Held    bool     `json:"held,omitempty"`    // no rule was mended after a look at what hone says of it
	Dropped string   `json:"dropped,omitempty"` // why it is no case
}

// readCases reads a list of cases, by default one of those that come with the study.
func readCases(file string, tuned bool) (all []caseOf, err error) {
	text, name := casesFile, "cases.json"
	if tuned {
		text, name = tunedFile, "tuned.json"
	}
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
		case c.Name == "" || c.Module == "" || c.Before == "":
			return nil, fmt.Errorf("%s: %q needs a name, a module and a version", name, c.Name)
		case seen[c.Name]:
			return nil, fmt.Errorf("%s: two cases are called %q", name, c.Name)
		case !tuned && c.After == "":
			return nil, fmt.Errorf("%s: %s: there is no version after", name, c.Name)
		case !tuned && c.Dropped == "" && c.What == "":
			return nil, fmt.Errorf("%s: %s: it is not said what the fix did", name, c.Name)
		case c.Bench == "" && c.Dropped == "":
			return nil, fmt.Errorf("%s: %s: there is no benchmark", name, c.Name)
		}
		seen[c.Name] = true
	}
	return all, nil
}
