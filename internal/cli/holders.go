package cli

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/capture"
	"github.com/hone-perf/hone/internal/capture/heap"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/open"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/unit"
	"github.com/hone-perf/hone/internal/view"
)

const holdersHelp = `Show who keeps memory alive in a running Go program: variables, goroutines, finalizers.

hone forks the process, which takes some 30 ms for each GB of its memory, and reads the
memory of the fork; the program goes on meanwhile. This works on Linux, for programs
built with Go 1.22 or later. hone needs the debug data of the program: if it was built
with -s or -w, --binary names one that was built without, from the same source.

What hone reads has types, names, sizes and counts. It never keeps contents of strings
or keys of maps. With -o FILE.hone it is kept as a recording, which hone flame, hone
tree, hone diff and hone web show, too.

A holder's share is the memory that would be freed without it. What several hold
together is listed apart, since none of them alone would free it.`

const holdersExamples = `  hone holders 4711
  hone holders -o before.hone 4711
  hone holders --base before.hone 4711
  hone flame -o heap.svg before.hone
  `

// holdersCommand is the command of the view of who holds memory. It also takes the number of a process.
func holdersCommand(v *view.View, sys *System) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "holders [flags] PID | PROFILE…",
		Short:   v.Doc,
		Long:    holdersHelp,
		GroupID: groupLook,
	}
	if !sys.names(cmd) {
		return cmd
	}
	cmd.Example = holdersExamples + strings.Join(examples(v), "\n  ")
	var q query.Query
	var opt heap.Options
	flags := cmd.Flags()
	queryFlags(flags, &q, keysOf(v))
	flags.DurationVar(&opt.MaxPause, "max-pause", 250*time.Millisecond, "do not fork a process that would stand still for longer than `TIME`, by an estimate")
	flags.BoolVar(&opt.Stop, "stop", false, "stop the process while its memory is read, if it cannot be forked")
	o := sourceFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		q.View = v.Name
		if len(args) == 0 {
			return usagef("for example: hone holders 4711", "holders needs the number of a process, or a profile to look at")
		}
		q.Refs = args
		if !slices.ContainsFunc(args, isNumber) {
			for _, name := range []string{"max-pause", "stop"} {
				if cmd.Flags().Changed(name) {
					return usagef("for example: hone holders --"+name+" "+quoted(cmd.Flag(name).Value.String())+" 4711", "--%s is for a process", name)
				}
			}
			if file, _ := cmd.Flags().GetString("output"); strings.HasSuffix(file, ".hone") {
				return usagef("hone merge -o "+quoted(file)+" "+quotedRefs(args)+" writes one", "-o %s needs a process to record", quoted(file))
			}
			return answer(cmd, sys, v, o, q)
		}
		if len(args) > 1 {
			return usagef("hone holders --base OLD.hone PID compares", "holders reads one process at a time")
		}
		if opt.MaxPause <= 0 {
			return usagef("", "--max-pause %s: want a time such as 250ms", cmd.Flag("max-pause").Value)
		}
		pid, err := strconv.Atoi(args[0])
		if err != nil {
			return usagef("", "%s: want the number of a process", args[0])
		}
		opt.Binary = o.Binary
		return holdersOf(cmd, sys, v, q, pid, opt)
	}
	return cmd
}

// holdersOf reads the memory of a process and shows who holds it.
func holdersOf(cmd *cobra.Command, sys *System, v *view.View, q query.Query, pid int, opt heap.Options) error {
	out, err := outputOf(cmd, sys)
	if err != nil {
		return err
	}
	if err := drawable(v, out); err != nil {
		return err
	}
	keep := capture.Options{Dir: sys.Dir, Hone: version(), Now: func() time.Time { return time.Now().In(sys.Zone) }}
	if strings.HasSuffix(out.file, ".hone") {
		keep.Out, out.file = out.file, ""
		if _, err := os.Lstat(keep.Out); err == nil {
			return withHint(&os.PathError{Op: "writing", Path: keep.Out, Err: capture.ErrExists}, "choose another name with ", hint.Option{Name: "o"}, ", or remove the file")
		}
	}
	say := newSaying(sys)
	keep.Say = say.now
	say.now("reading the memory of process " + strconv.Itoa(pid))
	h, err := heap.Read(cmd.Context(), pid, opt)
	if err != nil {
		say.now("")
		return heapHints(err)
	}
	rec, kept, err := capture.Holders(keep, h)
	say.now("")
	if err != nil {
		return err
	}
	in, q, err := heldBy(cmd, sys, rec, q)
	if err == nil {
		in, err = fitting(v, in, q)
	}
	if err != nil {
		return err
	}
	if err := show(cmd.Context(), sys, v, out, in, q); err != nil || kept == nil {
		return err
	}
	note(sys, "%s: %s; %s draws it", kept.File, unit.Size(kept.Bytes), hint.SpellCommand(sys.speller(), hint.Ask("flame", kept.File)))
	return nil
}

// heldBy returns the recording with the profile of who holds memory, and the base after it if there is one.
func heldBy(cmd *cobra.Command, sys *System, rec *recording.Recording, q query.Query) ([]*recording.Recording, query.Query, error) {
	in, q, err := open.Resolve([]*recording.Recording{rec}, q)
	if err != nil || len(q.Base) == 0 {
		return in, q, err
	}
	base := q
	base.Refs, base.Base = q.Base, nil
	was, _, err := recordings(cmd, sys, &source.Options{Kind: recording.Held}, base)
	return append(in, was...), q, err
}

// heapHints adds the next step to an error about reading a process.
func heapHints(err error) error {
	var pause *heap.PauseError
	switch {
	case errors.As(err, &pause):
		return withHint(err, hint.Option{Name: "max-pause", Value: unit.Time(pause.Expected * 3 / 2)}, " allows it")
	case errors.Is(err, heap.ErrNoDebug):
		return withHint(err, hint.Option{Name: "binary", Value: "FILE"}, " names the program with its debug data")
	case errors.Is(err, heap.ErrNoFork):
		return withHint(err, hint.Option{Name: "stop"}, " reads the process itself, which stands still meanwhile")
	}
	return err
}
