package views

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/view"
)

func TestAll(t *testing.T) {
	names := make(map[string]bool)
	for v := range All() {
		for _, name := range append([]string{v.Name}, v.Aliases...) {
			if got, ok := Find(name); !ok || got != v {
				t.Errorf("Find(%q) is not %s", name, v.Name)
			}
			names[name] = true
		}
		if v.Doc == "" || strings.HasSuffix(v.Doc, ".") || len(v.Examples) == 0 || v.Run == nil {
			t.Errorf("%s: doc is %q, with %d examples", v.Name, v.Doc, len(v.Examples))
		}
		seen := make(map[string]bool)
		for _, key := range v.Uses.List() {
			if query.Find(key) == nil || seen[key] {
				t.Errorf("%s uses %s, which is not a key or was named before", v.Name, key)
			}
			seen[key] = true
		}
		// Others that use a base are about the difference, which can be normalized.
		if both := v.NeedsBase || v.Compares; both && !seen["base"] || !both && seen["base"] != seen["normalize"] {
			t.Errorf("%s: uses base is %v and normalize %v, needs base is %v, compares is %v", v.Name, seen["base"], seen["normalize"], v.NeedsBase, v.Compares)
		}
		for _, example := range v.Examples {
			if got, _, err := parse(example); err != nil || got != v {
				t.Errorf("%s: %v, %v", example, got, err)
			}
		}
	}
	if _, ok := Find("nothing"); ok {
		t.Error("Find(nothing) found something")
	}
}

// TestRun checks that each view answers, and that blocks can be made of the answer.
func TestRun(t *testing.T) {
	in := recorded(folded(t, "main;a;b 3\nmain;a 2\n"), folded(t, "main;a;b 1\n"))
	for v := range All() {
		if v.Part != view.Profile {
			if _, err := v.Run(in, query.Query{}); err == nil {
				t.Errorf("%s of a profile: no error", v.Name)
			}
			continue
		}
		if v.Kind != "" || v.Timed { // of profiles that these are not
			if _, err := v.Run(in, query.Query{}); err == nil {
				t.Errorf("%s of folded stacks: no error", v.Name)
			}
			continue
		}
		r, err := v.Run(in, query.Query{View: v.Name, Arg: "a"})
		if v.Name != "diff" {
			r, err = v.Run(in[:1], query.Query{View: v.Name, Arg: "a"})
		}
		if v.Name == "disasm" || v.Name == "weblist" {
			if err == nil {
				t.Errorf("%s: no error though there is no program", v.Name)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", v.Name, err)
			continue
		}
		if blocks := slices.Collect(r.Blocks()); len(blocks) == 0 {
			t.Errorf("%s: no blocks", v.Name)
		}
		for _, in := range [][]*recording.Recording{nil, {}, recorded(nil)} {
			if _, err := v.Run(in, query.Query{}); err == nil {
				t.Errorf("%s of nothing: no error", v.Name)
			}
		}
	}
}

// parse reads a question as the prompt does.
func parse(line string) (*view.View, query.Query, error) {
	q, err := query.Grammar(Keys).Parse(Numbered(line))
	if err != nil {
		return nil, q, err
	}
	return Resolve(q)
}

func TestResolve(t *testing.T) {
	tests := []struct {
		in   string
		want query.Query
		err  string
	}{
		{in: "top limit=20 focus=json", want: query.Query{View: "top", Limit: 20, Steps: []query.Step{{Op: query.Focus, Arg: "json"}}}},
		{in: "top 20", want: query.Query{View: "top", Limit: 20}},
		{in: "top20", want: query.Query{View: "top", Limit: 20}},
		{in: "top20 focus=json", want: query.Query{View: "top", Limit: 20, Steps: []query.Step{{Op: query.Focus, Arg: "json"}}}},
		{in: "top20 -cum", err: "no flags here: limit=20 sort=cum"},
		{in: "top -n 2", err: "no flags here: limit=2"},
		{in: "raw3", err: `unknown view "raw3"`},
		{in: "text cum", want: query.Query{View: "top", Sort: "cum"}},
		{in: "list 20", want: query.Query{View: "list", Arg: "20"}},
		{in: "peek a b", want: query.Query{View: "peek", Arg: "a|b"}},
		{in: "tpo", err: `unknown view "tpo"; did you mean top?; the views are top, list, disasm, `},
		{in: "tpo", err: "; did you mean top?"},
		{in: "", err: `unknown view ""; the views are`},
		{in: "list", err: "list needs a regular expression for functions, as in list json.Unmarshal"},
		{in: "top json", err: "top takes no argument; focus=json shows what goes through that"},
		{in: "callgrind 20", err: "callgrind takes no argument"},
		{in: "info x", err: "info takes no argument"},
		{in: "top fcous=json", err: `unknown key "fcous"; did you mean focus?; the keys of top are ref, base, base-tag, metric, at, focus,`},
		{in: "traces base=x", err: "traces has no key base; its keys are ref, metric,"},
	}
	for _, tt := range tests {
		v, got, err := parse(tt.in)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v, want error %s", tt.in, err, tt.err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, tt.want) || v.Name != tt.want.View {
			t.Errorf("%s = %+v, %v, want %+v", tt.in, got, err, tt.want)
		}
	}
}

// folded returns the profile that folded stacks spell.
func folded(t *testing.T, text string) *profile.Profile {
	t.Helper()
	p, err := profile.ParseBytes([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// recorded returns profiles as what views are asked about.
func recorded(profiles ...*profile.Profile) []*recording.Recording {
	var in []*recording.Recording
	for _, p := range profiles {
		in = append(in, &recording.Recording{Ref: "test.pprof", Profile: p})
	}
	return in
}
