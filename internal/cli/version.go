package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

func versionCommand(sys *System) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of hone",
		GroupID: groupOther,
		Example: "  hone version",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("", "version takes no arguments")
			}
			_, err := fmt.Fprintln(sys.Out, version())
			return err
		},
	}
}

// version describes the program: its version, the commit it was built from, the Go version.
func version() string {
	v, commit := "(unknown)", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		v = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				commit = " " + s.Value[:12]
			}
		}
	}
	return fmt.Sprintf("hone %s%s %s %s/%s", v, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// moduleVersion returns the version under which others can install this program.
func moduleVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || !strings.HasPrefix(info.Main.Version, "v") || strings.Contains(info.Main.Version, "+") {
		return "latest"
	}
	return info.Main.Version
}
