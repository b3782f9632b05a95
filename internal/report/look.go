package report

import (
	"cmp"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/hone-perf/hone/internal/heapgraph"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/unit"
)

// A Look is a first look at a recording.
type Look struct {
	Top
	Refs    []string    `json:"refs"`
	Samples int         `json:"samples"`
	Types   []TypeTotal `json:"types"`
	Labels  []string    `json:"labels,omitempty"` // keys
	Hottest string      `json:"hottest,omitempty"`

	Recording *recording.Manifest `json:"recording,omitempty"` // nil for a bare profile
	Metrics   []string            `json:"metrics,omitempty"`   // that a recording has
}

// Blocks returns the top rows, then what else there is and what to try next.
func (l *Look) Blocks() iter.Seq[Block] {
	return func(yield func(Block) bool) {
		if l.Recording != nil && !yield(facts(l.Recording, l.Metrics)) {
			return
		}
		for b := range l.Top.Blocks() {
			if !yield(b) {
				return
			}
		}
		if len(l.Types) > 1 {
			t := Table{Title: "metrics", Columns: []Column{{Name: "metric"}, {Name: "total"}, {Name: ""}}}
			for _, v := range l.Types {
				mark := ""
				if v.Default {
					mark = "shown"
				}
				m := &Measure{Unit: v.Unit, Total: v.Total}
				m.add(v.Total)
				t.Rows = append(t.Rows, []any{v.Type, Value{v.Total, m}, mark})
			}
			if !yield(t) {
				return
			}
		}
		yield(Commands{Title: "try next", Items: l.next()})
	}
}

// A Recorded is a look at a recording without profiles.
type Recorded struct {
	*recording.Manifest
	Refs []string `json:"refs"`
}

// Blocks returns what was recorded and what there is to ask.
func (r *Recorded) Blocks() iter.Seq[Block] {
	return blocks([]Block{
		facts(r.Manifest, nil),
		Note{Phrase{"there is no profile in it"}},
		Commands{Title: "try next", Items: []hint.Command{
			hint.Ask("timeline", r.Refs...).For("how it went"),
			hint.Ask("mem", r.Refs...).For("what its memory was used for"),
			hint.Ask("gc", r.Refs...).For("what the garbage collector did, if it is a Go program"),
		}},
	})
}

// facts tells what was recorded and how it went.
func facts(m *recording.Manifest, metrics []string) Facts {
	var out Facts
	add := func(name string, parts ...string) {
		parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
		if len(parts) > 0 {
			out.Items = append(out.Items, Fact{name, strings.Join(parts, ", ")})
		}
	}
	add("recording of", cmp.Or(strings.Join(m.Command, " "), m.Target))
	if m.How == recording.Stored {
		add("when", m.Started.Format(time.DateTime)+" to "+m.Ended.Format(dateTimeZone), string(m.How))
	} else {
		add("when", m.Started.Format("2006-01-02 15:04:05 -0700"), string(m.How))
	}
	if e := m.Exit; e != nil {
		code := ""
		if e.Signal == "" {
			code = fmt.Sprintf("code %d", e.Code)
		}
		add("ended", code, e.Signal, e.Cause)
	} else if m.Ended.IsZero() {
		add("ended", "not seen by the recorder")
	}
	if u := m.Usage; u != nil {
		rss := ""
		if u.MaxRSS > 0 {
			rss = unit.Size(u.MaxRSS) + " at most"
		}
		user, system := unit.Time(u.User)+" user", unit.Time(u.System)+" system"
		if u.User+u.System == 0 {
			user, system = "", "" // a server does not say
		}
		add("took", unit.Time(u.Real), user, system, rss)
	}
	if p := m.Program; p != nil {
		revision := p.Settings["vcs.revision"]
		if len(revision) > 12 {
			revision = revision[:12]
		}
		if revision != "" && p.Settings["vcs.modified"] == "true" {
			revision += " with changes"
		}
		add("program", p.Path, p.Go, revision)
	}
	if c := m.Machine; c != nil {
		add("machine", machine(c)...)
	}
	if c := m.Recorder; c != nil {
		add("recording took", unit.Time(c.CPU)+" of CPU")
	}
	if c := m.Changes; c != nil {
		add("changes", changes(c))
	}
	if l := m.Lookout; l != nil {
		add("watched for", strings.Join(l.When, ", "), "the last "+unit.Time(l.Window)+" are kept, and what led up to it")
		for i, e := range m.Events {
			if i == maxEvents {
				add("trouble", fmt.Sprintf("and %d times more", len(m.Events)-i))
				break
			}
			add("trouble", "after "+unit.Time(e.At), trouble(&e))
		}
		if len(m.Events) == 0 {
			add("trouble", "none")
		}
	}
	add("metrics", metrics...)
	for _, n := range m.Notes {
		add("note", n)
	}
	return out
}

// machine describes a machine.
func machine(c *recording.Machine) []string {
	limit := ""
	if quota := c.Quota(); quota > 0 {
		limit = limited(quota)
	}
	return []string{c.CPU, unit.Counted(c.CPUs, "core"), limit, c.OS + "/" + c.Arch}
}

// limited describes the CPU limit of a control group.
func limited(cores float64) string { return "limited to " + unit.Quota(cores) }

// maxEvents is how many times of trouble a first look lists.
const maxEvents = 20

// trouble says what was above its limit.
func trouble(e *recording.Event) string {
	of := ""
	if e.Request != "" {
		of = " of " + e.Request
	}
	return fmt.Sprintf("%s %s%s, above %s", e.Of, amount(e.Value, e.Unit), of, amount(e.Limit, e.Unit))
}

// amount prints something that was looked out for.
func amount(v float64, of string) string {
	switch of {
	case "bytes", "nanoseconds":
		return unit.Label(int64(v), of)
	case "percent":
		return unit.Share(v / 100)
	}
	return unit.Number(v)
}

// changes says what was not committed when a program was built.
func changes(c *recording.Changes) string {
	text := fmt.Sprintf("%d files not committed", c.Files)
	if c.Files == 1 {
		text = "1 file not committed"
	}
	if c.Untracked > 0 {
		text += fmt.Sprintf(", %d of them new", c.Untracked)
	}
	text += "; " + recording.DiffFile + " in the recording has them"
	if c.Cut {
		text += ", up to the size limit"
	}
	return text
}

// next returns commands and what they answer.
func (l *Look) next() []hint.Command {
	refs := l.Refs
	if len(refs) > 3 {
		refs = []string{refs[0], refs[1], "…"} // it is clear by now
	}
	if slices.ContainsFunc(l.Types, func(t TypeTotal) bool { return t.Default && t.Type == "goroutine" }) {
		// All of them are in runtime.gopark, about which there is nothing to ask.
		return []hint.Command{
			hint.Ask("goroutines", refs...).For("what they wait for, and where"),
			hint.Ask("flame", refs...).For("the whole picture"),
		}
	}
	if slices.ContainsFunc(l.Types, func(t TypeTotal) bool { return t.Default && t.Type == heapgraph.Space }) {
		return []hint.Command{
			hint.Ask("holders", refs...).For("who holds memory, and where most of it is"),
			hint.Ask("flame", refs...).For("the whole picture"),
			hint.Ask("top", refs...).For("the fields and types with the most memory"),
		}
	}
	out := []hint.Command{hint.Ask("top", refs...).With("cum", "").For("the most expensive functions, including what they call")}
	if l.Hottest != "" {
		rx := simplePattern(l.Hottest)
		out = append(out,
			hint.Ask("peek", refs...).Of(rx).For("who calls the first of these"),
			hint.Ask("list", refs...).Of(rx).For("its cost line by line"))
	}
	out = append(out, hint.Ask("flame", refs...).For("the whole picture"))
	if named := slices.DeleteFunc(slices.Clone(l.Labels), func(s string) bool { return s == "" }); len(named) > 0 { // damaged profiles lack names
		out = append(out, hint.Ask("tags", refs...).For("by label: "+listed(named)))
	}
	for _, m := range []struct{ metric, doc string }{
		{"heap:alloc_space", "where memory is allocated"},
		{"mutex", "where goroutines wait for locks"},
	} {
		if slices.Contains(l.Metrics, m.metric) {
			out = append(out, hint.Ask("top", refs...).With("metric", m.metric).For(m.doc))
		}
	}
	if l.Recording != nil && len(refs) == 1 && slices.Contains(l.Metrics, "trace") {
		if l.Recording.Slow() {
			out = append(out, hint.Ask("request", refs...).Of("slowest").For("what the slowest request waited for"))
		}
		out = append(out, hint.Ask("trace", refs...).For("what its execution trace says"))
	}
	return out
}

var (
	typeArguments = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[.*\]|<.*>`) })
	majorVersion  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^v[0-9]+\.`) })
	odd           = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^\pL\pN_.:-]+`) })
)

// simplePattern returns a regexp that matches name and reads well on a command line: without the path of the package,
// type arguments, and characters that would have to be escaped. It may match a few other names, too.
func simplePattern(name string) string {
	const long, enough = 500, 100
	if len(name) > long { // nobody types that, and matching takes the square of its length
		n := enough
		for n > 0 && !utf8.RuneStart(name[n]) {
			n--
		}
		return "^" + regexp.QuoteMeta(name[:n])
	}
	short := typeArguments().ReplaceAllString(name, "[")
	path := short
	if i := strings.IndexAny(path, "[("); i >= 0 {
		path = path[:i]
	}
	start := strings.LastIndexByte(path, '/') + 1
	if start > 0 && majorVersion().MatchString(short[start:]) {
		start = strings.LastIndexByte(path[:start-1], '/') + 1
	}
	var parts []string
	for _, part := range strings.Split(short[start:], "/") {
		for _, p := range odd().Split(part, -1) {
			if p = strings.Trim(p, "."); p != "" && !majorVersion().MatchString(p+".") {
				parts = append(parts, p)
			}
		}
	}
	rx := strings.Join(parts, ".*")
	if start == 0 && strings.HasPrefix(name, rx) {
		rx = "^" + rx
	}
	if len(parts) > 0 && strings.HasSuffix(name, parts[len(parts)-1]) {
		rx += "$"
	}
	if r, err := regexp.Compile(rx); err != nil || !r.MatchString(name) || len(parts) == 0 {
		return "^" + regexp.QuoteMeta(name) + "$"
	}
	return rx
}
