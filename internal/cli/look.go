package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/open"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/view/profileview"
)

// look gives a first look at profiles: what they are, what costs most, and what to try next.
func look(cmd *cobra.Command, sys *System, args []string) error {
	if err := knowCommand(cmd, args[0]); err != nil {
		return err
	}
	out, err := outputOf(cmd, sys)
	if err != nil {
		return err
	}
	for _, word := range args[1:] {
		if c, _, err := cmd.Root().Find([]string{word}); err == nil && c.HasParent() && open.Present([]string{word}) != nil {
			return usagef("the command goes first: hone "+word+" "+quotedRefs(args[:1]), "%s is a command, not a file", word)
		}
	}
	if len(args) == 1 && !source.IsStored(args[0]) {
		if source.IsTrace(args[0]) {
			return lookTrace(cmd, sys, out, args[0])
		}
		if rec, err := open.Lines(args[0]); rec != nil || err != nil {
			if err != nil {
				return err
			}
			return lookBench(sys, out, rec)
		}
		if rec, _, err := openWhole(cmd.Context(), args[0]); rec != nil && err == nil {
			l, err := recording.LoadRun.Read(rec)
			if err == nil && l != nil {
				sys.sayLost(rec)
				if err = rec.Check(); err == nil {
					err = showLoad(sys, out, &loadFlags{}, rec)
				}
				rec.Close()
				return err
			}
			traced := len(rec.Profiled()) == 0 && firstView(rec) == "trace"
			rec.Close()
			switch {
			case err != nil:
				return err
			case traced:
				return lookTrace(cmd, sys, out, args[0])
			}
		}
	}
	o := &source.Options{}
	q := query.Query{View: "look", Refs: args}
	in, q, err := recordings(cmd, sys, o, q)
	if errors.Is(err, recording.ErrNoProfile) && len(args) == 1 {
		// Partly recorded data is still an answer.
		rec, _, openErr := openWhole(cmd.Context(), args[0])
		if openErr != nil {
			return openErr
		}
		sys.sayLost(rec)
		switch firstView(rec) {
		case "compare":
			return lookCompare(sys, out, rec)
		case "bench":
			return lookBench(sys, out, rec)
		}
		in, err = []*recording.Recording{rec}, nil
	}
	var log *open.LogError
	if errors.As(err, &log) && len(args) == 1 && log.Ref == args[0] {
		rec, err := gcLog(cmd.Context(), sys, args[0])
		if err != nil {
			return err
		}
		defer rec.Close()
		return gcAnswer(sys, out, query.Query{View: "gc", Refs: args}, rec)
	}
	if err != nil {
		return err
	}
	r, err := profileview.Look(in, q)
	if err != nil {
		return fmt.Errorf("%s: %w", in[0].Ref, err)
	}
	return out.write(sys, r)
}

// knowCommand tells a mistyped command from a missing file.
func knowCommand(cmd *cobra.Command, word string) error {
	if _, err := os.Stat(word); !errors.Is(err, fs.ErrNotExist) || strings.ContainsAny(word, ":*?[") || word == "-" {
		return nil
	}
	hint := "hone --help lists the commands"
	switch near := nearestCommand(cmd.Root(), word); {
	case word == "go":
		hint = "hone record go test … and hone record go run … record what the go command runs"
	case isHost(word):
		return nil
	case near != "":
		hint = "did you mean hone " + near + "? " + hint
	case strings.ContainsAny(word, "./\\"):
		return nil // it can only be a file name
	}
	return usagef(hint, "%q is neither a command nor a file", word)
}

// around prints what hone can do here: with the profiles in this folder, or how to record one.
func around(cmd *cobra.Command, sys *System) error {
	w := bufio.NewWriter(sys.Out)
	fmt.Fprintf(w, "hone finds what makes a Go program slow, fixes it, and proves it.\n")
	pairs(w, "Start with:", [][2]string{
		{"hone tour", "Walk through the whole loop on a practice program"},
		{"hone record ./cmd/server", "Run a program and record everything about it in one file"},
		{"hone FILE", "Take a first look at a recording, profile, execution trace or benchmark result"},
		{"hone advise FILE", "Find what wastes time or memory, with line, cause and patch"},
		{"hone web FILE", "Explore it in the browser"},
	}, width(sys.Out))
	fmt.Fprintf(w, "\nhone help lists all commands. hone COMMAND --help describes one.\n")
	if err := w.Flush(); !isBrokenPipe(err) && err != nil {
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

// profilesIn returns the files in dir that have names of profiles.
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
		case ext == ".hone", ext == ".pprof", ext == ".prof", ext == ".pgo", ext == ".folded", strings.HasSuffix(name, ".pb.gz"):
			if len(out) < most {
				out = append(out, name)
			}
		}
	}
	return out
}
