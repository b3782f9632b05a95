package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/safefile"
)

const (
	mostSaved     = 100 // views
	mostSavedName = 80  // letters
)

// A savedView is a named view of any recording. Like configurations of pprof, saved views are in the user's settings, because browsers store data by
// port, and hone uses another port each time.
type savedView struct {
	Name string `json:"name"`
	Link string `json:"link"` // path and query, without refs
}

func (s *Server) savedViews(w http.ResponseWriter, r *http.Request) {
	list, err := s.readSaved()
	if err != nil {
		fail(w, http.StatusInternalServerError, err, "")
		return
	}
	sendSaved(w, list)
}

func sendSaved(w http.ResponseWriter, list []savedView) {
	if list == nil {
		list = []savedView{}
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(list)
}

// saveView saves a view. It replaces a view with the same name.
func (s *Server) saveView(w http.ResponseWriter, r *http.Request) {
	var v savedView
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 2*maxQuery)).Decode(&v); err != nil {
		fail(w, http.StatusBadRequest, fmt.Errorf("reading the view: %w", err), "")
		return
	}
	var err error
	switch v.Name, err = viewName(v.Name); {
	case err != nil:
		fail(w, http.StatusBadRequest, err, "")
		return
	case !strings.HasPrefix(v.Link, "/") || strings.HasPrefix(v.Link, "//") || len(v.Link) > maxQuery:
		fail(w, http.StatusBadRequest, errors.New("a saved view is a path on this server"), "")
		return
	}
	s.changeSaved(w, func(list []savedView) ([]savedView, error) {
		list = slices.DeleteFunc(list, func(o savedView) bool { return o.Name == v.Name })
		if len(list) >= mostSaved {
			return nil, fmt.Errorf("there are %d saved views, which is the most there can be; remove one", mostSaved)
		}
		return append(list, v), nil
	})
}

// renameView renames a view, which keeps its position in the list.
func (s *Server) renameView(w http.ResponseWriter, r *http.Request) {
	var asks struct{ Name, To string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 2*maxQuery)).Decode(&asks); err != nil {
		fail(w, http.StatusBadRequest, fmt.Errorf("reading the name: %w", err), "")
		return
	}
	to, err := viewName(asks.To)
	if err != nil {
		fail(w, http.StatusBadRequest, err, "")
		return
	}
	s.changeSaved(w, func(list []savedView) ([]savedView, error) {
		named := func(name string) int {
			return slices.IndexFunc(list, func(v savedView) bool { return v.Name == name })
		}
		at := named(asks.Name)
		switch other := named(to); {
		case at < 0:
			return nil, fmt.Errorf("there is no saved view %s any more", asks.Name)
		case other >= 0 && other != at:
			return nil, fmt.Errorf("another saved view is called %s", to)
		}
		list[at].Name = to
		return list, nil
	})
}

// viewName returns the normalized name of a view.
func viewName(name string) (string, error) {
	switch name = strings.TrimSpace(name); {
	case name == "":
		return "", errors.New("a saved view needs a name")
	case len([]rune(name)) > mostSavedName:
		return "", fmt.Errorf("the name of a view has at most %d letters", mostSavedName)
	}
	return name, nil
}

func (s *Server) forgetView(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("name")
	s.changeSaved(w, func(list []savedView) ([]savedView, error) {
		return slices.DeleteFunc(list, func(o savedView) bool { return o.Name == name }), nil
	})
}

func (s *Server) changeSaved(w http.ResponseWriter, change func([]savedView) ([]savedView, error)) {
	s.saving.Lock()
	defer s.saving.Unlock()
	list, err := s.readSaved()
	if err == nil {
		if list, err = change(list); err != nil {
			fail(w, http.StatusConflict, err, "")
			return
		}
		err = s.writeSaved(list)
	}
	if err != nil {
		fail(w, http.StatusInternalServerError, err, "")
		return
	}
	sendSaved(w, list)
}

func (s *Server) readSaved() ([]savedView, error) {
	b, err := os.ReadFile(s.opt.Saved)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []savedView
	if err == nil {
		err = json.Unmarshal(b, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the saved views: %w", err)
	}
	return list, nil
}

func (s *Server) writeSaved(list []savedView) error {
	err := os.MkdirAll(filepath.Dir(s.opt.Saved), 0o700)
	if err == nil {
		var f *safefile.File
		if f, err = safefile.Create(s.opt.Saved); err == nil {
			enc := json.NewEncoder(f)
			enc.SetIndent("", "\t")
			if err = enc.Encode(list); err == nil {
				err = f.Commit()
			} else {
				f.Discard()
			}
		}
	}
	if err != nil {
		return fmt.Errorf("saving the view: %w", err)
	}
	return nil
}
