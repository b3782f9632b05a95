package capture

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/capture/agent"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
)

// A gauge reads numbers that a server says about itself, and writes them over time.
type gauge struct {
	*fetched
	file *os.File
	vars bool // it has /debug/vars with memstats
	some bool // it said something about its memory
	cpu  float64
	gc   float64 // seconds, added up over profiles

	latest time.Duration // of the lines
}

// A piece is a CPU profile that was taken; p is nil when it could not be.
type piece struct {
	from, to time.Duration
	p        *profile.Profile
}

// interval is how often a server is asked for numbers.
const interval = time.Second

// run asks until there are no more pieces. A line of metrics is written with each, so that the time that is between two
// lines is that of which it is known how much was done.
func (g *gauge) run(ctx context.Context, pieces <-chan piece, notes *said, trouble func()) {
	var err error
	if g.file, err = os.Create(filepath.Join(g.folder, recording.MetricsFile)); err != nil {
		g.wrote(0, err)
	}
	defer g.file.Close()
	text, err := g.Ask.Get(ctx, g.varsAt(), shortPatience)
	g.vars = err == nil && len(memStatsOfVars(text)) > 0
	values := g.read(ctx, true)
	g.line(time.Since(g.start), values)
	alone := false      // there are no CPU profiles
	var last gaugedLine // is written when the next is there: the one of the end has the memory of the end
	next := g.start.Add(interval)
	for n := 1; ; n++ {
		for waiting := true; waiting; {
			select {
			case one, ok := <-pieces:
				if !ok {
					if last.at == 0 {
						last.at = time.Since(g.start)
					}
					maps.Copy(values, g.read(ctx, true))
					g.line(last.at, values)
					if !g.some {
						notes.note("the server does not report how it uses memory: neither /debug/vars nor /debug/pprof/heap?debug=1 has runtime.MemStats")
					}
					return
				}
				if alone = one.p == nil; !alone {
					if last.at > 0 {
						g.line(last.at, last.values)
					}
					g.count(one)
					last = gaugedLine{one.to, maps.Clone(values)}
					last.values[recording.ProcessCPU], last.values[metricGC] = g.cpu, g.gc
				}
			case <-time.After(time.Until(next)):
				waiting = false
			}
		}
		next = next.Add(interval)
		// What /debug/pprof/heap says has all of the profile in front: that is not asked for as often.
		memory := g.vars || n%int(max(1, g.Every/interval)) == 0 || g.looks(agent.RSS) || g.looks(agent.Heap)
		maps.Copy(values, g.read(ctx, memory))
		if len(g.When) > 0 && g.trouble(time.Since(g.start), g.told) {
			trouble()
		}
		if alone {
			if last.at > 0 {
				g.line(last.at, last.values)
				last = gaugedLine{}
			}
			g.line(time.Since(g.start), values)
		}
	}
}

// A gaugedLine is what is known at a time; at 0 there is none.
type gaugedLine struct {
	at     time.Duration
	values map[string]float64
}

// count adds up what CPU profiles say.
func (g *gauge) count(one piece) {
	gc, all := collecting(one.p)
	g.cpu += all.Seconds()
	g.gc += gc.Seconds()
	g.tell(agent.CPU, 100*all.Seconds()/(one.to-one.from).Seconds())
	g.tellGC(one.p)
}

// line writes a line of metrics. A server under load may answer the first question after the first CPU profile has ended, but times do not go back.
func (g *gauge) line(at time.Duration, values map[string]float64) {
	g.latest = max(g.latest, at)
	out := map[string]float64{"t": float64(g.latest.Milliseconds()), recording.ProcessCPU: g.cpu, metricGC: g.gc}
	maps.Copy(out, values)
	text, err := json.Marshal(out)
	if err == nil {
		_, err = g.file.Write(append(text, '\n'))
	}
	g.wrote(0, err)
}

// metricGC is what runtime/metrics calls the CPU time that collecting garbage took.
const metricGC = "/cpu/classes/gc/total:cpu-seconds"

// varsAt is where expvar has its page: at the root of the server, or beside its profiles.
func (g *gauge) varsAt() *url.URL {
	u := *g.base
	before, _, _ := strings.Cut(u.Path, "debug/pprof/")
	u.Path = strings.TrimSuffix(before, "/") + "/debug/vars"
	return &u
}

// read reads the numbers once.
func (g *gauge) read(ctx context.Context, memory bool) map[string]float64 {
	values := map[string]float64{}
	if index, err := g.Ask.Get(ctx, g.at(""), shortPatience); err == nil {
		if n, ok := goroutinesIn(index); ok {
			values[recording.NumGoroutine] = n
			g.tell(agent.Goroutines, n)
		}
	}
	if !memory {
		return values
	}
	stats := g.memStats(ctx)
	g.some = g.some || len(stats) > 0
	maps.Copy(values, ofMemStats(stats))
	if sys, ok := stats["Sys"]; ok {
		g.tell(agent.Heap, sys-stats["HeapReleased"])
	}
	if most, ok := stats["MaxRSS"]; ok {
		values[recording.ProcessMaxRSS] = most
		g.tell(agent.RSS, most)
	}
	return values
}

func (g *gauge) memStats(ctx context.Context) map[string]float64 {
	if g.vars && !g.looks(agent.RSS) {
		text, err := g.Ask.Get(ctx, g.varsAt(), shortPatience)
		if err != nil {
			return nil
		}
		return memStatsOfVars(text)
	}
	u := g.at(recording.Heap)
	u.RawQuery = "debug=1"
	text, err := g.Ask.Get(ctx, u, shortPatience)
	if err != nil {
		return nil
	}
	return memStatsOfHeap(text)
}

// goroutinesOnIndex is how the page of net/http/pprof says how many goroutines there are.
var goroutinesOnIndex = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`>\s*(\d+)\s*(?:</td>)?\s*<td>\s*<a href=['"]?goroutine\?debug=1`)
})

func goroutinesIn(index []byte) (float64, bool) {
	m := goroutinesOnIndex().FindSubmatch(index)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(string(m[1]), 64)
	return n, err == nil
}

// memStatsOfVars returns the numbers of runtime.MemStats in what /debug/vars says.
func memStatsOfVars(text []byte) map[string]float64 {
	var vars struct {
		MemStats map[string]any `json:"memstats"`
	}
	if json.Unmarshal(text, &vars) != nil {
		return nil
	}
	out := map[string]float64{}
	for name, v := range vars.MemStats {
		if n, ok := v.(float64); ok {
			out[name] = n
		}
	}
	return out
}

// memStatsOfHeap returns the numbers of runtime.MemStats in a heap profile in text, which has them in its end, as in
// "# HeapAlloc = 123", and those of spans and stacks as "# Stack = inuse / sys".
func memStatsOfHeap(text []byte) map[string]float64 {
	i := bytes.LastIndex(text, []byte("\n# runtime.MemStats\n"))
	if i < 0 {
		return nil
	}
	out := map[string]float64{}
	for line := range strings.Lines(string(text[i+1:])) {
		name, value, ok := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "#")), " = ")
		if !ok {
			continue
		}
		inuse, sys, both := strings.Cut(value, " / ")
		n, err := strconv.ParseFloat(inuse, 64)
		if err != nil {
			continue
		}
		if !both {
			out[name] = n
			continue
		}
		out[name+"Inuse"] = n
		if n, err = strconv.ParseFloat(sys, 64); err == nil {
			out[name+"Sys"] = n
		}
	}
	return out
}

// ofMemStats returns what numbers of runtime.MemStats are called in runtime/metrics.
func ofMemStats(s map[string]float64) map[string]float64 {
	if _, ok := s["Sys"]; !ok {
		return nil
	}
	return map[string]float64{
		"/memory/classes/total:bytes":                 s["Sys"],
		"/memory/classes/heap/released:bytes":         s["HeapReleased"],
		"/memory/classes/heap/objects:bytes":          s["HeapAlloc"],
		"/memory/classes/heap/unused:bytes":           s["HeapInuse"] - s["HeapAlloc"],
		"/memory/classes/heap/free:bytes":             s["HeapIdle"] - s["HeapReleased"],
		"/memory/classes/heap/stacks:bytes":           s["StackInuse"],
		"/memory/classes/os-stacks:bytes":             s["StackSys"] - s["StackInuse"],
		"/memory/classes/metadata/mspan/inuse:bytes":  s["MSpanInuse"],
		"/memory/classes/metadata/mspan/free:bytes":   s["MSpanSys"] - s["MSpanInuse"],
		"/memory/classes/metadata/mcache/inuse:bytes": s["MCacheInuse"],
		"/memory/classes/metadata/mcache/free:bytes":  s["MCacheSys"] - s["MCacheInuse"],
		"/memory/classes/metadata/other:bytes":        s["GCSys"],
		"/memory/classes/profiling/buckets:bytes":     s["BuckHashSys"],
		"/memory/classes/other:bytes":                 s["OtherSys"],
		"/gc/heap/goal:bytes":                         s["NextGC"],
		"/gc/heap/objects:objects":                    s["Mallocs"] - s["Frees"],
		"/gc/heap/allocs:bytes":                       s["TotalAlloc"],
		"/gc/heap/allocs:objects":                     s["Mallocs"],
		"/gc/heap/frees:bytes":                        s["TotalAlloc"] - s["HeapAlloc"],
		"/gc/heap/frees:objects":                      s["Frees"],
		"/gc/cycles/total:gc-cycles":                  s["NumGC"],
		"/gc/cycles/forced:gc-cycles":                 s["NumForcedGC"],
	}
}
