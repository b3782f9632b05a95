// Package view says what a view is: a question about recordings that has a name, and its answer.
//
// The views are in the packages below this one, a package for what they look at; package views has them all.
package view

import (
	"fmt"
	"strings"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// A View answers one kind of question. Help, completion, the commands of the prompt, the routes of the web pages and
// the paths of the API are made from the list of all views.
type View struct {
	Name      string
	Aliases   []string
	Doc       string   // one line
	Arg       string   // what its argument is called in help; "" when it takes none
	Examples  []string // queries as they are written at the prompt
	Uses      Keys     // that change its answer
	NeedsBase bool     // it takes a second recording, to compare the first with
	Part      Part     // of a recording that it is about
	Needs     []string // what else of a recording it looks at: kinds of profiles, and names of kinds of parts
	Kind      string   // of profile that it is about; "" is any
	Formats   []string // endings of files whose format is its answer, and no other view's
	Pictures  []string // formats in which its answer can be drawn: svg, png, and html for a page
	Timed     bool     // it is about profiles that know when: those of a recording, and execution traces
	Compares  bool     // it shows both sides when there is a second recording; other views show the difference

	Run func(in []*recording.Recording, q query.Query) (report.Report, error)
}

// Has reports whether a recording has what v is about.
func (v *View) Has(rec *recording.Recording) bool {
	switch {
	case v.Part != Profile:
		return v.Part.Has(rec)
	case v.Timed:
		return rec.Timed()
	case len(rec.Parts) > 0 && v.Kind != "":
		return len(rec.Parts[v.Kind]) > 0
	case len(rec.Parts) > 0:
		return len(rec.Metrics()) > 0
	case rec.Profile == nil || len(rec.Profile.SampleTypes) == 0:
		return false
	}
	return v.Kind == "" || strings.HasPrefix(rec.Profile.SampleTypes[0].Type, v.Kind)
}

// Argument says what the argument of v is, for which Arg is short.
func (v *View) Argument() string {
	switch v.Arg {
	case "RX":
		return "a regular expression for functions"
	case "N":
		return "the number of a " + v.Name
	}
	return v.Arg
}

// A Part is what a view is about in a recording.
type Part = *recording.FileKind

// Most views are about a profile.
var (
	Profile    Part
	GCLog      = recording.GC.FileKind
	Metrics    = recording.Metrics.FileKind
	Versions   = recording.Versions.FileKind
	Benchmarks = recording.Benchmarks.FileKind
	LoadRun    = recording.LoadRun.FileKind
	Trace      = recording.Execution.FileKind
)

// Server is what says what requests cost a server.
var Server = []string{Metrics.Name, GCLog.Name, recording.CPU, recording.Heap, recording.Block, recording.Mutex, recording.Goroutine}

// Sides returns what a question is about, with what it is compared with: without a base, labels of the base are those of other samples of
// the same profile.
func (v *View) Sides(in []*recording.Recording, q query.Query) []*recording.Recording {
	if len(q.BaseTags) > 0 && len(in) == 1 && v.Uses.Has("base-tag") {
		return []*recording.Recording{in[0], in[0]}
	}
	return in
}

// Keys are names of keys with spaces between them. As constants, they make a table of views that is not computed at each start of hone.
type Keys string

// Has reports whether a key is among them.
func (k Keys) Has(name string) bool {
	for key := range strings.FieldsSeq(string(k)) {
		if key == name {
			return true
		}
	}
	return false
}

// List returns the names.
func (k Keys) List() []string { return strings.Fields(string(k)) }

// A NoMatch says that a view was asked about functions that are not there.
type NoMatch struct {
	Arg     string
	Remarks []report.Remark // on the steps, which may be why
}

func (e *NoMatch) Error() string { return fmt.Sprintf("no matches found for regexp: %s", e.Arg) }
