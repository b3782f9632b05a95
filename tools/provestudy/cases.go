package main

import (
	_ "embed"
	"fmt"

	"github.com/hone-perf/hone/tools/study"
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

// Called is its name.
func (c caseOf) Called() string { return c.Name }

// Left reports whether it is no case.
func (c caseOf) Left() bool { return c.Dropped != "" }

// Wrong says what is wrong with it.
func (c caseOf) Wrong() string {
	switch {
	case c.Module == "" || c.Before == "" || c.After == "":
		return "it needs a module and two versions"
	case c.Kind != changed && c.Kind != harmless:
		return fmt.Sprintf("a case is %q or %q, and not %q", changed, harmless, c.Kind)
	case c.What == "" || c.From == "":
		return "it is not said what changed, and where that is written"
	case (c.Kind == changed) != (c.Witness != ""):
		return "a case needs a witness exactly if something changed"
	}
	return ""
}

// readCases reads a list of cases, by default the one that comes with the study.
func readCases(file string) ([]caseOf, error) {
	return study.ReadCases[caseOf](file, casesFile, "cases.json")
}
