package web

import (
	"embed"
	"io/fs"
	"net/http"
	"path"
)

// The page, made from ui/src by tools/web.
//
//go:embed ui/index.html ui/dist
var ui embed.FS

// page serves the page, whatever view its address asks for.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	s.file(w, r, "ui/index.html")
}

// asset serves a part of the page.
func (s *Server) asset(w http.ResponseWriter, r *http.Request) {
	s.file(w, r, "ui/dist/"+path.Base(r.PathValue("name")))
}

func (s *Server) file(w http.ResponseWriter, r *http.Request, name string) {
	if _, err := fs.Stat(ui, name); err != nil {
		http.NotFound(w, r)
		return
	}
	http.ServeFileFS(w, r, ui, name)
}
