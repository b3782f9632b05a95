package recording

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/hone-perf/hone/internal/filename"
)

// KeptSource is a source file inside a recording, as sources/index.json lists it.
type KeptSource struct {
	File string `json:"file"`           // as profiles name it
	At   string `json:"at"`             // name in the recording, below sources/
	From string `json:"from,omitempty"` // where it was when it was recorded
	Note string `json:"note,omitempty"` // doubt about it
}

// SourceIndex is the file that lists the sources that a recording holds.
const SourceIndex = SourcesDir + "/index.json"

const maxIndex = 16 << 20

// keptSources finds the sources that a recording holds.
type keptSources struct {
	files fs.FS
	list  []KeptSource
	at    map[string]KeptSource // by filename.Key
}

// newKeptSources returns the sources inside a recording, or nil when it holds none.
func newKeptSources(files fs.FS) Sources {
	b, err := readFile(files, SourceIndex, maxIndex)
	if err != nil {
		return nil
	}
	var list []KeptSource
	if json.Unmarshal(b, &list) != nil {
		return nil
	}
	s := &keptSources{files, list, make(map[string]KeptSource)}
	for _, k := range list {
		s.at[filename.Key(k.File)] = k
	}
	return s
}

// Kept returns the sources that the recording itself holds, as they were when it was made, or nil when it holds none.
func (r *Recording) Kept() Sources {
	if r.files == nil {
		return nil
	}
	return newKeptSources(r.files)
}

// Find returns the text that the recording holds of a file.
func (s *keptSources) Find(file, function string, line int) (Text, error) {
	k, ok := s.at[filename.Key(file)]
	if !ok {
		return Text{}, fmt.Errorf("%s is not among the sources in the recording: %w", file, fs.ErrNotExist)
	}
	b, err := readFile(s.files, path.Join(SourcesDir, path.Clean("/"+k.At)), maxSource)
	if err != nil {
		return Text{}, fmt.Errorf("reading %s from the recording: %w", file, err)
	}
	t := Text{Path: k.File, Lines: strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")}
	for i, l := range t.Lines {
		t.Lines[i] = strings.TrimSuffix(l, "\r")
	}
	if k.Note != "" {
		t.Notes = []string{k.Note}
	}
	return t, nil
}

// Either returns sources that are looked for in each of some places until they are found.
func Either(places ...Sources) Sources {
	var out either
	for _, p := range places {
		if p != nil {
			out = append(out, p)
		}
	}
	if len(out) == 1 {
		return out[0]
	}
	return out
}

type either []Sources

func (e either) Find(file, function string, line int) (Text, error) {
	err := fmt.Errorf("%s: no sources: %w", file, fs.ErrNotExist)
	for _, s := range e {
		var t Text
		if t, err = s.Find(file, function, line); err == nil {
			return t, nil
		}
	}
	return Text{}, err
}
