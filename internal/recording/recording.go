// Package recording holds everything that one run of a program left behind.
//
// Open opens a .hone file. A Recording is immutable; views ask for its parts by kind, as in Metrics.In(rec), and each part is decoded once.
// kinds.go lists the kinds. A bare profile is a recording with one part. Pack makes a .hone file of the folder that a recorder wrote, and
// Strip removes what others should not see. See docs/format/recording.md.
package recording

import (
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync/atomic"

	"github.com/hone-perf/hone/internal/cache"
	"github.com/hone-perf/hone/internal/profile"
)

// A Recording is the data of one run. It is immutable: methods that change a field return a copy. A Recording that was opened has no Profile until
// Pick chooses one from its parts. Use a Kind to get parts other than profiles.
type Recording struct {
	Ref      string           // what the user typed to get it
	Live     bool             // a server recorded it just for this question
	Profile  *profile.Profile // what views are about; nil when there is none
	Manifest *Manifest        // nil for a bare profile
	Parts    map[string][]Part
	Lost     []string // unusable parts of the file, as text, such as the missing end
	Load     *Load    // how much time of how many processes Profile is of; nil where only its own duration says so
	Picked   string   // tells which of the profiles in a recording Profile is; "" for a bare profile
	Sources  Sources  // finds source text for frames; nil when there is none to be had
	Code     Code     // finds machine code; nil when there is none to be had

	kind   string // of the profile that was picked
	number uint64 // of all that were opened; 0 is none
	memo   *Memo  // keeps what views found out; nil keeps nothing

	files fs.FS
	trace string // file of the execution trace that was chosen of several; "" is the one that is read when nobody chooses
	close io.Closer
	read  *cache.Cache[string, *profile.Profile]
	parts *cache.Cache[string, any]   // others, by their files
	given map[*FileKind]any           // those of a recording that is in no file
	made  map[string]*profile.Profile // profiles by kind, of a recording that is in no file
}

// A page asks many questions about the same part.
const (
	maxKept  = 8  // profiles of a recording that stay in memory
	maxOther = 64 // other parts: more than there are kinds
)

// numbers counts recordings that have a number.
var numbers atomic.Uint64

// Made returns a recording of profiles that are in memory, one of each kind. It is numbered.
func Made(ref string, m *Manifest, profiles map[string]*profile.Profile) *Recording {
	r := &Recording{
		Ref: ref, Manifest: m, Parts: map[string][]Part{}, made: profiles, number: numbers.Add(1),
		read: cache.New[string, *profile.Profile](maxKept, nil),
	}
	for kind := range profiles {
		part := Part{Kind: kind, To: m.Ended.Sub(m.Started)}
		part.File = PartFile(kind, part.From, part.To)
		r.Parts[kind] = []Part{part}
	}
	return r
}

// Numbered returns a recording with a number of its own, by which its Key tells it from others of the same name. One that was opened has it.
func (r *Recording) Numbered() *Recording {
	if r.number != 0 {
		return r
	}
	out := *r
	out.number = numbers.Add(1)
	return &out
}

// Key tells a recording with a profile from all others, if it has a number: what was found out about it can be kept by its Key.
func (r *Recording) Key() string { return fmt.Sprintf("%q %d %q", r.Ref, r.number, r.Picked) }

// Named returns a recording that is called by another name.
func (r *Recording) Named(ref string) *Recording {
	out := *r
	out.Ref = ref
	return &out
}

// WithProfile returns a recording whose profile is another one, and what makes the difference is part of its Key.
func (r *Recording) WithProfile(p *profile.Profile, by string) *Recording {
	out := *r
	out.Profile = p
	out.Picked = strings.TrimSpace(out.Picked + " " + by)
	return &out
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
