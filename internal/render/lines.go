package render

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/report"
)

// Quickfix writes each finding as FILE:LINE:COLUMN: TEXT, which vim and other editors can jump to.
func Quickfix(w io.Writer, r report.Report, _ Options) error {
	return findingLines(w, r, func(file string, f *report.Finding) string {
		return fmt.Sprintf("%s:%d:%d: %s\n", oneLine(file), f.Where.Line, max(f.Where.Column, 1), oneLine(findingText(f)))
	})
}

// GitHub writes each finding as a workflow command. GitHub Actions shows it at the line in a pull request.
func GitHub(w io.Writer, r report.Report, _ Options) error {
	return findingLines(w, r, func(file string, f *report.Finding) string {
		level := "notice"
		if slices.ContainsFunc(f.Savings, func(s report.Saving) bool { return s.Share >= 0.1 }) {
			level = "warning"
		}
		return fmt.Sprintf("::%s file=%s,line=%d,title=%s::%s\n", level, commandValue.Replace(file), f.Where.Line, commandValue.Replace("hone: "+f.Title), commandText.Replace(findingText(f)))
	})
}

// Escape the characters that end a workflow command or one of its values.
var (
	commandText  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	commandValue = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// oneLine replaces line breaks in names from profiles, which could forge further lines.
func oneLine(text string) string { return strings.NewReplacer("\r", " ", "\n", " ").Replace(text) }

func findingLines(w io.Writer, r report.Report, line func(file string, f *report.Finding) string) error {
	a, ok := r.(*report.Advice)
	if !ok {
		return errors.New("writing lines for editors: the answer has no findings")
	}
	for i := range a.Findings {
		f := &a.Findings[i]
		file := f.Where.File
		if a.Root != "" && !filepath.IsAbs(file) {
			file = filepath.Join(a.Root, filepath.FromSlash(file)) // the reader may be in another folder
		}
		if _, err := io.WriteString(w, line(file, f)); err != nil {
			return err
		}
	}
	return nil
}
