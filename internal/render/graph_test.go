package render

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
	"github.com/hone-perf/hone/internal/view/profileview"
)

// oracle compares got with a file that go tool pprof wrote for the handmade profile; UPDATE=1 has it write the file
// again.
func oracle(t *testing.T, name string, got []byte, args ...string) {
	t.Helper()
	path := filepath.Join("testdata", "pprof", name)
	if os.Getenv("UPDATE") != "" {
		var in bytes.Buffer
		if err := handmade().Write(&in); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "handmade.pb.gz")
		if err := os.WriteFile(file, in.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("go", append(append([]string{"tool", "pprof"}, args...), "-symbolize=none", "-output="+path, file)...)
		cmd.Env = append(os.Environ(), "TZ=UTC")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", path, got, want)
	}
}

// ask returns the graph of the handmade profile.
func ask(t *testing.T, v func([]*recording.Recording, query.Query) (report.Report, error), q query.Query) *report.Graph {
	t.Helper()
	r, err := v([]*recording.Recording{{Profile: handmade()}}, q)
	if err != nil {
		t.Fatal(err)
	}
	return r.(*report.Graph)
}

func TestDot(t *testing.T) {
	legend := []string{
		"File: app", "Build ID: abc", "one", "two", "Type: cpu", "Doc: https://example.com",
		"Time: 2026-11-21 09:00:00 UTC", "Duration: 1.23s, Total samples = 1032ms (83.59%)",
		"Showing nodes accounting for 1032ms, 100% of 1032ms total",
		"\nSee https://git.io/JfYMW for how to read the graph",
	}
	g := ask(t, profileview.Graph, query.Query{})
	format := func(v int64) string { return unit.Format(v, g.Unit, "ms") }
	var out bytes.Buffer
	if err := Dot(&out, g, DotOptions{Labels: legend, Format: format}); err != nil {
		t.Fatal(err)
	}
	oracle(t, "dot", out.Bytes(), "-dot")

	g = ask(t, profileview.Graph, query.Query{By: "line", Metric: "alloc", Min: -1, MinEdge: -1, Limit: -1, Unit: "B"})
	format = func(v int64) string { return unit.Format(v, g.Unit, "B") }
	legend = append(slices.Clone(legend[:4]), "Type: alloc", legend[5], legend[6], "Duration: 1.23s, Total samples = 12345683008B ",
		"Showing nodes accounting for 12345683002B, 100% of 12345683008B total", legend[9])
	out.Reset()
	if err := Dot(&out, g, DotOptions{Labels: legend, Format: format}); err != nil {
		t.Fatal(err)
	}
	oracle(t, "dot-lines", out.Bytes(), "-dot", "-lines", "-sample_index=alloc", "-trim=false", "-unit=B")
}

func TestDotOdd(t *testing.T) {
	g := graphReport()
	g.Total = 0
	g.Title = `a "title"`
	g.Nodes[0].Name = `main."quoted"` + "\nline"
	var out bytes.Buffer
	if err := Dot(&out, g, DotOptions{Format: func(int64) string { return "x" }}); err != nil {
		t.Fatal(err)
	}
	golden(t, "dot-odd", out.Bytes())

	out.Reset()
	if err := Dot(&out, &report.Graph{}, DotOptions{}); err != nil {
		t.Fatal(err)
	}
	if want := "digraph \"unnamed\" {\nnode [style=filled fillcolor=\"#f8f8f8\"]\n}\n"; out.String() != want {
		t.Errorf("Dot of nothing = %q, want %q", out.String(), want)
	}
}

func TestCallgrind(t *testing.T) {
	var out bytes.Buffer
	if err := Callgrind(&out, ask(t, profileview.Callgrind, query.Query{}), "cpu", "nanoseconds", "ms"); err != nil {
		t.Fatal(err)
	}
	oracle(t, "callgrind", out.Bytes(), "-callgrind")
}

// Where several functions share a name, all but their positions in the list would be lost.
func TestCallgrindNames(t *testing.T) {
	g := graphReport()
	g.Nodes[2].Name = "main.main"
	g.Nodes[2].Function = 7
	g.Nodes[1].Address = 0x1000
	g.Nodes[2].Address = 0x1008
	var out bytes.Buffer
	if err := Callgrind(&out, g, "cpu", g.Unit, "ms"); err != nil {
		t.Fatal(err)
	}
	golden(t, "callgrind-names", out.Bytes())
}

func TestShortName(t *testing.T) {
	tests := []struct{ in, want string }{
		{"main.main", "main.main"},
		{"github.com/google/pprof/internal/graph.(*Graph).Trim", "graph.(*Graph).Trim"},
		{"example.org/a-b/v2.Func", "a-b.Func"},
		{"example.org/a/v21/c.Func", "c.Func"},
		{"example.org/a/v1/c.Func", "c.Func"},
		{"a/b.c[go.shape/d.e]", "b.c[go.shape/d.e]"},
		{"java.util.concurrent.ThreadPoolExecutor$Worker.run", "ThreadPoolExecutor$Worker.run"},
		{"com.example.Thing.<init>(int, String)", "Thing.<init>"},
		{"com.example.lower.call", "com.example.lower.call"},
		{"(anonymous namespace)::Class::method", "Class::method"},
		{"ns::inner::Class::~Class", "Class::~Class"},
		{"ns::Map<a::B>::get<int>", "ns::Map<a::B>::get<int>"},
		{"ns::Map::get<int, a::B>", "Map::get<int, a::B>"},
		{"ns::free_function", "ns::free_function"},
		{"", ""},
	}
	for _, tt := range tests {
		if got := shortName(tt.in); got != tt.want {
			t.Errorf("shortName(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}
