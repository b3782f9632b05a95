package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/unit"
	"github.com/hone-perf/hone/internal/view"
	"github.com/hone-perf/hone/internal/view/profileview"
	"github.com/hone-perf/hone/internal/views"
	"github.com/hone-perf/hone/internal/web"
)

// commandOf returns the command of a view.
func commandOf(v *view.View, sys *System) *cobra.Command {
	if v.Kind == recording.Held {
		return holdersCommand(v, sys)
	}
	switch v.Part {
	case view.GCLog:
		return gcCommand(v, sys)
	case view.Versions:
		return compareCommand(v, sys)
	case view.Benchmarks:
		return benchCommand(v, sys)
	case view.LoadRun:
		return loadCommand(v, sys)
	case view.Trace:
		return traceCommand(v, sys)
	case view.Metrics:
		return metricsCommand(v, sys)
	}
	return viewCommand(v, sys)
}

func viewCommand(v *view.View, sys *System) *cobra.Command {
	use, refs := v.Name, "PROFILE…"
	if v.Arg != "" {
		use += " " + v.Arg
	}
	switch {
	case v.NeedsBase:
		refs = "OLD NEW"
	case v.Timed:
		refs = "RECORDING|TRACE"
	}
	cmd := &cobra.Command{
		Use:     use + " " + refs,
		Aliases: v.Aliases,
		Short:   v.Doc,
		GroupID: groupLook,
	}
	if !sys.names(cmd) {
		return cmd
	}
	cmd.Example = "  " + strings.Join(examples(v), "\n  ")
	var q query.Query
	queryFlags(cmd.Flags(), &q, keysOf(v))
	flameFlags(cmd)
	o := sourceFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		q.View = v.Name
		if err := place(v, &q, args); err != nil {
			return err
		}
		if asFlame(cmd) {
			// In a difference, users also look for functions that are gone.
			q.View, q.Gone = "flame", true
			v, _ := views.Find(q.View)
			return answer(cmd, sys, v, o, q)
		}
		return answer(cmd, sys, v, o, q)
	}
	return cmd
}

// keysOf returns the settings that a view has flags for. Views with a metric can subtract a base.
func keysOf(v *view.View) []string {
	if v.NeedsBase || v.Uses.Has("base") || !v.Uses.Has("metric") {
		return v.Uses.List()
	}
	return append(v.Uses.List(), "base", "normalize", "per")
}

// place assigns the arguments of a view to the fields of its query.
func place(v *view.View, q *query.Query, args []string) error {
	if v.Arg != "" {
		if len(args) == 0 {
			return usagef("for example: "+example(v), "%s needs %s", v.Name, v.Argument())
		}
		q.Arg, args = query.Pattern(args[0]), args[1:]
		if err := query.CheckRegexp(q.Arg); err != nil {
			return usagef("", "%s %s: %w", v.Name, quoted(q.Arg), err)
		}
	}
	if v.NeedsBase && len(q.Base) == 0 && len(q.BaseTags) == 0 {
		if len(args) != 2 {
			return usagef("for example: "+example(v)+"; several profiles go with --base", "%s compares two profiles: OLD NEW", v.Name)
		}
		q.Base, args = args[:1], args[1:]
	}
	if len(args) == 1 && v.Arg != "" && present(args) != nil && isFile(q.Arg) {
		return usagef("the regexp goes first: hone "+v.Name+" "+quoted(args[0])+" "+quoted(q.Arg), "%s: no such file", args[0])
	}
	if len(args) == 0 {
		if _, err := os.Stat(q.Arg); err == nil && v.Arg != "" {
			return usagef("for example: hone "+v.Name+" "+quoted(promptWords(v.Examples[0])[1])+" "+quoted(q.Arg), "%s needs a regexp for functions of %s", v.Name, q.Arg)
		}
		return usagef("for example: "+example(v), "%s needs a profile to look at", v.Name)
	}
	q.Refs = args
	return nil
}

func example(v *view.View) string {
	return commandLine(v, v.Examples[0])
}

// answer opens the recordings of a query, runs the view, and writes the answer.
func answer(cmd *cobra.Command, sys *System, v *view.View, opt *source.Options, q query.Query) error {
	out, err := outputOf(cmd, sys)
	if err != nil {
		return err
	}
	if err := drawable(v, out); err != nil {
		return err
	}
	if out, err = painted(cmd, out); err != nil {
		return err
	}
	interactive, err := isInteractive(cmd, sys, out)
	if err != nil {
		return err
	}
	if slices.Contains([]string{"dot", "callgrind"}, v.Name) && (out.format == "text" || out.format == "terminal") {
		out.format = v.Name // these views are also formats
	}
	opt.Kind = v.Kind
	in, q, err := wholeOr(cmd, sys, opt, q)
	if err == nil && !q.Privacy {
		in, err = fitting(v, in, q)
	}
	if err != nil {
		return err
	}
	if interactive {
		return walk(cmd, sys, out, in, q)
	}
	return show(cmd.Context(), sys, v, out, in, q)
}

// wholeOr opens the input of a query. With --privacy, it opens recordings with all parts, and they need no profile.
func wholeOr(cmd *cobra.Command, sys *System, opt *source.Options, q query.Query) ([]*recording.Recording, query.Query, error) {
	if !q.Privacy {
		return recordings(cmd, sys, opt, q)
	}
	if len(q.Refs) > 1 {
		return nil, q, usagef("one after the other", "--privacy takes one file")
	}
	r, when, err := openWhole(cmd.Context(), q.Refs[0])
	switch {
	case err != nil:
		return nil, q, err
	case r == nil:
		return recordings(cmd, sys, opt, q)
	case when != (query.Span{}):
		r.Close()
		return nil, q, usagef("name the recording without a time", "%s: --privacy needs a whole recording, not a part of its time", q.Refs[0])
	}
	sys.sayLost(r)
	return []*recording.Recording{r}, q, nil
}

// fitting returns the recordings in the form that a view takes, or an error about the part of the query that does not apply to them.
func fitting(v *view.View, in []*recording.Recording, q query.Query) ([]*recording.Recording, error) {
	if q.Normalize && q.Per != "" {
		return nil, usagef("--normalize compares shares, and --per "+q.Per+" compares costs", "--normalize and --per cannot be used together")
	}
	if err := checkMetric(in, q.Metric); err != nil {
		return nil, err
	}
	if err := checkUnit(in[0], q); err != nil {
		return nil, err
	}
	in = v.Sides(in, q)
	if len(in) == 2 && !v.NeedsBase && !v.Compares {
		return profileview.Subtract(in, q)
	}
	return in, nil
}

// show runs a view and writes its answer.
func show(ctx context.Context, sys *System, v *view.View, out output, in []*recording.Recording, q query.Query) error {
	if out.format == "html" {
		return out.with(sys, func(w io.Writer) error {
			return web.WritePage(w, in, q, web.PageOptions{Version: version(), Dark: out.opt.Dark, Up: out.opt.Up})
		})
	}
	r, err := askView(ctx, v, in, q)
	if errors.Is(err, context.Canceled) {
		return err
	}
	if err != nil {
		var other *profileview.UnitError
		if errors.As(err, &other) {
			return usagef("without --unit, hone chooses the unit", "--unit %s: %s per %s is shown in %s", quoted(other.Unit), other.Metric, other.Per, other.Shown)
		}
		var none *view.NoMatch
		if errors.As(err, &none) && none.Unused != "" {
			return hint.Errorf(hint.Text{hint.Ask("top", q.Refs...).With("metric", q.Metric), " lists functions that have some"}, "%s: %s has no samples of %s", in[0].Ref, quoted(none.Arg), none.Unused)
		}
		if errors.As(err, &none) && none.Removed {
			why := "filters removed all samples of " + quoted(none.Arg)
			for _, r := range none.Remarks {
				why += "; " + r.String()
			}
			whole := hint.Ask(v.Name, q.Refs...).Of(none.Arg)
			if q.Metric != "" {
				whole = whole.With("metric", q.Metric)
			}
			return hint.Errorf(hint.Text{whole, " shows them without filters"}, "%s: %s", in[0].Ref, why)
		}
		if errors.As(err, &none) {
			next := hint.Text{hint.Ask("top", q.Refs...), " lists functions"}
			if near := nearFunction(in[0].Profile, none.Arg); near != "" {
				next = append(hint.Text{"did you mean " + near + "? "}, next...)
			}
			return hint.Errorf(next, "%s: no function matches %s", in[0].Ref, quoted(none.Arg))
		}
		return fmt.Errorf("%s: %w", in[0].Ref, err)
	}
	sys.partial = sys.partial || slices.ContainsFunc(in, (*recording.Recording).LostTrace)
	return out.write(sys, r)
}

// nearFunction returns the function whose name is most like a misspelled name. Like that name, it may lack the package.
func nearFunction(p *profile.Profile, name string) string {
	if p == nil || regexp.QuoteMeta(name) != strings.ReplaceAll(name, ".", `\.`) {
		return "" // name is a pattern
	}
	var names []string
	for i := range p.Functions {
		whole := p.Functions[i].Name
		short := whole[strings.LastIndexByte(whole, '/')+1:]
		if at := strings.Index(short, "(*"); at >= 0 && strings.Replace(short[at+len("(*"):], ")", "", 1) == name {
			return "'" + short[at:] + "'" // a method, without the parentheses
		}
		names = append(names, whole, short, short[strings.LastIndexByte(short, '.')+1:])
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if slices.Contains(names, name) {
		return "" // a filter removed it
	}
	return query.Nearest(name, names)
}

// askView runs a view, and returns early if ctx ends. Views take no context, so the goroutine continues until hone exits, right after that.
func askView(ctx context.Context, v *view.View, in []*recording.Recording, q query.Query) (report.Report, error) {
	if err := ctx.Err(); err != nil {
		return nil, err // do not start a view that could answer before ctx.Done is seen
	}
	var r report.Report
	done := make(chan error, 1)
	go func() {
		var err error
		r, err = v.Run(in, q)
		done <- err
	}()
	select {
	case err := <-done:
		return r, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// drawable returns an error if the view has no picture, before anything is read or written.
func drawable(v *view.View, out output) error {
	if !out.pictured() || slices.Contains(v.Pictures, out.format) {
		return nil
	}
	what, does := "draw a picture", "draws"
	if out.format == "html" {
		what, does = "write a page", "writes"
	}
	next := "hone flame -o " + quoted(out.file) + " " + does + " one"
	switch {
	case out.format == "html" && slices.Contains([]string{"list", "weblist", "disasm"}, v.Name):
		next = "hone web shows sources in a browser, and hone pprof -weblist writes a page"
	case v.Part == view.Trace:
		next = "hone flame -o " + quoted(out.file) + " draws where goroutines waited"
	case v.Part != view.Profile:
		next = "-o takes .json, .csv, .md and .txt"
	}
	return usagef(next, "%s: %s cannot %s", out.file, v.Name, what)
}

// checkMetric returns an error if the profiles lack the metric. It lists the sample types that they have.
func checkMetric(in []*recording.Recording, metric string) error {
	for _, r := range in {
		if _, err := r.Profile.SampleIndex(metric); err == nil || metric == "" || len(r.Profile.SampleTypes) == 0 {
			continue
		}
		var names []string
		for _, t := range r.Profile.SampleTypes {
			names = append(names, t.Type)
		}
		bad := wrongValue("metric", metric, "the sample types of %s are %s", r.Ref, strings.Join(names, ", "))
		if near := query.Nearest(metric, names); near != "" {
			return withHint(bad, "did you mean ", hint.Option{Name: "metric", Value: near}, "?")
		}
		if isServer(r.Ref) && !strings.Contains(r.Ref, "/") {
			return withHint(bad, r.Ref, "/debug/pprof/heap, /allocs, /block and /mutex have others")
		}
		return bad
	}
	return nil
}

// checkUnit returns an error if values cannot be shown in the unit of the query.
func checkUnit(r *recording.Recording, q query.Query) error {
	k, err := r.Profile.SampleIndex(q.Metric)
	if q.Unit == "" || q.Per != "" || q.Unit == unit.Auto || q.Unit == unit.Minimum || err != nil || len(r.Profile.SampleTypes) == 0 {
		return nil // the view reports other errors
	}
	own := r.Profile.SampleTypes[k].Unit
	if unit.Compatible(q.Unit, own) {
		return nil
	}
	if names := unit.Choices(own); names != nil {
		return usagef("", "--unit %s: %s are shown in %s", quoted(q.Unit), own, strings.Join(names, ", "))
	}
	return usagef("", "--unit %s: the values are plain numbers of %s", quoted(q.Unit), own)
}

// quotedRefs returns refs quoted for a command line.
func quotedRefs(refs []string) string {
	const most = 3
	var words []string
	for i, r := range refs {
		if i == most {
			words = append(words, "…")
			break
		}
		words = append(words, quoted(r))
	}
	return strings.Join(words, " ")
}

func isFile(name string) bool {
	st, err := os.Stat(name)
	return err == nil && st.Mode().IsRegular()
}
