package report

import (
	"iter"
	"regexp"
	"strings"
	"sync"
)

// A Look is a first look at a recording.
type Look struct {
	Top
	Refs    []string    `json:"refs"`
	Samples int         `json:"samples"`
	Types   []TypeTotal `json:"types"`
	Labels  []string    `json:"labels,omitempty"` // keys
	Hottest string      `json:"hottest,omitempty"`
}

// Blocks returns the top rows, then what else there is and what to try next.
func (l *Look) Blocks() iter.Seq[Block] {
	return func(yield func(Block) bool) {
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

// next returns commands and what they answer.
func (l *Look) next() []Command {
	refs := ""
	for i, r := range l.Refs {
		if i == 2 && len(l.Refs) > 3 {
			refs += " …" // it is clear by now
			break
		}
		refs += " " + shellWord(r)
	}
	out := []Command{{"hone top --cum" + refs, "what is expensive with all that it calls"}}
	if l.Hottest != "" {
		rx := shellWord(simplePattern(l.Hottest))
		out = append(out,
			Command{"hone peek " + rx + refs, "who calls the first of these"},
			Command{"hone list " + rx + refs, "which of its lines"})
	}
	out = append(out, Command{"hone flame" + refs, "the whole picture"})
	if len(l.Labels) > 0 {
		out = append(out, Command{"hone tags" + refs, "by label: " + strings.Join(l.Labels, ", ")})
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

// shellWord returns s as a shell takes it for one word.
func shellWord(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n\"'`$\\*?[](){}|&;<>#~!") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
