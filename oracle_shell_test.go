package main

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/testrun"
)

// testShell pipes scripts of commands into both programs and compares all they print and every
// file they leave. A script is run as it is on several profiles, so some of its commands fail on
// some of them, which both programs have to do alike.
func (l *lab) testShell(t *testing.T) {
	scripts, err := filepath.Glob("testdata/oracle/*.shell")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("testdata/oracle: %d scripts, %v", len(scripts), err)
	}
	for _, name := range shellSubjects {
		if testing.Short() && !strings.HasPrefix(name, "hand-") {
			continue
		}
		s := l.subject(t, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, script := range scripts {
				if !testrun.InNightly() && i%10 != 0 || testing.Short() && i%40 != 0 {
					continue
				}
				b, err := os.ReadFile(script)
				if err != nil {
					t.Fatal(err)
				}
				l.checkShell(t, s, strings.TrimSuffix(path.Base(filepath.ToSlash(script)), ".shell"), string(b))
			}
		})
	}
}

// shellSubjects are the profiles the scripts run on: one of each kind, with and without labels,
// symbols and samples.
var shellSubjects = []string{"prog-cpu", "prog-heap", "prog-mutex", "prog-goroutine.txt", "gen-cpu-few", "hand-labels", "hand-units", "hand-empty", "hand-windows", "legacy-heap_v2"}

// shellFlags are given to the command when it runs the script of that name.
var shellFlags = map[string][]string{
	"flags": {"-sample_index=0", "-cum", "-nodecount=7", "-unit=auto", "-lines"},
}

func (l *lab) checkShell(t *testing.T, s *subject, name, script string) {
	t.Helper()
	if strings.HasSuffix(name, "-eof") {
		script = strings.TrimSuffix(script, "\n") // the last command has to run all the same
	}
	script = placeholder.ReplaceAllStringFunc(script, func(word string) string {
		switch word {
		case "{first}", "{last}":
			if len(s.types) == 0 {
				return "none"
			}
			if word == "{first}" {
				return s.types[0]
			}
			return s.types[len(s.types)-1]
		}
		if v, ok := s.facts[strings.Trim(word, "{}")]; ok && v != "" {
			return v
		}
		return "missing"
	})
	args := append([]string{}, shellFlags[name]...)
	l.check(t, check{
		subject: s.name,
		flags:   "shell " + name,
		inv:     invocation{dir: ".", args: append(args, s.path), stdin: script},
		own:     true,
	})
}
