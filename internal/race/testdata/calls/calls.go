// Package calls has races of several kinds.
package calls

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"sync"
)

// Cache is safe for concurrent use.
type Cache struct {
	mu   sync.Mutex
	m    map[string]int
	hits int
}

func NewCache() *Cache { return &Cache{m: map[string]int{}} }

func (c *Cache) Put(k string, v int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.m[k] = v
}

func (c *Cache) Get(k string) (int, bool) {
	c.mu.Lock()
	v, ok := c.m[k]
	c.mu.Unlock()
	if ok {
		c.hits++
	}
	return v, ok
}

func (c *Cache) Hits() int { return c.hits }

// Good is fine.
type Good struct {
	mu sync.RWMutex
	n  int
}

func (g *Good) Inc()       { g.mu.Lock(); g.n++; g.mu.Unlock() }
func (g *Good) Value() int { g.mu.RLock(); defer g.mu.RUnlock(); return g.n }

// Buf is not for goroutines.
type Buf struct{ b bytes.Buffer }

func NewBuf(s string) *Buf       { b := &Buf{}; b.b.WriteString(s); return b }
func (b *Buf) Add(s string) *Buf { b.b.WriteString(s); return b }
func (b *Buf) String() string    { return b.b.String() }

// Name caches how it is written.
type Name struct {
	parts []string
	text  string
}

func ParseName(s string) (*Name, error) {
	if s == "" {
		return nil, errors.New("empty")
	}
	return &Name{parts: strings.Split(s, ".")}, nil
}

func (n *Name) String() string {
	if n.text == "" {
		n.text = strings.Join(n.parts, "/")
	}
	return n.text
}

var slugs = map[string]string{}

// Slug makes a slug.
func Slug(s string) string {
	if v, ok := slugs[s]; ok {
		return v
	}
	v := strings.ToLower(strings.ReplaceAll(s, " ", "-"))
	slugs[s] = v
	return v
}

var seen = map[string]int{}

// Seen counts a word, and returns how often it was counted. Go 1.27 does not say where the word is read.
func Seen(word string) int {
	seen[word]++
	return seen[word]
}

var rng = rand.New(rand.NewSource(1))

// Code returns a random code.
func Code() int { return rng.Intn(1000) }

var level int

// SetLevel sets it.
func SetLevel(n int) { level = n }

// Level returns it.
func Level() int { return level }

// Shared is made by NewShared.
type Shared interface {
	Add(n int)
	Total() int
}

type shared struct{ total int }

// NewShared returns a total that is safe for use by several goroutines.
func NewShared() Shared { return &shared{} }

func (s *shared) Add(n int)  { s.total += n }
func (s *shared) Total() int { return s.total }

// Log is not safe for concurrent use.
type Log struct {
	mu    sync.Mutex // of what is written
	lines int
}

func (l *Log) Add()       { l.lines++ }
func (l *Log) Lines() int { return l.lines }

// A Router has routes. Its Name makes one, which is no way to read it.
type Router struct{ names []string }

// Name names a route.
func (r *Router) Name(name string) *Router {
	r.names = append(r.names, name)
	return r
}

// A Table has a lock for its rows. Setup is for before there are goroutines, though it ends in what takes the lock.
type Table struct {
	mu    sync.Mutex
	rows  []string
	width int
}

// Add adds a row.
func (t *Table) Add(row string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = append(t.rows, row)
}

func (t *Table) fill(n int)  { t.more(n) }
func (t *Table) more(n int)  { t.Add(strings.Repeat("x", n&7)) }
func (t *Table) SetUp(n int) { t.width = n; t.fill(n) }

// Wide is an option.
func (t *Table) Wide(n int) { t.width = n }

// A Schema has a pattern, where somebody sets one. Where its words end is looked up when it is used for the first time.
type Schema struct {
	Pattern string
	end     int
}

// NewSchema makes a schema without a pattern.
func NewSchema() *Schema { return &Schema{} }

// Validate looks for the pattern.
func (s *Schema) Validate(text string) bool {
	if s.Pattern == "" {
		return true
	}
	if s.end == 0 {
		s.end = 1 + strings.Index(s.Pattern+" ", " ")
	}
	return strings.Contains(text, s.Pattern[:s.end-1])
}

// A Writer counts what is written. It is safe for concurrent use.
type Writer struct {
	mu  sync.Mutex
	len int
}

var std = &Writer{}

// Standard returns the Writer of Print.
func Standard() *Writer { return std }

// Print writes to the standard Writer. To print that Writer reads its length without the lock.
func Print(args ...any) { std.Print(args...) }

// Print writes to one.
func (w *Writer) Print(args ...any) {
	text := fmt.Sprint(args...)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.len += len(text)
}
