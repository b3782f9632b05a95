package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/report"
	"github.com/spf13/cobra"
	"golang.org/x/mod/module"
)

func versionCommand(sys *System) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of hone",
		GroupID: groupOther,
		Example: "  hone version\n  hone version --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("", "version takes no arguments")
			}
			out, err := outputOf(cmd, sys)
			if err != nil {
				return err
			}
			info, ok := debug.ReadBuildInfo()
			if !ok {
				info = new(debug.BuildInfo)
			}
			return out.write(sys, versionOf(info))
		},
	}
}

// versionOf describes a program by its build info. A build in a checkout, or of a release, has the commit. go install of a version has the version,
// and for pseudo-versions that includes commit and date.
func versionOf(info *debug.BuildInfo) *report.Version {
	v := &report.Version{Version: cmp.Or(info.Main.Version, "(unknown)"), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	date := func(t time.Time, err error) {
		if err == nil {
			v.Date = &t
		}
	}
	if module.IsPseudoVersion(v.Version) {
		v.Revision, _ = module.PseudoVersionRev(v.Version)
		date(module.PseudoVersionTime(v.Version))
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			date(time.Parse(time.RFC3339, s.Value))
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// version describes this program: its version, commit, and Go version.
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

// moduleVersion returns the version with which others can install this program.
func moduleVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || !strings.HasPrefix(info.Main.Version, "v") || strings.Contains(info.Main.Version, "+") {
		return "latest"
	}
	return info.Main.Version
}
