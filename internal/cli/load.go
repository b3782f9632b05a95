package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/view"
)

// sourceFlags adds the flags that say how profiles are got.
func sourceFlags(cmd *cobra.Command) *source.Options {
	o := &source.Options{}
	f := cmd.Flags()
	f.DurationVar(&o.Duration, "seconds", 0, "how long a server shall record, such as 30s")
	f.DurationVar(&o.Timeout, "timeout", 0, "how long to wait for a server")
	f.StringVar(&o.TLSCert, "tls-cert", "", "certificate `FILE` to show to servers")
	f.StringVar(&o.TLSKey, "tls-key", "", "private key `FILE` of the certificate")
	f.StringVar(&o.TLSCA, "tls-ca", "", "`FILE` of authorities to trust")
	f.StringVar(&o.Binary, "binary", "", "program that the profiles are of, to name addresses from")
	f.StringVar(&o.Symbolize, "symbolize", "", "how to name addresses: none, local, remote, force")
	return o
}

// load gets the sum of the profiles that refs name.
func load(cmd *cobra.Command, sys *System, o *source.Options, refs []string) (*profile.Profile, error) {
	opt := *o
	opt.Stdin = sys.In
	opt.BinaryPath = filepath.SplitList(sys.Env("PPROF_BINARY_PATH"))
	opt.Say = func(msg string) { note(sys, "%s", strings.TrimSuffix(msg, "\n")) }
	refs, err := opt.Expand(refs)
	if err != nil {
		return nil, err
	}
	if len(refs) > 1 && opt.Binary == "" && source.IsBinary(refs[0]) {
		opt.Binary, refs = refs[0], refs[1:]
		o.Binary = opt.Binary
	}
	if progress := progressOf(sys, len(refs)); progress != nil {
		opt.Progress = progress.show
		defer progress.clear()
	}
	ctx := cmd.Context()
	if len(refs) == 1 {
		// The only one there is: what is wrong with it is the answer.
		f, err := opt.Fetch(ctx, refs[0])
		if err != nil {
			return nil, fetchError(refs[0], err)
		}
		g, err := opt.One(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", refs[0], err)
		}
		return opt.Finish(ctx, g)
	}
	g, err := opt.Gather(ctx, refs)
	if err != nil {
		return nil, fmt.Errorf("adding up %d profiles: %w", len(refs), err)
	}
	if g.N == 0 {
		return nil, fmt.Errorf("none of %d profiles could be read", len(refs))
	}
	p, err := opt.Finish(ctx, g)
	if err == nil && g.N < len(refs) {
		p = p.WithNote(fmt.Sprintf("%d of %d profiles could not be read and are not in this answer", len(refs)-g.N, len(refs)))
	}
	return p, err
}

// fetchError says what is wrong with ref.
func fetchError(ref string, err error) error {
	if strings.Contains(err.Error(), ref) {
		return err
	}
	return fmt.Errorf("%s: %w", ref, err)
}

// recordings returns what a query is about, and its base.
func recordings(cmd *cobra.Command, sys *System, o *source.Options, q query.Query) ([]*recording.Recording, error) {
	var in []*recording.Recording
	for _, refs := range [][]string{q.Refs, q.Base} {
		if len(refs) == 0 {
			continue
		}
		p, err := load(cmd, sys, o, refs)
		if err != nil {
			return nil, err
		}
		in = append(in, &recording.Recording{Ref: strings.Join(refs, " "), Profile: p})
	}
	in[0].Sources = o.Sources(cmd.Context(), sys.Dir, filepath.SplitList(q.SourcePath), filepath.SplitList(q.TrimPath))
	return in, nil
}

// subtract turns a profile and its base into their difference, for views that know only one profile.
func subtract(in []*recording.Recording, normalize bool) ([]*recording.Recording, error) {
	p, base := in[0].Profile, in[1].Profile.WithLabel(view.BaseLabel, "true")
	if normalize {
		var err error
		if p, err = p.Normalize(base); err != nil {
			return nil, err
		}
	}
	p, err := profile.Merge(p, base.Negate())
	if err != nil {
		return nil, fmt.Errorf("comparing %s with %s: %w", in[0].Ref, in[1].Ref, err)
	}
	rec := *in[0]
	rec.Profile = p.WithNote("values are new minus base; shares are of the base")
	return []*recording.Recording{&rec}, nil
}

// A progress shows how far reading many profiles has come, once that takes noticeable time.
type progress struct {
	sys   *System
	total int
	start time.Time
	shown bool
}

func progressOf(sys *System, total int) *progress {
	if total < 2 || width(sys.Err) == 0 {
		return nil
	}
	return &progress{sys: sys, total: total, start: time.Now()}
}

func (p *progress) show(done int) {
	if time.Since(p.start) > 300*time.Millisecond {
		p.shown = true
		fmt.Fprintf(p.sys.Err, "\rread %d of %d profiles", done, p.total)
	}
}

func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.sys.Err, "\r\033[K")
	}
}
