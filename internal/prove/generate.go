package prove

import (
	"cmp"
	"context"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/prove/worker"
	"github.com/hone-perf/hone/internal/report"
)

// Benchmarks that were made for a package whose own reach nothing of what changed.
type benchmarks struct {
	rel     string
	about   []report.GeneratedCode
	names   []string // patterns
	rows    int
	sources map[string]string // by file
}

// Limits of what is generated.
const (
	maxGenerated   = 4                     // functions
	maxBenchCalls  = 16                    // in an operation
	longestCall    = 20 * time.Millisecond // more would leave too few operations to compare,
	longestAlone   = 10 * longestCall      // but for the only call that there is
	generatedName  = "BenchmarkGenerated"
	generatedFile  = "zz_generated_by_hone_test.go" // what begins with recording.RecorderFiles is not looked at
	testsCalls     = "calls_of_tests"
	inventedCalls  = "made_up_calls"
	agreedPrograms = 96 // that are kept of a function
)

// agreed is a program that both versions answered alike.
type agreed struct {
	*worker.Program
	seed bool // from a test
}

// generate writes benchmarks of at most so many functions, of those that changed, or of those nearest to them. It returns nil
// when none can be written.
func (f *search) generate(ctx context.Context, most int) (*benchmarks, error) {
	out := &benchmarks{rel: f.rel, sources: make(map[string]string)}
	c := newCoder(f.surface)
	var body strings.Builder
	nearest := -1
	for _, t := range f.targets { // the nearest come first
		st := f.states[t]
		if st == nil || len(st.agreed) == 0 || nearest >= 0 && t.distance > nearest || len(out.about) >= most {
			continue
		}
		usable, err := f.typical(ctx, t, st.agreed)
		if err != nil {
			return nil, err
		}
		name := generatedName + identifier(t.entry.name)
		var parts []string
		calls := 0
		for _, part := range []string{testsCalls, inventedCalls} {
			var blocks []string
			for _, p := range usable {
				if p.seed != (part == testsCalls) || len(blocks) >= maxBenchCalls {
					continue
				}
				if text, ok := c.program(p.Program); ok && !slices.Contains(blocks, text) {
					blocks = append(blocks, text)
				}
			}
			if len(blocks) > 0 {
				parts = append(parts, c.part(part, blocks))
				calls += len(blocks)
			}
		}
		if len(parts) == 0 {
			continue
		}
		text := "func " + name + "(b *testing.B) {\n" + strings.Join(parts, "") + "}\n"
		nearest = t.distance
		body.WriteString(text + "\n")
		out.names = append(out.names, regexp.QuoteMeta(name))
		out.rows += len(parts)
		out.about = append(out.about, report.GeneratedCode{Function: t.entry.name, Name: name, Calls: calls, Source: text})
	}
	if len(out.about) == 0 {
		return nil, ctx.Err()
	}
	for _, v := range []*side{f.old, f.new} {
		text, err := format.Source([]byte(c.file(v, body.String())))
		if err != nil {
			return nil, fmt.Errorf("writing a benchmark of %s: %w", f.new.pkg.PkgPath, err)
		}
		out.sources[filepath.Join(v.dir, generatedFile)] = string(text)
	}
	for i := range out.about {
		if text, err := format.Source([]byte(out.about[i].Source)); err == nil {
			out.about[i].Source = string(text)
		}
	}
	return out, nil
}

// identifier makes part of a name of what a function is called.
func identifier(name string) string {
	var b strings.Builder
	up := true
	for _, c := range name {
		if c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			if up {
				c = []rune(strings.ToUpper(string(c)))[0]
			}
			b.WriteRune(c)
		}
		up = c == '.'
	}
	return b.String()
}

// typical chooses from programs that both versions answer alike: those without errors first, and none that would take so
// much longer than the others that nothing else counted.
func (f *search) typical(ctx context.Context, t *target, list []agreed) ([]agreed, error) {
	programs := make([]*worker.Program, len(list))
	for i := range list {
		programs[i] = cloneProgram(list[i].Program)
		programs[i].After = false
	}
	var seen [2][]*worker.Seen
	var took []time.Duration
	for i := range seen {
		p, err := start(ctx, f.files[i].file, f.config(runLimit))
		if err != nil {
			return nil, err
		}
		for _, prog := range programs {
			began := time.Now()
			one := p.run([]*worker.Program{prog}, worker.Full|worker.FlushEach)[0]
			if p.dead {
				p.stop()
				if p, err = start(ctx, f.files[i].file, f.config(runLimit)); err != nil {
					return nil, err
				}
			}
			seen[i] = append(seen[i], one)
			if i == 0 {
				took = append(took, time.Since(began))
			} else {
				took[len(seen[i])-1] = min(took[len(seen[i])-1], time.Since(began))
			}
		}
		p.stop()
	}
	type candidate struct {
		agreed
		cost time.Duration
		bad  bool // an error came of it
	}
	var good []candidate
	for i, p := range list {
		old, now := seen[0][i], seen[1][i]
		if old.Status != worker.Done || now.Status != worker.Done || f.compare(programs[i], old, now) != nil {
			continue
		}
		c := candidate{agreed: p, cost: took[i]}
		panics, calls := false, false
		for _, l := range old.Lines {
			panics = panics || l.Layer == worker.LayerPanic && l.Text != "returns"
			c.bad = c.bad || l.Layer == worker.LayerError && l.Text != "nil" || strings.HasSuffix(l.Path, " status") && l.Text >= "400"
		}
		for _, s := range p.Steps {
			calls = calls || t.is(f.entries[s.Func])
		}
		if !panics && calls {
			good = append(good, c)
		}
	}
	if len(good) == 0 {
		return nil, ctx.Err()
	}
	quickest := slices.MinFunc(good, func(a, b candidate) int { return cmp.Compare(a.cost, b.cost) })
	good = slices.DeleteFunc(good, func(c candidate) bool { return c.cost > longestCall })
	if len(good) == 0 && quickest.cost <= longestAlone {
		good = append(good, quickest) // the function is slow, or the machine is busy
	}
	if len(good) == 0 {
		return nil, ctx.Err()
	}
	costs := make([]time.Duration, len(good))
	for i, c := range good {
		costs[i] = c.cost
	}
	slices.Sort(costs)
	most := 10 * costs[len(costs)/2]
	good = slices.DeleteFunc(good, func(c candidate) bool { return c.cost > most })
	order.Stable(good, func(a, b candidate) int {
		return cmp.Or(cmpBool(a.bad, b.bad), cmp.Compare(len(a.Steps), len(b.Steps)))
	})
	if !good[0].bad {
		good = slices.DeleteFunc(good, func(c candidate) bool { return c.bad })
	}
	out := make([]agreed, len(good))
	for i, c := range good {
		out[i] = c.agreed
	}
	return out, ctx.Err()
}

// writeGenerated writes benchmarks into a folder, and an overlay that puts them where they belong.
func writeGenerated(work string, list []*benchmarks) (overlay string, err error) {
	replace := gocmd.Overlay{}
	for _, g := range list {
		for at, text := range g.sources {
			file := filepath.Join(work, strconv.Itoa(len(replace))+".go")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				return "", err
			}
			replace[at] = file
		}
	}
	overlay = filepath.Join(work, "overlay.json")
	return overlay, replace.Write(overlay)
}
