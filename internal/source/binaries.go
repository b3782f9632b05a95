package source

import (
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/filename"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/source/objfile"
)

// IsBinary reports whether a file is a program or library.
func IsBinary(name string) bool {
	f, err := objfile.Open(name)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// locate returns p with local programs in place of the files of its mappings, and the servers that can symbolize its addresses.
func (o *Options) locate(p *profile.Profile, from string) (*profile.Profile, servers) {
	t := p.Tables
	t.Mappings = slices.Clone(t.Mappings)
	for i := range t.Mappings {
		if file := o.find(&t.Mappings[i]); file != "" {
			t.Mappings[i].File = file
		}
	}
	if len(t.Mappings) == 0 {
		// Mappings of old Go profiles have no start, but a program that is not relocated can still be symbolized.
		t.Mappings = []profile.Mapping{{ID: 1}}
		t.Locations = slices.Clone(t.Locations)
		for i := range t.Locations {
			t.Locations[i].Mapping = 0
		}
	}
	if o.Binary != "" {
		t.Mappings[0].File = o.Binary
	}
	if o.BuildID != "" && t.Mappings[0].BuildID == "" {
		t.Mappings[0].BuildID = o.BuildID
	}
	if from == "" {
		return p.WithTables(t), nil
	}
	known := make(servers)
	for i := range t.Mappings {
		m := &t.Mappings[i]
		key := m.BuildID
		if key == "" {
			key = m.File
		}
		if key == "" {
			// The address of the server stands for the file until it has been asked.
			m.File = from
			key = from
		}
		known[key] = append(known[key], server{from, m.Start})
	}
	return p.WithTables(t), known
}

// forgetServers removes the addresses that locate has put into mappings.
func (o *Options) forgetServers(p *profile.Profile) *profile.Profile {
	t := p.Tables
	t.Mappings = slices.Clone(t.Mappings)
	for i := range t.Mappings {
		m := &t.Mappings[i]
		volume := filename.Volume(m.File) // C: is not a URL scheme
		if o.PProf {
			volume = filepath.VolumeName(m.File)
		}
		if m.BuildID != "" || volume != "" {
			continue
		}
		if u, err := url.Parse(m.File); err == nil && u.IsAbs() {
			m.File = ""
		}
	}
	return p.WithTables(t)
}

// find looks for the program of a mapping in the binary path, with the folder layouts of symbol servers, perf and gdb.
func (o *Options) find(m *profile.Mapping) string {
	file := strings.TrimPrefix(filename.Key(m.File), filename.Key(filename.Volume(m.File)))
	base, parent := filename.Base(m.File), path.Dir(file)
	build := m.Build()
	if o.PProf {
		file = strings.TrimPrefix(m.File, filepath.VolumeName(m.File))
		base, parent, build = filepath.Base(m.File), filepath.Dir(file), m.BuildID
	}
	for _, dir := range o.BinaryPath {
		var names []string
		if build != "" {
			names = append(names, filepath.Join(dir, build, base))
			if more, err := filepath.Glob(filepath.Join(dir, build, "*")); err == nil {
				names = append(names, more...)
			}
			names = append(names, filepath.Join(dir, file, build))
			if len(build) >= 2 {
				names = append(names, filepath.Join(dir, build[:2], build[2:]+".debug"))
			}
		}
		if m.File != "" {
			names = append(names,
				filepath.Join(dir, base),
				filepath.Join(dir, file),
				filepath.Join(dir, file+".debug"),
				filepath.Join(dir, parent, ".debug", base+".debug"),
				filepath.Join(dir, "usr", "lib", "debug", parent, base+".debug"))
		}
		for _, name := range names {
			if !IsBinary(name) {
				continue
			}
			if build != "" {
				// Without a build ID it may be another build.
				o.say("Ignoring local file %s: build-id mismatch (%s != )", name, build)
				continue
			}
			return name
		}
	}
	return ""
}
