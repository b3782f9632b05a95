package source

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
)

// Recording opens the recording that ref names: a file or folder, perhaps followed by @ and a time, as in
// server.hone@12s or server.hone@3s..9s, profiles in a store, or a link to a recording on the shelf of a server. It returns nil when ref names something else.
func Recording(ctx context.Context, ref string) (*recording.Recording, query.Span, error) {
	var at query.Span
	if base, name, ok := storeRef(ref); ok {
		r, err := stored(ctx, ref, base, name)
		return r, at, err
	}
	if IsShared(ref) {
		return shared(ctx, ref)
	}
	if !recording.IsRecording(ref) {
		i := strings.LastIndexByte(ref, '@')
		if i < 0 || exists(ref) || !recording.IsRecording(ref[:i]) {
			return nil, at, nil
		}
		var ok bool
		if at, ok = query.ParseTimes(ref[i+1:]); !ok {
			return nil, at, fmt.Errorf("%s: %q is not a time; want one such as 12s or 3s..9s", ref, ref[i+1:])
		}
		ref = ref[:i]
	}
	r, err := recording.Open(ref)
	return r, at, err
}

// isZip reports whether f is a zip file, as packed recordings are.
func isZip(f *os.File) bool {
	var magic [4]byte
	n, err := f.ReadAt(magic[:], 0)
	return n == len(magic) && err == nil && string(magic[:]) == "PK\x03\x04"
}

// part returns the profile of a recording that the metric is in.
func (o *Options) part(r *recording.Recording, at query.Span, err error) (Fetched, error) {
	if err != nil {
		return Fetched{}, err
	}
	defer r.Close()
	r, _, err = r.Pick(o.Metric, at.From, at.To)
	if err != nil {
		return Fetched{}, err
	}
	p := *r.Profile
	p.Damage = nil // its notes tell what is missing, and the rest of a recording is worth adding up
	return Fetched{Profile: &p}, nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
