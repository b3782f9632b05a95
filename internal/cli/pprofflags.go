package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/views"
)

// orPprof returns err, an error about the flags of cmd. If the command line uses flags of go tool pprof out of habit, the error gets a hint about
// hone's flags. pprof flags have one dash, so -nodecount=5 is parsed as --limit odecount=5.
func orPprof(cmd *cobra.Command, args []string, err error) error {
	if cmd.HasParent() && cmd.GroupID != groupLook {
		return err
	}
	for _, arg := range args {
		name, dashed := strings.CutPrefix(arg, "-")
		name, _, _ = strings.Cut(strings.TrimPrefix(name, "-"), "=")
		if arg == "--" || cmd.Flags().Lookup(name) != nil {
			break
		}
		ours := insteadOfPprof(name)
		if name == "http" && cmd.Flags().Lookup("listen") != nil {
			ours = "--listen"
		}
		if dashed && ours != "" {
			flag := "-" + name
			return usagef("write "+ours+", or hone pprof "+flag+", which takes the flags of go tool pprof", "unknown flag %s", flag)
		}
	}
	return err
}

// insteadOfPprof returns hone's equivalent of a flag of go tool pprof, or "".
func insteadOfPprof(name string) string {
	switch name {
	case "http":
		return "hone web"
	case "text":
		return "hone top"
	case "proto":
		return "hone merge -o FILE.pb.gz"
	case "svg", "png":
		return "hone dot -o FILE." + name
	case "seconds":
		return "--" + lengthFlag
	case "inuse_space", "inuse_objects", "alloc_space", "alloc_objects", "contentions":
		return "--metric " + name
	case "total_delay":
		return "--metric delay"
	}
	if slices.Contains([]string{"top", "list", "tree", "peek", "traces", "tags", "raw", "comments", "disasm", "weblist", "dot", "callgrind"}, name) {
		if v, ok := views.Find(name); ok {
			return "hone " + v.Name
		}
	}
	for _, k := range query.Keys {
		if k.Pprof == name {
			return "--" + k.Name
		}
	}
	return ""
}
