package prove

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/scratch"
	"golang.org/x/tools/cover"
)

// A place is where a block begins: a file of the package, and a line.
type place struct {
	file string
	line int
}

// coverLimit is how long a program may have taken to be run once more.
const coverLimit = 30 * time.Second

// cover runs the new version of a program once more, with the counters of the go command, and remembers which code that reached:
// what only main uses is reached in no other way. Not to know is no reason to give up.
func (r *run) cover(ctx context.Context, p runnable, pairs []*pair, work, file string, before printout) error {
	if before.cpu > coverLimit {
		return nil
	}
	var paths []string
	for _, pair := range pairs {
		paths = append(paths, pair.new.pkg.PkgPath)
	}
	ran, err := p.covered(ctx, paths, work, file, before)
	if err != nil && ctx.Err() == nil {
		r.note("the code that the program reached is unknown: %v", err)
		return nil
	}
	if r.reached == nil {
		r.reached = make(map[string]map[place]bool)
	}
	for _, path := range paths {
		r.reached[path] = begun(ran, path)
	}
	return err
}

// covered returns the profile of coverage of a run of the program.
func (p runnable) covered(ctx context.Context, paths []string, work, file string, before printout) ([]*cover.Profile, error) {
	data, err := os.MkdirTemp(work, "cover-")
	if err != nil {
		return nil, err
	}
	text := filepath.Join(data, "lines.txt")
	if _, err := p.new.Run(ctx, "build", "-cover", "-coverpkg="+strings.Join(paths, ","), "-o", file, p.pkg); err != nil {
		return nil, err
	}
	now, err := p.output(ctx, file, "GOCOVERDIR="+data)
	if err != nil {
		return nil, err
	}
	if now.code != before.code {
		return nil, fmt.Errorf("with counters it ended with exit code %d, not %d", now.code, before.code)
	}
	if _, err := p.new.Run(ctx, "tool", "covdata", "textfmt", "-i="+data, "-o="+text); err != nil {
		return nil, err
	}
	return cover.ParseProfiles(text) // not there when it did not end in a way that writes them
}

// tested runs the tests of the new version of a package once more, with counters, and returns which code they reach. Not to know
// is no reason to give up.
func (r *run) tested(ctx context.Context, p *pair) map[place]bool {
	dir, err := scratch.Dir("cover-")
	if err != nil {
		return nil
	}
	defer os.RemoveAll(dir)
	text := filepath.Join(dir, "lines.txt")
	r.opt.Say("running the tests of " + p.new.pkg.PkgPath + " with counters")
	p.new.goIn().Run(ctx, "test", "-vet=off", "-count=1", "-coverpkg="+p.new.pkg.PkgPath, "-coverprofile="+text, ".") // those that fail ran, too
	ran, err := cover.ParseProfiles(text)
	if err != nil {
		return nil
	}
	return begun(ran, p.new.pkg.PkgPath)
}

// begun returns where the code of a package begins, and whether all of it that begins in that line ran.
func begun(ran []*cover.Profile, pkg string) map[place]bool {
	out := make(map[place]bool)
	for _, p := range ran {
		if path.Dir(p.FileName) != pkg {
			continue
		}
		for _, b := range p.Blocks {
			if b.NumStmt == 0 {
				continue
			}
			at := place{path.Base(p.FileName), b.StartLine}
			before, known := out[at]
			out[at] = b.Count > 0 && (before || !known)
		}
	}
	return out
}

// A reach is how far into the functions of the new version was come.
type reach struct {
	blocks, reached int
	missed          int     // those not reached that are part of the change
	away            []place // where those are that were not reached
	always          []place // where one of the blocks of a statement ran each time, though none may; those that are part of the change
}

// reach returns how far into each function was come, by calls and by running the program. What is not reached in either version, and
// reads as it did, is no part of what changed. f is nil when nothing was called.
func (r *run) reach(s *surface, f *search) map[string]reach {
	out := make(map[string]reach)
	var texts [2]sources
	var blocks [2][]block
	called := func(side, i int) bool {
		return f != nil && f.covered[side][i] || i < len(s.away[side]) && s.away[side][i]
	}
	for side, v := range []*side{s.old, s.new} {
		if f != nil {
			blocks[side] = f.files[side].blocks
			continue
		}
		var b built
		for _, file := range v.pkg.Syntax {
			b.instrument(v, file, nil, nil)
		}
		blocks[side] = b.blocks
	}
	same := make(map[string]int)
	for i, b := range blocks[0] {
		if !called(0, i) {
			same[b.text(&texts[0])]++
		}
	}
	ran := r.reached[s.new.pkg.PkgPath]
	for i, b := range blocks[1] {
		in := out[b.key]
		if b.otherwise {
			if !called(1, i) && slices.ContainsFunc(b.instead, func(i int) bool { return called(1, i) }) {
				if text := b.text(&texts[1]); same[text] > 0 {
					same[text]--
				} else {
					in.always = append(in.always, place{filepath.Base(b.file), b.line})
				}
				out[b.key] = in
			}
			continue
		}
		in.blocks++
		switch {
		case called(1, i) || ran[place{filepath.Base(b.file), b.line}]:
			in.reached++
		default:
			in.away = append(in.away, place{filepath.Base(b.file), b.line})
			if text := b.text(&texts[1]); same[text] > 0 {
				same[text]--
			} else {
				in.missed++
			}
		}
		out[b.key] = in
	}
	return out
}

// text is the same for a block that reads as it did.
func (b block) text(in *sources) string {
	return fmt.Sprintf("%s %v\n%s", b.key, b.otherwise, in.of(b))
}

// sources are the lines of files.
type sources map[string][]string

// of returns the text of a block, with the line that leads to it.
func (s *sources) of(b block) string {
	if *s == nil {
		*s = make(sources)
	}
	lines, ok := (*s)[b.file]
	if !ok {
		text, _ := os.ReadFile(b.file)
		lines = strings.Split(string(text), "\n")
		(*s)[b.file] = lines
	}
	if b.line < 1 || b.last > len(lines) || b.last < b.line {
		return strconv.Itoa(b.line) + " of " + b.file // like no other
	}
	var out strings.Builder
	for _, l := range lines[b.line-1 : b.last] {
		out.WriteString(strings.TrimSpace(l))
		out.WriteByte('\n')
	}
	return out.String()
}
