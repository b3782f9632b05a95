package web

import (
	"bytes"
	"crypto/sha256"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// known records which files are open, so that a file opened twice is listed once.
type known struct {
	since time.Time // time before reading the files
	sent  map[sentFile]string
	local map[string]fs.FileInfo // local files by ref, right after reading them
}

// A sentFile is an uploaded file. Several can have the same name.
type sentFile struct {
	name string
	hash [sha256.Size]byte
}

// opened records the identity of the file that a ref names, to recognize it later.
func (k *known) opened(ref string) {
	info, err := os.Stat(ref)
	if err == nil && info.Mode().IsRegular() && info.ModTime().Before(k.since) {
		k.local[ref] = info
	}
}

// ref returns the ref of an open file, or "".
func (k *known) ref(name string, body []byte) string {
	if ref := k.sent[sentFile{name, sha256.Sum256(body)}]; ref != "" {
		return ref
	}
	for ref, was := range k.local {
		if filepath.Base(ref) != name || was.Size() != int64(len(body)) {
			continue
		}
		now, err := os.Stat(ref)
		if err != nil || !os.SameFile(now, was) || now.Size() != was.Size() || !now.ModTime().Equal(was.ModTime()) {
			continue // the file has been removed
		}
		if there, err := os.ReadFile(ref); err == nil && bytes.Equal(there, body) {
			return ref
		}
	}
	return ""
}

// openAs returns the ref of an uploaded file if it is open already, or "".
func (s *Server) openAs(name string, body []byte) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.known.ref(name, body)
}
