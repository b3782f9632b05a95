package cli

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/render"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/safefile"
	"github.com/hone-perf/hone/internal/views"
)

// outputNames are the flags that control how answers are written.
var outputNames = []string{"output", "json", "csv", "md", "color", interactiveFlag, flameFlag, darkFlag, upFlag}

// outputFlags adds the flags that control how answers are written.
func outputFlags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.SortFlags = false
	f.StringP("output", "o", "", "write to `FILE`; for reports, the extension selects the format: .json, .csv, .md, .svg, .png, .html")
	f.Bool("json", false, "write JSON")
	f.Bool("csv", false, "write CSV")
	f.Bool("md", false, "write Markdown")
	color := "auto"
	f.Var(&choiceFlag{&color, []string{color, "always", "never"}}, "color", "use colors: `WHEN` is auto, always or never")
}

// formatOf maps file extensions to formats.
var formatOf = map[string]string{
	".json": "json", ".csv": "csv", ".md": "markdown", ".svg": "svg", ".png": "png", ".html": "html", ".sarif": "sarif",
}

// An output is the destination and the format of an answer.
type output struct {
	file   string // "" is standard output
	format string
	opt    render.Options
}

// pictured reports whether the output is a picture, or a page with one.
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
	cols := 0
	if out.file == "" || strings.HasSuffix(out.file, ".hone") || cmd.Name() == "tour" { // the answer goes to standard output, and a recording or page to the file
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
	if out.format == "" && byEnding == "" && !writesProfile(cmd) && strange(out.file) {
		note(sys, "%s will have text, since hone does not know files that end in %s; -o takes .json, .csv, .md and .txt, and for pictures .svg, .png and .html", out.file, filepath.Ext(out.file))
	}
	out.format = cmp.Or(out.format, byEnding, plain)
	return out, nil
}

// strange reports whether the extension of a file says that there is something in it that hone does not write. A name such as before-1.2 has none.
func strange(file string) bool {
	ext := strings.TrimPrefix(strings.ToLower(filepath.Ext(file)), ".")
	if ext == "" || strings.Trim(ext, "0123456789") == "" || slices.Contains([]string{"txt", "text", "log", "out", "hone"}, ext) || spanFormats["."+ext] != "" {
		return false
	}
	for v := range views.All() {
		if slices.Contains(v.Formats, "."+ext) {
			return false
		}
	}
	return true
}

// writable returns an error if the extension of the output file does not match its content. With --json and the like, most extensions are fine. The
// exceptions are those of profiles, of recordings and of other views' answers, because programs would try to read the file as one.
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
	case name == "holders" && slices.Contains([]string{".gz", ".pb", ".pprof", ".prof", ".pgo"}, named) && slices.ContainsFunc(cmd.Flags().Args(), isNumber):
		pid := cmd.Flags().Arg(0)
		return usagef("in two steps: hone "+name+" -o held.hone "+pid+", and hone merge -o "+file+" held.hone", "%s would not be a profile, since %s writes text", out.file, name)
	case slices.Contains([]string{".gz", ".pb", ".pprof", ".prof", ".pgo"}, named):
		return usagef("hone merge -o "+file+" writes one", "%s would not be a profile, since %s writes text", out.file, name)
	case named == ".hone" && !slices.Contains([]string{"bench", "compare", "load", "holders"}, name): // these save their measurements
		return usagef("hone record -o "+file+" makes one", "%s would not be a recording, since %s writes text", out.file, name)
	case out.format != "":
		return nil
	case name == "spans" && spanFormats[named] == "" && !slices.Contains([]string{"", ".md", ".txt", ".html", ".svg", ".png"}, named):
		// A table of the longest is not all spans, which the file is for.
		return usagef("-o takes .parquet, .csv, .json, .jsonl and .pftrace; .txt and .md have only the longest", "%s: hone does not write %s", out.file, named)
	case slices.Contains([]string{".pdf", ".ps", ".eps", ".gif", ".jpg", ".jpeg", ".webp", ".htm", ".xlsx", ".svgz", ".xml", ".yaml", ".yml", ".tsv"}, named):
		return usagef("-o takes .json, .csv, .md and .txt; for pictures .svg, .png and .html", "%s: hone does not write %s", out.file, named)
	}
	return nil
}

// utf8Locale reports whether the terminal is likely to show more than ASCII. Without a locale, it is assumed to be a modern one.
func utf8Locale(sys *System) bool {
	loc := strings.ToUpper(cmp.Or(sys.Env("LC_ALL"), sys.Env("LC_CTYPE"), sys.Env("LANG")))
	return loc == "" || strings.Contains(loc, "UTF-8") || strings.Contains(loc, "UTF8")
}

// on returns out for a new value of sys.Out.
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

// with calls write with the destination of the answer. A reader that closes the pipe early, such as head, is no error.
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
		_, err = f.Write(nil) // create the file also for an empty answer
	}
	return f.close(err)
}

// A lateFile is created by its first write. If a format cannot show an answer, an existing file stays as it is.
type lateFile struct {
	name string
	file *safefile.File
}

func (f *lateFile) Write(b []byte) (int, error) {
	if f.file == nil {
		var err error
		if f.file, err = safefile.Create(f.name); errors.Is(err, fs.ErrPermission) {
			return 0, safefile.CannotWrite(f.name, filepath.Dir(f.name), err)
		} else if err != nil {
			return 0, err
		}
	}
	return f.file.Write(b)
}

// close commits the file, or discards it after an error.
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

// note prints a note about an answer on standard error.
func note(sys *System, format string, args ...any) {
	fmt.Fprintf(sys.Err, "note: %s\n", render.Message(fmt.Sprintf(format, args...)))
}

// writesProfile reports whether cmd writes a profile to -o, rather than an answer.
func writesProfile(cmd *cobra.Command) bool { return cmd.Name() == "merge" || cmd.Name() == "pgo" }
