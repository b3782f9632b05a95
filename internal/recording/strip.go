package recording

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/secret"
)

// Strip writes a recording without sources, arguments, host, labels, output of the program, and paths, except import paths of packages. Functions,
// lines and measurements stay.
func Strip(r *Recording, to io.Writer) error {
	if r.files == nil {
		return errors.New("it is not a hone recording")
	}
	m := r.Manifest.stripped().hidden(&secret.Hider{})
	var lost []string
	texts := map[string][]byte{}
	var names []string
	err := fs.WalkDir(r.files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == manifestFile || strings.HasPrefix(path.Base(name), ".") {
			return err
		}
		switch k := kindOfFile(name); {
		case k.strip != nil:
			names = append(names, name)
		case k.missed:
			lost = append(lost, name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	z := zip.NewWriter(to)
	// What cannot be read is known only behind all else, and the manifest comes first: texts are kept, which are small, and profiles are read twice.
	for _, name := range names {
		text, err := r.strip(name, m)
		if err != nil {
			lost = append(lost, name)
		} else if !strings.HasSuffix(name, profileEnding) {
			texts[name] = text
		}
	}
	if len(lost) > 0 {
		m.Notes = append(m.Notes, "stripped: "+some(lost))
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	if err := enc.Encode(m); err != nil {
		return err
	}
	put := func(name string, text []byte, method uint16) error {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	}
	if err := put(manifestFile, b.Bytes(), zip.Deflate); err != nil {
		return err
	}
	for _, name := range names {
		text, method := texts[name], zip.Deflate
		if strings.HasSuffix(name, profileEnding) {
			var err error
			if text, err = r.strip(name, m); err != nil {
				continue
			}
			method = zip.Store
		}
		if text == nil {
			continue
		}
		if err := put(name, text, method); err != nil {
			return err
		}
	}
	return z.Close()
}

var whyName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^why/[0-9]+-(old|new)\.pb\.gz$`) })

// stripped returns a manifest with measurements, without places.
func (m *Manifest) stripped() *Manifest {
	out := &Manifest{
		Format: m.Format, Hone: m.Hone, How: m.How, Started: m.Started, Ended: m.Ended, Usage: m.Usage, Recorder: m.Recorder,
		Lookout: m.Lookout, Events: slices.Clone(m.Events), Holders: m.Holders, Stripped: true,
	}
	for i := range out.Events {
		out.Events[i].Request = "" // which has a path
	}
	if m.Exit != nil {
		out.Exit = &Exit{Code: m.Exit.Code, Signal: m.Exit.Signal}
	}
	if p := m.Program; p != nil {
		out.Program = &Program{Path: p.Path, Module: p.Module, Version: p.Version, Go: p.Go, MaxProcs: p.MaxProcs, Env: map[string]string{}}
		if strings.HasPrefix(p.Path, "/") || strings.Contains(p.Path, `\`) { // of a server, of which no more is known
			out.Program.Path = base(p.Path)
		}
		for _, k := range []string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG"} {
			if v, ok := p.Env[k]; ok {
				out.Program.Env[k] = v
			}
		}
		out.Program.Settings = map[string]string{}
		for k, v := range p.Settings {
			if strings.HasPrefix(k, "GO") || strings.HasPrefix(k, "vcs") || k == "-race" || k == "-compiler" || k == "-buildmode" || k == "-trimpath" || k == "-tags" {
				out.Program.Settings[k] = v
			}
		}
	}
	if h := m.Machine; h != nil {
		out.Machine = &Machine{OS: h.OS, Arch: h.Arch, CPUs: h.CPUs, Memory: h.Memory, MemLimit: h.MemLimit, CPULimit: h.CPULimit}
	}
	return out
}

// strip returns a file without the words in it; it is nil when nothing is left.
func (r *Recording) strip(name string, m *Manifest) ([]byte, error) {
	text, err := readFile(r.files, name, maxUnpacked)
	if err != nil {
		return nil, err
	}
	main := ""
	if m.Program != nil {
		main = m.Program.Path
	}
	return kindOfFile(name).strip(text, main)
}

// stripMetrics leaves out lines that are no numbers.
func stripMetrics(text []byte, _ string) ([]byte, error) {
	return someLines(text, func(line []byte) bool {
		var numbers map[string]float64
		return json.Unmarshal(line, &numbers) == nil
	}), nil
}

// stripLines returns what leaves only lines that begin as a regular expression says.
func stripLines(form string) func([]byte, string) ([]byte, error) {
	compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(form) })
	return func(text []byte, _ string) ([]byte, error) { return someLines(text, compiled().Match), nil }
}

const (
	benchLine = `^(Benchmark\S*\s+[0-9]|goos: \w+\s*$|goarch: \w+\s*$|pkg: \S+\s*$|Unit )`
	gcLine    = `^(gc [0-9]|scvg|pacer: )`
)

// strippedName is the name of a benchmark, but for that of a command, which has blanks.
func strippedName(name string, i int) string {
	if strings.ContainsAny(name, " /\\") && !strings.HasPrefix(name, "Benchmark") {
		return fmt.Sprintf("command %d", i+1)
	}
	return name
}

// someLines returns the lines of a text that are to stay.
func someLines(text []byte, stays func([]byte) bool) []byte {
	var out []byte
	in := bufio.NewScanner(bytes.NewReader(text))
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		if stays(in.Bytes()) {
			out = append(append(out, in.Bytes()...), '\n')
		}
	}
	return out
}

// StripProfile returns a profile without labels, comments and paths. Files are called by the packages that they are of; mainPackage is what the
// package main is called then, if that is known.
func StripProfile(text []byte, mainPackage string) ([]byte, error) {
	return editProfile(text, profile.Edit{
		Label:   func(key, value string) (string, bool) { return value, false },
		Number:  func(key string) bool { return key == "bytes" }, // of objects, in heap profiles
		Comment: func(string) (string, bool) { return "", false },
		Doc:     func(string) string { return "" },
		Mapping: base,
		Function: func(name, file string) string {
			pkg := profile.PackageOf(name)
			if pkg == "main" && mainPackage != "" {
				pkg = mainPackage
			}
			return path.Join(pkg, base(file))
		},
		Unused: func(string) string { return "" },
	})
}

// base is the last part of a path of any system. What is in brackets is no path.
func base(file string) string { return file[strings.LastIndexAny(file, `/\`)+1:] }
