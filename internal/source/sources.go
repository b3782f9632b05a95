package source

import (
	"context"
	"sync"

	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/source/gosrc"
	"github.com/hone-perf/hone/internal/source/objfile"
)

// Sources finds the sources that a profile names, starting from the folder dir. What is known about how the program
// was built comes from the program itself, when it is at hand; else goVersion is what it was built with, or "" if nobody knows.
func (o *Options) Sources(ctx context.Context, dir string, search, trim []string, goVersion string) recording.Sources {
	return &sources{ctx: ctx, binary: o.Binary, opt: gosrc.Options{Dir: dir, SearchPath: search, TrimPath: trim, GoVersion: goVersion, Git: true}}
}

// sources looks around only when it is asked: most questions are not about source text.
type sources struct {
	ctx    context.Context
	binary string
	opt    gosrc.Options

	once   sync.Once
	finder *gosrc.Finder
}

func (s *sources) start() {
	opt := s.opt
	if s.binary != "" {
		if f, err := objfile.Open(s.binary); err == nil {
			if info, err := f.BuildInfo(); err == nil {
				opt = opt.Recorded(info)
			}
			f.Close()
		}
	}
	s.finder = gosrc.New(opt)
}

func (s *sources) Find(file, function string, line int) (recording.Text, error) {
	s.once.Do(s.start)
	src, err := s.finder.Find(s.ctx, gosrc.Frame{File: file, Func: function, Line: line})
	if err != nil {
		return recording.Text{}, err
	}
	path := src.Path
	if path == "" {
		path = src.How
	}
	return recording.Text{Path: path, Lines: src.Lines, Notes: src.Notes}, nil
}
