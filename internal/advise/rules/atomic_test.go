package rules

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

// adviseModule returns what is found in a module of one package, of files with costs in their comments.
func adviseModule(t *testing.T, version string, files map[string]string) []report.Finding {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the go command")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := newProfile()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		m.read(t, file, "example.com/one")
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/one\n\ngo "+version+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	a, err := advise.Run(t.Context(), All, []*recording.Recording{{Ref: "made.pprof", Profile: m.profile(t)}}, advise.Options{Dir: dir, Least: 1e-9, Debug: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	return a.Findings
}

// TestAtomicOfOthers holds that a field becomes atomic as a matter of course only where nobody outside of the files that are looked at can tell.
func TestAtomicOfOthers(t *testing.T) {
	const hits = "type hits struct {\n\tmu sync.Mutex\n\tn int\n}\n\nfunc (h *hits) inc() {\n\th.mu.Lock() // cost: [delay] sync.(*Mutex).Lock; want\n\th.n++\n\th.mu.Unlock()\n}\n\n"
	const lib = "package lib\n\nimport \"sync\"\n\n" + hits
	for name, tt := range map[string]struct {
		code, test string
		grade      report.Grade
		why        missing.Fact
	}{
		"a variable of the package":       {lib + "var all hits\n\nfunc Hit() { all.inc() }\n", "", report.Mechanical, ""},
		"a result":                        {lib + "func New() *hits { return new(hits) }\n", "", report.Ownership, ""},
		"a field of an exported type":     {lib + "type Server struct{ hits hits }\n\nfunc (s *Server) Hit() { s.hits.inc() }\n", "", report.Ownership, ""},
		"behind an interface":             {lib + "type Counter interface{ inc() }\n\nvar New func() Counter\n", "", report.Ownership, ""},
		"names that begin as its fields":  {lib, "type x struct{ name, mutex string }\n\nfunc f(t x) string { n := t.name; return n + t.mutex }\n", report.Mechanical, ""},
		"a test that names the field":     {lib, "func f(h *hits) int { return h.n }\n", "", missing.StatesElsewhere},
		"a test that makes it in order":   {lib, "var h = &hits{sync.Mutex{}, 1}\n", "", missing.StatesElsewhere},
		"a test that shows what is in it": {lib, "func f(h *hits) string { return fmt.Sprintf(`%+v`, h) }\n", "", missing.StatesElsewhere},
		"a test that calls it":            {lib, "func f(h *hits) { h.inc() }\n", report.Mechanical, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"lib.go": tt.code}
			if tt.test != "" {
				files["lib_test.go"] = "package lib\n\n" + tt.test
			}
			found := adviseModule(t, "1.26", files)
			if len(found) != 1 || found[0].Missing.Fact != tt.why || len(found[0].Fixes) > 0 && found[0].Fixes[0].Grade != tt.grade || (len(found[0].Fixes) > 0) != (tt.why == "") {
				t.Errorf("found %+v", found)
			}
		})
	}
}
