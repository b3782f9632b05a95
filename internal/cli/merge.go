package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/capture"
	"github.com/hone-perf/hone/internal/open"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/view/profileview"
)

// mergeCommand returns the command that merges profiles into a file.
func mergeCommand(sys *System) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "merge -o OUT PROFILE…",
		Short:   "Merge profiles into one file",
		Long:    mergeHelp,
		GroupID: groupData,
		Example: "  hone merge -o sum.pb.gz cpu.*.pprof\n  hone merge -o checkout.pb.gz --tag endpoint=/checkout profiles/\n  hone merge --strip -o public.hone run.hone",
	}
	if !sys.names(cmd) {
		return cmd
	}
	var q query.Query
	var strip, keepSecrets bool
	cmd.Flags().BoolVar(&strip, "strip", false, "leave out labels, comments and paths; of a recording, also sources, arguments and host")
	cmd.Flags().BoolVar(&keepSecrets, "keep-secrets", false, "keep labels and comments that look like passwords, keys or tokens, instead of …")
	queryFlags(cmd.Flags(), &q, mergeKeys)
	o := sourceFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef("for example: hone merge -o sum.pb.gz cpu.*.pprof", "merge needs profiles to add up")
		}
		out, err := outputOf(cmd, sys)
		if err != nil {
			return err
		}
		for _, name := range outputNames {
			if cmd.Flags().Changed(name) && !applies(cmd, name) {
				return usagef("", "merge writes a profile: --%s does not apply", name)
			}
		}
		if out.file == "" && out.opt.Width > 0 {
			return usagef("name a file with -o, or redirect the output", "merge does not write to a terminal, since profiles are binary")
		}
		if strip && strings.HasSuffix(out.file, ".hone") {
			return stripRecording(cmd, sys, out, args)
		}
		if strings.HasSuffix(out.file, ".hone") && slices.ContainsFunc(args, source.IsStored) {
			return saveStored(cmd, sys, out, args)
		}
		if strings.HasSuffix(out.file, ".hone") {
			return usagef("-o "+strings.TrimSuffix(out.file, ".hone")+".pb.gz writes it", "merge adds up profiles to one profile, which is no recording: %s would not be one", out.file)
		}
		q.Refs = args
		opened, err := openProfiles(cmd, sys, o, args, open.Want{Metric: q.Metric, At: q.At, Raw: true})
		if err != nil {
			return orPackage(cmd.Context(), err)
		}
		p := opened.Recordings[0].Profile
		q.Metric = "" // write all sample types, not one
		r, err := profileview.Raw([]*recording.Recording{{Profile: p}}, q)
		if err != nil {
			return err
		}
		for _, n := range p.Notes {
			note(sys, "%s", n)
		}
		if p = r.(*report.Raw).Profile; q.Divide != 0 && q.Divide != 1 {
			p = p.Divide(q.Divide) // Times rounds to whole numbers, as pprof does, and so loses most of a CPU profile
		}
		if strip {
			return out.with(sys, func(w io.Writer) error { return writeStripped(w, p) })
		}
		if !keepSecrets {
			hidden := 0
			p, hidden = recording.HideLabels(p)
			sayHidden(sys, "profile", hidden)
		}
		return out.with(sys, p.Write)
	}
	return cmd
}

const mergeHelp = `Merge profiles into one file that any pprof can read. hone pgo writes one for go build -pgo.

Labels and comments that look like passwords, keys or tokens are written as …, unless
--keep-secrets is given. --strip removes all labels, comments and paths; functions and
lines stay. With -o FILE.hone, --strip copies a recording without its sources, arguments,
host, traces and program output. For profiles in a store, such as store:api@-1h, -o FILE.hone
writes a recording with the profiles of all kinds.`

// writeStripped writes a profile without labels, comments and paths.
func writeStripped(w io.Writer, p *profile.Profile) error {
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		return err
	}
	text, err := recording.StripProfile(b.Bytes(), "")
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// stripRecording copies a recording and keeps only the measurements.
func stripRecording(cmd *cobra.Command, sys *System, out output, args []string) error {
	for _, key := range mergeKeys {
		if cmd.Flags().Changed(key) {
			return usagef("-o FILE.pb.gz writes a profile from it", "--strip copies a whole recording: --%s does not apply", key)
		}
	}
	if len(args) != 1 {
		return usagef("-o FILE.pb.gz adds up profiles", "--strip takes one recording, not %d", len(args))
	}
	r, when, err := openWhole(cmd.Context(), args[0])
	switch {
	case err != nil:
		return err
	case r == nil || when != (query.Span{}):
		if r != nil {
			r.Close()
		} else if err := present(args); err != nil {
			return err
		}
		return usagef("-o FILE.pb.gz writes a profile", "%s is not a hone recording, which --strip needs for a .hone file", args[0])
	}
	defer r.Close()
	sys.sayLost(r)
	if _, err := os.Stat(out.file); err == nil {
		return withHint(fmt.Errorf("%s: %w", out.file, capture.ErrExists), "choose another name with -o, or remove the file")
	}
	return out.with(sys, func(w io.Writer) error { return recording.Strip(r, w) })
}

// saveStored writes the profiles that a store ref names to a recording, with all kinds of profiles.
func saveStored(cmd *cobra.Command, sys *System, out output, args []string) error {
	for _, key := range mergeKeys {
		if cmd.Flags().Changed(key) {
			return usagef("-o FILE.pb.gz writes a profile", "a recording from a store has everything that the ref selects: --%s does not apply", key)
		}
	}
	if len(args) != 1 {
		return usagef("-o FILE.pb.gz adds up profiles", "a recording has one selection of a store, not %d", len(args))
	}
	return out.with(sys, func(w io.Writer) error { return source.Save(cmd.Context(), args[0], w) })
}

// mergeKeys are the settings that apply to a profile in a file, rather than on display.
var mergeKeys = []string{
	"metric", "at",
	"focus", "ignore", "hide", "show", "show-from", "prune-from", "collapse-package", "collapse-recursion",
	"tag", "tag-ignore", "tag-show", "tag-hide", "tag-root", "tag-leaf", "noinlines", "divide",
}
