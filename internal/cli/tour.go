package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/render"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/scratch"
	"github.com/hone-perf/hone/internal/tour"
	"github.com/hone-perf/hone/internal/unit"
)

const tourHelp = `See everything that hone does on a practice program, a small web server.

hone records the server under load and examines it, finds and fixes its races, finds what
could be faster, patches it, proves the patches, and records the server once more. All of this
happens in a temporary folder. It leaves one file, the report: hone-tour.html, or
hone-tour-2.html and so on if that exists.

The tour takes about a minute and a half. It needs only Go; the race detector also needs a C
compiler. On a busy or slow machine it goes on until a patch is proven, for at most ten
minutes. --budget sets a limit; the report then names the steps that did not fit.`

// tourFile is the default file of the report.
const tourFile = "hone-tour.html"

func tourCommand(sys *System) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "tour",
		Short:   "Walk through the whole loop on a practice program",
		Long:    tourHelp,
		Example: "  hone tour\n  hone tour --budget 3m -o tour.html",
		GroupID: groupAdvise,
	}
	if !sys.names(cmd) {
		return cmd
	}
	var budget time.Duration
	cmd.Flags().Var(&secondsFlag{&budget}, budgetFlag, "limit on the whole tour (default 90s, or more until a patch is proven)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usagef("hone record, hone advise and hone fix are for programs of your own", "hone tour runs its own program, and takes no arguments, but got %s", quoted(args[0]))
		}
		return runTour(cmd, sys, budget)
	}
	return cmd
}

func runTour(cmd *cobra.Command, sys *System, budget time.Duration) (err error) {
	out, err := outputOf(cmd, sys)
	if err != nil {
		return err
	}
	named := out.file != ""
	if !named {
		out.file = tourFile
		if !slices.Contains([]string{"text", "terminal"}, out.format) {
			return usagef("for example: hone tour -o tour.html", "the report of a tour is a page, not %s", out.format)
		}
	} else if out.format != "html" {
		return usagef("for example: hone tour -o tour.html", "%s: the report of a tour is a page", quoted(out.file))
	}
	page, name, err := newPage(sys, out.file, named)
	if err != nil {
		return err
	}
	out.file = name
	defer func() {
		if err = errors.Join(err, page.Close()); err != nil {
			os.Remove(page.Name())
		}
	}()
	work, leave, err := workplace()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave()) }()
	// If the reader closes the pipe early, as head does, the tour still has to clean up.
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, syscall.SIGPIPE)
	defer signal.Stop(gone)

	say := newSaying(sys)
	show := &tourist{out, sys.Out}
	show.format = "text"
	if show.opt.Width > 0 || show.opt.Color {
		show.format = "terminal"
	}
	t, err := tour.Run(cmd.Context(), tour.Options{
		Dir: work, Budget: budget, Hone: version(), Say: say.now,
		Begin: func(s *tour.Step) { say.now(""); show.begin(s) },
		Tried: tried(sys, say),
		Done:  func(s *tour.Step) { say.now(""); show.done(s) },
		Note:  func(text string) { say.now(""); fmt.Fprintf(sys.Err, "hone: %s\n", text) },
	})
	say.now("")
	if errors.Is(err, exec.ErrNotFound) {
		return withHint(err, "hone tour builds its program with it: https://go.dev/doc/install")
	}
	if err != nil {
		return err
	}
	if err := t.Write(page, flagSpeller{}); err != nil {
		return fmt.Errorf("writing %s: %w", quoted(out.file), err)
	}
	show.report(t)
	fmt.Fprintf(sys.Out, "\n%s: all of it on one page, with flame graphs and patches, in %s\n", out.file, unit.Time(t.Took))
	return nil
}

// workplace makes a folder for all temporary files, including those of programs that are killed. leave removes it.
func workplace() (dir string, leave func() error, err error) {
	if dir, err = os.MkdirTemp(os.Getenv(scratch.Variable), "hone-tour-"); err != nil {
		return "", nil, fmt.Errorf("making a folder for the practice program: %w", err)
	}
	temp := filepath.Join(dir, "tmp")
	if err = os.Mkdir(temp, 0o700); err == nil {
		for _, name := range []string{scratch.Variable, "TMPDIR", "TMP", "TEMP"} {
			err = errors.Join(err, os.Setenv(name, temp))
		}
	}
	leave = func() error {
		var err error
		for range 20 { // killed compilers may take a moment to end
			if err = os.RemoveAll(dir); err == nil {
				return nil
			}
			time.Sleep(100 * time.Millisecond)
		}
		return fmt.Errorf("removing temporary files: %w", err)
	}
	if err != nil {
		return "", nil, errors.Join(err, leave())
	}
	return dir, leave, nil
}

// newPage creates the file of the report before the tour starts, so that a minute of work is not lost. If the user did not choose the name and the
// file exists, it takes hone-tour-2.html, and so on.
func newPage(sys *System, name string, chosen bool) (page *os.File, as string, err error) {
	base, ext := strings.TrimSuffix(name, filepath.Ext(name)), filepath.Ext(name)
	for i := 1; ; i++ {
		if as = name; i > 1 {
			as = fmt.Sprintf("%s-%d%s", base, i, ext)
		}
		at := as
		if !filepath.IsAbs(at) {
			at = filepath.Join(sys.Dir, at)
		}
		page, err = os.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
		switch {
		case errors.Is(err, fs.ErrExist) && chosen:
			return nil, "", withHint(fmt.Errorf("%s already exists", quoted(name)), "choose another name with -o, or remove the file")
		case errors.Is(err, fs.ErrExist):
			continue
		case err != nil:
			return nil, "", withHint(fmt.Errorf("creating the report file: %w", err), "choose another file with -o")
		}
		return page, as, nil
	}
}

// A tourist shows steps as they complete. The page also has what a terminal cannot show.
type tourist struct {
	output
	w io.Writer
}

func (t *tourist) begin(s *tour.Step) {
	if s.Number > 1 {
		fmt.Fprintln(t.w)
	}
	t.report(s)
}

func (t *tourist) done(s *tour.Step) {
	for _, r := range s.Found {
		if _, ok := r.(*report.Flame); ok && t.opt.Width == 0 {
			continue // flame graphs need the width of a terminal
		}
		fmt.Fprintln(t.w)
		t.report(r)
	}
}

func (t *tourist) report(r report.Report) { render.Write(t.w, t.format, r, t.opt) }
