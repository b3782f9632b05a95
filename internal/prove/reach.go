package prove

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/scratch"
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
	text, err := p.covered(ctx, paths, work, file, before)
	if err != nil && ctx.Err() == nil {
		r.note("which code the program reached is not known: %v", err)
		return nil
	}
	if r.reached == nil {
		r.reached = make(map[string]map[place]bool)
	}
	for _, path := range paths {
		r.reached[path] = readCover(bufio.NewScanner(strings.NewReader(linesOf(text, path))))
	}
	return err
}

// linesOf returns the lines of a profile of coverage that are about files of one package.
func linesOf(text, path string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if name, _, _ := strings.Cut(line, ":"); name != "" && name[:max(strings.LastIndexByte(name, '/'), 0)] == path {
			out.WriteString(line)
		}
	}
	return out.String()
}

// covered returns the profile of coverage of a run of the program.
func (p runnable) covered(ctx context.Context, paths []string, work, file string, before printout) (string, error) {
	data, err := os.MkdirTemp(work, "cover-")
	if err != nil {
		return "", err
	}
	text := filepath.Join(data, "lines.txt")
	if _, err := p.new.Run(ctx, "build", "-cover", "-coverpkg="+strings.Join(paths, ","), "-o", file, p.pkg); err != nil {
		return "", err
	}
	now, err := p.output(ctx, file, "GOCOVERDIR="+data)
	if err != nil {
		return "", err
	}
	if now.code != before.code {
		return "", fmt.Errorf("with counters it ended with exit code %d, not %d", now.code, before.code)
	}
	if _, err := p.new.Run(ctx, "tool", "covdata", "textfmt", "-i="+data, "-o="+text); err != nil {
		return "", err
	}
	lines, err := os.ReadFile(text) // not there when it did not end in a way that writes them
	return string(lines), err
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
	f, err := os.Open(text)
	if err != nil {
		return nil
	}
	defer f.Close()
	return readCover(bufio.NewScanner(f))
}

// readCover reads lines such as example.com/p/main.go:60.40,61.50 3 1, of code from line 60 to 61 with 3 statements that ran once or
// more often. It returns where code begins, and whether all of it that begins in that line ran.
func readCover(in *bufio.Scanner) map[place]bool {
	ran := make(map[place]bool)
	for in.Scan() {
		name, rest, ok := cutLast(in.Text(), ":")
		var line, column, last, end, statements, count int
		if n, _ := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &line, &column, &last, &end, &statements, &count); !ok || n < 6 || statements == 0 {
			continue
		}
		at := place{filepath.Base(filepath.FromSlash(name)), line}
		before, known := ran[at]
		ran[at] = count > 0 && (before || !known)
	}
	return ran
}

// A reach is how far into the functions of the new version was come.
type reach struct {
	blocks, reached int
	missed          int     // those not reached that are part of the change
	away            []place // where those are that were not reached
}

// reach returns how far into each function was come, by calls and by running the program. What is not reached in either version, and
// reads as it did, is no part of what changed. f is nil when nothing was called.
func (r *run) reach(s *surface, f *search) map[string]reach {
	out := make(map[string]reach)
	var texts [2]sources
	var blocks [2][]block
	called := func(side, i int) bool { return f != nil && f.covered[side][i] }
	for side, v := range []*side{s.old, s.new} {
		if f != nil {
			blocks[side] = f.files[side].blocks
			continue
		}
		var b built
		for _, file := range v.pkg.Syntax {
			b.instrument(v, file, nil)
		}
		blocks[side] = b.blocks
	}
	same := make(map[string]int)
	for i, b := range blocks[0] {
		if !called(0, i) {
			same[b.key+"\n"+texts[0].of(b)]++
		}
	}
	ran := r.reached[s.new.pkg.PkgPath]
	for i, b := range blocks[1] {
		in := out[b.key]
		in.blocks++
		switch {
		case called(1, i) || ran[place{filepath.Base(b.file), b.line}]:
			in.reached++
		default:
			in.away = append(in.away, place{filepath.Base(b.file), b.line})
			if text := b.key + "\n" + texts[1].of(b); same[text] > 0 {
				same[text]--
			} else {
				in.missed++
			}
		}
		out[b.key] = in
	}
	return out
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
