package capture

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/heapgraph"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
)

// Holders makes a recording of who holds the memory of a process. If there is opt.Out, it is written there.
func Holders(opt Options, h *heapgraph.Heap) (*recording.Recording, *Recorded, error) {
	s := opt.session()
	s.say("finding who holds what")
	p, garbage, err := heapgraph.Profile(h)
	if err != nil {
		return nil, nil, err
	}
	dir := fmt.Sprintf("/proc/%d", h.PID)
	m := s.manifest
	m.How, m.Target = recording.Watched, fmt.Sprintf("process %d", h.PID)
	m.Command = cutNULs(dir + "/cmdline")
	m.Dir, _ = os.Readlink(dir + "/cwd")
	name := h.Command
	if exe, err := os.Readlink(dir + "/exe"); err == nil {
		name = filepath.Base(strings.TrimSuffix(exe, " (deleted)"))
	}
	s.Program.Env = cutNULs(dir + "/environ")
	m.Machine = machine(strconv.Itoa(h.PID))
	m.Program = s.program(dir+"/exe", nil)
	m.Holders = []recording.HeapRead{{
		Go: h.GoVersion, Pause: h.Pause, Stopped: h.Stopped, Garbage: garbage, Allocated: h.Allocated.Bytes, Rate: h.Rate, Notes: h.Notes,
	}}
	var out *Recorded
	if opt.Out != "" {
		if out, err = s.writeHolders(name, p, h); out == nil {
			return nil, nil, err
		}
		out.Name = name
	}
	m.Started, m.Ended = h.Time, h.Time
	return recording.Made(strconv.Itoa(h.PID), m, map[string]*profile.Profile{recording.Held: p}), out, err
}

// writeHolders writes such a recording.
func (s *session) writeHolders(name string, p *profile.Profile, h *heapgraph.Heap) (*Recorded, error) {
	if err := s.begin(name); err != nil {
		return nil, err
	}
	s.manifest.Started, s.manifest.Ended = h.Time, h.Time
	var b bytes.Buffer
	err := p.Write(&b)
	file := filepath.Join(s.folder, filepath.FromSlash(recording.PartFile(recording.Held, 0, 0)))
	if err == nil {
		err = os.Mkdir(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = s.write(file, b.Bytes())
	}
	if err == nil {
		err = s.writeManifest()
	}
	if err != nil {
		s.discard()
		return nil, fmt.Errorf("writing %s: %w", s.shown(s.folder), err)
	}
	return s.pack()
}
