package cli

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/render"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/safefile"
	"github.com/hone-perf/hone/internal/views"
)

// outputNames are the flags that say how answers are written.
var outputNames = []string{"output", "json", "csv", "md", "color", interactiveFlag, flameFlag, darkFlag, upFlag}

// outputFlags adds the flags that say how answers are written.
func outputFlags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.SortFlags = false
	f.StringP("output", "o", "", "write to `FILE`; for reports, the extension selects the format: .json, .csv, .md, .svg, .png, .html")
	f.Bool("json", false, "write JSON")
	f.Bool("csv", false, "write CSV")
	f.Bool("md", false, "write Markdown")
	f.String("color", "auto", "use colors: `WHEN` is auto, always or never")
}

// formatOf are the formats of files by their endings.
var formatOf = map[string]string{
	".json": "json", ".csv": "csv", ".md": "markdown", ".svg": "svg", ".png": "png", ".html": "html", ".sarif": "sarif",
}

// An output is where an answer goes and how it is written.
type output struct {
	file   string // "" is standard output
	format string
	opt    render.Options
}

// pictured reports whether a picture is asked for, or a page with one.
func (o *output) pictured() bool { return slices.Contains([]string{"svg", "png", "html"}, o.format) }

// outputOf reads the output flags.
func outputOf(cmd *cobra.Command, sys *System) (output, error) {
	f := cmd.Flags()
	var out output
	if out.file, _ = f.GetString("output"); out.file == "-" && !writesProfile(cmd) {
		out.file = "" // standard output
	}
	for flag, format := range map[string]string{"json": "json", "csv": "csv", "md": "markdown"} {
		if on, _ := f.GetBool(flag); on {
			if out.format != "" {
				return out, usagef("use only one of them", "--json, --csv and --md cannot be used together")
			}
			out.format = format
		}
	}
	color, _ := f.GetString("color")
	switch color {
	case "auto", "always", "never":
	default:
		return out, usagef("", "--color=%s: want auto, always or never", color)
	}
	cols := 0
	if out.file == "" || strings.HasSuffix(out.file, ".hone") || cmd.Name() == "tour" { // the answer is shown, and a recording or page of it kept
		cols = width(sys.Out)
	}
	out.opt = render.Options{
		Width: cols,
		Color: color == "always" || color == "auto" && cols > 0 && sys.Env("NO_COLOR") == "" && sys.Env("TERM") != "dumb",
		ASCII: !utf8Locale(sys),
		By:    sys.speller(),
		Zone:  sys.Zone,
	}
	byEnding := formatOf[strings.ToLower(filepath.Ext(out.file))]
	plain := "text"
	if cols > 0 || color == "always" {
		plain = "terminal"
	}
	if err := writable(cmd, out); err != nil {
		return out, err
	}
	out.format = cmp.Or(out.format, byEnding, plain)
	return out, nil
}

// writable refuses endings of files that promise what the answer of cmd will not be. With --json and the like a name is only
// a name, but programs read files that are named like a profile, a recording or the answer of another view as one.
func writable(cmd *cobra.Command, out output) error {
	named := strings.ToLower(filepath.Ext(out.file))
	file, name := quoted(out.file), cmd.Name()
	for v := range views.All() {
		if slices.Contains(v.Formats, named) && (v.Name != name || out.format != "") {
			return usagef("hone "+v.Name+" -o "+file+" writes that", "%s has the wrong extension: %s writes %s", out.file, name, cmp.Or(out.format, "text"))
		}
	}
	switch {
	case writesProfile(cmd) || out.file == "":
		return nil
	case slices.Contains([]string{".gz", ".pb", ".pprof", ".prof", ".pgo"}, named):
		return usagef("hone merge -o "+file+" writes one", "%s would not be a profile, since %s writes text", out.file, name)
	case named == ".hone" && !slices.Contains([]string{"bench", "compare", "load"}, name): // which keep what they measured
		return usagef("hone record -o "+file+" makes one", "%s would not be a recording, since %s writes text", out.file, name)
	case out.format != "":
		return nil
	case slices.Contains([]string{".pdf", ".ps", ".eps", ".gif", ".jpg", ".jpeg", ".webp", ".htm", ".xlsx", ".svgz", ".xml", ".yaml", ".yml", ".tsv"}, named):
		return usagef("-o takes .json, .csv, .md and .txt; for pictures .svg, .png and .html", "%s: hone does not write %s", out.file, named)
	}
	return nil
}

// utf8Locale reports whether the terminal can be expected to show more than ASCII. Nothing set means a modern one.
func utf8Locale(sys *System) bool {
	loc := strings.ToUpper(cmp.Or(sys.Env("LC_ALL"), sys.Env("LC_CTYPE"), sys.Env("LANG")))
	return loc == "" || strings.Contains(loc, "UTF-8") || strings.Contains(loc, "UTF8")
}

// on returns out for another standard output.
func (out output) on(sys *System) output {
	out.opt.Width = width(sys.Out)
	switch {
	case out.format == "text" && out.opt.Width > 0:
		out.format = "terminal"
	case out.format == "terminal" && out.opt.Width == 0 && !out.opt.Color:
		out.format = "text"
	}
	return out
}

// write writes an answer.
func (out output) write(sys *System, r report.Report) error {
	return out.with(sys, func(w io.Writer) error { return render.Write(w, out.format, r, out.opt) })
}

// with hands write the place where the answer goes. A reader that goes away early, like head, is no error.
func (out output) with(sys *System, write func(io.Writer) error) error {
	if out.file == "" {
		b := bufio.NewWriterSize(sys.Out, 64<<10)
		err := write(b)
		if err == nil {
			err = b.Flush()
		}
		if isBrokenPipe(err) {
			return nil
		}
		return err
	}
	f := &lateFile{name: out.file}
	b := bufio.NewWriterSize(f, 64<<10)
	err := write(b)
	if err == nil {
		err = b.Flush()
	}
	if err == nil {
		_, err = f.Write(nil) // an answer may be empty
	}
	return f.close(err)
}

// A lateFile is created when there is something to write, so that an answer that cannot be had in a format leaves the file
// alone that was to hold it.
type lateFile struct {
	name string
	file *safefile.File
}

func (f *lateFile) Write(b []byte) (int, error) {
	if f.file == nil {
		var err error
		if f.file, err = safefile.Create(f.name); err != nil {
			return 0, err
		}
	}
	return f.file.Write(b)
}

// close keeps what was written, unless there was an error.
func (f *lateFile) close(err error) error {
	switch {
	case f.file == nil:
		return err
	case err != nil:
		f.file.Discard()
		return err
	}
	return f.file.Commit()
}

// note talks to the user about an answer.
func note(sys *System, format string, args ...any) {
	fmt.Fprintf(sys.Err, "note: %s\n", render.Message(fmt.Sprintf(format, args...)))
}

// writesProfile reports whether what -o names is a profile and not an answer.
func writesProfile(cmd *cobra.Command) bool { return cmd.Name() == "merge" || cmd.Name() == "pgo" }
