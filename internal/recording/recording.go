// Package recording holds what one run of a program left behind. A bare profile is a recording with one part.
package recording

import (
	"io"
	"io/fs"

	"github.com/hone-perf/hone/internal/bench"
	"github.com/hone-perf/hone/internal/gclog"
	"github.com/hone-perf/hone/internal/latency"
	"github.com/hone-perf/hone/internal/profile"
)

// A Recording is what one run left behind. One that was opened has no Profile until it is picked from its parts.
type Recording struct {
	Ref      string           // what the user typed to get it
	Profile  *profile.Profile // what views are about; nil when there is none
	GC       *gclog.Log       // what the garbage collector said; nil when it said nothing
	Bench    *bench.File      // what benchmarks measured; nil when there were none
	Series   *Series          // metrics over time; nil when there are none
	Manifest *Manifest        // nil for a bare profile
	Duel     *Duel            // two versions against each other; nil when there were none
	Load     *latency.Log     // what came of the requests of a load run; nil when there was none
	Parts    map[string][]Part
	Lost     []string // what of the file could not be used, in words: of one that was cut short, say
	Picked   string   // tells which of the profiles in a recording Profile is; "" for a bare profile
	Sources  Sources  // finds source text for frames; nil when there is none to be had
	Code     Code     // finds machine code; nil when there is none to be had

	files fs.FS
	close io.Closer
	read  *partCache
}

// Sources finds source text.
type Sources interface {
	// Find returns the text of the file that a profile names, where it is known to hold function at line.
	Find(file, function string, line int) (Text, error)
}

// A Text is a source file.
type Text struct {
	Path  string   // where it was found
	Lines []string // the first line is Lines[0]
	Notes []string // doubts about it
}
