package calls

import (
	"path"
	"regexp"
	"slices"

	"github.com/hone-perf/hone/internal/filename"
	"github.com/hone-perf/hone/internal/profile"
)

// collapsePackage returns p with one frame for each run of frames of a package that matches: what a package does inside
// itself is left out. The frame is called after the package, such as encoding/json.*, so that all else still knows whose it is.
func collapsePackage(p *profile.Profile, rx *regexp.Regexp) (*profile.Profile, bool, error) {
	t := p.Tables
	t.Functions, t.Locations = slices.Clone(t.Functions), slices.Clone(t.Locations)
	var lastID uint64
	for _, f := range t.Functions {
		lastID = max(lastID, f.ID)
	}
	packages := Packages(p.Functions)
	const stays, unseen = -1, -2
	standIn := make(map[string]int) // by package: the function that stands for it, or stays
	of := make([]int, len(p.Functions))
	for i, pkg := range packages {
		at, seen := standIn[pkg]
		switch {
		case pkg == "":
			at = stays
		case !seen && !rx.MatchString(pkg):
			at = stays
			standIn[pkg] = at
		case !seen:
			lastID++
			at = len(t.Functions)
			name := pkg + ".*"
			f := profile.Function{ID: lastID, Name: name, SystemName: name}
			if file := p.Functions[i].File; file != "" {
				f.File = path.Join(path.Dir(filename.Slashed(file)), "*.go") // where it lies says whose code it is
			}
			t.Functions = append(t.Functions, f)
			standIn[pkg] = at
		}
		of[i] = at
	}
	if len(t.Functions) == len(p.Functions) {
		return p, false, nil
	}
	// Where the caller is of the same package, the outermost frame of a location is the one that the caller has already.
	inner, outer := make([]int, len(t.Locations)), make([]int, len(t.Locations)) // the stand-ins at the ends of a location
	rest := make([]int, len(t.Locations))                                        // what is left below such a caller
	for i := range p.Locations {
		l := &t.Locations[i]
		inner[i], outer[i], rest[i] = stays, stays, unseen
		if len(l.Lines) == 0 || l.Hidden {
			continue
		}
		lines := make([]profile.Line, 0, len(l.Lines))
		for _, ln := range l.Lines {
			at := of[ln.Function]
			switch n := len(lines); {
			case at < 0:
				lines = append(lines, ln)
			case n == 0 || int(lines[n-1].Function) != at:
				lines = append(lines, profile.Line{Function: uint32(at)})
			}
		}
		l.Lines = lines
		inner[i], outer[i] = of[p.Locations[i].Lines[0].Function], of[p.Locations[i].Lines[len(p.Locations[i].Lines)-1].Function]
		if n := len(lines) - 1; outer[i] >= 0 && n > 0 {
			part := *l
			part.ID = 0
			part.Lines = lines[:n]
			rest[i] = len(t.Locations)
			t.Locations = append(t.Locations, part)
		}
	}
	number(t.Locations, len(p.Locations))
	var buf []uint32
	q, err := p.Rewrite(t, func(_ int, stack []uint32) ([]uint32, bool) {
		buf = buf[:0]
		for i, l := range stack {
			up := i + 1
			for up < len(stack) && t.Locations[stack[up]].Hidden {
				up++
			}
			switch {
			case outer[l] < 0 || up == len(stack) || inner[stack[up]] != outer[l]:
				buf = append(buf, l)
			case rest[l] >= 0:
				buf = append(buf, uint32(rest[l]))
			}
		}
		return buf, true
	})
	return q, true, err
}

// collapseRecursion returns p without what lies between the outermost and the innermost call of each function that matches:
// a function that gets back to itself, on whatever way, is there once.
func collapseRecursion(p *profile.Profile, rx *regexp.Regexp) (*profile.Profile, bool, error) {
	same := make(map[string]int32)
	of := make([]int32, len(p.Functions)) // numbers of the functions that match, from 1 on
	for i := range p.Functions {
		name := p.Functions[i].Name
		if name == "" || !rx.MatchString(name) {
			continue
		}
		if same[name] == 0 {
			same[name] = int32(len(same) + 1)
		}
		of[i] = same[name]
	}
	if len(same) == 0 {
		return p, false, nil
	}
	t := p.Tables
	t.Locations = slices.Clone(t.Locations)
	// A cut goes through a location only next to a line that matches. All parts that can be left are made beforehand.
	type part struct {
		location uint32
		from, to int
	}
	parts := make(map[part]uint32)
	for i := range p.Locations {
		lines := p.Locations[i].Lines
		froms, tos := []int{0}, []int{len(lines)}
		for j, ln := range lines {
			if of[ln.Function] != 0 {
				froms, tos = append(froms, j+1), append(tos, j+1)
			}
		}
		for _, from := range froms {
			for _, to := range tos {
				at := part{uint32(i), from, to}
				if _, known := parts[at]; known || from >= to || to-from == len(lines) || len(froms) == 1 {
					continue
				}
				l := p.Locations[i]
				l.ID, l.Lines = 0, lines[from:to]
				parts[at] = uint32(len(t.Locations))
				t.Locations = append(t.Locations, l)
			}
		}
	}
	number(t.Locations, len(p.Locations))
	var frames []place               // of the stack at hand, from the root on
	last := make([]int, len(same)+1) // where the innermost call of each is
	var buf []uint32
	q, err := p.Rewrite(t, func(_ int, stack []uint32) ([]uint32, bool) {
		frames, buf = frames[:0], buf[:0]
		for at := len(stack) - 1; at >= 0; at-- {
			lines := p.Locations[stack[at]].Lines
			if len(lines) == 0 {
				frames = append(frames, place{at, 0, 0})
			}
			for j := len(lines) - 1; j >= 0; j-- {
				f := of[lines[j].Function]
				last[f] = len(frames)
				frames = append(frames, place{at, j, f})
			}
		}
		var now place // the location that is being kept, down to this line
		to := -1      // where what is kept of it begins
		keep := func() {
			l := stack[now.at]
			if whole := len(p.Locations[l].Lines); now.line != 0 || to < whole {
				l = parts[part{l, now.line, to}]
			}
			buf = append(buf, l)
		}
		for i := 0; i < len(frames); i++ {
			if f := frames[i].function; f != 0 {
				i = last[f]
			}
			next := frames[i]
			if to < 0 || next.at != now.at || next.line != now.line-1 {
				if to >= 0 {
					keep()
				}
				to = next.line + 1
			}
			now = next
		}
		if to >= 0 {
			keep()
		}
		slices.Reverse(buf) // stacks begin with the innermost call
		return buf, true
	})
	return q, true, err
}

// A place is a frame of a stack: a line of a location, and the number of its function where that may be collapsed.
type place struct {
	at, line int
	function int32
}

// number gives the locations from new on numbers that no other has.
func number(locations []profile.Location, from int) {
	var last uint64
	for _, l := range locations[:from] {
		last = max(last, l.ID)
	}
	for i := range locations[from:] {
		last++
		locations[from+i].ID = last
	}
}
