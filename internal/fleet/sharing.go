package fleet

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/fleet/body"
	"github.com/hone-perf/hone/internal/fleet/shelf"
	"github.com/hone-perf/hone/internal/fleet/token"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/store"
)

// Time limits of an upload: in all, and between two reads.
const (
	uploadTime  = time.Hour
	uploadPause = 30 * time.Second
)

// ShelfPath is the path of shared recordings on a server.
const ShelfPath = "/shelf/"

// registerShelf adds the routes of the shelf.
func (s *Server) registerShelf() {
	s.mux.HandleFunc("POST /api/v1/shelf", body.Bound(uploadPause, s.who(token.Write, s.share)))
	s.mux.HandleFunc("GET /api/v1/shelf", s.who(token.Read, s.shared))
	s.mux.HandleFunc("DELETE /api/v1/shelf/{id}", body.Bound(uploadPause, s.who(token.Write, s.unshare)))
	s.mux.HandleFunc("GET "+ShelfPath+"{name}", s.who(token.Read, s.takeShared))
}

// who returns a handler for clients with a scope, if there is a shelf.
func (s *Server) who(need token.Scope, answer func(w http.ResponseWriter, r *http.Request, who token.Who) error) http.HandlerFunc {
	return s.allow(need, func(w http.ResponseWriter, r *http.Request, who token.Who) error {
		if s.Shelf == nil {
			return body.Errorf(http.StatusNotFound, "this server keeps no recordings")
		}
		return answer(w, r, who)
	})
}

// share stores a recording on the shelf.
func (s *Server) share(w http.ResponseWriter, r *http.Request, who token.Who) error {
	q := r.URL.Query()
	m := shelf.Meta{Name: q.Get("name"), Note: q.Get("note"), Who: who.Token}
	for key := range q {
		switch key {
		case "name", "note", "expires":
		default:
			return body.Errorf(http.StatusBadRequest, "unknown key %q; the keys are name, note, expires", profile.Shorten(key, 40))
		}
	}
	switch expires := q.Get("expires"); expires {
	case "":
	case "never":
		m.Forever = true
	default:
		d, err := store.ParseAge(expires)
		if err != nil || d < time.Minute {
			return body.Errorf(http.StatusBadRequest, "expires=%s: want a time such as 12h or 30d, or never", profile.Shorten(expires, 40))
		}
		m.Keep = d
	}
	if r.ContentLength > s.Shelf.Each {
		return body.TooLarge(shelf.LimitEach, "the recording", s.Shelf.Each)
	}
	id, err := s.Shelf.Add(r.Context(), who.Tenant, m, &upload{Reader: r.Body, control: http.NewResponseController(w), end: time.Now().Add(uploadTime)})
	var bad *body.Error
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &body.Error{Status: http.StatusRequestTimeout, Limit: body.LimitTime, Message: "the recording was not complete in time (limit: " + body.LimitTime + ")"}
	case errors.Is(err, io.ErrUnexpectedEOF) && !errors.As(err, &bad):
		return body.Errorf(http.StatusBadRequest, "the recording ended too early")
	case err != nil:
		return err
	}
	e, _, err := s.Shelf.Get(who.Tenant, id)
	if err != nil {
		return err
	}
	return writeShared(w, sharedRecording(&e))
}

// An upload is a request body that must not stall.
type upload struct {
	io.Reader
	control *http.ResponseController
	end     time.Time
}

func (u *upload) Read(b []byte) (int, error) {
	until := time.Now().Add(uploadPause)
	if u.end.Before(until) {
		until = u.end
	}
	_ = u.control.SetReadDeadline(until) // tests have no connection
	n, err := u.Reader.Read(b)
	if err == io.EOF {
		// A later deadline would interrupt the answer.
		_ = u.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// Recordings is the answer to GET /api/v1/shelf.
type Recordings struct {
	Recordings []report.SharedRecording `json:"recordings"`
}

func sharedRecording(e *shelf.Entry) report.SharedRecording {
	return report.SharedRecording{ID: e.ID, Name: e.Name, Who: e.Who, Note: e.Note, Size: e.Size, Made: e.Made, Expires: e.Expires, Link: ShelfPath + e.ID}
}

// shared answers with the recordings on the shelf.
func (s *Server) shared(w http.ResponseWriter, _ *http.Request, who token.Who) error {
	out := Recordings{[]report.SharedRecording{}}
	for _, e := range s.Shelf.List(who.Tenant) {
		out.Recordings = append(out.Recordings, sharedRecording(&e))
	}
	return writeShared(w, out)
}

func writeShared(w http.ResponseWriter, v any) error {
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(v)
}

// unshare deletes a recording from the shelf.
func (s *Server) unshare(w http.ResponseWriter, r *http.Request, who token.Who) error {
	if err := s.Shelf.Delete(who.Tenant, r.PathValue("id"), who.Token, who.Admin || who.Token == ""); err != nil {
		return err
	}
	return writeShared(w, struct{}{})
}

// Recording returns a shared recording of a tenant, and the name of its file, or shelf.ErrNotFound.
func (s *Server) Recording(tenant, id string) (shelf.Entry, string, error) {
	if s.Shelf == nil {
		return shelf.Entry{}, "", shelf.ErrNotFound
	}
	return s.Shelf.Get(tenant, id)
}

// takeShared answers with the file of a recording at ID.hone. At ID, it redirects browsers to the page, and sends other clients the file.
func (s *Server) takeShared(w http.ResponseWriter, r *http.Request, who token.Who) error {
	id, isFile := strings.CutSuffix(r.PathValue("name"), ".hone")
	if !shelf.IsID(id) {
		return shelf.ErrNotFound
	}
	if !isFile {
		if _, _, err := s.Recording(who.Tenant, id); err != nil {
			return err
		}
		to := ShelfPath + id + ".hone"
		if s.Pages != nil && strings.Contains(r.Header.Get("Accept"), "text/html") {
			to = "/overview?ref=" + SharedPrefix + id
		}
		http.Redirect(w, r, to, http.StatusFound)
		return nil
	}
	e, f, err := s.Shelf.Open(who.Tenant, id)
	if err != nil {
		return err
	}
	defer f.Close()
	w.Header().Set("Content-Type", "application/zip")
	w.Header().Set("Content-Disposition", attachment(e.Name))
	http.ServeContent(w, r, "", e.Made, f)
	return nil
}

// attachment returns the header for the file name of a download. Names come from users, so it replaces characters with a special meaning.
func attachment(name string) string {
	name = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || strings.ContainsRune(`"'/\:*?<>|%;`, c) {
			return '_'
		}
		return c
	}, name)
	name = strings.TrimLeft(strings.TrimSuffix(name, ".hone"), ".-~ ")
	if name == "" {
		name = "recording"
	}
	return mime.FormatMediaType("attachment", map[string]string{"filename": name + ".hone"})
}
