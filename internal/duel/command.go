package duel

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/capture"
	"github.com/hone-perf/hone/internal/maxrss"
	"github.com/hone-perf/hone/internal/recording"
)

// Units of what is measured of a command.
const (
	cpuSeconds  = "cpu-sec"
	realSeconds = "sec"
	peakMemory  = "max-rss"
)

// A command is a line for a shell, and what it runs with beside the environment of this process.
type command struct {
	line string
	env  []string
}

// shell returns what runs a command in a folder.
func (c command) shell(dir string) *exec.Cmd {
	cmd := capture.Shell(c.line, dir)
	if len(c.env) > 0 {
		cmd.Env = append(cmd.Environ(), c.env...)
	}
	return cmd
}

// A Command is a program that is built from source and run.
type Command struct {
	Package string // as the go command names it in the folders of the sides
	Words   string // behind the program, on a line of the shell
	Dir     string // where it runs
}

// Of makes options that compare a program instead of benchmarks.
func (c Command) Of(opt Options) Options {
	line := strings.TrimSpace(programWord + " " + c.Words)
	opt.Commands, opt.Program, opt.Dir = &[2]string{line, line}, c.Package, c.Dir
	opt.name = strings.TrimSpace(c.Package + " " + c.Words)
	return opt
}

// programWord stands for the program in a command.
const programWord = "{program}"

// NamesProgram reports whether a command has a place for a program that is to be built.
func NamesProgram(line string) bool { return strings.Contains(line, programWord) }

// prepareCommands makes commands ready, and builds the program that they name.
func (d *duel) prepareCommands(ctx context.Context, work string) error {
	r := &row{commands: &[2]command{{d.opt.Commands[0], d.opt.Old.Env}, {d.opt.Commands[1], d.opt.New.Env}}}
	r.Name, r.Iters = "command", 1
	if d.opt.Commands[0] == d.opt.Commands[1] {
		r.Name = cmp.Or(d.opt.name, d.opt.Commands[0])
	}
	if d.opt.Program != "" {
		builders, err := d.builders(ctx, work)
		if err != nil {
			return err
		}
		var progs [2]*program
		for i, b := range builders {
			if i == 0 || !d.out.BuiltOnce {
				d.say("building %s, %s", d.opt.Program, b.side.Name)
				if progs[i], err = b.program(ctx, d.opt.Program); err != nil {
					return err
				}
			} else {
				progs[i] = progs[0]
			}
			line := &r.commands[i].line
			*line = strings.ReplaceAll(*line, programWord, capture.QuotedFile(progs[i].file))
		}
		if progs[0].sum == progs[1].sum && slices.Equal(d.opt.Old.Env, d.opt.New.Env) && d.opt.Commands[0] == d.opt.Commands[1] {
			d.out.Same = append(d.out.Same, d.opt.Program)
			return nil
		}
	}
	d.rows = []*row{r}
	return nil
}

// tryCommands runs both commands once to find out whether they share a core or take turns.
func (d *duel) tryCommands(ctx context.Context, r *row, cpu int) error {
	r.How, r.Unit = d.opt.How, cpuSeconds
	share := canShare
	var took [2]float64
	for i, line := range r.commands {
		results, err := d.together(ctx, cpu, false, []*exec.Cmd{line.shell(d.opt.Dir)}, nil)
		if err != nil {
			return err
		}
		if err := failedCommand(&results[0]); err != nil {
			r.fail(sideNames[i], err)
			return nil
		}
		// More CPU time than time is work on several cores; much less is waiting, if nobody else wants them.
		ratio := results[0].cpu.Seconds() / results[0].wall.Seconds()
		share = share && ratio < 1.2 && ratio > 0.5
		took[i] = results[0].cpu.Seconds()
	}
	r.far = apart(took)
	share = share && !r.far
	if r.How == "" {
		r.How = recording.Alternate
		if share {
			r.How = recording.Duet
		}
	}
	return nil
}

// pairOfCommands runs each of two commands once. When one of them fails, wrong says how.
func (d *duel) pairOfCommands(ctx context.Context, r *row, lines [2]command, lots draw, cpu int) (p recording.DuelPair, wrong *failure, err error) {
	first := 0
	if lots.swapped {
		first = 1
	}
	var results [2]result
	if r.How == recording.Duet {
		both, err := d.together(ctx, cpu, true, []*exec.Cmd{lines[first].shell(d.opt.Dir), lines[1-first].shell(d.opt.Dir)}, nil)
		if err != nil {
			return p, nil, err
		}
		results[first], results[1-first] = both[0], both[1]
	} else {
		for _, i := range []int{first, 1 - first} {
			one, err := d.together(ctx, cpu, false, []*exec.Cmd{lines[i].shell(d.opt.Dir)}, nil)
			if err != nil {
				return p, nil, err
			}
			results[i] = one[0]
		}
	}
	own := maxrss.Own()
	for i, values := range []*map[string]float64{&p.Old, &p.New} {
		res := &results[i]
		if err := failedCommand(res); err != nil {
			return p, &failure{sideNames[i], err}, nil
		}
		*values = map[string]float64{cpuSeconds: res.cpu.Seconds(), realSeconds: res.wall.Seconds()}
		// The peak of a program that Linux starts begins with that of the one that starts it.
		if res.maxRSS > own {
			(*values)[peakMemory] = float64(res.maxRSS)
		}
	}
	return p, nil, nil
}

func failedCommand(res *result) error {
	if res.failed == nil {
		return nil
	}
	said := strings.TrimSpace(res.stderr)
	if i := strings.LastIndexByte(said, '\n'); i >= 0 {
		said = said[i+1:]
	}
	if said == "" {
		return res.failed
	}
	return fmt.Errorf("%w: %s", res.failed, cmp.Or(said, "it printed nothing"))
}
