package fix

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/safefile"
)

// A Memory is patches that were refused, in a file. A patch is the same when the same rule wants the same of a function with the
// same text, with the same version of Go for the same kind of machine, and of hone: a new version may decide otherwise. A nil Memory
// remembers nothing.
type Memory struct {
	file  string
	hone  string // version
	list  []Refusal
	fresh []Refusal // those of list that are not in the file yet
	dirt  bool
}

// A Refusal is a patch that was refused.
type Refusal struct {
	Key      string    `json:"key"`
	Module   string    `json:"module"`
	Rule     string    `json:"rule"`
	Function string    `json:"function"`
	Fix      string    `json:"fix"`
	Go       string    `json:"go"`
	Hone     string    `json:"hone"`
	Reason   string    `json:"reason"`
	When     time.Time `json:"when"`

	// Where nothing speaks against it but that it gained too little:
	MinGain float64            `json:"min_gain,omitempty"` // how much it had to gain
	Gained  *report.CompareRow `json:"gained,omitempty"`   // what it gained most of
}

// maxRefusals is how many are kept, the newest.
const maxRefusals = 5000

// OpenMemory reads a file, which need not be there yet, for a version of hone. One that cannot be read as what it should be is an error: it is not ours.
func OpenMemory(file, hone string) (*Memory, error) {
	m := &Memory{file: file, hone: hone}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the rejected patches: %w", err)
	}
	if err := json.Unmarshal(text, &m.list); err != nil {
		return nil, fmt.Errorf("reading the rejected patches: %s: %w", file, err)
	}
	return m, nil
}

// refused returns how a patch was refused before that has to gain some share, or nil. One that only gained too little may gain enough
// when less is asked for.
func (m *Memory) refused(key string, minGain float64) *Refusal {
	if m == nil {
		return nil
	}
	if i := slices.IndexFunc(m.list, func(r Refusal) bool { return r.Key == key && r.Hone == m.hone && r.MinGain <= minGain }); i >= 0 {
		return &m.list[i]
	}
	return nil
}

// refuse remembers a patch.
func (m *Memory) refuse(t *tree, y *trial, f *report.Finding) {
	if m == nil {
		return
	}
	key := y.key(t.vers)
	reason, _, _ := strings.Cut(y.reason, "\n")
	const most = 300
	if len(reason) > most {
		reason = strings.ToValidUTF8(reason[:most], "") + "…"
	}
	why := Refusal{
		Key: key, Module: t.path, Rule: f.Rule, Function: f.Where.Function, Fix: y.fix.Title, Go: t.vers, Hone: m.hone,
		Reason: reason, When: time.Now().UTC().Truncate(time.Second),
	}
	if y.short {
		why.MinGain = y.least
		why.Gained = &report.CompareRow{Pkg: y.most.Pkg, Name: y.most.Name, What: y.most.What, Old: y.most.Old, New: y.most.New}
	}
	m.add(why)
	m.fresh = append(m.fresh, m.list[len(m.list)-1])
	m.dirt = true
}

// add puts a refusal last, in place of an earlier one of the same patch.
func (m *Memory) add(r Refusal) {
	m.list = append(slices.DeleteFunc(m.list, func(old Refusal) bool { return old.Key == r.Key }), r)
}

// Forget forgets what was refused in the module that a folder is in, and returns how much that was.
func (m *Memory) Forget(dir string) (int, error) {
	for from := dir; ; dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil {
			n, module := len(m.list), modfile.ModulePath(text)
			m.list = slices.DeleteFunc(m.list, func(r Refusal) bool { return r.Module == module })
			m.dirt = m.dirt || len(m.list) < n
			return n - len(m.list), m.save()
		}
		if dir == filepath.Dir(dir) {
			return 0, gocmd.NoModule(from)
		}
	}
}

// save writes what is new.
func (m *Memory) save() error {
	if m == nil || !m.dirt {
		return nil
	}
	if now, err := OpenMemory(m.file, m.hone); err == nil && len(m.fresh) > 0 {
		// Another hone may have written it meanwhile.
		m.list = now.list
		for _, r := range m.fresh {
			m.add(r)
		}
	}
	m.list = m.list[max(0, len(m.list)-maxRefusals):]
	text, err := json.MarshalIndent(m.list, "", "\t")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(m.file), 0o755)
	}
	if err != nil {
		return fmt.Errorf("remembering the rejected patches: %w", err)
	}
	err = safefile.Write(m.file, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
	if err != nil {
		return fmt.Errorf("remembering the rejected patches: %w", err)
	}
	m.dirt, m.fresh = false, nil
	return nil
}
