package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/hone-perf/hone/internal/profile/profiletest"
	"github.com/hone-perf/hone/internal/testrun"
)

// subjects makes all profiles, once.
func (l *lab) subjects(t *testing.T) []*subject {
	t.Helper()
	if l.made != nil {
		return l.made
	}
	var all []*subject
	all = append(all, l.generatedSubjects(t)...)
	if !testing.Short() { // builds programs
		all = append(all, l.recordedSubjects(t)...)
	}
	all = append(all, l.handmadeSubjects(t)...)
	all = append(all, l.legacySubjects(t)...)
	all = append(all, l.corpusSubjects(t)...)
	for _, s := range all {
		l.learn(t, s)
	}
	l.made = all
	return all
}

// subject returns the subject of that name, for tests that need one in particular.
func (l *lab) subject(t *testing.T, name string) *subject {
	t.Helper()
	for _, s := range l.subjects(t) {
		if s.name == name {
			return s
		}
	}
	t.Fatalf("no profile is called %q", name)
	return nil
}

// generatedSubjects are synthetic profiles of a size at which trimming matters.
func (l *lab) generatedSubjects(t *testing.T) []*subject {
	t.Helper()
	var out []*subject
	for i, g := range []struct {
		name  string
		every int
		c     profiletest.Config
	}{
		{"cpu", 1, profiletest.Config{Kind: profiletest.CPU, Samples: 1000, Functions: 300}},
		{"cpu-labels", 2, profiletest.Config{Kind: profiletest.CPU, Samples: 600, Functions: 150, Labels: true}},
		{"heap", 6, profiletest.Config{Kind: profiletest.Heap, Samples: 1200, Functions: 300, TablesLast: true}},
		{"heap-labels", 9, profiletest.Config{Kind: profiletest.Heap, Samples: 400, Functions: 100, Labels: true, SparseIDs: true}},
		{"mutex", 7, profiletest.Config{Kind: profiletest.Mutex, Samples: 800, Functions: 200}},
		{"cpu-raw", 12, profiletest.Config{Kind: profiletest.CPU, Samples: 300, Functions: 90, Raw: true, TablesLast: true}},
		{"cpu-unpacked", 12, profiletest.Config{Kind: profiletest.CPU, Samples: 300, Functions: 90, UnpackedIDs: true, SparseIDs: true}},
		{"cpu-few", 12, profiletest.Config{Kind: profiletest.CPU, Samples: 20, Labels: true}},
		{"cpu-many", 12, profiletest.Config{Kind: profiletest.CPU, Samples: 2000, Functions: 1500, TablesLast: true, Labels: true}},
	} {
		g.c.Seed = uint64(i + 1)
		var b bytes.Buffer
		if err := profiletest.Write(&b, g.c); err != nil {
			t.Fatal(err)
		}
		out = append(out, &subject{name: "gen-" + g.name, path: l.put(t, "gen/"+g.name+".pb.gz", b.Bytes()), every: g.every})
	}
	return out
}

// corpusSubjects are the profiles of the corpus, and the files in it that only look like profiles.
func (l *lab) corpusSubjects(t *testing.T) []*subject {
	t.Helper()
	files, bad := testrun.Corpus(t, "profiles"), testrun.Corpus(t, "profiles/malformed")
	var out []*subject
	for i, file := range append(files, bad...) {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s := &subject{name: fmt.Sprintf("corpus-%02d-%s", i, shortName(file)), every: 20}
		if i >= len(files) {
			s.name, s.every = fmt.Sprintf("malformed-%02d-%s", i-len(files), shortName(file)), 80
		} else if len(b) > 300<<10 {
			s.every = 50
		}
		s.path = l.put(t, fmt.Sprintf("corpus/%02d", i), b)
		out = append(out, s)
	}
	return out
}

var nameNoise = regexp.MustCompile(`[^A-Za-z0-9.]+`)

// shortName is the end of a file name, fit for the name of a test.
func shortName(file string) string {
	name := nameNoise.ReplaceAllString(filepath.Base(file), "-")
	return name[max(0, len(name)-40):]
}
