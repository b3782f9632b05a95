package rules

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/symbol"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/render"
	"github.com/hone-perf/hone/internal/render/sariftest"
	"github.com/hone-perf/hone/internal/render/words"
	"github.com/hone-perf/hone/internal/report"
)

// TestRules runs the rules on testdata: one folder for each rule, named as it is. A comment on a line says what is below it in
// the profile, the function that it calls first, and which rule has to find something there:
//
//	re := regexp.MustCompile(`x`) // cost: regexp.MustCompile regexp.compile; want
//
// CPU profiles have all of that, heap profiles what is not of the runtime; what begins with a metric in brackets, such as
// [delay], is of that alone, [cpu*100] weighs a hundred times as much, and [alloc_space@64] is of objects of 64 bytes. What the rule says and its patches are in want.txt; UPDATE=1 writes it. Every patch has to leave code that
// compiles; what the program of a folder prints with each patch has to be what it prints without.
func TestRules(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	dirs, err := filepath.Glob("testdata/*-*")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if root, err = filepath.EvalSymlinks(root); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(root, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "go.mod"), []byte("module example.com/rules\n\ngo 1.26\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	wants := map[string][]string{} // by folder: lines
	a := new(report.Advice)
	for part := range slices.Chunk(dirs, 40) { // which are packages, of which hone looks at so many
		p := newProfile()
		for _, dir := range part {
			wants[filepath.Base(dir)] = readFolder(t, p, root, dir)
		}
		one, err := advise.Run(t.Context(), All, []*recording.Recording{{Ref: "made.pprof", Profile: p.profile(t)}}, advise.Options{Dir: root, Least: 1e-9, Debug: t.Logf})
		if err != nil {
			t.Fatal(err)
		}
		a.Findings, a.Notes = append(a.Findings, one.Findings...), append(a.Notes, one.Notes...)
	}
	for _, n := range a.Notes {
		t.Errorf("note: %s", n)
	}
	for _, f := range a.Findings {
		no := words.Missing(f.Missing)
		if (len(f.Fixes) == 0) != (no != "") {
			t.Errorf("%s %s: there are %d patches, and the reason why there is none is %q", f.Rule, f.Where, len(f.Fixes), no)
		}
		if strings.Contains(no, "\n") || strings.Contains(no, ". ") {
			t.Errorf("%s %s: why there is no patch is more than a sentence: %s", f.Rule, f.Where, no)
		}
	}
	var log bytes.Buffer
	if err := render.SARIF(&log, a, render.Options{}); err != nil {
		t.Error(err)
	} else if err := sariftest.Check(log.Bytes()); err != nil {
		t.Errorf("as SARIF: %v", err)
	}
	programs := newPrograms(root)
	for _, dir := range dirs {
		name := filepath.Base(dir)
		t.Run(name, func(t *testing.T) {
			var found []report.Finding
			var lines []string
			for _, f := range a.Findings {
				if strings.HasPrefix(f.Where.File, name+"/") && f.Rule == name {
					found = append(found, f)
					lines = append(lines, f.Where.String())
				}
			}
			slices.Sort(lines)
			slices.Sort(wants[name])
			if !slices.Equal(lines, wants[name]) {
				t.Errorf("found at %v; want %v", lines, wants[name])
			}
			slices.SortFunc(found, func(a, b report.Finding) int { return a.Where.Line - b.Where.Line })
			for _, f := range found {
				for _, text := range []string{f.Title, f.Claim, f.Advice, f.Risk, words.Missing(f.Missing)} {
					if strings.Contains(text, "  ") || strings.Contains(text, "%!") || strings.HasPrefix(text, " ") || strings.HasSuffix(text, " ") {
						t.Errorf("line %d: something is missing in %q", f.Where.Line, text)
					}
				}
			}
			golden(t, filepath.Join(dir, "want.txt"), told(found))
			programs.add(t, name, found)
		})
	}
	t.Run("output", programs.sameOutput)
	for _, r := range All {
		if r.NoFix == "" {
			t.Errorf("rule %s does not say why it may have no patch", r.Name)
		}
		if _, ok := wants[r.Name]; !ok {
			t.Errorf("rule %s has no folder in testdata", r.Name)
		}
	}
}

// readFolder adds the costs in the files of a folder, and returns the lines where something is to be found.
func readFolder(t *testing.T, p *madeProfile, root, dir string) []string {
	name := filepath.Base(dir)
	wants := []string{}
	files, err := filepath.Glob(filepath.Join(root, name, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no source: %v", dir, err)
	}
	for _, f := range files {
		wants = append(wants, p.read(t, f, "example.com/rules/"+name)...)
	}
	if !slices.ContainsFunc(All, func(r *advise.Rule) bool { return r.Name == name }) {
		t.Errorf("%s is named as no rule", dir)
	}
	return wants
}

// told writes findings for people to read.
func told(found []report.Finding) string {
	var b strings.Builder
	for _, f := range found {
		fmt.Fprintf(&b, "%d: %s\n\t%s\n\tadvice: %s\n\trisk: %s\n", f.Where.Line, f.Title, f.Claim, f.Advice, f.Risk)
		for _, c := range f.Ask {
			fmt.Fprintf(&b, "\task: %v says %s\n", c, c.Answer)
		}
		if no := words.Missing(f.Missing); no != "" {
			fmt.Fprintf(&b, "\tno patch: %s\n", no)
		}
		for _, x := range f.Fixes {
			risk := ""
			if x.Risk != "" {
				risk = ": " + x.Risk
			}
			fmt.Fprintf(&b, "%s (%s)%s\n%s", x.Title, x.Grade, risk, x.Patch)
		}
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(name, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// programs are those of all folders, as they are and with each patch. They are packages of one program, which is told which to run: to
// link a program for each of them would take most of the time of this test.
type programs struct {
	root string
	all  []program
}

type program struct {
	name, title string // of the folder, and of the patch; "" for the program as it is, which stands before those with its patches
	line        int
}

// triedDir is the folder in root that has the packages.
const triedDir = "tried"

func newPrograms(root string) *programs { return &programs{root: root} }

// add writes the packages for one folder.
func (p *programs) add(t *testing.T, name string, found []report.Finding) {
	files, err := filepath.Glob(filepath.Join(p.root, name, "*.go"))
	if err != nil || !slices.Contains(files, filepath.Join(p.root, name, "main.go")) {
		return // there is nothing to run
	}
	write := func(prog program, changed *report.Fix) {
		t.Helper()
		for _, file := range files {
			old, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text := string(old)
			for k := 0; changed != nil && k < len(changed.Edits); k++ {
				if e := changed.Edits[len(changed.Edits)-1-k]; e.File == name+"/"+filepath.Base(file) {
					text = text[:e.Start] + e.New + text[e.End:]
				}
			}
			to := filepath.Join(p.root, triedDir, strconv.Itoa(len(p.all)), filepath.Base(file))
			text = mainClause.ReplaceAllString(mainFunc.ReplaceAllString(text, "func Main()"), "package tried")
			if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o777), os.WriteFile(to, []byte(text), 0o666)); err != nil {
				t.Fatal(err)
			}
		}
		p.all = append(p.all, prog)
	}
	first := true
	for _, f := range found {
		for _, x := range f.Fixes {
			if first {
				write(program{name: name}, nil)
				first = false
			}
			write(program{name, x.Title, f.Where.Line}, &x)
		}
	}
}

var (
	mainClause = regexp.MustCompile(`(?m)^package main$`)
	mainFunc   = regexp.MustCompile(`(?m)^func main\(\)`)
)

// sameOutput builds the packages, and compares what they print.
func (p *programs) sameOutput(t *testing.T) {
	var imports, calls strings.Builder
	for i := range p.all {
		fmt.Fprintf(&imports, "\tp%d \"example.com/rules/%s/%d\"\n", i, triedDir, i)
		fmt.Fprintf(&calls, "\tp%d.Main,\n", i)
	}
	text := "package main\n\nimport (\n\t\"os\"\n\t\"strconv\"\n\n" + imports.String() + ")\n\nvar programs = []func(){\n" + calls.String() +
		"}\n\nfunc main() {\n\ti, err := strconv.Atoi(os.Args[1])\n\tif err != nil {\n\t\tpanic(err)\n\t}\n\tprograms[i]()\n}\n"
	if err := os.WriteFile(filepath.Join(p.root, triedDir, "main.go"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), "tried.exe")
	build := exec.Command("go", "build", "-ldflags=-w", "-o", bin, "./"+triedDir)
	build.Dir = p.root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v; the packages are %+v\n%s", build, err, p.all, out)
	}
	want := ""
	for i, prog := range p.all {
		out, err := exec.Command(bin, strconv.Itoa(i)).CombinedOutput()
		if err != nil {
			t.Errorf("%s, line %d, %s: %v\n%s", prog.name, prog.line, prog.title, err, out)
		}
		switch {
		case prog.title == "":
			if want = string(out); want == "" {
				t.Errorf("%s prints nothing, so there is nothing to compare", prog.name)
			}
		case string(out) != want:
			t.Errorf("%s, line %d, %s: it prints\n%s\nand without the patch\n%s", prog.name, prog.line, prog.title, out, want)
		}
	}
}

// A madeProfile is a profile of costs in comments.
type madeProfile struct {
	*profile.Builder
	at map[string]uint32 // locations
}

func newProfile() *madeProfile {
	var h profile.Header
	for _, name := range madeMetrics {
		unit := map[string]string{"cpu": "nanoseconds", "delay": "nanoseconds", "alloc_space": "bytes", "inuse_space": "bytes"}[name]
		h.SampleTypes = append(h.SampleTypes, profile.ValueType{Type: name, Unit: unit})
	}
	return &madeProfile{profile.NewBuilder(h), map[string]uint32{}}
}

func (m *madeProfile) profile(t *testing.T) *profile.Profile {
	p, err := m.Profile()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// madeMetrics are the sample types of a madeProfile.
var madeMetrics = []string{"cpu", "alloc_space", "alloc_objects", "inuse_space", "delay", "goroutine"}

var (
	costComment = regexp.MustCompile(`// (?:.*; )?cost: (.*)$`)
	wantComment = regexp.MustCompile(`[;/] want\b`)
	funcLine    = regexp.MustCompile(`^func (?:\((?:\w+ )?(\*?)(\w+)(?:\[\w+\])?\) )?(\w+)`)
)

// read adds the costs in a file, and returns the lines where something is to be found.
func (m *madeProfile) read(t *testing.T, name, pkg string) (wants []string) {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "\npackage main\n") || strings.HasPrefix(string(text), "package main\n") {
		pkg = "main"
	}
	fn, start := "", 0
	for i, line := range strings.Split(string(text), "\n") {
		if f := funcLine.FindStringSubmatch(line); f != nil {
			start = i + 1
			switch {
			case f[2] == "":
				fn = pkg + "." + f[3]
			case f[1] == "":
				fn = pkg + "." + f[2] + "." + f[3]
			default:
				fn = pkg + ".(*" + f[2] + ")." + f[3]
			}
		}
		if wantComment.MatchString(line) {
			wants = append(wants, filepath.Base(filepath.Dir(name))+"/"+filepath.Base(name)+fmt.Sprintf(":%d", i+1))
		}
		c := costComment.FindStringSubmatch(line)
		if c == nil {
			continue
		}
		spec, _, _ := strings.Cut(c[1], "; want")
		for one := range strings.SplitSeq(spec, ",") {
			m.add(fn, name, start, i+1, strings.Fields(one))
		}
	}
	return wants
}

// add adds a sample to a line.
func (m *madeProfile) add(fn, file string, start, line int, below []string) {
	only, weight, labels := "", int64(1), uint32(0)
	if len(below) > 0 && strings.HasPrefix(below[0], "[") {
		times, size := "", ""
		only, size, _ = strings.Cut(strings.Trim(below[0], "[]"), "@")
		if n, err := strconv.ParseInt(size, 10, 64); err == nil {
			labels = m.Labels([]profile.Label{{Key: "bytes", Numeric: true, Num: n, Unit: "bytes"}})
		}
		only, times, _ = strings.Cut(only, "*")
		if n, err := strconv.ParseInt(times, 10, 64); err == nil {
			weight = n
		}
		below = below[1:]
	}
	var whole, heap []uint32
	at := m.location(fn, file, start, line)
	for i := len(below) - 1; i >= 0; i-- {
		l := m.location(below[i], "<made>", 0, 1)
		whole = append(whole, l)
		if len(heap) > 0 || !symbol.IsRuntime(below[i]) {
			heap = append(heap, l)
		}
	}
	whole, heap = append(whole, at), append(heap, at)
	for k, name := range madeMetrics {
		if only != name && (only != "" || k > 2) {
			continue
		}
		v := make([]int64, len(madeMetrics))
		v[k] = 1000 * weight
		stack := whole
		if strings.HasPrefix(name, "alloc") || strings.HasPrefix(name, "inuse") {
			stack = heap
		}
		m.Add(stack, labels, v)
	}
}

func (m *madeProfile) location(fn, file string, start, line int) uint32 {
	key := fmt.Sprint(fn, file, line)
	l, ok := m.at[key]
	if !ok {
		l = uint32(len(m.Locations))
		m.Functions = append(m.Functions, profile.Function{ID: uint64(l + 1), Name: fn, SystemName: fn, File: file, StartLine: int64(start)})
		m.Locations = append(m.Locations, profile.Location{
			ID: uint64(l + 1), Mapping: profile.NoMapping, Address: uint64(l + 1), Lines: []profile.Line{{Function: l, Line: int64(line)}},
		})
		m.at[key] = l
	}
	return l
}
