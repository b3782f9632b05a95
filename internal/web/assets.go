package web

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path"
	"slices"

	"github.com/hone-perf/hone/internal/profile/inflate"
)

// The page, made from ui/src by tools/web.
//
//go:embed ui/index.html ui/dist/*.gz
var ui embed.FS

// page serves the page, whatever view its address asks for.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	if s.store != nil && r.URL.Path == "/flame" {
		select {
		case s.ready <- struct{}{}:
			go func() { // not waited for: the page asks for the same in a moment
				defer func() { <-s.ready }()
				s.prepare(context.WithoutCancel(r.Context()), r.URL.RequestURI())
			}()
		default: // enough is being made ready
		}
	}
	s.write(w, http.StatusOK)
}

// write writes the page. It holds what there is to look at when that is known, so that the page need not ask before it knows
// what to ask for.
func (s *Server) write(w http.ResponseWriter, status int) {
	page, err := ui.ReadFile("ui/index.html")
	if err != nil {
		panic(err) // it is embedded
	}
	if described, err := s.now(); err == nil { // or it asks, and waits, or is told what is wrong
		if data, err := json.Marshal(described); err == nil { // which leaves no < that could end the element it stands in
			open := `<script type="application/json" id="hone-session">`
			if described.Fleet {
				open = `<script type="application/json" id="hone-session" data-fleet>`
			}
			page = bytes.Replace(page, []byte("</body>"), slices.Concat(
				[]byte(open), data, []byte("</script>\n</body>")), 1)
		}
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	w.Write(page)
}

// now returns what there is to look at, if it is known already.
func (s *Server) now() (session, error) {
	select {
	case <-s.opened:
		switch {
		case s.failed != nil:
			return session{}, s.failed
		case s.store != nil:
			return s.storeHead(), nil
		}
		return s.said()
	default:
		return session{}, errNotOpen
	}
}

var errNotOpen = errors.New("recordings are still being read")

// assetTypes are the content types of the parts of the page. The tables of the system, which package mime reads, may say otherwise.
var assetTypes = map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}

// asset serves a part of the page.
func (s *Server) asset(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.PathValue("name"))
	packed, err := ui.ReadFile("ui/dist/" + name + ".gz")
	if err != nil {
		http.NotFound(w, r)
		return
	}
	send(w, r, assetTypes[path.Ext(name)], packed)
}

// assetText returns a part of the page as text.
func assetText(name string) (string, error) {
	packed, err := ui.ReadFile("ui/dist/" + name + ".gz")
	if err != nil {
		return "", err
	}
	r, err := inflate.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", err
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	return string(b), err
}
