package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/capture"
	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/render"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
	"github.com/hone-perf/hone/internal/view"
)

// runRecord runs and records a program, and prints the outcome.
func runRecord(cmd *cobra.Command, sys *System, f *recordFlags, opt capture.Options) error {
	say := newSaying(sys)
	opt.Say = say.now
	out, err := capture.Record(cmd.Context(), opt)
	say.now("")
	var wrong *gocmd.Error
	if errors.As(err, &wrong) && opt.Build != nil {
		t := opt.Build.Targets[0]
		if isCommand(t) {
			return usagef(commandHint(slices.Concat([]string{"--", t}, opt.Program.Args)), "%w", err)
		}
		if filepath.IsLocal(t) && !strings.HasPrefix(t, ".") && isPackage(filepath.Join(sys.Dir, t)) {
			return withHint(err, "the go command takes a name without ./ for an import path: ", hint.Ask("record", "./"+filepath.ToSlash(t)), " records the folder")
		}
	}
	return recorded(cmd.Context(), sys, f, out, err)
}

// watchRecord records a running process.
func watchRecord(cmd *cobra.Command, sys *System, f *recordFlags, opt capture.Options, pid int) error {
	say := newSaying(sys)
	opt.Say = say.now
	out, err := capture.Watch(cmd.Context(), opt, pid)
	say.now("")
	return finished(cmd.Context(), recorded(cmd.Context(), sys, f, out, err))
}

// fetchRecord records a server, and prints the outcome.
func fetchRecord(cmd *cobra.Command, sys *System, f *recordFlags, opt capture.Options, from capture.Server) error {
	say := newSaying(sys)
	opt.Say = say.now
	out, err := capture.Fetch(cmd.Context(), opt, from)
	say.now("")
	switch {
	case errors.Is(err, capture.ErrNoProfiles):
		return withHint(err, `import _ "net/http/pprof" makes a Go server offer them; other programs have none`)
	case errors.Is(err, syscall.ECONNREFUSED):
		return withHint(err, "is the server running? ", hint.Ask("record", "./PACKAGE"), " starts and records one")
	}
	return finished(cmd.Context(), recorded(cmd.Context(), sys, f, out, err))
}

// recorded prints where the recording is, or why there is none. The exit code is the one of the program.
func recorded(ctx context.Context, sys *System, f *recordFlags, out *capture.Recorded, err error) error {
	var wrong *gocmd.Error
	switch {
	case errors.As(err, &wrong):
		return withHint(err, "go build reports the same; hone changed nothing in the package")
	case errors.Is(err, capture.ErrExists):
		return exists(err)
	case out == nil:
		return err
	}
	m := out.Manifest
	line := out.File
	if out.Bytes > 0 {
		line += ": " + unit.Size(out.Bytes)
	}
	if u := m.Usage; u != nil {
		line += fmt.Sprintf(", %s of %s", unit.Time(u.Real), out.Name)
	}
	if x := m.Exit; x != nil && x.Code != 0 {
		line += fmt.Sprintf(", exit code %d", x.Code)
		if x.Cause != "" {
			line += " (" + x.Cause + ")"
		}
	}
	fmt.Fprintf(sys.Err, "hone: %s\n", line)
	sayTrouble(sys, m)
	for _, n := range m.Notes {
		note(sys, "%s", n)
	}
	sayHidden(sys, "recording", out.Hidden)
	next := []hint.Command{hint.Ask("", out.File)}
	if rec, err := recording.Open(out.File); err == nil {
		if f.bench != "" && out.Code == 0 && !view.Benchmarks.Has(rec) {
			note(sys, "no benchmark matches %s", quoted(f.bench)) // go test prints nothing in packages without tests
		}
		switch {
		case m.How == recording.Built && len(rec.Parts) > 0:
			next = append(next, hint.Ask("advise", out.File))
		case len(rec.Parts[recording.Heap]) > 0:
			next = append(next, hint.Ask("top", out.File).With("metric", "alloc_space"))
		}
		series := recording.Metrics.In(rec) != nil
		if len(rec.Parts) == 0 && series {
			next = append(next, hint.Ask("timeline", out.File))
		}
		switch traced := recording.Execution.Has(rec); {
		case traced && m.Slow():
			next = append(next, hint.Ask("request", out.File).Of("slowest"))
		case traced:
			next = append(next, hint.Ask("trace", out.File))
		}
		if len(rec.Parts) > 0 || series {
			next = append(next, hint.Ask("web", out.File))
		}
		rec.Close()
	}
	var ways []string
	for _, c := range next {
		ways = append(ways, sys.speller().Command(c))
	}
	fmt.Fprintf(sys.Err, "next: %s\n", strings.Join(ways, ", "))
	if f.push != "" {
		q := url.Values{"service": {cmp.Or(f.service, filepath.Base(out.Name))}}
		// The interrupt that ended the recording is not for this; a second one kills hone.
		said, pushErr := pushFile(context.WithoutCancel(ctx), f.push, q, out.File)
		if pushErr == nil {
			fmt.Fprintf(sys.Err, "hone: %s: %s\n", f.push, said)
		}
		err = errors.Join(err, pushErr)
	}
	if out.Code == 0 {
		return err
	}
	return &exited{out.Code, err}
}

// exists says what to do where there is something in the place of the recording.
func exists(err error) error {
	var part *capture.PartError
	if errors.As(err, &part) {
		return withHint(err, hint.Ask("", part.Folder), " shows what was recorded; to record again, choose another name with ", hint.Option{Name: "o"},
			", or remove the folder if no hone is writing it")
	}
	return withHint(err, "choose another name with ", hint.Option{Name: "o"}, ", or remove the file")
}

// troubleText is trouble in words that a terminal can show.
func troubleText(e recording.Event) string { return render.Message(report.NewTimeEvent(e).Text) }

// sayTrouble prints the captures of --when.
func sayTrouble(sys *System, m *recording.Manifest) {
	if m.Lookout == nil {
		return
	}
	const most = 5
	for i, e := range m.Events {
		if i == most {
			note(sys, "trouble occurred %d more times", len(m.Events)-i)
			break
		}
		note(sys, "after %s: %s", unit.Time(e.At), troubleText(e))
	}
	if len(m.Events) == 0 {
		note(sys, "no trouble occurred (%s); the recording has the last %s of the run", strings.Join(m.Lookout.When, ", "), unit.Time(m.Lookout.Window))
	}
}

// sayHidden prints how many values a recording or profile hides.
func sayHidden(sys *System, in string, n int) {
	keep := hint.SpellOption(sys.speller(), hint.Option{Name: "keep-secrets"})
	switch {
	case n == 1:
		note(sys, "the %s has … instead of a value that looks like a secret; %s keeps it", in, keep)
	case n > 1:
		note(sys, "the %s has … instead of %d values that look like secrets; %s keeps them", in, n, keep)
	}
}
