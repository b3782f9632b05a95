package cli

import (
	"bytes"
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/git"
	"github.com/hone-perf/hone/internal/open"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/views"
)

// Completion reads what a command line names, and answers at once: it opens local files only, and nothing that takes long to read.
const (
	mostParsed    = 8 << 20 // bytes of profiles, as they are in files: some tenths of a second
	mostFunctions = 200
	mostRefs      = 500
	gitPatience   = 500 * time.Millisecond
)

// local returns the first file or folder that args name, or "". Reading a pipe would take its data from the command.
func local(args []string) string {
	for _, name := range args {
		if before, _, ok := strings.Cut(name, ".hone@"); ok {
			name = before + ".hone" // and a part of its time
		}
		if st, err := os.Stat(name); err == nil && (st.Mode().IsRegular() || recording.IsRecording(name)) {
			return name
		}
	}
	return ""
}

// newest returns the newest recording of a folder, or "".
func newest(dir string) string {
	files, err := filepath.Glob(filepath.Join(dir, "*.hone"))
	if err != nil {
		return ""
	}
	name, latest := "", time.Time{}
	for _, file := range files {
		if st, err := os.Stat(file); err == nil && st.ModTime().After(latest) {
			name, latest = file, st.ModTime()
		}
	}
	return name
}

// small reports whether a file can be read at once.
func small(name string) bool {
	st, err := os.Stat(name)
	return err == nil && st.Mode().IsRegular() && st.Size() <= mostParsed
}

// metrics returns the metrics of what args name.
func metrics(args []string, typed string) []cobra.Completion {
	name := local(args)
	if !recording.IsRecording(name) {
		if !small(name) {
			return nil
		}
		r := openSmall(name, "", query.Span{})
		if r == nil {
			return nil
		}
		var out []cobra.Completion
		for _, t := range r.Profile.SampleTypes {
			out = append(out, cobra.CompletionWithDesc(t.Type, t.Unit))
		}
		return out
	}
	r, err := recording.Open(name)
	if err != nil {
		return nil
	}
	defer r.Close()
	if r.Manifest.How == recording.Stored && !small(name) {
		return nil // its profiles say which types they have
	}
	out := r.Metrics()
	if typed == "" {
		return out
	}
	for _, m := range slices.Clone(out) {
		for _, other := range r.MetricNames(m) {
			if !slices.Contains(out, other) {
				out = append(out, other)
			}
		}
	}
	return slices.DeleteFunc(out, func(m string) bool { return !strings.HasPrefix(m, typed) })
}

// openSmall opens the profile of a metric, or returns nil.
func openSmall(name, metric string, at query.Span) *recording.Recording {
	o, err := open.Open(context.Background(), []string{name}, open.Want{Metric: metric, At: at, Raw: true, Source: source.Options{Symbolize: "none"}})
	if err != nil {
		return nil
	}
	defer o.Close()
	return o.Recordings[0]
}

// functions returns patterns for the functions that cost most in what args name.
func functions(cmd *cobra.Command, args []string, typed string) []cobra.Completion {
	metric := ""
	if f := cmd.Flag("metric"); f != nil {
		metric = f.Value.String()
	}
	return functionsOf(local(args), metric, typed)
}

func functionsOf(name, metric, typed string) []cobra.Completion {
	var at query.Span
	switch {
	case name == "":
		return nil
	case recording.IsRecording(name):
		r, err := recording.Open(name)
		if err != nil {
			return nil
		}
		at, err = beginning(r, metric)
		r.Close()
		if err != nil {
			return nil
		}
	case !small(name):
		return nil
	}
	r := openSmall(name, metric, at)
	if r == nil {
		return nil
	}
	top, ok := views.Find("top")
	if !ok {
		return nil
	}
	r = r.WithProfile(r.Profile.WithShortNames(), "")
	answer, err := top.Run([]*recording.Recording{r}, query.Query{View: top.Name, Metric: metric, Sort: query.Cum, Limit: mostFunctions})
	if err != nil {
		return nil
	}
	var out []cobra.Completion
	for _, row := range answer.(*report.Top).Rows {
		// Users type the path of a package, or leave it out.
		short := row.Name[strings.LastIndexByte(row.Name, '/')+1:]
		names := []string{row.Name, short, short[max(strings.Index(short, "(*"), 0):], row.Name[strings.LastIndexByte(row.Name, '.')+1:]}
		if i := slices.IndexFunc(names, func(name string) bool { return spelled(name, typed) != "" }); i >= 0 {
			if p := spelled(names[i], typed); !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// spelled returns a way to write a name that continues what was typed, or "": as Go prints it, or as a regexp. A dot also matches a dot.
func spelled(name, typed string) string {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(name), `\.`, ".")
	rx, err := regexp.Compile(query.Pattern(name))
	switch {
	case name == "":
		return ""
	case strings.HasPrefix(name, typed) && err == nil && rx.MatchString(name):
		return name
	case strings.HasPrefix(pattern, typed):
		return pattern
	}
	return ""
}

// beginning returns as much of the time of a recording as can be read at once; the zero Span is all of it.
func beginning(r *recording.Recording, metric string) (query.Span, error) {
	var at query.Span
	size, cut := int64(0), false
	kind, _, _ := strings.Cut(metric, ":")
	if kind == "" {
		kind = cmp.Or(append(r.Profiled(), "")...)
	}
	for _, p := range r.Profiles(kind).Parts() {
		n, err := r.SizeOf(p.File)
		if err != nil {
			return at, err
		}
		if kind != recording.CPU {
			if n > mostParsed {
				return at, fs.ErrInvalid
			}
			continue
		}
		if size += n; size > mostParsed {
			cut = true
			break
		}
		at.To = p.To
	}
	if !cut {
		at = query.Span{}
	} else if at.To == 0 {
		return at, fs.ErrInvalid
	}
	return at, nil
}

// completeMatch completes the arguments of a view about matching functions: their names first, which come before what they are in. Then they are those of
// the newest recording of the folder.
func completeMatch(sys *System) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return completeRef(cmd, args, typed)
		}
		return functionsOf(newest(sys.Dir), cmd.Flag("metric").Value.String(), typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeVersion completes the first argument of commands that compare versions of code: a branch or tag, or two. There, files are possible, too.
func completeVersion(sys *System) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		const files = cobra.ShellCompDirectiveDefault
		own, _, _, _ := splitGoFlags(cmd, args)
		cmd.DisableFlagParsing = false
		if err := cmd.ParseFlags(own); err != nil || cmd.Flags().NArg() > 0 {
			return nil, files
		}
		before, rest := "", typed
		if a, b, two := strings.Cut(typed, ".."); two {
			if a == "" || strings.HasPrefix(b, "/") || strings.HasPrefix(b, ".") {
				return nil, files
			}
			before, rest = a+"..", b
		}
		ctx, stop := context.WithTimeout(cmd.Context(), gitPatience)
		defer stop()
		var out []cobra.Completion
		for _, name := range revisions(ctx, sys.Dir) {
			if strings.HasPrefix(name, rest) && len(out) < mostRefs {
				out = append(out, before+name)
			}
		}
		return out, files
	}
}

// revisions returns the names of the commits of a repository: HEAD, branches, tags and branches of remotes.
func revisions(ctx context.Context, dir string) []string {
	text, err := git.Command{Dir: dir, Limit: 1 << 20}.Run(ctx, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads", "refs/remotes", "refs/tags")
	if err != nil || len(text) == 0 {
		return nil
	}
	out := []string{"HEAD"}
	for name := range bytes.Lines(text) {
		out = append(out, string(bytes.TrimSpace(name)))
	}
	return out
}
