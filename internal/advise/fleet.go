package advise

import (
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// fleetOf returns what all processes cost that profiles out of a store are of. It is nil for all else, also for several selections: how much of
// the time each covers differs, so they can't be added up.
func fleetOf(in []*recording.Recording, price report.Price) *report.Fleet {
	if len(in) != 1 || in[0].Manifest == nil || in[0].Manifest.How != recording.Stored || len(in[0].Manifest.Fleet) == 0 {
		return nil
	}
	m := in[0].Manifest
	f := &report.Fleet{Of: m.Target, From: m.Started, To: m.Ended, CoreHour: price}
	for _, l := range m.Fleet {
		f.Processes = max(f.Processes, l.Processes)
	}
	return f
}

// pay fills in what a finding costs all processes.
func pay(loads map[string]recording.Load, savings []report.Saving) (cores float64) {
	for i := range savings {
		s := &savings[i]
		switch s.Metric {
		case cost.Metrics[cost.CPU].Name:
			cores = loads[recording.CPU].PerSecond(s.Value) / 1e9
			s.Fleet = &report.Amount{Value: cores, Unit: report.InCores}
		case cost.Metrics[cost.BytesMade].Name:
			s.Fleet = amount(loads[recording.Heap].PerSecond(s.Value), report.InBytesPerSecond)
		case cost.Metrics[cost.ObjectsMade].Name:
			s.Fleet = amount(loads[recording.Heap].PerSecond(s.Value), report.InCountPerSecond)
		case cost.Metrics[cost.InUse].Name: // the store adds up what processes hold
			s.Fleet = amount(float64(s.Value), report.InBytes)
		case cost.Metrics[cost.Goroutines].Name:
			s.Fleet = amount(float64(s.Value), report.InCount)
		case cost.Metrics[cost.Blocked].Name:
			s.Fleet = amount(loads[recording.Block].PerSecond(s.Value)/1e9, report.InWaiting)
		case cost.Metrics[cost.Held].Name:
			s.Fleet = amount(loads[recording.Mutex].PerSecond(s.Value)/1e9, report.InWaiting)
		}
	}
	return cores
}

func amount(v float64, unit string) *report.Amount {
	if v == 0 {
		return nil // that is not known, since there is no second profile
	}
	return &report.Amount{Value: v, Unit: unit}
}

// bytesPerCore is how much memory is paid for like a core: machines of clouds have about so much for each.
const bytesPerCore = 4 << 30

// worth returns what a finding is ranked by where it is known what all processes cost: the cores that it costs, and the memory that is held.
// The rest decides between those that cost none.
func worth(savings []report.Saving, weight float64) float64 {
	w := weight / 1e6
	for _, s := range savings {
		if s.Fleet == nil {
			continue
		}
		switch s.Fleet.Unit {
		case report.InCores:
			w += s.Fleet.Value
		case report.InBytes:
			w += s.Fleet.Value / bytesPerCore
		}
	}
	return w
}
