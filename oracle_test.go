package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/testrun"
)

// TestOracle holds the promise of hone pprof: what it prints is byte for byte what go tool pprof
// prints. Both programs run with the same arguments in the same folder over profiles of every
// kind, and standard output, standard error and success are compared.
//
// The test reads these variables:
//
//	HONE_ORACLE_ONLY=regexp    run only the cases whose "profile/flags" matches
//	HONE_ORACLE_TURN=n|all     which share of the flags the less central profiles get
//	HONE_ORACLE_RANDOM=n|a..b  how many random lines to run, or which; 120 in a nightly run and 20 in others where nothing is said
//	HONE_ORACLE_SEED=n         other random lines
//	HONE_ORACLE_CACHE=dir      keep recordings and what pprof said, for a fast second run
func TestOracle(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	t.Run("commands", l.testCommands)
	t.Run("shell", l.testShell)
	t.Run("merge", l.testMerge)
	t.Run("fetch", l.testFetch)
	t.Run("profiles", l.testProfiles)
	t.Run("random", l.testRandom)
	l.report(t)
}

// testProfiles runs the table of flags over all profiles.
func (l *lab) testProfiles(t *testing.T) {
	turn, every := rotation(t)
	for i, s := range l.subjects(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			stride := s.every * every
			for k, c := range s.cases(flagSets) {
				if stride > 1 && (i+k+turn)%stride != 0 && !(c.core && every == 1) {
					continue
				}
				l.check(t, c)
			}
		})
	}
}

// rotation says which turn this is and how much the strides of the subjects are stretched.
// The less central profiles each run a share of the flags, every profile another share, so that
// together they cover the table at a fraction of the cost. Before the nightly run all profiles do, and each a tenth
// of its share; less in a short run.
func rotation(t *testing.T) (turn, every int) {
	every = 1
	if !testrun.InNightly() && os.Getenv("HONE_ORACLE_ONLY") == "" && os.Getenv("HONE_ORACLE_TURN") == "" {
		every = 10
		if testing.Short() {
			every = 40
		}
		testrun.Left(t, t.Name(), "nine of ten of its cases")
	}
	switch v := os.Getenv("HONE_ORACLE_TURN"); v {
	case "":
	case "all":
		every = 0
	default:
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 {
			t.Fatalf("HONE_ORACLE_TURN=%q: want a number from 0 or all", v)
		}
		turn = n
	}
	return turn, every
}

// A subject is a profile to ask questions about.
type subject struct {
	name  string
	path  string // relative to the working folder of the lab, so that no output depends on where that is
	every int    // run every n-th flag set, and the core ones; 1 for the profiles that matter most

	facts  map[string]string // what stands for {fn}, {key}… in flag sets; see learn
	words  vocabulary        // what random lines ask for
	types  []string          // names of the sample types
	tree   string            // folder of sources, where the profile has any
	binary string            // the program that was profiled, where it is at hand
}

// cases yields the checks that the flag sets make of s. A flag set that needs something the
// profile does not have, say labels, makes none.
func (s *subject) cases(sets []flagSet) []check {
	var out []check
	for _, f := range sets {
		if f.typ != "" && !slices.Contains(s.types, f.typ) {
			continue
		}
		if !f.perType {
			if c, ok := s.fill(f, nil); ok {
				out = append(out, c)
			}
			continue
		}
		for i, typ := range s.types {
			more := map[string]string{"index": strconv.Itoa(i), "type": typ}
			if c, ok := s.fill(f, more); ok {
				c.flags += "/" + strconv.Itoa(i)
				out = append(out, c)
			}
		}
	}
	return out
}

var placeholder = regexp.MustCompile(`\{[a-z0-9]+\}`)

// fill replaces the placeholders of f. Arguments are split first: a pattern may hold spaces.
func (s *subject) fill(f flagSet, more map[string]string) (check, bool) {
	c := check{subject: s.name, flags: f.name, core: f.core, own: f.own, same: f.same}
	c.inv.dir = "."
	if f.inTree {
		if s.tree == "" {
			return c, false
		}
		c.inv.dir = s.tree
	}
	ok := true
	lookup := func(word string) string {
		name := word[1 : len(word)-1]
		switch name {
		case "profile":
			return relative(c.inv.dir, s.path)
		case "tree":
			ok = ok && s.tree != ""
			return relative(c.inv.dir, s.tree)
		case "binary":
			ok = ok && s.binary != ""
			return relative(c.inv.dir, s.binary)
		}
		v, found := more[name]
		if !found {
			v, found = s.facts[name]
		}
		if name == "other" {
			v = relative(c.inv.dir, v)
		}
		ok = ok && found
		return v
	}
	args := f.args
	if !strings.Contains(args, "{profile}") {
		args += " {profile}"
	}
	for _, a := range strings.Fields(args) {
		c.inv.args = append(c.inv.args, placeholder.ReplaceAllStringFunc(a, lookup))
	}
	return c, ok
}

// relative spells path, which is relative to the lab, from dir, which is too.
func relative(dir, path string) string {
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		panic(err) // both are relative by construction
	}
	return filepath.ToSlash(rel)
}

// wanted reports whether c is to be run.
func (l *lab) wanted(c check) bool { return l.only == nil || l.only.MatchString(c.name()) }

// only is the filter of HONE_ORACLE_ONLY, nil when all cases are wanted.
func only(t *testing.T) *regexp.Regexp {
	v := os.Getenv("HONE_ORACLE_ONLY")
	if v == "" {
		return nil
	}
	rx, err := regexp.Compile(v)
	if err != nil {
		t.Fatalf("HONE_ORACLE_ONLY: %v", err)
	}
	return rx
}

// partial reports whether this run was asked to leave something out, in which case it cannot say
// that a deliberate difference is never met.
func partial() bool {
	run := flag.Lookup("test.run")
	return !testrun.InNightly() || os.Getenv("HONE_ORACLE_ONLY") != "" || run != nil && strings.Contains(run.Value.String(), "/")
}
