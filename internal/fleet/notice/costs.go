package notice

import (
	"strings"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/profile"
)

// A names gives numbers to the functions of profiles, so that several can be laid side by side.
type names struct {
	of        map[string]int32
	functions []profile.Function
	gates     []gate // what each does on the way to a handler
}

func newNames() *names { return &names{of: map[string]int32{}} }

// mostNames bounds the functions that are told apart. What is beyond them is one function.
const mostNames = 1 << 16

func (n *names) id(f *profile.Function) int32 {
	if id, ok := n.of[f.Name]; ok {
		return id
	}
	if len(n.functions) >= mostNames {
		return n.id(&profile.Function{Name: "(others)"})
	}
	id := int32(len(n.functions))
	kept := *f
	kept.Name = strings.Clone(f.Name) // the profile goes
	kept.File = strings.Clone(f.File)
	n.of[kept.Name] = id
	n.functions = append(n.functions, kept)
	n.gates = append(n.gates, gateOf(f))
	return id
}

// A gate is what a function means for where work begins.
type gate uint8

const (
	plain     gate = iota
	bottom         // what every goroutine begins with
	forwards       // code of a server that calls handlers
	serverish      // other code of servers, and of the standard library: never a handler
)

// servers are packages that call handlers, and the functions of them that do.
var servers = []string{
	"net/http", "net/rpc", "google.golang.org/grpc", "connectrpc.com/connect", "github.com/gin-gonic/gin", "github.com/go-chi/chi", "github.com/labstack/echo",
	"github.com/gorilla/mux", "github.com/gofiber/fiber", "github.com/valyala/fasthttp", "github.com/julienschmidt/httprouter", "github.com/twitchtv/twirp",
	"github.com/cloudwego/hertz", "github.com/zeromicro/go-zero", "github.com/urfave/negroni", "github.com/emicklei/go-restful",
}

var forwarding = []string{
	"ServeHTTP", "Next", "processUnaryRPC", "processStreamingRPC", "serveConn", "routeHTTP", "handleHTTPRequest", "call", "NewUnaryHandler", "Handler", "handler",
}

func gateOf(f *profile.Function) gate {
	switch f.Name {
	case "runtime.goexit", "runtime.main", "testing.tRunner":
		return bottom
	}
	pkg := f.Package()
	for _, s := range servers {
		if !strings.HasPrefix(pkg, s) || len(pkg) > len(s) && pkg[len(s)] != '/' && pkg[len(s)] != '.' {
			continue
		}
		for _, part := range strings.FieldsFunc(f.Name[min(len(pkg), len(f.Name)):], func(r rune) bool { return r == '.' || r == '[' || r == ')' || r == '(' }) {
			for _, w := range forwarding {
				if part == w {
					return forwards
				}
			}
		}
		return serverish
	}
	if calls.IsStd(pkg) {
		return serverish
	}
	return plain
}

// A costs is one column of a profile by function: what samples cost, what is on their stacks, and where their work begins.
type costs struct {
	stacks  [][]int32 // functions from the root to the leaf, each once in a row
	entries []int32   // the handler, or whatever a goroutine began with
	values  []float64
}

// entryOf returns where the work of a stack begins: the last function that a server handed a request to, or else the first of the goroutine.
func (n *names) entryOf(stack []int32) int32 {
	entry := int32(-1)
	for i, f := range stack {
		switch {
		case n.gates[f] == bottom:
		case entry < 0:
			entry = f
		case n.gates[f] == plain && n.gates[stack[i-1]] == forwards:
			entry = f
		}
	}
	if entry < 0 {
		return stack[0]
	}
	return entry
}

// costsOf returns column k of p.
func (n *names) costsOf(p *profile.Profile, k int) *costs {
	values := p.Values(k)
	ids := make([]int32, len(p.Functions))
	for i := range p.Functions {
		ids[i] = -1
	}
	c := &costs{}
	var arena []int32
	var stack []uint32
	for i, v := range values {
		if v <= 0 {
			continue
		}
		stack = p.Stack(i, stack[:0])
		begin := len(arena)
		for j := len(stack) - 1; j >= 0; j-- {
			lines := p.Locations[stack[j]].Lines
			for l := len(lines) - 1; l >= 0; l-- {
				fn := lines[l].Function
				if ids[fn] < 0 {
					ids[fn] = n.id(&p.Functions[fn])
				}
				if id := ids[fn]; len(arena) == begin || arena[len(arena)-1] != id {
					arena = append(arena, id)
				}
			}
		}
		if len(arena) == begin {
			arena = append(arena, n.id(&profile.Function{Name: "(no name)"}))
		}
		frames := arena[begin:len(arena):len(arena)]
		c.stacks = append(c.stacks, frames)
		c.entries = append(c.entries, n.entryOf(frames))
		c.values = append(c.values, float64(v))
	}
	return c
}

func (c *costs) total() (sum float64) {
	for _, v := range c.values {
		sum += v
	}
	return sum
}

// A table is costs by function, in rows: one for each entry that matters, and the first for all other work.
type table struct {
	self, cum [][]float64 // by row and function
}

// table adds c up; row says which row the work of an entry is in.
func (c *costs) table(functions, rows int, row func(entry int32) int) *table {
	t := &table{make([][]float64, rows), make([][]float64, rows)}
	cells := make([]float64, 2*rows*functions)
	for r := range rows {
		t.self[r], cells = cells[:functions:functions], cells[functions:]
		t.cum[r], cells = cells[:functions:functions], cells[functions:]
	}
	last := make([]int, functions) // sample that the function was met in, plus 1
	for i, s := range c.stacks {
		r, v := row(c.entries[i]), c.values[i]
		t.self[r][s[len(s)-1]] += v
		cum := t.cum[r]
		for _, f := range s {
			if last[f] != i+1 {
				last[f] = i + 1
				cum[f] += v
			}
		}
	}
	return t
}
