package cli

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// allCommands returns the commands of hone with all their flags, by name.
func allCommands() map[string]*cobra.Command {
	sys := System{Env: func(string) string { return "" }}
	root := newRoot(&sys)
	sys.args = []string{"help"} // begins with none of them
	for _, c := range root.Commands() {
		sys.args = append(sys.args, c.Name())
	}
	out := map[string]*cobra.Command{"": newRoot(&sys)}
	for _, c := range out[""].Commands() {
		out[c.Name()] = c
	}
	return out
}

// TestOneNameForALength holds that every command calls a duration --for and a limit --budget, and that the old names are hidden and set the same.
func TestOneNameForALength(t *testing.T) {
	old := 0
	for name, cmd := range allCommands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			now := f.Annotations[nowCalled]
			if len(now) > 0 {
				old++
				if is := cmd.Flag(now[0]); is == nil || is.Value != f.Value || !f.Hidden {
					t.Errorf("hone %s --%s is not the same as --%s", name, f.Name, now[0])
				}
			} else if slices.Contains(lengthNames, f.Name) && f.Name != lengthFlag && f.Name != budgetFlag {
				t.Errorf("hone %s --%s: a length is called --for, and a limit --budget", name, f.Name)
			}
		})
	}
	if old < 3 {
		t.Errorf("%d flags have a name from before", old)
	}
}

// TestDocumentedFlags holds that help, docs and examples use the current names of flags.
func TestDocumentedFlags(t *testing.T) {
	commands := allCommands()
	pages, err := filepath.Glob("../../*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../../docs/guide/*.md")
	if err != nil || len(more) == 0 {
		t.Fatalf("no guides: %v", err)
	}
	texts := map[string]string{}
	for _, p := range append(pages, more...) {
		if filepath.Base(p) == "CHANGELOG.md" {
			continue // the page lists old names
		}
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		texts[p] = string(text)
	}
	for name, c := range commands {
		texts["hone "+name+" --help"] = c.Long + "\n" + c.Example
	}
	line := regexp.MustCompile("hone ([a-z-]+)[^\n`#|&;]*")
	flag := regexp.MustCompile(`(?:^| )--([a-z][a-z0-9-]*)`)
	seen := 0
	for page, text := range texts {
		for _, m := range line.FindAllStringSubmatch(text, -1) {
			cmd := commands[m[1]]
			if cmd == nil || cmd.DisableFlagParsing && cmd.GroupID == groupCompat {
				continue
			}
			own, _, _ := strings.Cut(m[0], " -- ")
			if words := strings.Fields(own); len(words) > 2 {
				for _, sub := range cmd.Commands() {
					if sub.Name() == words[2] {
						cmd = sub
					}
				}
			}
			for _, f := range flag.FindAllStringSubmatch(own, -1) {
				seen++
				is := cmd.Flag(f[1])
				_, build := buildFlags()[f[1]]
				_, test := testFlags()[f[1]]
				if f[1] != "help" && (is == nil || is.Hidden) && !(cmd.DisableFlagParsing && (build || test)) {
					t.Errorf("%s: %s: --%s is not a flag of hone %s, or is called otherwise now", page, m[0], f[1], m[1])
				}
			}
		}
	}
	if seen < 50 {
		t.Errorf("only %d flags were found", seen)
	}
}

// TestGoFlags holds which arguments of a command are flags of the go command: with one dash or two, except for the command's own flags.
func TestGoFlags(t *testing.T) {
	for _, tt := range []struct{ args, own, build, test string }{
		{"-tags=x ./p", "./p", "-tags=x", ""},
		{"--tags=x ./p", "./p", "-tags=x", ""},
		{"--tags x --bench . ./p", "./p", "-tags=x", "-test.bench=."},
		{"--race -v", "", "-race", "-test.v"},
		{"--count=3 -count=4", "--count=3", "", "-test.count=4"},
		{"--cmd --race ./p", "--cmd --race ./p", "", ""},
		{"--cmd=x --race", "--cmd=x", "-race", ""},
		{"--gate --race", "--gate", "-race", ""},
		{"--json -o --tags", "--json -o --tags", "", ""},
		{"---race - --", "---race - --", "", ""},
	} {
		cmd := allCommands()["compare"]
		own, build, test, err := splitGoFlags(cmd, strings.Fields(tt.args))
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
		}
		if got := [3]string{strings.Join(own, " "), strings.Join(build, " "), strings.Join(test, " ")}; got != [3]string{tt.own, tt.build, tt.test} {
			t.Errorf("%s: got %q; want %q, %q and %q", tt.args, got, tt.own, tt.build, tt.test)
		}
	}
}

// TestMeant holds that what people call commands and flags elsewhere is nothing that hone has, and leads to what it has.
func TestMeant(t *testing.T) {
	t.Chdir(t.TempDir())
	all := allCommands()
	flags := map[string]bool{}
	for _, cmd := range maps.Clone(all) {
		for _, a := range cmd.Aliases {
			all[a] = cmd
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
	}
	for word, as := range meant() {
		verb, args, _ := strings.Cut(as, " ")
		cmd := all[verb]
		if all[word] != nil || cmd == nil {
			t.Errorf("%s is to mean %s", word, as)
			continue
		}
		for _, a := range strings.Fields(args) {
			if name, ok := strings.CutPrefix(a, "--"); ok && cmd.Flag(name) == nil {
				t.Errorf("%s is to mean %s, which has no flag %s", word, as, a)
			}
		}
		if _, _, errs := run(t, word, "x"); !strings.Contains(errs, "did you mean hone "+as+"?") {
			t.Errorf("hone %s x: %s", word, errs)
		}
	}
	for name, as := range meantFlags() {
		if !flags[as] {
			t.Errorf("--%s is to mean --%s, which no command has", name, as)
		}
	}
	for line, want := range map[string]string{"web --port 80 x": "--listen", "web -p 80 x": "--listen", "top -nodecount=3 x": "--limit", "top10 x": "hone top --limit 10", "top 20 x": "--limit 20"} {
		if _, _, errs := run(t, strings.Fields(line)...); !strings.Contains(errs, want) {
			t.Errorf("hone %s: %s", line, errs)
		}
	}
}

// TestFromGo holds that command lines of the go command are understood.
func TestFromGo(t *testing.T) {
	for _, tt := range []struct{ args, want, verb string }{
		{"go test", ".", "test"},
		{"go test -bench . -run=^$ ./p", "-bench . -run=^$ ./p", "test"},
		{"-o x.hone --for 1s go test ./p -v", "-o x.hone --for 1s ./p -v", "test"},
		{"-race go test -args a", "-race . -args a", "test"},
		{"go test -v -- a", ". -v -- a", "test"},
		{"go run .", ". --", "run"},
		{"go run -tags x ./p -v --long a", "-tags x ./p -- -v --long a", "run"},
		{"go run ./p -- -v", "./p -- -v", "run"},
		{"go run a.go b.go c d.go", "a.go b.go -- c d.go", "run"},
		{"go run", "", "run"},
		{"-o go test ./p", "-o go test ./p", ""},
		{"-- go test ./p", "-- go test ./p", ""},
		{"./p go test", "./p go test", ""},
		{"go vet ./p", "go vet ./p", ""},
		{"go", "go", ""},
		{"", "", ""},
	} {
		got, verb := fromGo(allCommands()["record"], strings.Fields(tt.args))
		if strings.Join(got, " ") != tt.want || verb != tt.verb {
			t.Errorf("%s: got %q and %q; want %q and %q", tt.args, strings.Join(got, " "), verb, tt.want, tt.verb)
		}
	}
}

// TestUnknownFlagInEveryCommand holds that every command suggests the flag that was probably meant.
func TestUnknownFlagInEveryCommand(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, cmd := range allCommands() {
		if name == "" || name == "completion" || cmd.GroupID == groupCompat {
			continue
		}
		code, _, errs := run(t, name, "--outptu", "x")
		if code != exitUsage || !strings.HasPrefix(errs, "hone: unknown flag --outptu: did you mean --output?\nhint: hone "+name) {
			t.Errorf("hone %s --outptu: exit code %d, %s", name, code, errs)
		}
	}
}

// TestTestBinaryFlags holds that flags of go test after -- become flags of a test binary, and other arguments stay as they are.
func TestTestBinaryFlags(t *testing.T) {
	got := ofTestBinary([]string{"-run", "TestA", "--count=2", "-test.v", "-own", "x", "-args", "-run"})
	want := []string{"-test.run", "TestA", "-test.count=2", "-test.v", "-own", "x", "-args", "-run"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestFilesOfTests holds that files that tests write go where go test puts them.
func TestFilesOfTests(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, tt := range []struct {
		args, want []string
		cover      bool
	}{
		{[]string{"-test.run", "A", "-test.v", "-own", "run", "cpu=1"}, []string{"-test.run=A", "-test.v", "-own", "run", "cpu=1"}, false},
		{[]string{"-test.memprofile=m.out"}, []string{"-test.outputdir=" + dir, "-test.memprofile=m.out"}, false},
		{[]string{"-test.trace", "t.out", "-test.outputdir", "out"}, []string{"-test.outputdir=" + in("out"), "-test.trace=t.out"}, false},
		{[]string{"-test.coverprofile=c.out", "-args", "-test.memprofile=m.out"},
			[]string{"-test.coverprofile=" + in("c.out"), "-test.memprofile=m.out"}, true},
		{[]string{"-test.coverprofile", "c.out", "-test.outputdir=" + in("o")}, []string{"-test.outputdir=" + in("o"), "-test.coverprofile=" + in("o/c.out")}, true},
	} {
		got, cover, err := asGoTest(tt.args, dir, nil)
		if err != nil || cover != tt.cover || !slices.Equal(got, tt.want) {
			t.Errorf("of %q, it makes %q, %v, %v; want %q, %v", tt.args, got, cover, err, tt.want, tt.cover)
		}
	}
}
