package report

import (
	"iter"
	"regexp"
	"strings"
)

// A Look is a first look at a recording.
type Look struct {
	Top
	Ref     string      `json:"ref"`
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
		next := Table{Title: "try next", Columns: []Column{{Name: "command"}, {Name: "answer"}}}
		for _, n := range l.next() {
			next.Rows = append(next.Rows, []any{n[0], n[1]})
		}
		yield(next)
	}
}

// next returns commands and what they answer.
func (l *Look) next() [][2]string {
	ref := shellWord(l.Ref)
	out := [][2]string{{"hone top --cum " + ref, "what is expensive with all that it calls"}}
	if l.Hottest != "" {
		rx := shellWord(regexp.QuoteMeta(l.Hottest) + "$")
		out = append(out,
			[2]string{"hone peek " + rx + " " + ref, "who calls the first of these"},
			[2]string{"hone list " + rx + " " + ref, "which of its lines"})
	}
	out = append(out, [2]string{"hone flame " + ref, "the whole picture"})
	if len(l.Labels) > 0 {
		out = append(out, [2]string{"hone tags " + ref, "by label: " + strings.Join(l.Labels, ", ")})
	}
	return out
}

// shellWord returns s as a shell takes it for one word.
func shellWord(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n\"'`$\\*?[](){}|&;<>#~!") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
