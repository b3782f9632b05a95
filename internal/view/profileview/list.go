package profileview

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/filename"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// margin is how many lines of source to show around those that cost something.
const margin = 5

// List shows the source of the functions that match, with what each line costs.
func List(in []*recording.Recording, q query.Query) (report.Report, error) {
	return listing(in, q, false)
}

// ListFromStart is List as pprof has it: of a function that begins below all of its lines, such as a map.init.0 of generated
// code, it shows no line, and opens no file for it.
func ListFromStart(in []*recording.Recording, q query.Query) (report.Report, error) {
	return listing(in, q, true)
}

func listing(in []*recording.Recording, q query.Query, fromStart bool) (report.Report, error) {
	q.By = "line"
	a, s, err := askSides(in, q)
	if err != nil {
		return nil, err
	}
	rx, err := a.pattern()
	if err != nil {
		return nil, err
	}
	names := make(map[string]bool)
	is := func(name string) bool {
		is, known := names[name]
		if !known {
			is = rx.MatchString(name)
			names[name] = is
		}
		return is
	}
	d, err := calls.DetailOf(a.query)
	if err != nil {
		return nil, err
	}
	d.Object = true
	var some []bool // by function; nil where the base has others
	if s == nil {
		some = make([]bool, len(a.Profile.Functions))
		for i := range some {
			some[i] = is(a.Profile.Functions[i].Name)
		}
	}
	b := calls.NewBuilder(a.Measure, calls.NewFrameTableOf(a.Profile, d, calls.PathTrimmer(a.query), some))
	b.DropNegative = q.Positive
	matched := make([]bool, len(b.Table.Frames))
	for f := range matched {
		matched[f] = !b.Table.Rests(f) && is(b.Table.Frames[f].Name)
	}
	through := a.passed(b.Table.Frames, matched)
	var nodes []*calls.Node
	var costs lineCosts
	if fromStart {
		b.CostsOf(matched, through)
		nodes = b.Graph(nil, matched).Nodes
	} else {
		costs = costsOfLines(b, matched, through, func(file string) string { return file })
		nodes = costs.nodes(b.Table.Frames, matched)
	}
	byName := make(map[string][]*calls.Node)
	for _, n := range nodes {
		byName[n.Name] = append(byName[n.Name], n)
	}
	if len(byName) == 0 {
		return nil, a.noMatch()
	}
	out := &report.Source{Head: a.head}
	l := lister{sources: in[0].Sources, fromStart: fromStart, costs: costs, failed: make(map[string]string)}
	if s != nil {
		// Another build may be of another folder.
		l.before, l.scaled = costsOfLines(s.builderBefore(b.Table), matched, nil, filename.Base), s.scaled
	}
	for _, name := range sortedKeys(byName) {
		f := report.SourceFunction{Name: name}
		byFile := make(map[string][]*calls.Node)
		for _, n := range byName[name] {
			if n.File != "" {
				byFile[n.File] = append(byFile[n.File], n)
			}
		}
		for _, file := range sortedKeys(byFile) {
			f.Files = append(f.Files, l.file(name, file, byFile[file]))
		}
		out.Functions = append(out.Functions, f)
	}
	return out, nil
}

// passed returns the samples with one of the frames that match, where a question before has found them, or nil.
func (a *question) passed(frames []report.Frame, matched []bool) profile.SampleSet {
	first := slices.Index(matched, true)
	for f, ok := range matched {
		if ok && frames[f].Name != frames[first].Name {
			return nil
		}
	}
	if first < 0 || frames[first].Name == "" {
		return nil
	}
	name := a.passing(frames[first].Name)
	if name == "" {
		return nil
	}
	known, _ := recording.Recall[passing](a.rec, name)
	return known.samples
}

// A lister puts listings together.
type lister struct {
	sources   recording.Sources
	fromStart bool
	failed    map[string]string // what went wrong with files, by their names

	costs  lineCosts // of functions; nil where the costs of lines are to be added up, as pprof does
	before lineCosts // in the base, with files without their folders; nil without one
	scaled func(int64) int64
}

// lineCosts are what lines of functions cost, and whole functions. A recursive function may be on a stack several times, at one line or at
// several. Such a sample counts once for each line, and once for the function, so that it costs as much here as in other views.
type lineCosts map[lineKey]report.Cost2

type lineKey struct {
	function, file string
	line           int64
}

// wholeFunction stands in place of a line.
const wholeFunction = -1

// costsOfLines adds up what the frames that match cost. base is what to know files by.
func costsOfLines(b *calls.Builder, matched []bool, through profile.SampleSet, base func(file string) string) lineCosts {
	numbers := make(map[lineKey]int32)
	var keys []lineKey
	number := func(k lineKey) int32 {
		n, ok := numbers[k]
		if !ok {
			n = int32(len(keys))
			numbers[k] = n
			keys = append(keys, k)
		}
		return n
	}
	group := make([]int32, len(matched))
	var whole []int32
	for f, ok := range matched {
		if frame := &b.Table.Frames[f]; ok {
			file := base(frame.File)
			all := number(lineKey{frame.Name, file, wholeFunction})
			n := number(lineKey{frame.Name, file, frame.Line})
			for len(whole) < len(keys) {
				whole = append(whole, all)
			}
			group[f] = n + 1
		}
	}
	flat, cum := b.GroupCosts(b.Profile.Values(b.Type), group, whole, len(keys), through)
	for n, all := range whole {
		if int32(n) != all {
			flat[all] += flat[n]
		}
	}
	out := make(lineCosts, len(keys))
	for n, k := range keys {
		if flat[n] != 0 || cum[n] != 0 {
			out[k] = report.Cost2{Flat: flat[n], Cum: cum[n]}
		}
	}
	return out
}

// nodes returns the frames that match and whose lines cost something. The first frame of a line has its cost.
func (c lineCosts) nodes(frames []report.Frame, matched []bool) (list []*calls.Node) {
	had := make(map[lineKey]bool)
	for f, ok := range matched {
		if !ok {
			continue
		}
		k := lineKey{frames[f].Name, frames[f].File, frames[f].Line}
		cost, ok := c[k]
		if !ok {
			continue
		}
		n := &calls.Node{Frame: &frames[f], ID: int32(f), Parent: -1}
		if !had[k] {
			had[k] = true
			n.Flat, n.Cum = cost.Flat, cost.Cum
		}
		list = append(list, n)
	}
	return list
}

// costBefore returns what a line cost in the base, or nil if that is nothing.
func (l *lister) costBefore(function, file string, line int64) *report.Cost2 {
	c, ok := l.before[lineKey{function, filename.Base(file), line}]
	if !ok {
		return nil
	}
	out := report.Cost2{Flat: l.scaled(c.Flat), Cum: l.scaled(c.Cum)}
	if out == (report.Cost2{}) {
		return nil
	}
	return &out
}

// span returns the lines of a function to show, of which there may be none. nodes are its places, in order.
func (l *lister) span(nodes []*calls.Node) (from, to int64) {
	from, to = nodes[0].StartLine, nodes[0].Line+margin
	if from == 0 {
		from = nodes[0].Line - margin
	}
	first, last := nodes[0].Line, nodes[0].Line
	for _, n := range nodes {
		first, last = min(first, n.Line), max(last, n.Line)
		start := n.StartLine
		if start == 0 {
			start = n.Line - margin
		}
		if start < from {
			from = start
		} else {
			to = max(to, n.Line+margin)
		}
	}
	if from > to && !l.fromStart {
		from, to = first-margin, last+margin // it cannot begin below all of its lines
	}
	return max(from, 1), to
}

// file returns the part of a file that nodes, all of function, are in.
func (l *lister) file(function, file string, nodes []*calls.Node) report.SourceFile {
	out := report.SourceFile{File: file}
	slices.SortFunc(nodes, func(a, b *calls.Node) int {
		return cmp.Or(cmp.Compare(a.StartLine, b.StartLine), cmp.Compare(a.Full(), b.Full()))
	})
	flat, cum := make(map[int64]int64), make(map[int64]int64)
	for _, n := range nodes {
		out.Flat += n.Flat
		out.Cum += n.Cum
		flat[n.Line] += n.Flat
		cum[n.Line] += n.Cum
	}
	if l.costs != nil {
		out.Cum = l.costs[lineKey{function, file, wholeFunction}].Cum
	}
	if l.before != nil {
		out.Before = cmp.Or(l.costBefore(function, file, wholeFunction), new(report.Cost2))
	}
	from, to := l.span(nodes)
	if from > to {
		out.Error = l.failed[file]
		return out
	}
	if l.sources == nil {
		out.Error = "no sources found"
		return out
	}
	text, err := l.sources.Find(file, function, int(nodes[0].Line))
	if err != nil {
		out.Error = err.Error()
		l.failed[file] = out.Error
		return out
	}
	out.Notes = text.Notes
	if start := int(nodes[0].StartLine); startMoved(function, file, start, text.Lines) {
		moved := fmt.Sprintf("this function began at line %d when it was compiled, but not here: costs may be on the wrong lines", start)
		if out.Notes = slices.Clone(out.Notes); len(out.Notes) == 0 {
			out.Notes = []string{moved}
		} else {
			out.Notes[len(out.Notes)-1] += "; " + moved // what made the file doubtful is why, so both are one note
		}
	}
	if text.Path != file {
		out.Found = text.Path
	}
	for line := from; line <= to && line <= int64(len(text.Lines)); line++ {
		out.Lines = append(out.Lines, report.SourceLine{
			Line: int(line), Flat: flat[line], Cum: cum[line], Text: text.Lines[line-1], Before: l.costBefore(function, file, line),
		})
	}
	return out
}

// startMoved reports whether the function no longer begins at the line where it did when it was compiled. Functions that the compiler made
// from something else, such as a go statement or the body of a loop, are not asked about.
func startMoved(function, file string, start int, lines []string) bool {
	if start == 0 || !strings.HasSuffix(file, ".go") || strings.HasSuffix(function, ".init") || strings.Contains(function, ".map.init.") {
		return false
	}
	if _, part := profile.CutPart(function); part != profile.Declared && part != profile.Literal {
		return false
	}
	if start > len(lines) {
		return true
	}
	name := function
	if from, to := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']'); 0 <= from && from < to {
		name = name[:from] + name[to+1:] // type arguments
	}
	name = name[strings.LastIndexByte(name, '.')+1:]
	if unnamed().MatchString(name) {
		name = ""
	}
	// The name of one that the linker knows by another, such as time.Sleep, is a part of its own.
	_, rest, ok := strings.Cut(lines[start-1], "func")
	return !ok || !strings.Contains(rest, name)
}

// unnamed is of functions in functions, and of the second and further init.
var unnamed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(func)?[0-9]+$`) })
