package duel

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"

	"github.com/hone-perf/hone/internal/maxrss"
	"github.com/hone-perf/hone/internal/recording"
)

// Units of what is measured of a command.
const (
	cpuSeconds  = "cpu-sec"
	realSeconds = "sec"
	peakMemory  = "max-rss"
)

// shell returns what runs a command line.
func shell(line, dir string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", line)
	if runtime.GOOS == "windows" {
		cmd = exec.Command("cmd", "/c", line)
	}
	cmd.Dir = dir
	return cmd
}

// tryCommands runs both commands once to find out whether they share a processor or take turns.
func (d *duel) tryCommands(ctx context.Context, r *row, cpu int) error {
	r.How, r.Unit = d.opt.How, cpuSeconds
	share := canShare
	var took [2]float64
	for i, line := range r.commands {
		results, err := d.together(ctx, cpu, false, []*exec.Cmd{shell(line, d.opt.Old.Dir)}, nil)
		if err != nil {
			return err
		}
		if err := failedCommand(&results[0]); err != nil {
			r.Error = fmt.Sprintf("fails on the %s side: %v", []string{"old", "new"}[i], err)
			return nil
		}
		// More CPU time than time is work on several processors; much less is waiting, if nobody else wants them.
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
func (d *duel) pairOfCommands(ctx context.Context, r *row, lines [2]string, lots draw, cpu int) (p recording.DuelPair, wrong string, err error) {
	first := 0
	if lots.swapped {
		first = 1
	}
	var results [2]result
	if r.How == recording.Duet {
		both, err := d.together(ctx, cpu, true, []*exec.Cmd{shell(lines[first], d.opt.Old.Dir), shell(lines[1-first], d.opt.Old.Dir)}, nil)
		if err != nil {
			return p, "", err
		}
		results[first], results[1-first] = both[0], both[1]
	} else {
		for _, i := range []int{first, 1 - first} {
			one, err := d.together(ctx, cpu, false, []*exec.Cmd{shell(lines[i], d.opt.Old.Dir)}, nil)
			if err != nil {
				return p, "", err
			}
			results[i] = one[0]
		}
	}
	own := maxrss.Own()
	for i, values := range []*map[string]float64{&p.Old, &p.New} {
		res := &results[i]
		if err := failedCommand(res); err != nil {
			return p, fmt.Sprintf("fails on the %s side: %v", []string{"old", "new"}[i], err), nil
		}
		*values = map[string]float64{cpuSeconds: res.cpu.Seconds(), realSeconds: res.wall.Seconds()}
		// The peak of a program that Linux starts begins with that of the one that starts it.
		if res.maxRSS > own {
			(*values)[peakMemory] = float64(res.maxRSS)
		}
	}
	return p, "", nil
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
	return fmt.Errorf("%w: %s", res.failed, cmp.Or(said, "it said nothing"))
}
