package duel

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"time"

	"github.com/hone-perf/hone/internal/stat"
)

// How fast a core is changes within milliseconds by tens of percent, for what its neighbors do, also those outside of
// the virtual machine. So two programs that share a core take turns of an eighth of a millisecond, each doing as many
// operations as the other, and are compared turn by turn. That makes pairs three times as much alike as the turns that the
// system gives them, see docs/decisions/0010.
const (
	turnTime    = 125 * time.Microsecond // of CPU time
	mostTurns   = int(chunk / turnTime)
	fewestTurns = 8
	// callCost is about what package testing does around each call of a benchmark that counts to b.N, in which turns are calls.
	callCost = 60 * time.Microsecond
	// interrupted is how much longer than its CPU time a turn takes when another program had the core for a while.
	interrupted = 20 * time.Microsecond
)

// turnsOf returns how many turns to take at most: those of B.Loop cost nothing, and others set up their benchmark again,
// which shall not take longer than what counts.
func turnsOf(loops bool, setup float64) int {
	if loops {
		return mostTurns
	}
	return int(float64(chunk) / max(float64(2*turnTime), setup+float64(callCost)))
}

// A turn is what was timed in it.
type turn struct {
	cpu time.Duration
	gap time.Duration // time in which the program did not have the core
}

// steps are the pipes by which two programs take turns.
type steps struct {
	theirs []*os.File // ends that the programs have
	logs   [2]*os.File
	of     int
}

// takeTurns makes two programs take turns, the first of them first.
func takeTurns(cmds []*exec.Cmd, of int) (*steps, error) {
	s := &steps{of: of}
	var in, out, log [2]*os.File
	for i := range cmds {
		var err error
		if in[i], out[1-i], err = os.Pipe(); err == nil {
			s.theirs = append(s.theirs, in[i], out[1-i])
			s.logs[i], log[i], err = os.Pipe()
		}
		if err != nil {
			s.close()
			return nil, err
		}
		s.theirs = append(s.theirs, log[i])
	}
	for i, cmd := range cmds {
		cmd.ExtraFiles = []*os.File{in[i], out[i], log[i]}
		cmd.Env = append(cmd.Env, fmt.Sprintf("HONE_TURNS=%d %d", of, i))
	}
	return s, nil
}

// started lets go of what the programs have now, so that each of them sees when the other one ends.
func (s *steps) started() {
	for _, f := range s.theirs {
		f.Close()
	}
	s.theirs = nil
}

// took returns what the i-th program timed, when it has ended, and nil when it did not come that far.
func (s *steps) took(i int) []turn {
	// A child of the program that is still there does not have it, but does no harm either if it has.
	s.logs[i].SetReadDeadline(time.Now().Add(time.Second))
	raw := make([]int64, 2*s.of)
	if binary.Read(io.LimitReader(s.logs[i], int64(16*s.of)), binary.NativeEndian, raw) != nil {
		return nil
	}
	turns := make([]turn, s.of)
	for k := range turns {
		turns[k] = turn{time.Duration(raw[2*k]), time.Duration(raw[2*k+1])}
		if turns[k].cpu <= 0 {
			return nil // the benchmark set its clock back
		}
	}
	return turns
}

func (s *steps) close() {
	s.started()
	for _, f := range s.logs {
		if f != nil {
			f.Close()
		}
	}
}

// inStep returns by what factor b takes longer than a, which took as many turns at about the same time. Turns during which
// something else had the core are left out, however long they took, since what comes after is another cache; and each
// counts as much as any other, however fast the core was then. How fast it was is the median of a few turns around, so
// that an operation that takes long, or a collection of garbage, counts in full.
func inStep(a, b []turn) (ratio float64, ok bool) {
	if len(a) != len(b) || len(a) < fewestTurns {
		return 0, false
	}
	var olds, news, sums []float64
	take := func(all bool) {
		for i := range a {
			if all || a[i].gap < interrupted && b[i].gap < interrupted {
				x, y := float64(a[i].cpu), float64(b[i].cpu)
				olds, news, sums = append(olds, x), append(news, y), append(sums, x+y)
			}
		}
	}
	if take(false); 4*len(sums) < len(a) {
		olds, news, sums = nil, nil, nil
		take(true) // on so busy a machine nothing is better than anything else
	}
	const around = 2
	var old, new float64
	for i := range sums {
		speed := stat.Median(sums[max(0, i-around):min(len(sums), i+around+1)])
		old += olds[i] / speed
		new += news[i] / speed
	}
	ratio = new / old
	return ratio, ratio > 0 && !math.IsInf(ratio, 0)
}
