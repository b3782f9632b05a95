package prove

import (
	"slices"
	"strings"
	"testing"
)

// TestWithout holds that calls which do not compile leave the others and their lines as they are, and an import that nothing names any
// more can be left out too.
func TestWithout(t *testing.T) {
	lines := []string{
		"package p", "", "import (", "\t\"strings\"", "\tx \"example.com/x\"", ")", "",
		"func TestHoneRepeat(t *T) {",
		"\t// hone:group", "\tone(strings.ToUpper(a))", "\t// hone:end",
		"\t// hone:group", "\ttwo(x.B)", "\t// hone:end",
		"}",
	}
	p := &Parallel{
		Files: []ParallelFile{{"a_test.go", strings.Join(lines, "\n")}, {"b_test.go", "package p"}},
		Calls: []ParallelCall{{Name: "one", File: "a_test.go", First: 10}, {Name: "two", File: "a_test.go", First: 13}, {Name: "b", File: "b_test.go", First: 10}},
	}
	names := func(p *Parallel) (out []string) {
		if p != nil {
			for _, c := range p.Calls {
				out = append(out, c.Name)
			}
		}
		return out
	}
	tests := []struct {
		name  string
		lines []int
		gone  []int // lines
		calls []string
	}{
		{"a call", []int{10, 10}, []int{10}, []string{"two", "b"}},
		{"both calls", []int{10, 13}, []int{10, 13}, []string{"b"}},
		{"an import", []int{5}, []int{5}, []string{"one", "two", "b"}},
		{"something else", []int{8}, nil, []string{"b"}},
		{"a line that is not there", []int{99}, nil, []string{"b"}},
		{"the file", nil, nil, []string{"b"}},
	}
	for _, tt := range tests {
		got := p.Without("a_test.go", tt.lines)
		if !slices.Equal(names(got), tt.calls) {
			t.Errorf("%s: left %q, want %q", tt.name, names(got), tt.calls)
		}
		if len(got.Files) != 2 {
			if tt.gone != nil || len(got.Files) != 1 || got.Files[0].Name != "b_test.go" {
				t.Errorf("%s: files %v", tt.name, got.Files)
			}
			continue
		}
		text := strings.Split(got.Files[0].Source, "\n")
		for i := range lines {
			if want := slices.Contains(tt.gone, i+1); (text[i] == "") != (want || lines[i] == "") {
				t.Errorf("%s: line %d is %q", tt.name, i+1, text[i])
			}
		}
	}
	if got := p.Without("a_test.go", nil).Without("b_test.go", nil); got != nil {
		t.Errorf("of nothing, %v is left", got)
	}
}
