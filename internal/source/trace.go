package source

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"time"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/requests"
	"github.com/hone-perf/hone/internal/waits"
)

// parse reads a profile, with the names that texts have in comments. pprof does not read those.
func (o *Options) parse(in io.Reader) (*profile.Profile, error) {
	p, err := profile.Parse(in)
	if err != nil || o.PProf {
		return p, err
	}
	return p.Named(), nil
}

// read reads a profile, or an execution trace as a profile of where goroutines waited.
func (o *Options) read(in io.Reader) (*profile.Profile, error) {
	if f, ok := in.(interface {
		io.ReaderAt
		Stat() (os.FileInfo, error)
	}); ok {
		if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
			if t, err := exectrace.Open(f, st.Size()); !errors.Is(err, exectrace.ErrNoTrace) {
				return o.waits(t, err)
			}
			if is, _ := traceAt(f); !is {
				return o.parse(in)
			}
		}
	}
	r := bufio.NewReaderSize(in, recording.BeginOfTrace)
	begin, _ := r.Peek(recording.BeginOfTrace)
	if is, _ := recording.IsTrace(begin); !is {
		return o.parse(r)
	}
	f, err := recording.Spool(r)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return o.waits(exectrace.Open(f, st.Size()))
}

func (o *Options) waits(t *exectrace.Trace, err error) (*profile.Profile, error) {
	if err != nil {
		return nil, err
	}
	p, err := o.waited(t)
	if damage := t.Damage(); err == nil && len(damage) > 0 {
		p = p.WithDamage(damage[0].Err)
	}
	return p, err
}

func (o *Options) waited(t *exectrace.Trace) (*profile.Profile, error) {
	if o.Kind == recording.Goroutine {
		return waits.Moment(t, int64(max(o.At.From, o.At.To)))
	}
	w := waits.Window{From: int64(o.At.From), To: int64(o.At.To)}
	if o.At.Moment() {
		w = waits.Window{} // of the trace that covers it, which is the only one
	}
	return requests.Profile(t, w)
}

// IsTrace reports whether a file is an execution trace.
func IsTrace(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	is, _ := traceAt(f)
	return is
}

// traceAt reports whether a file is an execution trace, and whether it is packed.
func traceAt(f io.ReaderAt) (is, packed bool) {
	begin := make([]byte, recording.BeginOfTrace)
	n, _ := f.ReadAt(begin, 0)
	return recording.IsTrace(begin[:n])
}

// TraceLength is for how long a server records an execution trace when nobody says it.
const TraceLength = 5 * time.Second

// Trace opens an execution trace that a server records: of /debug/pprof/trace where a server is only named.
func (o *Options) Trace(ctx context.Context, ref string) (*recording.Recording, error) {
	asked := *o
	asked.Kind = recording.Execution.Name
	u := asked.url(ref)
	if u == nil {
		return nil, fs.ErrNotExist
	}
	resp, err := o.do(ctx, http.MethodGet, u, nil, o.patience(u)+5*time.Second)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	rec, err := recording.Execution.ReadAlone(ref, resp.Body)
	if err != nil {
		return nil, err
	}
	out := *rec
	out.Live = true
	return &out, nil
}
