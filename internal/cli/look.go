package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/view"
)

// look gives a first look at profiles: what they are, what costs most, what to try next.
func look(cmd *cobra.Command, sys *System, args []string) error {
	if len(args) == 1 {
		if err := knowCommand(cmd, args[0]); err != nil {
			return err
		}
	}
	out, err := outputOf(cmd, sys)
	if err != nil {
		return err
	}
	o := &source.Options{}
	q := query.Query{View: "look", Refs: args}
	in, err := recordings(cmd, sys, o, q)
	if err != nil {
		return err
	}
	r, err := view.Look(in, q)
	if err != nil {
		return fmt.Errorf("%s: %w", in[0].Ref, err)
	}
	return out.write(sys, r)
}

// knowCommand tells a mistyped command from a file that is not there.
func knowCommand(cmd *cobra.Command, word string) error {
	if _, err := os.Stat(word); !errors.Is(err, fs.ErrNotExist) || strings.ContainsAny(word, ":*?[") || word == "-" {
		return nil
	}
	var names []string
	for _, c := range cmd.Root().Commands() {
		names = append(names, c.Name())
	}
	if near := query.Nearest(word, names); near != "" {
		return usagef("did you mean hone "+near+"? hone --help lists the commands", "%q is neither a command nor a file", word)
	}
	if !strings.ContainsAny(word, "./\\") {
		return usagef("hone --help lists the commands", "%q is neither a command nor a file", word)
	}
	return nil
}

// around says what can be done here: with the profiles that lie about, or how to get one.
func around(cmd *cobra.Command, sys *System) error {
	if err := cmd.Help(); err != nil {
		return err
	}
	found := profilesIn(sys.Dir)
	if len(found) == 0 {
		return nil
	}
	fmt.Fprintf(sys.Out, "\nProfiles here:\n")
	for _, f := range found {
		fmt.Fprintf(sys.Out, "  hone %s\n", f)
	}
	return nil
}

// profilesIn returns files in dir whose names look like profiles.
func profilesIn(dir string) []string {
	const most = 8
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		name := e.Name()
		switch ext := filepath.Ext(name); {
		case !e.Type().IsRegular():
		case ext == ".pprof", ext == ".prof", ext == ".pgo", ext == ".folded", strings.HasSuffix(name, ".pb.gz"):
			if len(out) < most {
				out = append(out, name)
			}
		}
	}
	return out
}
