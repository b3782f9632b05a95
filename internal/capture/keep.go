package capture

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/filename"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/source/gosrc"
)

// maxSources bounds the source files in a recording, in bytes.
const maxSources = 8 << 20

// findTime bounds how long files are looked for.
const findTime = 20 * time.Second

// sourceOptions say where the sources of what was recorded are.
func (s *session) sourceOptions(of *built) gosrc.Options {
	opt := gosrc.Options{Dir: s.Dir, Git: true}
	if of == nil {
		return opt
	}
	opt.Dir = of.dir
	if info, err := buildinfo.ReadFile(of.file); err == nil {
		opt = opt.Recorded(info)
	}
	return opt
}

// keepSources adds sources to the recording, all or none: without them it is a recording, too.
func (s *session) keepSources(rec *recording.Recording, of *built) {
	if err := keepSources(rec, s.folder, s.sourceOptions(of)); err != nil {
		s.wrote(0, err)
		os.RemoveAll(filepath.Join(s.folder, recording.SourcesDir)) // there may be no room for what matters more
	}
}

// A namedFile is a source file that profiles name.
type namedFile struct {
	name  string
	share float64 // of what is measured that is in it or in what it calls, added up over the kinds of profiles
	flat  float64
	place gosrc.Frame
}

// keepSources copies the source files that the profiles of a recording name into it, those that matter most first.
func keepSources(rec *recording.Recording, folder string, opt gosrc.Options) error {
	ctx, stop := context.WithTimeout(context.Background(), findTime)
	defer stop()
	files := map[string]*namedFile{}
	for _, metric := range []string{"cpu", "heap:alloc_space", "heap:inuse_space", "block", "mutex", "goroutine"} {
		picked, typ, err := rec.Pick(metric, 0, 0)
		if err != nil {
			continue // there are none
		}
		nameFiles(picked.Profile, typ, files)
	}
	var list []*namedFile
	for _, f := range files {
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b *namedFile) int {
		return cmp.Or(cmp.Compare(b.flat+b.share, a.flat+a.share), strings.Compare(a.name, b.name))
	})
	finder := gosrc.New(opt)
	var index []recording.KeptSource
	dir := filepath.Join(folder, recording.SourcesDir)
	size := 0
	for _, f := range list {
		src, err := finder.Find(ctx, f.place)
		if err != nil {
			continue // it is somebody else's, or made by the compiler
		}
		text := strings.Join(src.Lines, "\n") + "\n"
		if size+len(text) > maxSources {
			continue // a smaller one may still fit
		}
		size += len(text)
		at := fmt.Sprintf("%03d-%s", len(index)+1, filename.Base(f.name))
		if len(index) == 0 {
			if err := os.Mkdir(dir, 0o755); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(dir, at), []byte(text), 0o644); err != nil {
			return err
		}
		index = append(index, recording.KeptSource{File: f.name, At: at, From: cmp.Or(src.Path, src.How), Note: strings.Join(src.Notes, "; ")})
	}
	if len(index) == 0 {
		return nil
	}
	text, err := json.MarshalIndent(index, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, filepath.FromSlash(recording.SourceIndex)), text, 0o644)
}

// valuesOf returns what each sample costs in a metric, and the sum, which is 0 where the profile does not have the metric.
func valuesOf(p *profile.Profile, typ string) (values []int64, total float64) {
	k := slices.IndexFunc(p.SampleTypes, func(t profile.ValueType) bool { return t.Type == typ })
	if k < 0 {
		return nil, 0
	}
	values = p.Values(k)
	for _, v := range values {
		total += float64(v)
	}
	return values, total
}

// nameFiles adds the files that a profile names.
func nameFiles(p *profile.Profile, typ string, files map[string]*namedFile) {
	values, total := valuesOf(p, typ)
	if total <= 0 {
		return
	}
	var buf []uint32
	for i, v := range values {
		if p.LabelSets()[p.Label(i)].Has(recording.OverheadLabel, recording.Recorder) {
			continue
		}
		share := float64(v) / total
		buf = p.Stack(i, buf[:0])
		seen := map[string]bool{}
		for depth, l := range buf {
			for inline, line := range p.Locations[l].Lines {
				fn := p.Functions[line.Function]
				if fn.File == "" {
					continue
				}
				f := files[fn.File]
				if f == nil {
					f = &namedFile{name: fn.File, place: gosrc.Frame{Func: fn.Name, File: fn.File, Line: int(line.Line)}}
					files[fn.File] = f
				}
				if !seen[fn.File] {
					seen[fn.File] = true
					f.share += share
				}
				if depth == 0 && inline == 0 {
					f.flat += share
				}
			}
		}
	}
}
