package main

import (
	_ "embed"
	"fmt"

	"github.com/hone-perf/hone/tools/study"
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

// Called is its name.
func (c caseOf) Called() string { return c.Name }

// Left reports whether it is no case.
func (c caseOf) Left() bool { return c.Dropped != "" }

// Wrong says what is wrong with it.
func (c caseOf) Wrong() string {
	switch {
	case c.Module == "" || c.Before == "":
		return "it needs a module and a version"
	case c.Bench == "" && c.Dropped == "":
		return "there is no benchmark"
	}
	return ""
}

// readCases reads a list of cases, by default one of those that come with the study.
func readCases(file string, tuned bool) ([]caseOf, error) {
	if tuned {
		return study.ReadCases[caseOf](file, tunedFile, "tuned.json")
	}
	all, err := study.ReadCases[caseOf](file, casesFile, "cases.json")
	for _, c := range all {
		switch {
		case c.After == "":
			return nil, fmt.Errorf("%s: there is no version after", c.Name)
		case c.Dropped == "" && c.What == "":
			return nil, fmt.Errorf("%s: it is not said what the fix did", c.Name)
		}
	}
	return all, err
}
