package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/filename"
	"github.com/hone-perf/hone/internal/open"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/unit"
	"github.com/hone-perf/hone/internal/view"
	"github.com/hone-perf/hone/internal/views"
	"github.com/hone-perf/hone/internal/web"
)

// webCommand returns the command that serves the page.
func webCommand(sys *System) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "web PROFILE…",
		Short:   "Explore profiles in the browser",
		GroupID: groupLook,
		Long: `Explore profiles and recordings in a browser.

If this folder, or --source DIR, has the module of the program, the page also shows the
findings of hone advise: on the overview, in flame graphs and next to source lines. hone
computes them after the page is first shown.`,
		Example: "  hone web cpu.pprof\n  hone web new.pprof --base old.pprof\n  hone web localhost:6060\n  hone web --source ~/src/shop server.hone",
	}
	if !sys.names(cmd) {
		return cmd
	}
	var q query.Query
	flame, _ := views.Find("flame")
	queryFlags(cmd.Flags(), &q, slices.DeleteFunc(flame.Uses.List(), func(k string) bool { return k == "limit" || k == "min" }))
	listen := cmd.Flags().String("listen", "", "listen on `HOST:PORT` (default: a free port of this machine)")
	remote := cmd.Flags().Bool("remote", false, "allow connections from other machines")
	hosts := hostFlag(cmd.Flags(), "answer only requests for these host `NAME`s, which browsers use to reach hone (default: the address of --listen)")
	noBrowser := cmd.Flags().Bool("no-browser", false, "print the address; do not open a browser")
	module := cmd.Flags().String("source", "", "find the source of the profiled module in `DIR`, for findings")
	o := sourceFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef("for example: hone web cpu.pprof", "web needs a profile to look at")
		}
		for _, name := range []string{"output", "json", "csv", "md"} {
			if cmd.Flags().Changed(name) {
				return usagef("hone flame -o page.html writes a page", "web shows profiles in a browser: --%s does not apply", name)
			}
		}
		dir, err := moduleDir(sys, *module)
		if err != nil {
			return err
		}
		if err := checkHosts(*hosts); err != nil {
			return err
		}
		l, err := web.Listen(*listen, *remote, *hosts...)
		if err != nil {
			next := "without --listen, hone uses a free port of this machine"
			remote, nameless := (*web.RemoteError)(nil), (*web.NamelessError)(nil)
			switch {
			case errors.As(err, &nameless):
				next = "--host NAME says it, as in --host localhost for a published port of a container, or --host build.example.com"
			case errors.As(err, &remote):
				next += "; --remote allows other machines"
			}
			return usagef(next, "%w", err)
		}
		defer l.Close()
		opt := web.Options{Version: version(), Hosts: web.HostsOf(l, *hosts...), Advise: dir, Source: *module, By: flagSpeller{}}
		opt.Takes = !*remote // with --remote, files from other machines would use the memory of this one
		if dir, err := os.UserConfigDir(); err == nil && !*remote {
			opt.Saved = filepath.Join(dir, "hone", "views.json")
		}
		page := q
		page.View = landing(args, q.Base)
		if len(q.Base) > 0 {
			opt.Base = open.Naming(q.Base)
			page.Base = []string{opt.Base}
		}
		s := web.Later(opt)
		ctx, stop := context.WithCancel(cmd.Context())
		defer stop()
		var early sync.WaitGroup
		var ended chan error // nil until the server runs
		announce := sync.OnceFunc(func() {
			url := s.URL(l, page.URL())
			ended = make(chan error, 1)
			go func() { ended <- s.Serve(ctx, l) }()
			fmt.Fprintln(sys.Out, url)
			_, port, _ := net.SplitHostPort(l.Addr().String())
			switch far := sys.Env("SSH_CONNECTION") != ""; {
			case far && *remote: // its address is for browsers on other machines
			case far:
				note(sys, "on your own machine, first run: ssh -L %s:%s THIS-MACHINE", port, l.Addr())
			case !*noBrowser && width(sys.Out) > 0:
				if err := web.OpenBrowser(cmd.Context(), url); err != nil {
					note(sys, "cannot start a browser (%v): open the address yourself", err)
				}
			}
			if width(sys.Err) > 0 {
				note(sys, "press Ctrl-C to stop")
			}
		})
		if len(args) == 1 && len(q.Base) == 0 {
			// Start the browser while profiles load: both take about as long.
			o.Large = func() { early.Go(announce) }
		}
		in, err := opened(cmd, sys, o, q, args)
		if early.Wait(); err != nil {
			if ended != nil {
				s.Fail(err) // show the error on the page that is already open
				stop()
				<-ended
			}
			return err
		}
		debug.FreeOSMemory()
		debug.SetGCPercent(serverGC())
		if only := onlyView(in[0]); only != "" {
			page.View = only
		}
		s.Open(in)
		announce()
		return <-ended
	}
	return cmd
}

// landing returns the first view of the page. For recordings it is the overview, which begins with what is unusual about the run.
func landing(refs, base []string) string {
	if len(base) > 0 || slices.ContainsFunc(refs, func(ref string) bool { return !strings.HasSuffix(ref, ".hone") }) {
		return "flame"
	}
	return "overview"
}

// onlyView returns the view that a page begins with where a recording has no profiles, or only that of who holds memory; "" for others.
func onlyView(rec *recording.Recording) string {
	if len(rec.Metrics()) == 0 && rec.Manifest != nil {
		return firstView(rec)
	}
	if holders, ok := views.Find("holders"); ok && holders.Has(rec) && len(rec.Profiled()) <= 1 {
		return holders.Name
	}
	return ""
}

// serverGC returns GOGC for serving profiles. Most of a large heap is profiles, which stay, so a few percent are enough. With a small heap, a few
// percent would mean several collections for each answer.
func serverGC() int {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	const fair = 24 << 20
	return int(min(max(fair*100/m.HeapAlloc, 10), 200))
}

// opened returns a recording for each profile, and one for the base.
func opened(cmd *cobra.Command, sys *System, o *source.Options, q query.Query, args []string) ([]*recording.Recording, error) {
	groups := make([][]string, 0, len(args)+1)
	for i, ref := range args {
		if i == 0 && len(args) > 1 && source.IsBinary(ref) {
			o.Binary = ref
			continue
		}
		groups = append(groups, []string{ref})
	}
	named := len(groups)
	if len(q.Base) > 0 {
		groups = append(groups, q.Base)
	}
	var in []*recording.Recording
	for i, refs := range groups {
		if i < named && slices.ContainsFunc(groups[:i], func(other []string) bool { return sameFile(refs[0], other[0]) }) {
			note(sys, "%s is named twice; the page lists it once", refs[0])
			continue
		}
		if i == named && slices.ContainsFunc(groups[:i], func(other []string) bool { return slices.Equal(refs, other) }) {
			continue // the base has the same profile as one of refs, with other labels
		}
		part := query.Query{Refs: refs, SourcePath: q.SourcePath, TrimPath: q.TrimPath}
		one, _, err := recordings(cmd, sys, o, part)
		if errors.Is(err, recording.ErrNoProfile) && len(refs) == 1 {
			one, err = withoutProfile(cmd.Context(), refs[0], err)
		}
		if err != nil {
			return nil, err
		}
		if err := one[0].Check(); err != nil {
			note(sys, "%v", err)
		}
		in = append(in, one[0])
		if d := recording.Versions.In(one[0]); d != nil {
			sources := o.Sources(cmd.Context(), sys.Dir, filepath.SplitList(q.SourcePath), filename.SplitList(q.TrimPath, runtime.GOOS), "")
			in = append(in, sidesOfWhy(d, sources, o.Code())...)
		}
	}
	return in, nil
}

// sameFile reports whether two refs name the same file.
func sameFile(a, b string) bool {
	if a == b {
		return true
	}
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// sidesOfWhy returns the profiles that explain a difference between versions, as recordings.
func sidesOfWhy(d *recording.Duel, sources recording.Sources, code recording.Code) (out []*recording.Recording) {
	for i := range d.Why {
		w := &d.Why[i]
		work := fmt.Sprintf("it is of %s, as is that of the other version: amounts compare as they are", unit.Counted(w.Iters, "operation"))
		out = append(out, &recording.Recording{Ref: w.Ref("new"), Profile: w.New.WithNote(work), Sources: sources, Code: code},
			&recording.Recording{Ref: w.Ref("old"), Profile: w.Old.WithNote(work), Sources: sources, Code: code})
	}
	return out
}

// withoutProfile opens a recording without profiles, if a view can show its metrics, benchmarks or load run. Otherwise it returns why, the error
// about the missing profile.
func withoutProfile(ctx context.Context, ref string, why error) ([]*recording.Recording, error) {
	rec, _, err := openWhole(ctx, ref)
	if err != nil {
		return nil, err
	}
	if firstView(rec) == "" {
		rec.Close()
		return nil, why
	}
	return []*recording.Recording{rec.WithProfile(&profile.Profile{}, "")}, nil
}

// firstView returns the view for a recording without profiles, or "" if there is none.
func firstView(rec *recording.Recording) string {
	if rec.Check() != nil {
		return ""
	}
	switch {
	case view.Versions.Has(rec):
		return "compare"
	case view.Benchmarks.Has(rec):
		return "bench"
	case view.LoadRun.Has(rec):
		return "load"
	case recording.Metrics.In(rec) != nil:
		return "timeline"
	case view.Trace.Has(rec):
		return "trace"
	}
	return ""
}
