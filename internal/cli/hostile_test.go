package cli

import (
	"bufio"
	"bytes"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"
)

// Control characters in an error of a server are escaped, so that they cannot move the cursor or set colors.
func TestErrorsAreClean(t *testing.T) {
	const evil = "\x1b[31mred\x1b]0;title\x07\u202e"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if req, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				switch {
				case strings.Contains(req.URL.Path, "text"):
					c.Write([]byte("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nneither a profile nor anything else " + evil))
				default:
					c.Write([]byte("HTTP/1.1 999 " + evil + "\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"))
				}
			}
			c.Close()
		}
	}()
	url := "http://" + l.Addr().String()
	for _, args := range [][]string{
		{"top", url + "/debug/pprof/profile"}, {"top", url + "/text"}, {"list", evil, url}, {"info", url}, {"record", "--for", "1s", url}, {"merge", "-o", "x", url},
		{"diff", url, url}, {"top", evil}, {"top", "--" + evil}, {evil}, {"gc", evil}, {"bench", evil}, {"compare", evil}, {"prove", evil}, {"advise", url},
		{"load", url, "-n", "2"}, {"pprof", "-top", url + "/text"}, {"why-alloc", evil + ".go:3"}, {"web", evil}, {"flame", url, "-o", evil + ".svg"},
	} {
		var out, said bytes.Buffer
		sys := System{In: strings.NewReader(""), Out: &out, Err: &said, Env: func(string) string { return "" }, Dir: t.TempDir(), Zone: time.UTC}
		Main(t.Context(), sys, args)
		for _, text := range []string{out.String(), said.String()} {
			if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && r != '\r' && !unicode.IsGraphic(r) }); i >= 0 {
				t.Errorf("hone %q prints %q", args, text[max(0, i-60):min(len(text), i+40)])
			}
		}
	}
}
