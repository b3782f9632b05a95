package cli

import (
	"flag"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/compat/ab"
	"github.com/hone-perf/hone/internal/compat/benchcmp"
	"github.com/hone-perf/hone/internal/compat/benchstat"
	"github.com/hone-perf/hone/internal/compat/pprof"
)

// tools are the flags of other tools, for completion.
var tools = map[string]func() *flag.FlagSet{"ab": ab.Flags, "benchcmp": benchcmp.Flags, "benchstat": benchstat.Flags, "pprof": pprof.Flags}

// addCompat adds the commands of other tools for help and completion. Main runs them.
func addCompat(root *cobra.Command) {
	for _, c := range []cobra.Command{
		{
			Use:     "pprof [flags] [binary] SOURCE…",
			Short:   "Work like go tool pprof: its flags, reports and shell",
			Example: "  hone pprof -top cpu.pprof",
		},
		{
			Use:     "benchstat [flags] [LABEL=]FILE…",
			Short:   "Work like benchstat, plus --strict",
			Example: "  hone benchstat old.txt new.txt\n  hone benchstat --strict -filter '.name:Encode' -col /format base=old.txt new.txt",
		},
		{
			Use:     "benchcmp [flags] OLD NEW",
			Short:   "Work like benchcmp",
			Example: "  hone benchcmp -mag old.txt new.txt",
		},
		{
			Use:     "ab [flags] URL",
			Short:   "Work like ab (ApacheBench)",
			Example: "  hone ab -n 1000 -c 10 -k http://localhost:8080/",
		},
	} {
		c.GroupID, c.DisableFlagParsing = groupCompat, true
		c.Run = func(*cobra.Command, []string) {}
		root.AddCommand(&c)
	}
}
