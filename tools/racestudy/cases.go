package main

import (
	_ "embed"

	"github.com/hone-perf/hone/tools/study"
)

//go:embed cases.json
var casesFile []byte

// A caseOf is a version of a module: one with a race that is known, or a clean one.
type caseOf struct {
	Name    string   `json:"name"`
	Module  string   `json:"module"`
	Version string   `json:"version"`
	Fixed   string   `json:"fixed,omitempty"`   // version that has the fix, where the module has one
	Package string   `json:"package,omitempty"` // folder in the module; "" is its root
	Racy    []string `json:"racy,omitempty"`    // functions of the known race, as on stacks without the package: F or T.M; none in a clean module
	Real    []string `json:"real,omitempty"`    // functions of other races, which somebody has read and found to be some
	Why     string   `json:"why,omitempty"`     // they are
	What    string   `json:"what"`              // what races, or why goroutines may share what the clean module has
	From    string   `json:"from,omitempty"`    // where that is written
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
	case c.Module == "" || c.Version == "":
		return "it needs a module and a version"
	case c.What == "":
		return "it is not said what it is a case of"
	case len(c.Racy) > 0 && c.From == "":
		return "it is not said where the race is described"
	case (len(c.Real) > 0) != (c.Why != ""):
		return "other races that are listed need a reason, and only they"
	}
	return ""
}

// readCases reads a list of cases, by default the one that comes with the study.
func readCases(file string) ([]caseOf, error) {
	return study.ReadCases[caseOf](file, casesFile, "cases.json")
}

// withFix makes clean cases of those with a race.
func withFix(all []caseOf) (out []caseOf) {
	for _, c := range all {
		if c.Fixed != "" {
			c.Name, c.Version, c.Racy = c.Name+"-fixed", c.Fixed, nil
			out = append(out, c)
		}
	}
	return out
}
