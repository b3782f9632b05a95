package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/view"
)

// addViews adds a command for each view.
func addViews(root *cobra.Command, sys *System) {
	for i := range view.All {
		root.AddCommand(viewCommand(&view.All[i], sys))
	}
}

func viewCommand(v *view.View, sys *System) *cobra.Command {
	use, refs := v.Name, "PROFILE…"
	if v.Arg != "" {
		use += " " + v.Arg
	}
	if v.NeedsBase {
		refs = "OLD NEW"
	}
	cmd := &cobra.Command{
		Use:     use + " " + refs,
		Short:   v.Doc,
		GroupID: "look",
		Example: "  " + strings.Join(v.Examples, "\n  "),
	}
	if !sys.asked(v.Name) {
		return cmd // hundreds of flags that nobody will look at take time, too
	}
	var q query.Query
	query.Flags(cmd.Flags(), &q, v.Uses)
	o := sourceFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		q.View = v.Name
		if err := place(v, &q, args); err != nil {
			return err
		}
		return answer(cmd, sys, v, o, q)
	}
	return cmd
}

// place puts the arguments of a view where they belong.
func place(v *view.View, q *query.Query, args []string) error {
	if v.Arg != "" {
		if len(args) == 0 {
			return usagef("for example: "+example(v), "%s wants to know which %s", v.Name, v.Arg)
		}
		q.Arg, args = args[0], args[1:]
	}
	if v.NeedsBase && len(q.Base) == 0 {
		if len(args) != 2 {
			return usagef("for example: "+example(v)+"; several profiles go with --base", "%s compares two profiles: OLD NEW", v.Name)
		}
		q.Base, args = args[:1], args[1:]
	}
	if len(args) == 0 {
		return usagef("for example: "+example(v), "%s needs a profile to look at", v.Name)
	}
	q.Refs = args
	return nil
}

func example(v *view.View) string {
	if len(v.Examples) == 0 {
		return "hone " + v.Name + " cpu.pprof"
	}
	return v.Examples[0]
}

// answer asks q of the recordings that it names and writes the answer.
func answer(cmd *cobra.Command, sys *System, v *view.View, opt *source.Options, q query.Query) error {
	out, err := outputOf(cmd, sys)
	if err != nil {
		return err
	}
	in, err := recordings(cmd, sys, opt, q)
	if err != nil {
		return err
	}
	if len(in) == 2 && !v.NeedsBase {
		if in, err = subtract(in, q.Normalize); err != nil {
			return err
		}
	}
	r, err := v.Run(in, q)
	if err != nil {
		var none *view.NoMatch
		if errors.As(err, &none) {
			return &hinted{err, fmt.Sprintf("hone top %s shows what there is", strings.Join(q.Refs, " "))}
		}
		return fmt.Errorf("%s: %w", in[0].Ref, err)
	}
	return out.write(sys, r)
}
