package prove

import (
	"context"
	"encoding/json"
	"fmt"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/gocmd"
)

// Serving is what of a package answers HTTP requests, and requests to ask it with.
type Serving struct {
	ImportPath string
	Package    string // name
	Dir        string
	Handlers   []Handler
	Left       []string // handlers that are not asked, and why
}

// A Handler can be made and asked by code in the package.
type Handler struct {
	Name     string   // as people write it
	Expr     string   // an http.Handler, in the code of the package
	Imports  []string // that the expression needs
	File     string
	Line     int
	Zero     bool // its receiver is the zero value, since no function is known that makes one
	Requests []MadeRequest
}

// A MadeRequest is a request that was made up.
type MadeRequest struct {
	Method string     `json:"method"`
	Target string     `json:"target"`
	Header [][]string `json:"header,omitempty"` // names and values
	Body   string     `json:"body,omitempty"`
}

// Requests finds what answers HTTP requests in the packages that are in folders of a version, and makes up n requests for each
// such handler: with the paths, form values, headers and bodies that the code names. Handlers that can reach what must not be
// called with made-up arguments are left out.
func Requests(ctx context.Context, v Version, dirs []string, seed uint64, n int) ([]Serving, error) {
	sides, err := loadSides(ctx, v, dirs)
	if err != nil {
		return nil, err
	}
	var out []Serving
	for _, at := range dirs {
		s := sides[at]
		if s == nil || s.pkg.Imports["net/http"] == nil {
			continue
		}
		d, err := findDanger(ctx, s)
		if err != nil {
			return nil, err
		}
		g := newGen(newSurface(&pair{rel: at, old: s, new: s}, d), seed)
		out = append(out, g.serving(s, n))
	}
	return out, nil
}

// serving finds the handlers of a package.
func (g *gen) serving(s *side, n int) Serving {
	out := Serving{ImportPath: s.pkg.PkgPath, Package: s.pkg.Types.Name(), Dir: s.dir}
	keys := slices.Sorted(maps.Keys(s.decls))
	spelled := g.dict.spelled()
	for _, key := range keys {
		decl := s.decls[key]
		fn, ok := decl.obj.(*types.Func)
		if !ok || decl.test || fn.Signature().TypeParams().Len() > 0 {
			continue
		}
		h, ok := g.handler(s, fn)
		if !ok {
			continue
		}
		if bad := g.danger.of(s, key); bad != "" {
			out.Left = append(out.Left, fmt.Sprintf("%s can reach %s, so it gets no made-up requests", h.Name, bad))
			continue
		}
		h.File, h.Line = s.place(decl.node.Pos())
		g.dict.near = key
		for range n {
			h.Requests = append(h.Requests, g.madeRequest(spelled))
		}
		out.Handlers = append(out.Handlers, h)
	}
	return out
}

// handler makes the expression of a handler, when a function is one or returns one.
func (g *gen) handler(s *side, fn *types.Func) (h Handler, ok bool) {
	sig := fn.Signature()
	h.Name = fn.Name()
	isHandlerFunc := sig.Params().Len() == 2 && sig.Results().Len() == 0 &&
		s.typeKey(sig.Params().At(0).Type()) == "net/http.ResponseWriter" && s.typeKey(sig.Params().At(1).Type()) == "*net/http.Request"
	recv := sig.Recv()
	switch {
	case recv != nil && isHandlerFunc:
		t, ptr := recv.Type(), false
		if p, isPtr := t.(*types.Pointer); isPtr {
			t, ptr = p.Elem(), true
		}
		named, isNamed := t.(*types.Named)
		if !isNamed || named.TypeParams().Len() > 0 || types.IsInterface(named) {
			return h, false
		}
		made, imports, zero := g.makeReceiver(s, named)
		h.Zero, h.Imports = zero, imports
		h.Expr = made + "." + fn.Name()
		h.Name = named.Obj().Name() + "." + fn.Name()
		if ptr {
			h.Name = "(*" + named.Obj().Name() + ")." + fn.Name()
		}
		h.Expr = "http.HandlerFunc(" + h.Expr + ")"
		return h, true
	case recv != nil:
		return h, false
	case isHandlerFunc:
		h.Expr = "http.HandlerFunc(" + fn.Name() + ")"
		return h, true
	case sig.Results().Len() == 1:
		switch s.typeKey(sig.Results().At(0).Type()) {
		case "net/http.Handler", "*net/http.ServeMux", "net/http.HandlerFunc":
		default:
			return h, false
		}
		args, imports, known := plainArgs(s, sig)
		h.Expr, h.Imports = fn.Name()+"("+args+")", imports
		h.Name += "(…)"
		if args == "" {
			h.Name = fn.Name() + "()"
		}
		return h, known
	}
	return h, false
}

// makeReceiver spells an addressable value of a type: what a function of the package makes, or else its zero value.
func (g *gen) makeReceiver(s *side, named *types.Named) (expr string, imports []string, zero bool) {
	for _, e := range g.ctors[g.baseKey(named)] {
		if e.method || e.variadic || e.key == "" || len(e.results) != 1 {
			continue
		}
		fn, ok := s.decls[e.key]
		if !ok {
			continue
		}
		f, ok := fn.obj.(*types.Func)
		if !ok || f.Signature().TypeParams().Len() > 0 || g.danger.of(s, e.key) != "" {
			continue
		}
		args, imports, known := plainArgs(s, f.Signature())
		if !known {
			continue
		}
		if _, ptr := f.Signature().Results().At(0).Type().(*types.Pointer); ptr {
			return f.Name() + "(" + args + ")", imports, false
		}
		name := named.Obj().Name()
		return fmt.Sprintf("func() *%s { v := %s(%s); return &v }()", name, f.Name(), args), imports, false
	}
	return "new(" + named.Obj().Name() + ")", nil, true
}

// plainArgs spells arguments that any function takes: what says as little as possible, but is not nil where a nil would be
// no good.
func plainArgs(s *side, sig *types.Signature) (args string, imports []string, known bool) {
	var list []string
	for i := range sig.Params().Len() {
		t := sig.Params().At(i).Type()
		if sig.Variadic() && i == sig.Params().Len()-1 {
			break
		}
		switch key := s.typeKey(t); key {
		case "context.Context":
			list, imports = append(list, "context.Background()"), append(imports, "context")
			continue
		case "*log.Logger":
			list, imports = append(list, `log.New(ioutil.Discard, "", 0)`), append(imports, "log", "io/ioutil")
			continue
		case "io.Writer":
			list, imports = append(list, "ioutil.Discard"), append(imports, "io/ioutil")
			continue
		case "time.Duration":
			list, imports = append(list, "time.Second"), append(imports, "time")
			continue
		}
		b, ok := t.Underlying().(*types.Basic)
		if !ok || t != types.Type(b) {
			return "", nil, false
		}
		switch info := b.Info(); {
		case info&types.IsString != 0:
			list = append(list, `"a"`)
		case info&types.IsBoolean != 0:
			list = append(list, "true")
		case info&types.IsNumeric != 0:
			list = append(list, "8")
		default:
			return "", nil, false
		}
	}
	return strings.Join(list, ", "), imports, true
}

// spelled are requests that the code, or a test, has in one piece.
func (d *dictionary) spelled() (out []MadeRequest) {
	for _, p := range d.paths {
		if strings.Contains(p, "?") {
			out = append(out, MadeRequest{Method: "GET", Target: p})
		}
	}
	for _, text := range d.texts[""] {
		if json.Valid([]byte(text)) && strings.HasPrefix(text, "{") && len(text) > 2 {
			out = append(out, MadeRequest{Method: "POST", Target: "/", Header: [][]string{{"Content-Type", "application/json"}}, Body: text})
		}
	}
	return out
}

// madeRequest makes a request in a form that needs no worker. One in three is one that the code has in one piece: what makes sense
// only together is seldom made up.
func (g *gen) madeRequest(spelled []MadeRequest) MadeRequest {
	if len(spelled) > 0 && g.chance(34) {
		return pick(g, spelled)
	}
	v := g.request()
	method, target, _ := strings.Cut(v.Text, " ")
	out := MadeRequest{Method: method, Target: target}
	for i, name := range v.Names {
		out.Header = append(out.Header, []string{name, v.Elems[i].Text})
	}
	if len(v.Elems) > len(v.Names) {
		out.Body = v.Elems[len(v.Names)].Text
	}
	return out
}

// RaceDetector reports whether the race detector can be used in a folder, or why not.
func RaceDetector(ctx context.Context, in gocmd.Command) (bool, string) {
	return hasRace(ctx, in)
}
