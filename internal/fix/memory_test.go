package fix

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/report"
)

const twoFuncs = `package p

func F() int { return 1 }

func G() int { return 2 }
`

func made(fn, text, new string) *trial {
	return &trial{
		finding: &report.Finding{Rule: "r", Where: report.Spot{Function: "example.com/p." + fn}}, was: []byte(text),
		fix: &report.Fix{Title: "t", Edits: []report.Edit{{New: new}}}, reason: "slower",
	}
}

// TestMemory holds that a patch is known again as long as its function stays as it is.
func TestMemory(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "deep", "refused.json")
	m, err := OpenMemory(file, "hone v1")
	if err != nil {
		t.Fatal(err)
	}
	y := made("F", twoFuncs, "x")
	m.refuse(&tree{path: "example.com/m", vers: "go1.26"}, y, y.finding)
	if err := m.save(); err != nil {
		t.Fatal(err)
	}
	if m, err = OpenMemory(file, "hone v1"); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name  string
		y     *trial
		known bool
	}{
		{"the same", made("F", twoFuncs, "x"), true},
		{"in a literal of it", made("F.func1", twoFuncs, "x"), true},
		{"another function changed", made("F", strings.Replace(twoFuncs, "return 2", "return 3", 1), "x"), true},
		{"the function changed", made("F", strings.Replace(twoFuncs, "return 1", "return 3", 1), "x"), false},
		{"another patch", made("F", twoFuncs, "y"), false},
		{"another function", made("G", twoFuncs, "x"), false},
	}
	for _, tt := range tests {
		if got := m.refused(tt.y.key("go1.26"), 0); (got != nil) != tt.known {
			t.Errorf("%s: %v; want known %v", tt.name, got, tt.known)
		}
	}
	if m.refused(y.key("go1.27"), 0) != nil {
		t.Error("another version of Go is taken for the same")
	}
	if other, err := OpenMemory(file, "hone v2"); err != nil || other.refused(y.key("go1.26"), 0) != nil {
		t.Errorf("another version of hone takes what was refused for decided: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/m\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := m.Forget(filepath.Join(dir, "deep")); n != 1 || err != nil {
		t.Errorf("forgot %d, %v", n, err)
	}
	if m, err = OpenMemory(file, "hone v1"); err != nil || len(m.list) != 0 {
		t.Errorf("after forgetting: %v, %v", m, err)
	}
	if err := os.WriteFile(file, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenMemory(file, "hone v1"); err == nil {
		t.Error("a file of something else is not an error")
	}
	var none *Memory
	none.refuse(nil, y, y.finding)
	if none.refused(y.key(""), 0) != nil || none.save() != nil {
		t.Error("no memory remembers")
	}
}

// TestMemoryOfLittleGains holds that a patch that gained too little is tried again when less is asked for.
func TestMemoryOfLittleGains(t *testing.T) {
	m := &Memory{hone: "hone v1"}
	y := made("F", twoFuncs, "x")
	y.short, y.least, y.most = true, 0.03, report.CompareRow{Name: "a", What: "allocations", Old: 44, New: 43}
	m.refuse(&tree{path: "example.com/m", vers: "go1.26"}, y, y.finding)
	for minGain, known := range map[float64]bool{0: false, 0.01: false, 0.03: true, 0.1: true} {
		if got := m.refused(y.key("go1.26"), minGain); (got != nil) != known {
			t.Errorf("with a gain of at least %v: %v; want known %v", minGain, got, known)
		} else if known && got.Gained.Old-got.Gained.New != 1 {
			t.Errorf("it gained %v, want one object", got.Gained)
		}
	}
}

// What two runs at the same time refuse is all remembered.
func TestMemoryOfTwo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "refused.json")
	in := &tree{path: "example.com/m", vers: "go1.26"}
	var both [2]*Memory
	for i := range both {
		m, err := OpenMemory(file, "hone v1")
		if err != nil {
			t.Fatal(err)
		}
		both[i] = m
	}
	for i, fn := range []string{"F", "G"} {
		y := made(fn, twoFuncs, "x")
		both[i].refuse(in, y, y.finding)
		again := made("F", twoFuncs, "both")
		both[i].refuse(in, again, again.finding)
		if err := both[i].save(); err != nil {
			t.Fatal(err)
		}
	}
	m, err := OpenMemory(file, "hone v1")
	if err != nil {
		t.Fatal(err)
	}
	if len(m.list) != 3 || m.refused(made("F", twoFuncs, "x").key("go1.26"), 0) == nil || m.refused(made("G", twoFuncs, "x").key("go1.26"), 0) == nil {
		t.Errorf("of three patches that two runs refused %d are remembered: %+v", len(m.list), m.list)
	}
}
