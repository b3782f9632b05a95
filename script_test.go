package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"go/version"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hone-perf/hone/internal/load/loadtest"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/testrun"
)

// TestScript runs the pages of testdata/script through the real command. UPDATE=1 rewrites what they expect.
//
// Beside the usual commands there are
//
//	profile OUT TEXT   makes a profile from text, see profileOf
//	cut FILE N         cuts a file down to N bytes; without those at its end when N is negative
//	pack FOLDER FILE   makes one file of a recording in a folder
//	serve [PATH…]      starts the server of package loadtest at $SERVER, whose /mix is these paths in turn
//
// and the conditions live and nightly, which hold in runs with these tags and in larger ones: what builds, measures or waits for long comes
// behind them.
func TestScript(t *testing.T) { testscript.Run(t, scripts(t, "testdata/script", "local")) }

// scripts returns how to run the pages in a folder, with some toolchain of Go.
func scripts(t *testing.T, dir, toolchain string) testscript.Params {
	dirs, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Logf("without a go command, some scripts do less: %v", err)
	}
	cache, modules, _ := strings.Cut(strings.TrimSpace(string(dirs)), "\n")
	leftToNightly(t, dir)
	return testscript.Params{
		Dir:                 dir,
		UpdateScripts:       os.Getenv("UPDATE") != "",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Vars = append(env.Vars,
				"TZ=UTC", "LC_ALL=C.UTF-8", "GOCACHE="+cache, "GOTOOLCHAIN="+toolchain, "GOFLAGS=",
				"XDG_CACHE_HOME="+filepath.Join(env.WorkDir, ".tmp", "cache"), "PPROF_TMPDIR="+env.WorkDir, "PPROF_BINARY_PATH="+env.WorkDir,
				"TOOLCHAINS="+modules) // where the go command keeps those that it fetched
			if toolchain != "local" {
				before := (slices.Index(toolchains, toolchain) + len(toolchains) - 1) % len(toolchains)
				env.Vars = append(env.Vars, "GOMODCACHE="+modules, "OTHERGO="+toolchains[before])
			}
			return nil
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "live":
				return testrun.InLive(), nil
			case "nightly":
				return testrun.InNightly(), nil
			}
			if name == "record" { // since Go 1.23 a program can be recorded from inside
				return toolchain == "local" || version.Compare(toolchain, "go1.23") >= 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"profile": func(ts *testscript.TestScript, _ bool, args []string) {
				if len(args) != 2 {
					ts.Fatalf("usage: profile OUT TEXT")
				}
				p, err := profileOf(ts.ReadFile(args[1]))
				if err != nil {
					ts.Fatalf("%s: %v", args[1], err)
				}
				f, err := os.Create(ts.MkAbs(args[0]))
				ts.Check(err)
				zw, err := gzip.NewWriterLevel(f, gzip.NoCompression) // whose bytes are the same with every Go, for cut
				ts.Check(err)
				ts.Check(errors.Join(p.WriteUncompressed(zw), zw.Close(), f.Close()))
			},
			"serve": func(ts *testscript.TestScript, _ bool, args []string) {
				s, err := loadtest.Listen(loadtest.Options{Mix: args})
				ts.Check(err)
				ts.Defer(s.Close)
				ts.Setenv("SERVER", s.URL)
			},
			"cut": func(ts *testscript.TestScript, _ bool, args []string) {
				if len(args) != 2 {
					ts.Fatalf("usage: cut FILE N")
				}
				n, err := strconv.ParseInt(args[1], 10, 64)
				ts.Check(err)
				if n < 0 {
					st, err := os.Stat(ts.MkAbs(args[0]))
					ts.Check(err)
					n += st.Size()
				}
				ts.Check(os.Truncate(ts.MkAbs(args[0]), n))
			},
			"kept": func(ts *testscript.TestScript, _ bool, args []string) {
				if len(args) != 1 {
					ts.Fatalf("usage: kept FILE, of testdata")
				}
				b, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(args[0])))
				ts.Check(err)
				name, packed := strings.CutSuffix(path.Base(args[0]), ".gz")
				if packed {
					r, err := gzip.NewReader(bytes.NewReader(b))
					ts.Check(err)
					b, err = io.ReadAll(r)
					ts.Check(err)
				}
				ts.Check(os.WriteFile(ts.MkAbs(name), b, 0o666))
			},
			"pack": func(ts *testscript.TestScript, _ bool, args []string) {
				if len(args) != 2 {
					ts.Fatalf("usage: pack FOLDER FILE")
				}
				rec, err := recording.Open(ts.MkAbs(args[0]))
				ts.Check(err)
				_, err = recording.Pack(ts.MkAbs(args[0]), ts.MkAbs(args[1]), rec.Manifest)
				ts.Check(err)
			},
		},
	}
}

var (
	nightlyCondition = regexp.MustCompile(`(?m)^\[!?nightly\]`)
	nightlyLine      = regexp.MustCompile(`(?m)^\[!nightly\] (?:skip|stop) '(.*)'$`)
)

// leftToNightly says which of the pages in a folder leave something to the nightly run.
func leftToNightly(t *testing.T, dir string) {
	pages, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("there are no pages in %s: %v", dir, err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		found := nightlyLine.FindAllSubmatch(text, -1)
		if len(found) != len(nightlyCondition.FindAll(text, -1)) {
			t.Errorf("%s: what is left to the nightly run has to be a line [!nightly] skip 'why' or [!nightly] stop 'why', which .ci/run lists", page)
		}
		for _, m := range found {
			testrun.Left(t, t.Name()+"/"+strings.TrimSuffix(filepath.Base(page), ".txtar"), string(m[1]))
		}
	}
}

// profileOf makes a profile from text. The first line has the sample types, each of the others a sample: its values,
// its labels, and its stack from the root, a frame as function@file:start:line. A line "drop REGEXP" says which frames are
// uninteresting. The first line may name the program and its build, and how long it was profiled.
//
//	samples/count cpu/nanoseconds
//	3,30000000 endpoint=/a main.main@main.go:3:5 main.hot@main.go:9:11
func profileOf(text string) (*pprof.Profile, error) {
	p := &pprof.Profile{Mapping: []*pprof.Mapping{{
		ID: 1, Start: 0x400000, Limit: 0x800000, File: "/srv/app",
		HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true,
	}}}
	locations := make(map[string]*pprof.Location)
	functions := make(map[string]*pprof.Function)
	for n, line := range strings.Split(strings.TrimSpace(text), "\n") {
		words := strings.Fields(line)
		if n == 0 {
			for _, w := range words {
				if file, ok := strings.CutPrefix(w, "program="); ok {
					p.Mapping[0].File = file
					continue
				}
				if id, ok := strings.CutPrefix(w, "build="); ok {
					p.Mapping[0].BuildID = id
					continue
				}
				if d, ok := strings.CutPrefix(w, "duration="); ok {
					length, err := time.ParseDuration(d)
					if err != nil {
						return nil, err
					}
					p.DurationNanos = int64(length)
					continue
				}
				name, unit, _ := strings.Cut(w, "/")
				p.SampleType = append(p.SampleType, &pprof.ValueType{Type: name, Unit: unit})
			}
			p.PeriodType, p.Period = p.SampleType[len(p.SampleType)-1], 1
			continue
		}
		if words[0] == "drop" {
			p.DropFrames = words[1]
			continue
		}
		s := &pprof.Sample{Label: make(map[string][]string)}
		for v := range strings.SplitSeq(words[0], ",") {
			x, err := strconv.ParseInt(v, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n+1, err)
			}
			s.Value = append(s.Value, x)
		}
		chain := "" // of the last frame and those that it is inlined into
		for _, w := range words[1:] {
			name, place, ok := strings.Cut(w, "@")
			if !ok {
				key, value, _ := strings.Cut(w, "=")
				s.Label[key] = append(s.Label[key], value)
				continue
			}
			// What was inlined into the frame before it is at its location.
			name, inlined := strings.CutPrefix(name, "+")
			var outer []pprof.Line
			if inlined {
				last := len(s.Location) - 1
				outer = s.Location[last].Line
				s.Location = s.Location[:last]
				w = chain + " " + w
			}
			chain = w
			loc := locations[w]
			if loc == nil {
				parts := strings.Split(place, ":")
				if n := len(parts); n > 3 { // C:/main.go
					parts = append([]string{strings.Join(parts[:n-2], ":")}, parts[n-2:]...)
				}
				if len(parts) != 3 {
					return nil, fmt.Errorf("line %d: frame %s: want function@file:start:line", n+1, w)
				}
				start, startErr := strconv.ParseInt(parts[1], 10, 64)
				at, lineErr := strconv.ParseInt(parts[2], 10, 64)
				if err := errors.Join(startErr, lineErr); err != nil {
					return nil, fmt.Errorf("line %d: frame %s: %w", n+1, w, err)
				}
				fn := functions[name]
				if fn == nil {
					fn = &pprof.Function{
						ID: uint64(len(p.Function) + 1), Name: name, SystemName: name, Filename: parts[0], StartLine: start,
					}
					functions[name] = fn
					p.Function = append(p.Function, fn)
				}
				id := uint64(len(p.Location) + 1)
				loc = &pprof.Location{
					ID: id, Mapping: p.Mapping[0], Address: 0x400000 + 16*id, Line: append([]pprof.Line{{Function: fn, Line: at}}, outer...),
				}
				locations[w] = loc
				p.Location = append(p.Location, loc)
			}
			s.Location = append(s.Location, loc)
		}
		slices.Reverse(s.Location) // in profiles, the leaf comes first
		p.Sample = append(p.Sample, s)
	}
	return p, p.CheckValid()
}
