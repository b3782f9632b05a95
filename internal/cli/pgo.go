package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/open"
	"github.com/hone-perf/hone/internal/pgo"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/render"
	"github.com/hone-perf/hone/internal/source/gosrc"
)

const pgoHelp = `Write a profile for go build -pgo, of services in a store, recordings or profiles.

The compiler reads only which function called which other one, on which line, and how often. So hone
keeps only that, and leaves out labels, paths and everything else. The build is the same as with the
whole profile.

The weight of a profile is the number of cores that it shows in use on average, so the build is best
for the total cost of all services. If only one service runs the program, name only that service.
--equal gives all profiles the same weight, so that a large service does not outweigh a small one;
--weight sets the weight of each.

Name the file default.pgo and put it into the folder of the main package: go build then uses it.`

// usualPGO is the file that go build uses without a flag.
const usualPGO = "default.pgo"

func pgoCommand(sys *System) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "pgo REF…",
		Short:   "Write a profile for go build -pgo",
		Long:    pgoHelp,
		GroupID: groupData,
		Example: "  hone pgo store:api@-7d\n  hone pgo -o cmd/api/default.pgo api.hone\n  hone pgo store:api@-1d store:batch@-1d --weight store:api@-1d=2\n  hone pgo profiles/ --max-size 500kB",
	}
	if !sys.names(cmd) {
		return cmd
	}
	weights := cmd.Flags().StringArray("weight", nil, "give REF the weight N, and profiles without --weight the weight 1: `REF=N` (repeatable)")
	equal := cmd.Flags().Bool("equal", false, "give all profiles the same weight")
	var options pgo.Options
	cmd.Flags().Var(&sizeFlag{&options.MaxSize}, "max-size", "write at most SIZE: keep the hottest calls that fit (default: all)")
	from := sourceFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef("for example: hone pgo store:api@-7d", "pgo needs profiles")
		}
		weight, err := weightsOf(*weights, args)
		if err != nil {
			return err
		}
		out, err := outputOf(cmd, sys)
		if err != nil {
			return err
		}
		answer, whole := out, cmd.Flags().Lookup("output").Value.String() == "-"
		answer.file = ""
		switch {
		case whole:
			out.file = ""
		case out.file == "":
			out.file = usualPGO
		}
		if whole && width(sys.Out) > 0 {
			return usagef("name a file with -o, or redirect the output", "pgo does not write to a terminal, since profiles are binary")
		}
		if options.Equal = *equal; *equal && len(weight) > 0 {
			return usagef("", "--equal and --weight cannot be used together")
		}
		var inputs []pgo.Input
		for _, ref := range args {
			opened, err := openProfiles(cmd, sys, from, []string{ref}, open.Want{Kind: recording.CPU, Raw: true})
			if err != nil {
				return orPackage(cmd.Context(), err)
			}
			r := opened.Recordings[0]
			in := pgo.Input{Name: ref, Profile: r.Profile, Weight: weight[ref]}
			if r.Manifest != nil {
				in.Cores = r.Manifest.Cores
			}
			inputs = append(inputs, in)
		}
		if module := gosrc.ModuleAt(sys.Dir); module != nil {
			options.Module, options.Has = module.Path, module.Has
		}
		p, report, err := pgo.Make(inputs, options)
		if err != nil {
			return pgoHints(err)
		}
		if err := out.with(sys, p.Write); err != nil {
			return err
		}
		if whole {
			for _, n := range report.Notes {
				note(sys, "%s", n.Spell(sys.speller()))
			}
			return nil
		}
		report.File = filepath.ToSlash(out.file)
		return answer.on(sys).write(sys, report)
	}
	return cmd
}

// weightsOf parses --weight, the weights of refs.
func weightsOf(flags, refs []string) (map[string]float64, error) {
	out := map[string]float64{}
	for _, text := range flags {
		i := strings.LastIndexByte(text, '=')
		if i < 0 {
			return nil, usagef("for example: --weight "+quoted(refs[0]+"=2"), "--weight %s: want a profile and a number", quoted(text))
		}
		ref := text[:i]
		w, err := strconv.ParseFloat(text[i+1:], 64)
		if err != nil || !(w > 0 && w <= 1e6) {
			return nil, usagef("", "--weight %s: want a number from 0 to 1000000", quoted(text))
		}
		if !slices.Contains(refs, ref) {
			return nil, usagef("write it in the same way:  "+render.Message(strings.Join(refs, ", ")), "--weight %s: %s is none of the profiles", quoted(text), quoted(ref))
		}
		out[ref] = w
	}
	return out, nil
}

// pgoHints adds a next step to an error about profiles.
func pgoHints(err error) error {
	var kind *pgo.NotCPUError
	var small *pgo.TooSmallError
	switch {
	case errors.As(err, &kind):
		return withHint(err, "hone record and the URL /debug/pprof/profile make CPU profiles")
	case errors.As(err, &small):
		return hint.Errorf(hint.Text{"raise ", hint.Option{Name: "max-size"}}, "%w", err)
	case errors.Is(err, pgo.ErrNoStartLines):
		return withHint(err, "Go has written them since 1.20; go tool pprof -proto takes them out, unless -symbolize=none is given, and so do folded stacks")
	}
	return fmt.Errorf("making the profile: %w", err)
}
