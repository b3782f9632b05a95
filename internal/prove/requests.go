package prove

import (
	"cmp"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/prove/worker"
)

var methods = []string{"GET", "GET", "GET", "POST", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS"}

// request makes an HTTP request: paths, form values and headers are those that the code names.
func (g *gen) request() worker.Value {
	d := g.dict
	method := pick(g, methods)
	if asked := g.methodsOf(d.near); len(asked) > 0 && g.chance(40) {
		method = pick(g, asked)
	}
	path := "/"
	if len(d.paths) > 0 && g.chance(80) {
		path = g.path(pick(g, d.paths))
	} else if g.chance(10) {
		path = "/" + escape(g.word())
	}
	var pairs []string
	if len(d.params) > 0 {
		for range g.rng.IntN(3) {
			name := pick(g, d.params)
			pairs = append(pairs, escape(name)+"="+escape(g.formValue(name)))
		}
	}
	form := strings.Join(pairs, "&")
	v := worker.Value{Kind: worker.Request}
	add := func(name, value string) {
		v.Names = append(v.Names, name)
		v.Elems = append(v.Elems, worker.Value{Kind: worker.String, Text: value})
	}
	body := ""
	if method == "POST" || method == "PUT" || method == "PATCH" {
		switch c := g.rng.IntN(10); {
		case c < 4 && len(d.bodies) > 0:
			body = g.json(pick(g, d.bodies), 0)
			add("Content-Type", "application/json")
		case c < 7 && form != "":
			body, form = form, ""
			add("Content-Type", "application/x-www-form-urlencoded")
		default:
			body = g.str()
		}
		if g.chance(10) {
			body = g.mutateText(body)
		}
	}
	g.headersOf(d.near, add)
	if form != "" {
		path += "?" + form
	}
	v.Text = method + " " + path
	v.Elems = append(v.Elems, worker.Value{Kind: worker.String, Text: body})
	return v
}

// methodsOf returns the methods of requests that code compares with.
func (g *gen) methodsOf(key string) (out []string) {
	for _, text := range g.dict.texts[key] {
		if slices.Contains(methods, text) {
			out = append(out, text)
		}
	}
	return out
}

// headersOf adds headers: a few that the code names, or nearly all that a function asks for, since some only count together. One may be
// there twice, which is another thing than a list in one line.
func (g *gen) headersOf(key string, add func(name, value string)) {
	d := g.dict
	near, all := d.headers[key], d.headers[""]
	value := func(name string) string {
		if g.chance(70) {
			return headerValue(g.headerFor(name))
		}
		return headerValue(g.headerValue())
	}
	if len(near) > 1 && g.chance(50) {
		again := -1
		if g.chance(40) {
			again = g.rng.IntN(len(near))
		}
		for i, name := range near[:min(len(near), 12)] {
			if g.chance(85) || i == again {
				add(name, value(name))
			}
			if i == again {
				add(name, value(name))
			}
		}
		return
	}
	for range g.rng.IntN(3) {
		if len(all) > 0 {
			name := pick(g, all)
			if add(name, value(name)); g.chance(10) {
				add(name, value(name))
			}
		}
	}
}

// headerSamples are what clients send in headers whose names contain a word.
var headerSamples = []struct {
	word   string
	values []string
}{
	{"method", []string{"GET", "POST", "PUT", "DELETE"}},
	{"headers", []string{"X-Requested-With", "Content-Type", "Accept", "Origin", "X-A", "Content-Type, Accept", "x-a,x-b"}},
	{"origin", []string{"http://example.com", "https://a.example.com", "http://localhost:8080", "null"}},
	{"forwarded-for", []string{"192.0.2.7", "192.0.2.7, 10.0.0.1"}},
	{"real-ip", []string{"192.0.2.7"}},
	{"proto", []string{"https", "http"}},
	{"host", []string{"example.com", "a.b:8080"}},
	{"encoding", []string{"gzip", "gzip, deflate", "identity", "br;q=0.5, gzip;q=0"}},
	{"language", []string{"en", "de-DE, en;q=0.5"}},
	{"content-type", []string{"application/json", "application/json; charset=utf-8", "text/plain", "application/x-www-form-urlencoded"}},
	{"accept", []string{"*/*", "text/html", "application/json, text/*;q=0.5"}},
	{"authorization", []string{"Bearer x", "Basic YTpi", "Basic x"}},
	{"cookie", []string{"a=b", "a=b; c=d"}},
	{"modified", []string{"Thu, 29 Feb 2024 12:30:00 GMT", "Sat, 01 Jan 2000 00:00:00 GMT"}},
	{"match", []string{`"a"`, `W/"a"`, "*"}},
	{"range", []string{"bytes=0-9", "bytes=-5"}},
	{"upgrade", []string{"websocket", "h2c"}},
	{"connection", []string{"close", "Upgrade", "keep-alive"}},
	{"length", []string{"0", "5"}},
}

// headerFor makes what clients send in a header.
func (g *gen) headerFor(name string) string {
	name = strings.ToLower(name)
	for _, s := range headerSamples {
		if strings.Contains(name, s.word) {
			return pick(g, s.values)
		}
	}
	return g.headerValue()
}

// request makes a request for something that was registered before, if there was anything.
func (b *builder) request() worker.Value {
	v := b.gen.request()
	if host := b.host(); host != "" {
		v.Names = append(v.Names, "Host")
		v.Elems = slices.Insert(v.Elems, len(v.Elems)-1, worker.Value{Kind: worker.String, Text: host})
	}
	added := b.added()
	var routes []string
	for _, s := range b.said {
		if _, path, ok := routeIn(s); ok {
			routes = append(routes, path)
		}
	}
	if len(routes) == 0 && len(added) == 0 || !b.chance(70) {
		return v
	}
	method, target, _ := strings.Cut(v.Text, " ")
	var path string
	if len(added) > 0 && (len(routes) == 0 || b.chance(70)) {
		r := pick(b.gen, added)
		if path = r.path; r.method != "" && b.chance(80) {
			method = r.method
		}
	} else {
		path = pick(b.gen, routes)
	}
	path = b.path(path)
	if _, query, ok := strings.Cut(target, "?"); ok {
		path += "?" + query
	}
	v.Text = method + " " + path
	return v
}

// A route is a pattern that a handler was added for, and the method of requests; "" is any.
type route struct{ method, path string }

// routeIn returns the route that a text is, such as /a or GET /a.
func routeIn(text string) (method, path string, ok bool) {
	if before, after, found := strings.Cut(text, " /"); found {
		if text = "/" + after; slices.Contains(methods, before) {
			method = before
		}
	}
	return method, text, strings.HasPrefix(text, "/") && len(text) < 200
}

// added returns the routes that earlier calls add handlers for. Their method is in the pattern, or another argument, or the name of the
// function: r.Get("/", h).
func (b *builder) added() (out []route) {
	for i := range b.steps() {
		s := &b.steps()[i]
		e := b.entries[s.Func]
		if !takesHandler(e) {
			continue
		}
		verb := strings.ToUpper(e.name[strings.LastIndexByte(e.name, '.')+1:])
		if !slices.Contains(methods, verb) {
			verb = ""
		}
		var texts []string
		for j := range s.Args {
			if s.Args[j].Kind == worker.Request {
				continue
			}
			if texts = addTexts(texts, &s.Args[j]); verb == "" && s.Args[j].Kind == worker.String && slices.Contains(methods, s.Args[j].Text) {
				verb = s.Args[j].Text
			}
		}
		for _, text := range texts {
			if method, path, ok := routeIn(text); ok {
				out = append(out, route{cmp.Or(method, verb), path})
			}
		}
	}
	return out
}

// steps are the calls that come before what is being made.
func (b *builder) steps() []worker.Step {
	if b.before != nil {
		return b.before
	}
	return b.p.Steps
}

// takesHandler reports whether a function takes what answers HTTP requests, so that its texts are most likely routes.
func takesHandler(e *entry) bool {
	return slices.ContainsFunc(e.params, func(t types.Type) bool {
		if list, ok := t.Underlying().(*types.Slice); ok {
			t = list.Elem()
		}
		if isHandlerType(t) {
			return true
		}
		if f, ok := t.Underlying().(*types.Signature); ok {
			for p := range f.Params().Variables() {
				named, ok := types.Unalias(p.Type()).(*types.Named)
				if ok && named.Obj().Name() == "ResponseWriter" && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "net/http" {
					return true
				}
			}
		}
		return false
	})
}

// host makes the name of a host, with or without a port, when a text was made that may be one: then it is nearly always that.
func (b *builder) host() string {
	var hosts []string
	for _, s := range b.said {
		if s != "" && len(s) < 100 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:") == "" {
			hosts = append(hosts, s)
		}
	}
	if len(hosts) == 0 || !b.chance(50) {
		return ""
	}
	host := pick(b.gen, hosts)
	switch c := b.rng.IntN(10); {
	case c < 4 && !strings.Contains(host, ":"):
		host += pick(b.gen, []string{":80", ":8080", ":443"})
	case c < 5:
		host, _, _ = strings.Cut(host, ":")
	case c < 6:
		host = strings.ToUpper(host)
	}
	return host
}

// route makes a pattern as routers take them.
func (g *gen) route() string {
	parts := []string{"a", "ab", "users", "users", "user", "x.y", "1"}
	open, end := ":", ""
	if g.chance(40) {
		open, end = "{", "}"
	}
	names := []string{"id", "name", "a", "b", "key", "n", "of", "x"} // a route has each only once
	n := 1 + g.rng.IntN(3)
	if g.chance(15) {
		n = 4 + g.rng.IntN(len(names)-3)
	}
	text := ""
	for i := range n {
		part := pick(g, parts)
		switch {
		case i == n-1 && g.chance(15):
			part = pick(g, []string{"*", "*rest", "{rest...}"})
		case g.chance(40):
			part = open + names[i] + end
		}
		text += "/" + part
	}
	if g.chance(20) {
		text += "/"
	}
	return text
}

// path fills the wildcards of a route, and sometimes goes astray.
func (g *gen) path(route string) string {
	var out []string
	for part := range strings.SplitSeq(route, "/") {
		if strings.HasPrefix(part, "{") && strings.HasSuffix(part, "}") || strings.HasPrefix(part, ":") || strings.HasPrefix(part, "*") {
			part = escape(pick(g, []string{"1", "42", "a", "0", "-1", "x y", "é", ""}))
		}
		out = append(out, part)
	}
	if i := g.rng.IntN(len(out)); out[i] != "" && !strings.Contains(out[i], "%") { // almost the same
		switch g.rng.IntN(8) {
		case 0:
			out[i] += pick(g, []string{"x", "1", ".", "%20"})
		case 1:
			out[i] = out[i][:len(out[i])-1]
		case 2:
			out[i] = strings.ToUpper(out[i])
		}
	}
	path := strings.Join(out, "/")
	switch g.rng.IntN(12) {
	case 0:
		path += "/"
	case 1:
		path += "/" + escape(g.word())
	case 2:
		path = strings.TrimSuffix(path, "/")
	case 3:
		path += escape(g.word())
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return strings.NewReplacer(" ", "%20", "?", "%3F", "#", "%23").Replace(path)
}

// formValue makes a value for a field of a form.
func (g *gen) formValue(name string) string {
	switch c := g.rng.IntN(12); {
	case c < 2:
		return sampleFor(name)
	case c < 3:
		return pick(g, []string{"7", "a", "", "é", "a b", "<b>", "0", "-1", "true", "10", "x", "Anna", "1.5"})
	case c < 5 && len(g.dict.patterns) > 0:
		return g.matching(pick(g, g.dict.patterns), 0)
	}
	return g.word()
}

func (g *gen) headerValue() string {
	if g.chance(40) {
		return pick(g, []string{"gzip", "gzip, deflate", "application/json", "text/html", "*/*", "en", "bytes=0-9", "close", "identity", "Bearer x", "no-cache", "gzip;q=0"})
	}
	return g.word()
}

// headerValue takes out what cannot be in a header.
func headerValue(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
}

// escape writes s as it is written in an address.
func escape(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~"
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(plain, s[i]) >= 0 {
			b.WriteByte(s[i])
			continue
		}
		b.WriteByte('%')
		b.WriteByte("0123456789ABCDEF"[s[i]>>4])
		b.WriteByte("0123456789ABCDEF"[s[i]&15])
	}
	return b.String()
}
