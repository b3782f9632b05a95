package load

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// A request is a target as it is sent.
type request struct {
	target *Target
	wire   []byte
	head   bool // of HEAD, whose answer has no body
}

// prepare makes the bytes of all requests.
func (p *Plan) prepare() ([]request, error) {
	out := make([]request, len(p.Targets))
	for i := range p.Targets {
		t := &p.Targets[i]
		wire, err := p.wire(t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.URL, err)
		}
		out[i] = request{t, wire, t.method() == "HEAD"}
	}
	return out, nil
}

func (t *Target) method() string {
	if t.Method == "" {
		return "GET"
	}
	return t.Method
}

// has reports whether a target says itself what a field is to be.
func (t *Target) has(name string) bool {
	return slices.ContainsFunc(t.Header, func(f Field) bool { return strings.EqualFold(f.Name, name) })
}

// wire returns a request as it goes over the wire.
func (p *Plan) wire(t *Target) ([]byte, error) {
	if t.Wire != nil {
		return t.Wire, nil
	}
	if !isToken(t.method()) {
		return nil, fmt.Errorf("%q is not a method", t.Method)
	}
	for _, f := range t.Header {
		switch {
		case !isToken(f.Name):
			return nil, fmt.Errorf("%q is not a name of a header field", f.Name)
		case !printable([]byte(f.Value)):
			return nil, fmt.Errorf("the header field %s has a control character in it", f.Name)
		case strings.EqualFold(f.Name, "Transfer-Encoding"):
			return nil, fmt.Errorf("a request with Transfer-Encoding cannot be sent: bodies have a Content-Length")
		case strings.EqualFold(f.Name, "Content-Length") && f.Value != strconv.Itoa(len(t.Body)):
			return nil, fmt.Errorf("Content-Length is %s, but the body has %d bytes", f.Value, len(t.Body))
		}
	}
	var b strings.Builder
	path := t.URL.RequestURI()
	version := "1.1"
	if p.HTTP10 {
		version = "1.0"
	}
	fmt.Fprintf(&b, "%s %s HTTP/%s\r\n", t.method(), path, version)
	field := func(name, value string) {
		if !t.has(name) {
			fmt.Fprintf(&b, "%s: %s\r\n", name, value)
		}
	}
	field("Host", hostField(t))
	field("User-Agent", p.Agent)
	field("Accept", "*/*")
	switch {
	case p.NoKeepAlive && !p.HTTP10:
		field("Connection", "close")
	case p.HTTP10 && !p.NoKeepAlive:
		field("Connection", "Keep-Alive")
	}
	if u := t.URL.User; u != nil {
		password, _ := u.Password()
		field("Authorization", BasicAuth(u.Username(), password))
	}
	for _, f := range t.Header {
		fmt.Fprintf(&b, "%s: %s\r\n", f.Name, f.Value)
	}
	if len(t.Body) > 0 || slices.Contains([]string{"POST", "PUT", "PATCH"}, t.method()) {
		field("Content-Length", strconv.Itoa(len(t.Body)))
	}
	b.WriteString("\r\n")
	b.Write(t.Body)
	return []byte(b.String()), nil
}

// hostField returns what the field Host of a request says: without the port that is the usual one.
func hostField(t *Target) string {
	name, port := t.URL.Hostname(), t.URL.Port()
	if port == "" || port == "80" && t.URL.Scheme == "http" || port == "443" && t.URL.Scheme == "https" {
		if strings.Contains(name, ":") {
			return "[" + name + "]"
		}
		return name
	}
	return net.JoinHostPort(name, port)
}

func isToken(s string) bool {
	for _, c := range []byte(s) {
		if !inToken[c] {
			return false
		}
	}
	return s != ""
}
