// Package view defines a view: a named question about recordings, and its answer.
//
// The views are in the packages below this one, by the kind of data that they show. Package views has all of them.
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
	Arg       string   // name of its argument in help; "" if it takes none
	Examples  []string // queries as they are written at the prompt
	Uses      Keys     // keys that change its answer
	NeedsBase bool     // it compares with a second recording
	Part      Part     // the part of a recording that it shows
	Needs     []string // other data of a recording that it reads: kinds of profiles, and names of kinds of parts
	Kind      string   // kind of profile that it shows; "" is any
	Formats   []string // extensions of files in a format that only this view can write
	Pictures  []string // formats in which its answer can be drawn: svg, png, and html for a page
	Timed     bool     // it needs times: profiles of a recording, or execution traces
	Compares  bool     // it shows both sides when there is a second recording; other views show the difference

	Run func(in []*recording.Recording, q query.Query) (report.Report, error)
}

// Has reports whether a recording has the data that v shows.
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

// Argument describes the argument of v, for which Arg is short.
func (v *View) Argument() string {
	switch v.Arg {
	case "RX":
		return "a regular expression for functions"
	case "N":
		return "the number of a " + v.Name
	}
	return v.Arg
}

// A Part is the part of a recording that a view shows.
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

// Server is a load run with the recording of its server.
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

// A NoMatch means that no function with samples matches the argument of a view.
type NoMatch struct {
	Arg     string
	Unused  string          // metric of which the functions that do match have no samples; "" if none match, or filters removed them
	Removed bool            // functions match and have samples, and filters removed those
	Remarks []report.Remark // on the steps, which may be the reason
}

func (e *NoMatch) Error() string { return fmt.Sprintf("no matches found for regexp: %s", e.Arg) }
