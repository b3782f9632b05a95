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

// locate returns p with the files of its mappings replaced by programs that are on this machine, and the servers that
// can name its addresses.
func (o *Options) locate(p *profile.Profile, from string) (*profile.Profile, servers) {
	t := p.Tables
	t.Mappings = slices.Clone(t.Mappings)
	for i := range t.Mappings {
		if file := o.find(&t.Mappings[i]); file != "" {
			t.Mappings[i].File = file
		}
	}
	if len(t.Mappings) == 0 {
		// Old Go profiles have none, yet their addresses can be named from a program that is not moved when loaded.
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
			// The address stands for the file until names have been asked for.
			m.File = from
			key = from
		}
		known[key] = append(known[key], server{from, m.Start})
	}
	return p.WithTables(t), known
}

// forgetServers undoes the stand-ins that locate has put into mappings.
func (o *Options) forgetServers(p *profile.Profile) *profile.Profile {
	t := p.Tables
	t.Mappings = slices.Clone(t.Mappings)
	for i := range t.Mappings {
		m := &t.Mappings[i]
		volume := filename.Volume(m.File) // C: is no scheme of a URL
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

// find looks for the program of a mapping in the binary path, where symbol servers, perf and gdb put them.
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
				// Nobody can say whether it is the right one.
				o.say("Ignoring local file %s: build-id mismatch (%s != )", name, build)
				continue
			}
			return name
		}
	}
	return ""
}
