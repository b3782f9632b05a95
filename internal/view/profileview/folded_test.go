package profileview

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/profiletest"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/testrun"
)

// folded returns the profile that folded stacks spell.
func folded(t testing.TB, text string) *profile.Profile {
	t.Helper()
	if text == "" {
		p, err := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "samples", Unit: "count"}}}).Profile()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p, err := profile.ParseBytes([]byte(text))
	if err != nil {
		t.Fatalf("parsing %q: %v", text, err)
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

// parse returns the query that s spells.
func parse(t testing.TB, s string) query.Query {
	t.Helper()
	q, err := query.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// corpus returns the profiles of the corpus, but for the largest.
func corpus(t testing.TB) map[string]*profile.Profile {
	t.Helper()
	const largest = 150 << 10
	out := make(map[string]*profile.Profile)
	for _, f := range testrun.Corpus(t, "profiles") {
		if st, err := os.Stat(f); err != nil || st.Size() > largest {
			continue
		}
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := profile.ParseBytes(data); err == nil && len(p.SampleTypes) > 0 {
			out[filepath.Base(f)] = p
		}
	}
	return out
}

func foldedText(t *testing.T, p *profile.Profile, q query.Query) string {
	t.Helper()
	r, err := Folded(recorded(p), q)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	return linesOf(r)
}

func linesOf(r report.Report) string {
	var b strings.Builder
	for block := range r.(*report.Folded).Blocks() {
		for line := range block.(report.Lines).Each {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

func TestFolded(t *testing.T) {
	tests := []struct{ name, in, q, want string }{
		{"sorted and added up", "main;b 1\nmain;a 2\nmain 3\nmain;b 4\n", "folded", "main 3\nmain;a 2\nmain;b 5\n"},
		{"recursion stays", "main;f;f;f 2\nmain;f 1\n", "folded", "main;f 1\nmain;f;f;f 2\n"},
		{"inlined frames", "main;f;g_[i];h_[i] 2\nmain;f;g 1\n", "folded", "main;f;g 1\nmain;f;g;h 2\n"},
		{"no inlined frames", "main;f;g_[i];h 2\nmain;f;g 1\n", "folded noinlines", "main;f;g 1\nmain;f;h 2\n"},
		{"filters", "main;a;x 1\nmain;b;x 2\nmain;c 4\n", "folded focus=x hide=^main$", "a;x 1\nb;x 2\n"},
		{"a prefix of a name", "a;b 1\na.c;b 2\na 3\n", "folded", "a 3\na;b 1\na.c;b 2\n"},
		{"what cancels out", "a;b 1\na;c 2\na;c -2\n", "folded", "a;b 1\n"},
		{"negative", "a;b -1\na 2\n", "folded", "a 2\na;b -1\n"},
		{"all hidden", "a;b 1\nc 2\n", "folded hide=^c$", "a;b 1\n"},
		{"innermost hidden", "a;b 1\na;c 2\n", "folded hide=b", "a 1\na;c 2\n"},
		{"empty", "", "folded", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := foldedText(t, folded(t, tt.in), parse(t, tt.q)); got != tt.want {
				t.Errorf("%s of\n%sis\n%swant\n%s", tt.q, tt.in, got, tt.want)
			}
		})
	}
}

// TestFoldedBase compares folded stacks with those of either side alone, of profiles large enough that some calls of the tree stay closed.
func TestFoldedBase(t *testing.T) {
	sides := make([]*profile.Profile, 2)
	want := make(map[string]string) // by stack: before and after
	for i := range sides {
		p, err := profile.ParseBytes(profiletest.Bytes(profiletest.Config{Samples: 5000, Functions: 400, Seed: 1, Run: uint64(i)}))
		if err != nil {
			t.Fatal(err)
		}
		sides[i] = p
		for line := range strings.Lines(foldedText(t, p, query.Query{})) {
			stack, n := cutLast(strings.TrimSuffix(line, "\n"))
			if i == 0 {
				want[stack] = n + " 0"
				continue
			}
			before, _, _ := strings.Cut(want[stack], " ")
			want[stack] = cmp.Or(before, "0") + " " + n
		}
	}
	r, err := Folded(recorded(sides[1], sides[0]), query.Query{Base: []string{"before"}})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(linesOf(r)) {
		n++
		rest, after := cutLast(strings.TrimSuffix(line, "\n"))
		stack, before := cutLast(rest)
		if got := before + " " + after; got != want[stack] {
			t.Fatalf("%s is %s, want %s", stack, got, want[stack])
		}
	}
	if n != len(want) || n < 2000 {
		t.Errorf("%d stacks, want %d", n, len(want))
	}
}

// cutLast cuts a line before its last count.
func cutLast(line string) (rest, count string) {
	i := strings.LastIndexByte(line, ' ')
	return line[:i], line[i+1:]
}

func TestFoldedNoStack(t *testing.T) {
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "n", Unit: "count"}}})
	b.Functions = []profile.Function{{Name: "a;b\nc 12"}, {Name: "#x_[i]"}, {}}
	for i := range b.Functions {
		b.Locations = append(b.Locations, profile.Location{
			Mapping: profile.NoMapping, Lines: []profile.Line{{Function: uint32(i)}},
		})
	}
	b.Add(nil, 0, []int64{5})
	b.Add([]uint32{1, 0}, 0, []int64{6})
	b.Add([]uint32{0, 2}, 0, []int64{7})
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	const want = "[no stack] 5\n<unknown>;a:b c_12 7\na:b c_12;_#x 6\n"
	if got := foldedText(t, p, query.Query{}); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestFoldedJSON checks that a report can be gone through more than once, and while that is going on.
func TestFoldedJSON(t *testing.T) {
	r, err := Folded(recorded(folded(t, "main;a;b 1\nmain;c 2\n")), query.Query{})
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"frames":["main","a","b"],"value":1},{"frames":["main","c"],"value":2}]`
	for range r.(*report.Folded).Each {
		b, err := json.Marshal(r)
		if err != nil || !strings.Contains(string(b), `"stacks":`+want) {
			t.Fatalf("%s, %v, want stacks %s", b, err, want)
		}
	}
	for range r.(*report.Folded).Each {
		break
	}
}

// TestFoldedCorpus checks that nothing gets lost in real profiles, and that the text is read as what it says.
func TestFoldedCorpus(t *testing.T) {
	for name, p := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			k, err := p.SampleIndex("")
			if err != nil {
				t.Fatal(err)
			}
			var want int64
			for _, v := range p.Values(k) {
				want += v
			}
			text := foldedText(t, p, query.Query{})
			if text == "" {
				if want != 0 {
					t.Errorf("no stacks, want %d", want)
				}
				return
			}
			back, err := profile.ParseBytes([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			var got int64
			for _, v := range back.Values(0) {
				got += v
			}
			if got != want {
				t.Errorf("sum is %d, want %d", got, want)
			}
			if again := foldedText(t, back, query.Query{}); len(again) > len(text) {
				t.Errorf("%d bytes when read and written again, %d before", len(again), len(text))
			}
		})
	}
}
