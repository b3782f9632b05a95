package prove

import (
	"fmt"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/prove/worker"
)

// Documentation says whether goroutines may share a value. Sentences are of public packages.
func TestSaysSafe(t *testing.T) {
	for text, want := range map[string]bool{
		"Cache is safe for concurrent use.":                                                                 true,
		"Cache is a thread-safe fixed size LRU cache.":                                                      true,
		"Client's methods are safe for use by multiple goroutines.":                                         true,
		"A Logger can be used simultaneously from multiple goroutines; it guarantees to serialize access.":  true,
		"Operations on the resulting set are thread-safe.":                                                  true,
		"It is safe to call Do from different goroutines.":                                                  true,
		"LRU implements a non-thread safe fixed size LRU cache":                                             false,
		"Viper is not safe for concurrent Get() and Set() operations.":                                      false,
		"The methods of Parser are not goroutine safe.":                                                     false,
		"Buf is not for goroutines.":                                                                        false,
		"The caller must hold the lock. It is safe for concurrent use otherwise.":                           false,
		"A Decoder isn't safe for concurrent use.":                                                          false,
		"Reader reads values from an input.":                                                                false,
		"Start starts a goroutine for each worker.":                                                         false,
		"Sets of this kind offer no thread safety; those of NewSet do, and are safe for use by goroutines.": false,
	} {
		if got := saysSafe().MatchString(text) && !saysUnsafe().MatchString(text); got != want {
			t.Errorf("%q: safe is %v", text, got)
		}
	}
}

// TestSettings holds which names are those of settings, and which are those of methods that only read.
func TestSettings(t *testing.T) {
	for name, want := range map[string]bool{
		"SetLevel": true, "OnTransition": true, "DefineFormat": true, "AddHook": true, "Configure": true,
		"Once": false, "Get": false, "Add": false, "Only": false, "Level": false,
	} {
		if got := settings().MatchString(name); got != want {
			t.Errorf("%s is a setting: %v", name, got)
		}
	}
	for name, want := range map[string]bool{"Template": true, "Program": true, "Schema": true, "Query": false, "Builder": false, "Templates": false} {
		if got := compiled().MatchString(name); got != want {
			t.Errorf("%s is made once: %v", name, got)
		}
	}
	for name, want := range map[string]bool{"Execute": true, "MustLocalize": true, "LocalizeMessage": true, "Run": true, "Running": false, "Check": false, "Parse": false} {
		if got := uses().MatchString(name); got != want {
			t.Errorf("%s uses what was made once: %v", name, got)
		}
	}
}

// TestGuards holds what is called from several goroutines, and what is not since programs do it once, before they start any.
func TestGuards(t *testing.T) {
	g := guardsOf(t, `// Package g has what programs set up, and what they use.
package g

import (
	"flag"
	"net/http"
	"sync"
)

// An Info makes something.
type Info struct{ Make func() string }

var (
	mu    sync.Mutex
	infos = map[string]Info{}
	texts = map[string]string{}
	level int
)

func AddLookup(name string, i Info) { mu.Lock(); infos[name] = i; mu.Unlock() }
func KeepText(name, text string)    { mu.Lock(); texts[name] = text; mu.Unlock() }
func Quiet(n int)                   { level = n }
func Count(n int) int               { level += n; return level }
func Verbose() *bool                { return flag.Bool("verbose", false, "") }
func SetLevel(n int)                { level = n }
func SetText(name, text string)     { mu.Lock(); texts[name] = text; mu.Unlock() }

// Change may only be called by one goroutine, unless the caller holds the lock.
func Change(n int) { level = n; mu.Lock(); mu.Unlock() }

// A Box has a lock.
type Box struct {
	mu    sync.Mutex
	names map[string]bool
	wide  int
}

func (b *Box) Put(name string)            { b.mu.Lock(); b.names[name] = true; b.mu.Unlock() }
func (b *Box) Get(name string) bool       { return b.names[name] }
func (b *Box) Wide(n int)                 { b.wide = n }
func (b *Box) SetWide(n int) *Box         { b.wide = n; return b }
func (b *Box) BanName(name string) error  { b.names[name] = true; return nil }
func (b *Box) AllowName(name string) bool { b.names[name] = true; return true }
func (b *Box) Close()                     { b.mu.Lock(); b.mu.Unlock() }

// A Pen has none.
type Pen struct{ n int }

func (p *Pen) Write(text string)      { p.n += len(text) }
func (p *Pen) Len() int               { return p.n }
func (p *Pen) Name(text string) *Pen  { p.n++; return p }
func (p *Pen) Error(text string)      { p.n++ }

// A ServerLogger is what all of a program writes with.
type ServerLogger struct{ n int }

func (l *ServerLogger) Error(text string) { l.n++ }
func (l *ServerLogger) Add(text string)   { l.n++ }

// A Schema is made once.
type Schema struct {
	Pattern string
	Title   string
	Strict  bool
	Most    int
	last    string
	hidden  bool
	Fast    bool
	Sorted  bool
	seen    map[string]bool
}

func (s *Schema) Validate(text string) bool {
	if s.Strict && s.Most > 0 || s.hidden {
		s.compile(text)
	}
	return true
}

func (s *Schema) ReplaceAll(text string) string {
	if s.Pattern != "" {
		s.last = text
	}
	return text
}

func (s *Schema) Forget(text string) {
	if s.Fast {
		delete(s.seen, text)
	}
}

func (s *Schema) Words(text string) map[string]bool {
	words := make(map[string]bool)
	if s.Sorted {
		words[text] = true
	}
	return words
}

func (s *Schema) compile(text string) { s.last = text }
func (s *Schema) Show() string        { return s.Title }

// A Machine is safe for concurrent use.
type Machine struct{ n int }

func (m *Machine) Fire(n int)             { m.n = m.n + n }
func (m *Machine) OnFire(n int)           { m.n++ }
func (m *Machine) Configure(n int) *Pen   { m.n++; return &Pen{} }
func (m *Machine) Set(key string, n int)  { m.n++ }

// Reset may be called at any time: it is safe for use by several goroutines.
func (m *Machine) Reset() { m.n = 0 }

// A Site serves.
type Site struct{ hits int }

func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.hits++ }
func (s *Site) Handle(path string)                               { s.hits++ }
`, `package g

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func get(path string, h http.Handler) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w
}

func keep(path string, h http.Handler) { kept = h }

var kept http.Handler

func TestSite(t *testing.T) {
	s := &Site{}
	s.Handle("/")
	get("/", s)
	keep("/", s)
}

func TestKept(t *testing.T) {
	other := &Site{}
	keep("/", other)
}

func TestMux(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("/", &Site{})
	w := get("/", mux)
	if w.Code != 200 {
		t.Error(w.Code)
	}
}

func TestOwn(t *testing.T) {
	asked := 0
	counting := http.NewServeMux()
	counting.HandleFunc("/", func(http.ResponseWriter, *http.Request) { asked++ })
	get("/", counting)
}
`)
	for key, want := range map[string]bool{
		"AddLookup": true, "Quiet": true, "Verbose": true, "SetLevel": true, "Change": true,
		"KeepText": false, "Count": false, "SetText": false,
	} {
		if got := g.settings(key); got != want {
			t.Errorf("%s is a setting: %v", key, got)
		}
	}
	for key, want := range map[string]bool{
		"Box.Put": true, "Box.Get": true, "Box.AllowName": true, "Box.Wide": false, "Box.SetWide": false, "Box.BanName": false, "Box.Close": false,
		"Pen.Len": true, "Pen.Write": false, "Pen.Name": false, "Pen.Error": false,
		"ServerLogger.Error": true, "ServerLogger.Add": false,
		"Schema.Validate": true, "Schema.Show": false,
		"Machine.Fire": true, "Machine.Set": true, "Machine.Reset": true, "Machine.OnFire": false, "Machine.Configure": false,
		"Site.ServeHTTP": true, "Site.Handle": false,
	} {
		name, method, _ := strings.Cut(key, ".")
		if got := g.mayShare(g.pkg.Types.Scope().Lookup(name).(*types.TypeName), method, key, ""); got != want {
			t.Errorf("goroutines may call %s on one value: %v", key, got)
		}
	}
	var fields []string
	for _, f := range g.deciding(g.pkg.Types.Scope().Lookup("Schema").(*types.TypeName)) {
		fields = append(fields, f.Name())
	}
	if want := []string{"Pattern", "Strict", "Fast"}; !slices.Equal(fields, want) {
		t.Errorf("fields that decide about changes: %q, want %q", fields, want)
	}
	var repeated []string
	for _, r := range g.repeatTests() {
		repeated = append(repeated, r.test+" "+strings.Join(r.methods, " "))
	}
	slices.Sort(repeated)
	if want := []string{"TestMux ServeMux.ServeHTTP", "TestSite Site.ServeHTTP"}; !slices.Equal(repeated, want) {
		t.Errorf("of the tests, %q is repeated, want %q", repeated, want)
	}
}

// TestSetUp holds which methods of a type with a lock only set up a value: they add to fields that the lock does not guard.
func TestSetUp(t *testing.T) {
	g := guardsOf(t, `package g

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
)

type Loader func(name string) string

// A Set has a lock for its cache.
type Set struct {
	loaders []Loader
	index   map[string]Loader
	paths   []string
	tests   []string
	name    string
	most    int
	hits    int64
	sum     int
	cache   map[string]string
	old     []string
	first   *Loader
	filters []Loader
	codes   []int
	mu      sync.Mutex
}

func (s *Set) AddLoader(l ...Loader) { s.loaders = append(s.loaders, l...) }

func (s *Set) Append(name string, l Loader) error {
	if l == nil {
		return errors.New("no loader for " + name)
	}
	if s.index == nil {
		s.index = make(map[string]Loader)
	}
	s.index[name] = l
	s.sum++
	return nil
}

func (s *Set) Filter(l Loader)             { s.filters = append(s.filters, l) }
func (s *Set) Drop(name string)            { delete(s.index, name) }
func (s *Set) Push(path string) *Set       { s.push(path); return s }
func (s *Set) push(path string)            { s.paths = append(s.paths, path) }
func (s *Set) Limit(n int)                 { if n > 0 { s.most = n } }
func (s *Set) Most(n int) *Set             { if n > 0 { s.most = n }; return s }

func (s *Set) Spread(test string)          { s.tests = append(s.tests, test) }
func (s *Set) Take(l Loader) int           { s.loaders = append(s.loaders, l); return len(s.loaders) }
func (s *Set) Match(name string)           { s.paths = append(s.paths, name) }
func (s *Set) Next()                       { s.paths = append(s.paths, "") }
func (s *Set) Count(n int)                 { s.sum += n }
func (s *Set) Put(name, text string)       { s.cache[name] = text }
func (s *Set) Keep(text string)            { s.old = append(s.old, text) }
func (s *Set) Code(n int)                  { s.codes = append(s.codes, n) }
func (s *Set) Args(path string)            { os.Args = nil; s.paths = append(s.paths, path) }
func (s *Set) Hit(n int64)                 { if n > 0 { s.hits = n } }
func (s *Set) Later(path string)           { go func() { s.paths = append(s.paths, path) }() }
func (s *Set) Call(path string)            { s.paths = append(s.paths, s.loaders[0](path)) }
func (s *Set) First(l Loader)              { f := s.first; *f = l }
func (s *Set) Everywhere(path string)      { all = append(all, path); s.paths = append(s.paths, path) }

// Share may be called by multiple goroutines: it is safe for concurrent use.
func (s *Set) Share(path string) { s.paths = append(s.paths, path) }

var all []string

func (s *Set) Get(name string) string {
	for _, l := range s.loaders {
		if text := l(name); text != "" {
			return text
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cache[name] == "" {
		s.forget()
		s.resolve(name)
	}
	return s.cache[name]
}

func (s *Set) Filtered(name string) string {
	text := func() string {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.cache[name]
	}()
	for _, f := range s.filters {
		text = f(text)
	}
	return text
}

func (s *Set) forget()             { s.old = s.old[:0]; copy(s.codes, s.codes[1:]) }
func (s *Set) resolve(name string) { _ = s.loaders[0](name) + s.paths[0] }
func (s *Set) Hits() int64         { return atomic.LoadInt64(&s.hits) }

// A Log is safe for concurrent use.
type Log struct {
	mu    sync.Mutex
	lines []string
}

func (l *Log) Append(line string) { l.lines = append(l.lines, line) }
`, `package g

import "testing"

func TestSpread(t *testing.T) {
	s := &Set{}
	for range 3 {
		go func() { s.Spread("a") }()
	}
}
`)
	for key, want := range map[string]bool{
		"Set.AddLoader": false, "Set.Append": false, "Set.Filter": false, "Set.Drop": false, "Set.Push": false, "Set.Limit": false, "Set.Most": false,
		"Set.Spread": true, "Set.Take": true, "Set.Match": true, "Set.Next": true, "Set.Count": true, "Set.Put": true, "Set.Keep": true, "Set.Code": true, "Set.Args": true, "Set.Hit": true,
		"Set.Later": true, "Set.Call": true, "Set.First": true, "Set.Everywhere": true, "Set.Share": true, "Set.Get": true, "Set.Hits": true,
		"Log.Append": true,
	} {
		name, method, _ := strings.Cut(key, ".")
		if got := g.mayShare(g.pkg.Types.Scope().Lookup(name).(*types.TypeName), method, key, ""); got != want {
			t.Errorf("goroutines may call %s on one value: %v", key, got)
		}
	}
}

// guardsOf reads a package with one file, and its tests.
func guardsOf(t *testing.T, code, tests string) *guards {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), []byte("module example.com/g\n\ngo 1.24\n"))
	write(t, filepath.Join(dir, "g.go"), []byte(code))
	write(t, filepath.Join(dir, "g_test.go"), []byte(tests))
	sides, err := loadSides(t.Context(), Version{Name: "here", Dir: dir}, []string{"."})
	if err != nil {
		t.Fatal(err)
	}
	return sides["."].guards()
}

// TestForeignValues holds that what another package made is not called further: it may have rules of its own, as an entry of a log that may
// not be used after it was written. Nor is what other packages cannot call, such as an interface's own methods.
func TestForeignValues(t *testing.T) {
	own := types.NewNamed(types.NewTypeName(0, types.NewPackage("example.com/g", "g"), "Entry", nil), types.NewStruct(nil, nil), nil)
	f := &search{gen: &gen{surface: &surface{entries: []*entry{
		{key: "New"}, {key: "hidden"}, {key: "T.Add", method: true, params: []types.Type{own}}, {method: true, params: []types.Type{own}},
		{method: true, params: []types.Type{types.NewInterfaceType(nil, nil)}}, {method: true, called: true, params: []types.Type{own}},
		{name: "Option.apply", method: true, params: []types.Type{types.NewInterfaceType(nil, nil)}},
		{name: "http.Handler.ServeHTTP", method: true, params: []types.Type{types.NewInterfaceType(nil, nil)}},
	}}}}
	for i, want := range []bool{true, false, true, false, true, true, false, true} {
		if got := f.outside(&worker.Program{Steps: []worker.Step{{Func: 0}, {Func: i}}}); got != want {
			t.Errorf("others may make call %d: %v", i, got)
		}
	}
}

// TestOwnVariables holds that calls which change a variable of a test, or have others change it, are not made by goroutines that share the variable.
func TestOwnVariables(t *testing.T) {
	tests := []struct {
		code string
		ok   bool
	}{
		{"s.Add(string(word[:0]) + text)", true},
		{"func() { m.Lock(); s.Add(text); m.Unlock() }()", true},
		{"s.Add(fmt.Sprint(next.Load()))", true},
		{`s.Add(fmt.Sprint(room[0], c.n, c.get()))`, true},
		{"s.Add(fill(room[:]))", false},
		{"s.Add(fill(part.room[1:2]))", false},
		{"s.Add(c.next())", false},
		{"s.Add(part.c.next())", false},
		{"s.Add(call(c.next))", false},
		{"s.Add(fmt.Sprint(copy(room[:], text)))", false},
		{"func() { clear(room[:]); s.Add(text) }()", false},
		{"func() { for n = range 3 { s.Add(text) } }()", false},
		{"func() { room[0]++; s.Add(text) }()", false},
		{"x := c.next(); s.Add(x)", false},
	}
	var code strings.Builder
	for i, tt := range tests {
		fmt.Fprintf(&code, "func Test%d(t *testing.T) {\n\ts := New()\n\t%s\n}\n\n", i, tt.code)
	}
	g := guardsOf(t, `package g

import "sync"

// A Set is safe for concurrent use.
type Set struct {
	mu sync.Mutex
	m  map[string]bool
}

func New() *Set { return &Set{m: map[string]bool{}} }

func (s *Set) Add(w string) { s.mu.Lock(); defer s.mu.Unlock(); s.m[w] = true }
`, `package g

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

type counter struct{ n byte }

func (c *counter) next() string { c.n++; return string(rune(c.n)) }
func (c counter) get() byte     { return c.n }

var (
	n    int
	text = "a"
	word = "b"
	room [4]byte
	c    counter
	part struct {
		room [4]byte
		c    counter
	}
	m    sync.Mutex
	next atomic.Int64
)

func fill(b []byte) string        { copy(b, "abcd"); return string(b) }
func call(f func() string) string { return f() }

`+code.String())
	repeated := make(map[string]bool)
	for _, r := range g.repeatTests() {
		repeated[r.test] = true
	}
	for i, tt := range tests {
		if got := repeated[fmt.Sprintf("Test%d", i)]; got != tt.ok {
			t.Errorf("%s: goroutines do it with the variables of the test: %v", tt.code, got)
		}
	}
}
