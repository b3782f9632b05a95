package profile

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// elidedFrames is the function that stands for frames that a dump leaves out. Without it the frames around the gap
// would look as if one had called the other.
const elidedFrames = "...frames elided..."

// parseGoroutines reads the stacks of goroutines as text: what runtime.Stack, the debug=2 form of the goroutine
// profile, and a program that crashes or gets SIGQUIT print. Text around the stacks does not matter.
//
// Goroutines that do not differ become one sample. Its labels tell what the text knows beyond the stack: state, wait,
// creator, creator_line, locked, and the labels that the program had set. Ids would keep goroutines apart and are
// dropped.
func parseGoroutines(data []byte) (*Profile, error) {
	d := &dump{
		b: newTextBuilder(Header{
			SampleTypes: []ValueType{{"goroutine", "count"}},
			PeriodType:  ValueType{"goroutine", "count"},
			Period:      1,
		}),
		in:     lineReader{bytes.TrimPrefix(data, byteOrderMark)},
		frames: make(map[string]Line),
		shown:  make(map[uint64]bool),
	}
	if err := d.read(); err != nil {
		return nil, err
	}
	if d.found == 0 {
		return nil, errUnrecognized
	}
	d.b.Comments = []string{fmt.Sprintf("goroutines: %d", d.count)}
	d.b.Notes = d.notes()
	return d.b.Profile()
}

// A dump is the state of reading a dump of goroutines.
type dump struct {
	b      *textBuilder
	in     lineReader
	frames map[string]Line // by name and place as they are written
	stack  []uint32        // of the current goroutine
	inline []Line          // frames of it that were inlined in one yet to come
	key    []byte

	found   int // headers
	count   int // goroutines
	gaps    int // of those, the ones that lack a part of their stack
	threads int // stacks of goroutine 0

	// Goroutines that ran on other threads, so that their stacks could not be printed. A program that dumps core lets
	// its threads make up for that one by one, and then some are shown again.
	hidden []hiddenGoroutine
	relay  bool
	shown  map[uint64]bool

	cut string // what the dump was cut off in
}

// A goroutine is what a dump says about one beside its stack.
type goroutine struct {
	id     uint64
	labels []Label
	hidden bool
	gap    bool
}

type hiddenGoroutine struct {
	id     uint64
	labels uint32
}

func (d *dump) read() error {
	for {
		text, open, ok := d.in.next()
		if !ok {
			break
		}
		line := string(text)
		g, ok := parseGoroutine(line)
		switch {
		case ok:
			if d.found++; d.found > maxTable {
				return limitError{fmt.Sprintf("%d goroutines", maxTable)}
			}
			if err := d.goroutine(g); err != nil {
				return err
			}
		case line == "-----":
			d.relay = true
		case open && d.found > 0 && line != "" && (strings.HasPrefix(line, "goroutine ") || strings.HasPrefix("goroutine ", line)):
			d.cut = "the header of a goroutine"
		}
	}
	d.hidden = slices.DeleteFunc(d.hidden, func(h hiddenGoroutine) bool { return d.shown[h.id] })
	for _, h := range d.hidden {
		d.count++
		d.b.count(nil, h.labels, 1)
	}
	return nil
}

// notes tells the user what the profile lacks.
func (d *dump) notes() (notes []string) {
	if d.cut != "" {
		notes = append(notes, "the dump is cut off in "+d.cut)
	}
	if d.gaps > 0 {
		notes = append(notes, fmt.Sprintf("goroutines with frames that are not in the dump: %d; %s stands for them", d.gaps, elidedFrames))
	}
	if n := len(d.hidden); n > 0 {
		notes = append(notes, fmt.Sprintf("goroutines without a stack, since they ran on other threads during the dump: %d", n))
	}
	if d.threads > 0 {
		notes = append(notes, fmt.Sprintf("stacks left out, since goroutine 0 is only the scheduler of a thread: %d", d.threads))
	}
	return notes
}

// parseGoroutine reads the header of a goroutine, of which all but the number and the state may be missing:
//
//	goroutine 7 gp=0xc0000061c0 m=0 mp=0x5a1400 [select, 5 minutes, locked to thread, synctest bubble 2 labels:{"k": "v"}]:
func parseGoroutine(line string) (g goroutine, ok bool) {
	rest, ok1 := strings.CutPrefix(strings.TrimRight(line, " \t"), "goroutine ")
	rest, ok2 := strings.CutSuffix(rest, "]:")
	front, state, ok3 := strings.Cut(rest, " [")
	if !ok1 || !ok2 || !ok3 {
		return g, false
	}
	number, pointers, _ := strings.Cut(front, " ")
	if pointers != "" && !strings.HasPrefix(pointers, "gp=") {
		return g, false
	}
	var err error
	if g.id, err = strconv.ParseUint(number, 10, 64); err != nil {
		return g, false
	}

	state, labels, _ := strings.Cut(state, " labels:{")
	state, more, _ := strings.Cut(state, ", ")
	// The collector scans stacks when it likes; that says nothing about the goroutine.
	state = strings.TrimSuffix(state, " (scan)")
	if state == "" {
		return g, false
	}
	g.text("state", state)
	for f := range strings.SplitSeq(more, ", ") {
		if f == "locked to thread" {
			g.text("locked", "thread")
		}
		if minutes, ok := strings.CutSuffix(f, " minutes"); ok {
			if n, err := strconv.ParseInt(minutes, 10, 64); err == nil {
				g.labels = append(g.labels, Label{Key: "wait", Numeric: true, Num: n, Unit: "minutes", HasUnit: true})
			}
		}
	}
	for labels != "" {
		key, rest, ok1 := cutQuoted(labels)
		value, rest, ok2 := cutQuoted(strings.TrimPrefix(rest, ": "))
		if !ok1 || !ok2 {
			break
		}
		if value != "" { // profiles cannot hold an empty text
			g.text(key, value)
		}
		labels = strings.TrimPrefix(rest, ", ")
	}
	return g, true
}

func cutQuoted(s string) (text, rest string, ok bool) {
	quoted, err := strconv.QuotedPrefix(s)
	if err != nil {
		return "", "", false
	}
	text, err = strconv.Unquote(quoted)
	return text, s[len(quoted):], err == nil
}

func (g *goroutine) String() string { return fmt.Sprintf("goroutine %d", g.id) }

func (g *goroutine) text(key, value string) {
	g.labels = append(g.labels, Label{Key: key, Str: value})
}

// goroutine reads what follows the header of g and adds g to the profile.
func (d *dump) goroutine(g goroutine) error {
	d.stack, d.inline = d.stack[:0], d.inline[:0]
	if err := d.body(&g); err != nil {
		return err
	}
	if g.id == 0 {
		d.threads++
		return nil
	}
	labels := d.b.Labels(g.labels)
	if g.hidden {
		d.hidden = append(d.hidden, hiddenGoroutine{g.id, labels})
		return nil
	}
	if d.relay {
		d.shown[g.id] = true
	}
	if g.gap {
		d.gaps++
	}
	d.count++
	d.b.count(d.stack, labels, 1)
	return nil
}

// body reads the stack of g and who created it, up to the first line that belongs to neither.
func (d *dump) body(g *goroutine) error {
	if d.in.done() {
		return d.breakOff(g)
	}
	for more := true; more; {
		ahead := d.in
		line, open, ok := ahead.next()
		if !ok {
			break
		}
		var err error
		switch {
		case len(line) == 0:
			more = false
		case bytes.HasPrefix(line, []byte("created by ")):
			d.in = ahead
			d.creator(g, string(line[len("created by "):]), open)
			more = false
		case open && bytes.HasPrefix([]byte("created by "), line):
			d.in = ahead
			d.cut = g.String()
			more = false
		case bytes.HasPrefix(line, []byte("...")) && bytes.HasSuffix(line, []byte("frames elided...")):
			d.in = ahead
			err = d.gap(g)
		case bytes.HasSuffix(line, []byte("; stack unavailable")):
			d.in = ahead
			g.hidden = true
		default:
			more, err = d.frame(g)
		}
		if err == nil && len(d.stack)+len(d.inline) > maxDepth {
			err = limitError{fmt.Sprintf("%d frames in one stack", maxDepth)}
		}
		if err != nil {
			return err
		}
	}
	return d.endInline()
}

// frame reads a call and, from the line below, its place. It reports whether there was one; if not, the lines stay.
func (d *dump) frame(g *goroutine) (bool, error) {
	ahead := d.in
	line, open, _ := ahead.next()
	if bytes.HasPrefix(line, []byte("non-Go function at pc=")) {
		d.in = ahead
		return true, d.push(d.line("non-Go function", "", 0), false)
	}
	name, args, call := cutCall(line)
	below, openBelow, _ := ahead.next()
	place, offset := cutPlace(below)
	if place != nil && (offset || !openBelow) {
		if at, ok := d.lookUp(name, place); ok {
			d.in = ahead
			return true, d.push(at, call && !offset && string(args) == "...")
		}
	}
	// Calls always have a place, and what follows a dump is sentences or tables.
	word, _, _ := bytes.Cut(line, []byte("("))
	if (call || open || openBelow && place != nil) && !bytes.ContainsAny(word, " \t") {
		d.in = ahead
		return false, d.breakOff(g)
	}
	return false, nil
}

// lookUp returns the line that name and place stand for.
func (d *dump) lookUp(name, place []byte) (Line, bool) {
	d.key = append(append(append(d.key[:0], name...), 0), place...)
	at, ok := d.frames[string(d.key)]
	if !ok {
		file, n, valid := parsePlace(string(place))
		if !valid || len(name) == 0 || name[0] == '\t' || name[0] == ' ' {
			return at, false
		}
		at = d.line(string(name), file, n)
		d.frames[string(d.key)] = at
	}
	return at, true
}

func (d *dump) line(name, file string, n int64) Line {
	if name == "panic" {
		// The only function that dumps do not call by its name.
		name = "runtime.gopanic"
	}
	return Line{Function: d.b.function(name, file), Line: n}
}

// cutCall cuts the arguments off a call. The name itself may have parentheses, and C functions have no arguments.
func cutCall(line []byte) (name, args []byte, ok bool) {
	if !bytes.HasSuffix(line, []byte(")")) {
		return line, nil, false
	}
	depth := 0
	for i := len(line) - 1; i > 0; i-- {
		switch line[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				return line[:i], line[i+1 : len(line)-1], true
			}
		}
	}
	return line, nil, false
}

// cutPlace returns the place that line holds, without the offset and the registers behind it. The place is nil when
// there is none, and empty when only registers are known.
func cutPlace(line []byte) (place []byte, offset bool) {
	place = bytes.TrimLeft(line, " \t")
	if len(place) == len(line) {
		return nil, false
	}
	for {
		i := bytes.LastIndexByte(place, ' ')
		f := place[i+1:]
		switch {
		case bytes.HasPrefix(f, []byte("+0x")):
		case bytes.HasPrefix(f, []byte("pc=0x")), bytes.HasPrefix(f, []byte("sp=0x")), bytes.HasPrefix(f, []byte("fp=0x")):
		default:
			if len(place) == 0 && !offset {
				return nil, false
			}
			return place, offset
		}
		place, offset = place[:max(i, 0)], true
	}
}

// parsePlace splits a place into file and line.
func parsePlace(place string) (file string, line int64, ok bool) {
	if place == "" {
		return "", 0, true
	}
	i := strings.LastIndexByte(place, ':')
	if i <= 0 {
		return "", 0, false
	}
	n, err := strconv.ParseUint(place[i+1:], 10, 63)
	return place[:i], int64(n), err == nil
}

// push adds a frame to the stack. Frames that were inlined share the location of the one they were inlined in. Dumps do
// not show compiler-made wrappers, so now and then that is really the caller of a wrapper.
func (d *dump) push(at Line, inlined bool) error {
	d.inline = append(d.inline, at)
	if inlined {
		return nil
	}
	return d.endInline()
}

func (d *dump) endInline() error {
	if len(d.inline) == 0 {
		return nil
	}
	loc, err := d.b.location(d.inline)
	d.stack, d.inline = append(d.stack, loc), d.inline[:0]
	return err
}

// gap marks that frames are missing here.
func (d *dump) gap(g *goroutine) error {
	g.gap = true
	if err := d.endInline(); err != nil {
		return err
	}
	return d.push(d.line(elidedFrames, "", 0), false)
}

// breakOff marks that the rest of the stack of g is missing.
func (d *dump) breakOff(g *goroutine) error {
	d.cut = g.String()
	return d.gap(g)
}

// creator takes the function that created g and, from the line below, the place where it did so.
func (d *dump) creator(g *goroutine, name string, open bool) {
	below := d.in
	line, open2, ok := below.next()
	place, offset := cutPlace(line)
	if open || !ok || open2 && !offset {
		d.cut = g.String()
	}
	if open {
		return
	}
	if i := strings.LastIndex(name, " in goroutine "); i >= 0 {
		name = name[:i]
	}
	g.text("creator", name)
	if _, _, ok := parsePlace(string(place)); ok && len(place) > 0 && (offset || !open2) {
		g.text("creator_line", string(place))
	}
}
