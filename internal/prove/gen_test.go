package prove

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/prove/worker"
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

// Requests mostly have the method of the route that they follow, whichever way a router is told it; and some routes have many parameters.
func TestRequestsFollowRoutes(t *testing.T) {
	const text = `package one

import "net/http"

type Router struct{ routes []string }

func New() *Router { return &Router{} }
func (r *Router) Delete(path string, h http.HandlerFunc)         { r.routes = append(r.routes, "DELETE "+path) }
func (r *Router) Handle(method, path string, h ...http.Handler)  { r.routes = append(r.routes, method+" "+path) }
func (r *Router) Path(pattern string, f func(http.ResponseWriter, *http.Request, map[string]string)) { r.routes = append(r.routes, pattern) }
func (r *Router) Match(q *http.Request) int                      { return len(r.routes) }
`
	dir := t.TempDir()
	for v, text := range map[string]string{"old": text, "new": strings.Replace(text, "return len(r.routes)", "return len(r.routes) + 1", 1)} {
		write(t, filepath.Join(dir, v, "go.mod"), []byte("module example.com/one\n\ngo 1.24\n"))
		write(t, filepath.Join(dir, v, "one.go"), []byte(text))
	}
	s := surfaceOf(t, dir)
	g := newGen(s, 1)
	target := s.targets[slices.IndexFunc(s.targets, func(t *target) bool { return t.key == "Router.Match" })]
	requests, match, long := 0, map[string]int{}, 0
	for range 4000 {
		var texts []string
		routes := make(map[string][]string) // by the function that adds them
		p := g.program(target)
		for i := range p.Steps {
			step := &p.Steps[i]
			switch name := s.entries[step.Func].name; name {
			case "(*Router).Delete":
				routes[name] = append(routes[name], "DELETE "+step.Args[1].Text)
			case "(*Router).Handle":
				routes[name] = append(routes[name], step.Args[1].Text+" "+step.Args[2].Text)
			case "(*Router).Path":
				texts = append(texts, step.Args[1].Text)
			case "(*Router).Match":
				if step.Args[1].Kind != worker.Request {
					continue
				}
				requests++
				method, path, _ := strings.Cut(step.Args[1].Text, " ")
				for name, list := range routes {
					if slices.ContainsFunc(list, func(r string) bool { return follows(r, method+" "+path) }) {
						match[name]++
					}
				}
			}
		}
		if slices.ContainsFunc(texts, func(r string) bool { return strings.Count(r, "/:")+strings.Count(r, "/{") > 3 }) {
			long++
		}
	}
	t.Logf("of %d requests, %v match; %d routes with many parameters", requests, match, long)
	if least := requests / 25; match["(*Router).Delete"] < least || match["(*Router).Handle"] < least/10 || long < 30 {
		t.Errorf("of %d requests, %v match; %d programs have a route with more than three parameters", requests, match, long)
	}
}

// follows reports whether a request is one for a route.
func follows(route, request string) bool {
	request, _, _ = strings.Cut(request, "?")
	a, b := strings.Split(route, "/"), strings.Split(request, "/")
	if len(a) != len(b) || len(a) < 2 {
		return false
	}
	for i := range a {
		if a[i] != b[i] && !strings.HasPrefix(a[i], ":") && !strings.HasPrefix(a[i], "{") {
			return false
		}
	}
	return true
}
