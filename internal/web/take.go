package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/requests"
	"github.com/hone-perf/hone/internal/unit"
	"github.com/hone-perf/hone/internal/waits"
)

// Uploaded files stay in memory until the server ends.
const (
	mostTaken     = 128 << 20 // bytes of one
	mostTakenAll  = 512 << 20 // bytes of all
	mostTakenName = 200       // letters
	mostOpen      = 64        // recordings
)

// A taking is the answer to an upload: the ref of the file.
type taking struct {
	Ref   string `json:"ref"`
	Known bool   `json:"known,omitempty"` // it was open before
}

// take opens an uploaded file. If the file is open already, nothing changes.
func (s *Server) take(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Content-Type") != "application/octet-stream" {
		fail(w, http.StatusUnsupportedMediaType, errors.New("a file is sent as application/octet-stream"), "")
		return
	}
	name := fileName(r.URL.Query().Get("name"))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostTaken))
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			fail(w, http.StatusRequestEntityTooLarge, fmt.Errorf("%s has more than %s", name, unit.Size(mostTaken)), "hone web "+name+" opens files of any size")
			return
		}
		fail(w, http.StatusBadRequest, fmt.Errorf("reading %s: %w", name, err), "")
		return
	}
	done, ok := s.busy(r)
	if !ok {
		return
	}
	defer done()
	if ref := s.openAs(name, body); ref != "" {
		sendTaking(w, taking{Ref: ref, Known: true})
		return
	}
	rec, err := readTaken(name, body)
	if err != nil {
		fail(w, http.StatusUnprocessableEntity, err, "hone opens profiles, recordings (.hone) and execution traces")
		return
	}
	if err := s.reserve(int64(len(body))); err != nil {
		fail(w, http.StatusInsufficientStorage, err, "start hone web again with the files to look at")
		return
	}
	rec = rec.Named(s.unused(name))
	s.add(rec, sentFile{name, sha256.Sum256(body)})
	sendTaking(w, taking{Ref: rec.Ref})
}

func sendTaking(w http.ResponseWriter, t taking) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(t)
}

// reserve reserves memory for a file, or returns an error.
func (s *Server) reserve(size int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.in) >= mostOpen:
		return fmt.Errorf("%d recordings are open, which is the most there can be", mostOpen)
	case s.taken+size > mostTakenAll:
		return fmt.Errorf("the files that pages opened would have more than %s", unit.Size(mostTakenAll))
	}
	s.taken += size
	return nil
}

// unused returns a ref that no recording has. Users type it in commands, so it needs no quotes if name needs none.
func (s *Server) unused(name string) string {
	all := s.all()
	ext := path.Ext(name)
	if ext == name {
		ext = ""
	}
	for n, to := 2, name; ; n++ {
		if !slices.ContainsFunc(all, func(rec *recording.Recording) bool { return rec.Ref == to }) {
			return to
		}
		to = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), n, ext)
	}
}

// fileName returns the base name of a file, without characters that cannot be shown.
func fileName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, "")))
	if name == "" || strings.Trim(name, ".") == "" {
		return "file"
	}
	letters := []rune(name)
	return string(letters[:min(len(letters), mostTakenName)])
}

// readTaken opens an uploaded recording, execution trace or profile.
func readTaken(name string, body []byte) (*recording.Recording, error) {
	switch {
	case recording.IsPacked(body):
		rec, err := recording.Read(name, body)
		if err != nil {
			return nil, err
		}
		picked, _, err := rec.Pick("", 0, 0)
		if errors.Is(err, recording.ErrNoProfile) {
			return rec.WithProfile(&profile.Profile{}, ""), nil
		}
		return picked, err
	case exectrace.Is(body):
		rec, err := recording.Execution.ReadAlone(name, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		t, err := recording.Execution.In(rec).Open()
		if err != nil {
			return nil, err
		}
		p, err := requests.Profile(t, waits.Window{})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return rec.WithProfile(p.WithShortNames(), ""), nil
	}
	p, err := profile.ParseBytes(body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &recording.Recording{Ref: name, Profile: p.Named().WithShortNames()}, nil
}
