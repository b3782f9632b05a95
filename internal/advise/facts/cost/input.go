package cost

import (
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
)

// An Input is a profile, and what is counted in it.
type Input struct {
	Profile *profile.Profile
	Ref     string
	Column  [NumMetrics]int // sample type, or -1
	Spelled string          // kind of profile, where --metric has to say it
}

// sample returns the CPU time that one sample stands for, or 0 where the profile does not say.
func (i *Input) sample() int64 {
	at, p := i.Column[CPU], i.Profile
	if at < 0 || p.PeriodType != p.SampleTypes[at] {
		return 0
	}
	return p.Period
}

// rate returns how many bytes are allocated between two samples of the heap, or 0 where the profile does not say.
func (i *Input) rate() float64 {
	if p := i.Profile; p.PeriodType.Type == "space" && p.PeriodType.Unit == "bytes" && p.Period > 1 {
		return float64(p.Period)
	}
	return 0
}

// spread fills in how uncertain a sample of the heap is. An object of so many bytes is sampled with a probability of
// 1 - exp(-bytes/rate), and profiles have what was sampled divided by that: the smaller the objects, the more of them a sample
// stands for.
func (i *Input) spread(v *Cost) {
	rate := i.rate()
	if rate == 0 || v[ObjectsMade] <= 0 || v[BytesMade] <= 0 {
		return
	}
	size := float64(v[BytesMade]) / float64(v[ObjectsMade]) // the same for all that a sample counts
	seen := -math.Expm1(-size / rate)
	each := (1 - seen) / seen // variance for each object
	v[ObjectsMadeSpread] = whole(float64(v[ObjectsMade]) * each)
	v[bytesMadeSpread] = whole(float64(v[BytesMade]) * each * size / spreadUnit)
	v[InUseSpread] = whole(float64(max(v[InUse], 0)) * each * size / spreadUnit)
}

// whole rounds to a number that can be added up with others without running over.
// Counts reports whether there is anything to count.
func (in Input) Counts() bool { return slices.Max(in.Column[:]) >= 0 }

func whole(x float64) int64 { return int64(min(math.Round(x), 1<<50)) }

// InputsOf returns what there is to count in recordings.
func InputsOf(in []*recording.Recording) ([]Input, []string) {
	var out []Input
	var notes []string
	for _, r := range in {
		if r.Profile != nil {
			out = append(out, bareInput(r.Profile, r.Ref))
			continue
		}
		for _, kind := range []string{recording.CPU, recording.Heap, recording.Block, recording.Mutex, recording.Goroutine} {
			if len(r.Parts[kind]) == 0 {
				continue
			}
			picked, _, err := r.Pick(kind, 0, 0)
			if err == nil && kind == recording.Goroutine {
				picked, err = atItsMost(r, picked)
			}
			if err != nil {
				notes = append(notes, err.Error())
				continue
			}
			var damage *recording.DamageError
			if errors.As(picked.Profile.Damage, &damage) {
				for _, n := range damage.Notes {
					if !slices.Contains(notes, n) {
						notes = append(notes, n)
					}
				}
			}
			i := Input{Profile: picked.Profile, Ref: r.Ref, Column: noColumns()}
			for m, info := range Metrics {
				if info.kind == kind {
					i.Column[m] = slices.IndexFunc(picked.Profile.SampleTypes, func(t profile.ValueType) bool { return t.Type == info.typ })
				}
			}
			out = append(out, i)
		}
	}
	return out, notes
}

// atItsMost picks the goroutine profile that has most goroutines: the last one is often of a program that ends.
func atItsMost(r, last *recording.Recording) (*recording.Recording, error) {
	best, most := last, goroutinesIn(last.Profile)
	parts := r.Parts[recording.Goroutine]
	step := max(1, len(parts)/16) // enough to see what grows
	for i := 0; i < len(parts); i += step {
		p, _, err := r.Pick(recording.Goroutine, 0, parts[i].To)
		if err != nil {
			continue // damaged; another is not
		}
		if n := goroutinesIn(p.Profile); n > most {
			best, most = p, n
		}
	}
	return best, nil
}

func goroutinesIn(p *profile.Profile) (n int64) {
	if len(p.SampleTypes) == 0 {
		return 0
	}
	for _, v := range p.Values(0) {
		n += v
	}
	return n
}

func noColumns() (c [NumMetrics]int) {
	for m := range c {
		c[m] = -1
	}
	return c
}

// bareInput says what a profile that is no part of a recording counts. Those of blocking and of mutexes have the same
// types; what is at their leaves tells them apart.
func bareInput(p *profile.Profile, ref string) Input {
	in := Input{Profile: p, Ref: ref, Column: noColumns(), Spelled: "bare"}
	for k, t := range p.SampleTypes {
		switch t.Type {
		case "cpu":
			in.Column[CPU] = k
		case "alloc_space":
			in.Column[BytesMade] = k
		case "alloc_objects":
			in.Column[ObjectsMade] = k
		case "inuse_space":
			in.Column[InUse] = k
		case "goroutine", "goroutines":
			in.Column[Goroutines] = k
		case "delay":
			m := Blocked
			if endsInUnlock(p) {
				m = Held
			}
			in.Column[m] = k
		}
	}
	return in
}

func endsInUnlock(p *profile.Profile) bool {
	for i := range min(p.NumSamples(), 100) {
		for _, l := range p.Stack(i, nil) {
			for _, line := range p.Locations[l].Lines {
				name := p.Functions[line.Function].Name
				if strings.HasSuffix(name, "nlock") && strings.HasPrefix(name, "sync.") || name == "runtime.unlock" {
					return true
				}
				if strings.HasPrefix(name, "sync.(") || strings.HasPrefix(name, "runtime.chan") || strings.HasPrefix(name, "runtime.select") {
					return false
				}
			}
		}
	}
	return false
}
