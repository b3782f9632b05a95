package prove

import (
	"path/filepath"
	"strings"
	"testing"
)

// Every call of a made-up program has as many arguments as its function takes, also where it uses what another one returned.
func TestProgramsFitFunctions(t *testing.T) {
	const text = `package one

import "io"

type Counter interface{ Count(n int) int }
type count int

func (c count) Count(n int) int { return int(c) + n }

func New(n int) Counter                { return count(n) }
func Adder(n int) func(int, ...int) int { return func(m int, more ...int) int { return n + m + len(more) } }
func Open(s string) io.Reader           { return nil }
func Get(c Counter, f func() error) int { return 1 }
`
	dir := t.TempDir()
	for _, v := range []string{"old", "new"} {
		write(t, filepath.Join(dir, v, "go.mod"), []byte("module example.com/one\n\ngo 1.24\n"))
		now := text
		if v == "new" {
			now = strings.NewReplacer("return int(c) + n", "return n + int(c)", "return count(n)", "return count(n + 0)", "n + m", "m + n", "nil", "io.Reader(nil)", "return 1", "return 2").Replace(text)
		}
		write(t, filepath.Join(dir, v, "one.go"), []byte(now))
	}
	s := surfaceOf(t, dir)
	g := newGen(s, 1)
	used := map[string]bool{}
	for i := range 400 {
		p := g.program(s.targets[i%len(s.targets)])
		for _, step := range p.Steps {
			e := s.entries[step.Func]
			used[e.name] = true
			if len(step.Args) != len(e.params) {
				t.Fatalf("%s takes %d arguments and gets %d", e.name, len(e.params), len(step.Args))
			}
		}
	}
	for _, name := range []string{"New", "Adder", "function", "Open", readAllName, "Get"} {
		if !used[name] {
			t.Errorf("%s is never called", name)
		}
	}
}
