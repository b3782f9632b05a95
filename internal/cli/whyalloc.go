package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/line"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/view/profileview"
)

const whyHelp = `Explain why a line allocates, and show what else the compiler knows about it.

The compiler reports which values escape to the heap, and how. hone shows each step, also
across inlined calls, and what would avoid the allocation. It then shows which calls are
inlined and which functions are too large for that, where bounds and nil pointers are
checked, which runtime functions the line calls, and its machine code.

With a recording, a profile or a server, it also shows what the line costs: memory, CPU, waiting.
From a server, it gets what was allocated since the start; a URL such as
localhost:6060/debug/pprof/profile names another profile.

For a function, it shows each line that allocates, costs something, or has a bounds check.
The compiler's reports are about the current code, which may be newer than the profile.`

const whyExamples = `  hone why-alloc handler.go:26
  hone why-alloc handler.go:26 run.hone
  hone why-alloc '(*Server).serve' localhost:6060
  hone why-alloc --md -o why.md codec.Encode`

func whyCommand(sys *System) *cobra.Command {
	var opt line.Options
	cmd := &cobra.Command{
		Use:     "why-alloc [flags] FILE:LINE|FUNCTION [PROFILE…]",
		Short:   "Explain why a line allocates",
		Long:    whyHelp,
		Example: whyExamples,
		GroupID: groupLook,

		DisableFlagParsing: true, // flags of the go command have one dash
	}
	if !sys.names(cmd) {
		return cmd
	}
	o := sourceFlags(cmd)
	cmd.Flags().BoolVar(&opt.NoCode, "no-code", false, "leave out machine code, and skip the build that it needs")
	cmd.Flags().StringArrayVar(&opt.Flags, "flag", nil, "pass `FLAG` to the go command, such as --flag=-tags=x; build flags work without --flag")
	cmd.RunE = withGoFlags(func(cmd *cobra.Command, build, test, args []string) error {
		switch {
		case len(test) > 0:
			return noTestFlag("why-alloc", "runs nothing", "the flags of go build", test[0])
		case len(args) == 0:
			return usagef("for example: hone why-alloc handler.go:26", "why-alloc needs a line or a function")
		}
		opt.Flags = slices.Concat(build, opt.Flags)
		return runWhy(cmd, sys, o, opt, args[0], args[1:])
	})
	return cmd
}

func runWhy(cmd *cobra.Command, sys *System, o *source.Options, opt line.Options, asked string, refs []string) error {
	out, err := outputOf(cmd, sys)
	if err != nil {
		return err
	}
	if out.pictured() {
		return usagef("hone why-alloc -o why.md writes the report as Markdown", "%s: why-alloc cannot draw a picture", out.file)
	}
	say := newSaying(sys)
	opt.Say, opt.Dir = say.now, sys.Dir
	if err := present(slices.DeleteFunc(slices.Clone(refs), isServer)); err != nil {
		return err
	}
	if len(refs) > 0 {
		opt.Costs = func(file string, from, to int) (map[int][]report.LineCost, error) {
			say.now("")
			profiles, err := profilesFor(cmd, sys, o, refs)
			if err != nil {
				return nil, err
			}
			all := make(map[int][]report.LineCost)
			for _, p := range profiles {
				for n, costs := range profileview.LineCosts(p, file, from, to) {
					all[n] = append(all[n], costs...)
				}
			}
			return all, nil
		}
	}
	r, err := line.Look(cmd.Context(), asked, opt)
	say.now("")
	switch {
	case errors.Is(err, line.ErrAsked):
		example := "handler.go:26"
		if strings.HasSuffix(asked, ".go") {
			example = asked + ":26"
		}
		return &usageError{err: withHint(err, "for example: ", hint.Ask("why-alloc", example), ", ", hint.Ask("why-alloc", "(*Server).serve"))}
	case err != nil:
		return err
	}
	if len(refs) > 0 {
		r.Costs = quotedRefs(refs)
		if !slices.ContainsFunc(r.Lines, func(l report.LineStory) bool { return len(l.Costs) > 0 }) {
			r.Notes = append(r.Notes, fmt.Sprintf("%s has no sample on this line", quotedRefs(refs)))
		}
	}
	return out.write(sys, r)
}

// profilesFor returns the profiles with the cost of lines: for recordings, the memory and CPU profiles that they have; for servers, what they have allocated,
// since the question is about that, and a CPU profile takes half a minute.
func profilesFor(cmd *cobra.Command, sys *System, o *source.Options, refs []string) ([]*profile.Profile, error) {
	refs = slices.Clone(refs)
	for i, ref := range refs {
		at, path := strings.TrimSuffix(ref, "/"), ref
		if _, rest, ok := strings.Cut(path, "://"); ok {
			path = rest
		}
		if isServer(ref) && !strings.Contains(strings.TrimSuffix(path, "/"), "/") {
			refs[i] = at + "/debug/pprof/allocs"
		}
	}
	rec, _, err := openWhole(cmd.Context(), refs[0])
	if err != nil {
		return nil, err
	}
	metrics := []string{""}
	if rec != nil {
		rec.Close()
		metrics = []string{"alloc_space", "cpu"}
	}
	var out []*profile.Profile
	var first error
	for _, m := range metrics {
		q := query.Query{View: "why-alloc", Refs: refs, Metric: m}
		in, _, err := recordings(cmd, sys, o, q)
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		out = append(out, in[0].Profile)
	}
	if len(out) == 0 {
		return nil, first
	}
	return out, nil
}
