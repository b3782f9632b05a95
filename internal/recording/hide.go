package recording

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/inflate"
	"github.com/hone-perf/hone/internal/secret"
	"github.com/hone-perf/hone/internal/unit"
)

// maxUnpacked is how much of a profile is looked through for secrets, unpacked.
const maxUnpacked = 1 << 30

// errTooLong says that there is more of a profile than that.
var errTooLong = fmt.Errorf("it has more than %s unpacked", unit.Size(maxUnpacked))

// hidden returns the manifest as it is written: without what looks like a secret, unless that is to be kept.
func (m *Manifest) hidden(h *secret.Hider) *Manifest {
	if m.KeepSecrets {
		return m
	}
	out := *m
	out.Command = h.Args(m.Command)
	out.Target = h.URL(m.Target)
	out.Notes = nil
	for _, n := range m.Notes {
		out.Notes = append(out.Notes, h.Text(n))
	}
	if m.Exit != nil {
		x := *m.Exit
		x.Cause = h.Text(x.Cause)
		out.Exit = &x
	}
	if m.Program != nil {
		p := *m.Program
		p.Env, p.Settings = hidePairs(h, p.Env), hidePairs(h, p.Settings)
		out.Program = &p
	}
	return &out
}

func hidePairs(h *secret.Hider, of map[string]string) map[string]string {
	out := maps.Clone(of)
	for _, k := range slices.Sorted(maps.Keys(of)) {
		out[k] = h.Pair(k, of[k])
	}
	return out
}

// hideSecrets replaces what looks like a secret in the files of the recording in a folder, except in its manifest. Where it cannot look, it
// removes a file and adds a note to m.
func hideSecrets(folder string, h *secret.Hider, m *Manifest) error {
	var files []string
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(folder, name)
		if rel = filepath.ToSlash(rel); err == nil && rel != manifestFile && !strings.HasPrefix(path.Base(rel), ".") {
			files = append(files, rel)
		}
		return err
	})
	if err != nil {
		return err
	}
	// Labels and what the program said have names for their secrets; sources and lines of benchmarks need to be told.
	slices.SortStableFunc(files, func(a, b string) int { return kindOfFile(b).early - kindOfFile(a).early })
	for _, name := range files {
		if err := hideIn(filepath.Join(folder, filepath.FromSlash(name)), name, h, m); err != nil {
			return err
		}
	}
	return nil
}

// hideIn replaces secrets in one file.
func hideIn(file, name string, h *secret.Hider, m *Manifest) error {
	k := kindOfFile(name)
	hide := k.hide
	switch {
	case k.plain:
		return nil // numbers, and names of files
	case k.hideBig != nil:
		return removeUnless(k.hideBig(file, h), file, name, m)
	case hide == nil:
		hide = func(text []byte, h *secret.Hider) ([]byte, error) {
			return changed(text, h.Known(h.Again(string(text)))), nil
		}
	}
	was, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	now, err := hide(was, h)
	if err != nil {
		if !k.profile {
			return removeUnless(err, file, name, m)
		}
		var unreadable *unreadableError
		switch {
		case !errors.As(err, &unreadable):
			return err
		case harmlessRest(was):
			return nil
		}
		// It stays as one that is damaged, so that answers say that they lack it.
		m.Notes = append(m.Notes, fmt.Sprintf("%s is damaged (%v) and was dropped because the rest may hold secrets; a recording that keeps secrets has it", name, unreadable.error))
		now = []byte("\x1f\x8b")
	}
	if len(now) == len(was) && (len(now) == 0 || &now[0] == &was[0]) {
		return nil
	}
	return replaceFile(file, func(w io.Writer) error {
		_, err := w.Write(now)
		return err
	})
}

// hideText replaces secrets in what a program said.
func hideText(text []byte, h *secret.Hider) ([]byte, error) {
	return changed(text, h.Text(string(text))), nil
}

// changed returns was itself when it is the same as now.
func changed(was []byte, now string) []byte {
	if string(was) == now {
		return was
	}
	return []byte(now)
}

// An unreadableError is why a file cannot be looked through.
type unreadableError struct{ error }

func (e *unreadableError) Unwrap() error { return e.error }

// removeUnless removes a file of a recording that could not be looked through.
func removeUnless(err error, file, name string, m *Manifest) error {
	var unreadable *unreadableError
	if !errors.As(err, &unreadable) {
		return err
	}
	m.Notes = append(m.Notes, fmt.Sprintf("%s is left out because it could not be searched for secrets (%v); a recording that keeps secrets has it", name, unreadable.error))
	return os.Remove(file)
}

// replaceFile writes a file of a recording anew. It is there whole, as it was or as it will be.
func replaceFile(file string, write func(io.Writer) error) error {
	temp := filepath.Join(filepath.Dir(file), "."+filepath.Base(file))
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Close())
	if err == nil {
		err = os.Rename(temp, file)
	}
	if err != nil {
		os.Remove(temp)
	}
	return err
}

// unpack returns a profile without gzip.
func unpack(text []byte) (raw []byte, packed bool, err error) {
	if !bytes.HasPrefix(text, []byte("\x1f\x8b")) {
		return text, false, nil
	}
	r, err := inflate.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, true, err
	}
	defer r.Close()
	raw, err = io.ReadAll(io.LimitReader(r, maxUnpacked+1))
	if err == nil && len(raw) > maxUnpacked {
		err = errTooLong
	}
	return raw, true, err
}

// hideProfile replaces secrets in the labels and comments of a profile. It returns text itself when there are none.
func hideProfile(text []byte, h *secret.Hider) ([]byte, error) {
	now, err := editProfile(text, profile.Edit{
		Label:   func(key, value string) (string, bool) { return h.Pair(key, value), true },
		Comment: func(text string) (string, bool) { return h.Text(text), true },
		Doc:     h.URL,
		Mapping: h.Known,
		Unused:  h.Plain,
	})
	if err == nil {
		return now, nil
	}
	// Old servers have profiles in other forms, which have no labels; or as texts, which may have.
	raw, packed, unpackErr := unpack(text)
	if unpackErr != nil {
		return nil, &unreadableError{unpackErr}
	}
	if p, parseErr := profile.ParseBytes(raw); parseErr != nil || p.Damage != nil {
		return nil, &unreadableError{err}
	}
	if !utf8.Valid(raw) || bytes.IndexByte(raw, 0) >= 0 {
		return text, nil
	}
	plain := h.Text(string(raw))
	if plain == string(raw) {
		return text, nil
	}
	return repack([]byte(plain), packed)
}

// HideLabels returns a profile without secrets in its labels and comments, which is p itself when there are none, and says how many
// there were.
func HideLabels(p *profile.Profile) (*profile.Profile, int) {
	var h secret.Hider
	sets := make([]profile.LabelSet, len(p.LabelSets()))
	for k, set := range p.LabelSets() {
		sets[k] = slices.Clone(set)
		for j, l := range set {
			if !l.Numeric {
				sets[k][j].Str = h.Pair(l.Key, l.Str)
			}
		}
	}
	if h.N > 0 {
		i := -1
		p = p.MapLabels(func(profile.LabelSet) profile.LabelSet { // which is called for one after the other
			i++
			return sets[i]
		})
	}
	n := h.N
	header := p.Header
	header.Comments = slices.Clone(p.Comments)
	for i, c := range header.Comments {
		header.Comments[i] = h.Text(c)
	}
	header.DocURL = h.URL(p.DocURL)
	if h.N > n {
		p = p.WithHeader(header)
	}
	return p, h.N
}

// harmlessRest reports whether nothing that can be read of a damaged profile looks like a secret, or like the name of one.
func harmlessRest(text []byte) bool {
	raw, _, _ := unpack(text) // up to where it is damaged
	if len(raw) > maxUnpacked {
		return false
	}
	var h secret.Hider
	rest := profile.TextsOf(raw, func(text string) bool {
		h.Plain(text)
		isKey := !strings.ContainsAny(text, "./(")
		return h.N == 0 && !(isKey && secret.Name(text))
	})
	h.Text(string(rest))
	return h.N == 0 && rest != nil
}

// editProfile changes the texts in a profile.
func editProfile(text []byte, edit profile.Edit) ([]byte, error) {
	raw, packed, err := unpack(text)
	if err != nil {
		return nil, err
	}
	now, err := profile.EditTexts(raw, edit)
	switch {
	case err != nil:
		return nil, err
	case len(now) == len(raw) && &now[0] == &raw[0]:
		return text, nil
	}
	return repack(now, packed)
}

func repack(raw []byte, packed bool) ([]byte, error) {
	if !packed {
		return raw, nil
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(raw)
	err = errors.Join(err, w.Close())
	return out.Bytes(), err
}
