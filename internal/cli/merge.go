package cli

import (
	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/view"
)

// addMerge adds the command that writes profiles.
func addMerge(root *cobra.Command, sys *System) {
	cmd := &cobra.Command{
		Use:     "merge -o OUT PROFILE…",
		Short:   "add profiles up into one file that any pprof reads, also for go build -pgo",
		GroupID: groupData,
		Example: "  hone merge -o default.pgo cpu.*.pprof\n  hone merge -o checkout.pb.gz --tag endpoint=/checkout profiles/",
	}
	root.AddCommand(cmd)
	if !sys.names(cmd) {
		return
	}
	var q query.Query
	query.Flags(cmd.Flags(), &q, mergeKeys)
	o := sourceFlags(cmd)
	completions(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef("for example: hone merge -o default.pgo cpu.*.pprof", "merge needs profiles to add up")
		}
		out, err := outputOf(cmd, sys)
		if err != nil {
			return err
		}
		for _, name := range outputNames {
			if cmd.Flags().Changed(name) && !applies(cmd, name) {
				return usagef("", "merge writes a profile: --%s means nothing to it", name)
			}
		}
		if out.file == "" && out.opt.Width > 0 {
			return usagef("name a file with -o, or send the output elsewhere", "merge does not write to a terminal: profiles are binary")
		}
		q.Refs = args
		rec, _, err := gather(cmd, sys, o, args, q.Metric, q.At)
		if err != nil {
			return err
		}
		p := rec.Profile
		q.Metric = "" // a profile has all its sample types
		r, err := view.Raw([]*recording.Recording{{Profile: p}}, q)
		if err != nil {
			return err
		}
		for _, n := range p.Notes {
			note(sys, "%s", n)
		}
		if p = r.(*report.Raw).Profile; q.Divide != 0 && q.Divide != 1 {
			p = p.Divide(q.Divide) // Times cuts values to whole numbers as pprof does, and loses most of a CPU profile
		}
		return out.with(sys, p.Write)
	}
}

// mergeKeys are the settings that make sense for a profile that is written and not shown.
var mergeKeys = []string{
	"metric", "at",
	"focus", "ignore", "hide", "show", "show-from", "prune-from",
	"tag", "tag-ignore", "tag-show", "tag-hide", "tag-root", "tag-leaf", "noinlines", "divide",
}
