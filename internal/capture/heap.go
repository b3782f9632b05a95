package capture

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/hone-perf/hone/internal/capture/agent"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
)

// completeHeap makes one heap profile of the two that a program leaves when it ends: what is in use as of the last garbage collection, from the last
// profile of the recording, and everything that was allocated, from the other. Where that is not possible the last profile stays as it is, and what shows
// it says what it lacks.
func (s *session) completeHeap() {
	extra := filepath.Join(s.folder, agent.Allocated)
	defer os.Remove(extra)
	dir := filepath.Join(s.folder, recording.Heap)
	files, err := os.ReadDir(dir) // names are times of the same length, so they are in order
	if err != nil || len(files) == 0 {
		return
	}
	last := filepath.Join(dir, files[len(files)-1].Name())
	all, err := heapOf(extra, "alloc_")
	if err != nil {
		return
	}
	inUse, err := heapOf(last, "inuse_")
	if err != nil {
		return
	}
	p, err := profile.Merge(inUse, all)
	if err != nil {
		return
	}
	var out bytes.Buffer
	if err := p.Write(&out); err == nil {
		s.wrote(0, s.write(last, out.Bytes()))
	}
}

// heapOf returns a heap profile with the values of some sample types only.
func heapOf(file, types string) (*profile.Profile, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	p, err := profile.ParseBytes(text)
	if err != nil {
		return nil, err
	}
	return p.MapValues(func(k int, v int64) int64 {
		if strings.HasPrefix(p.SampleTypes[k].Type, types) {
			return v
		}
		return 0
	}), nil
}
