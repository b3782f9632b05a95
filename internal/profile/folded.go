package profile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// inlinedSuffix marks a frame of a folded stack that was inlined in the one before it.
const inlinedSuffix = "_[i]"

// parseFolded reads folded stacks: on each line the frames of a stack from the root to the leaf with semicolons between
// them, and a count.
//
//	main;serve;read 12
//
// It returns errUnrecognized when the first line does not look like that; otherwise a FormatError says which line is
// wrong.
func parseFolded(data []byte) (*Profile, error) {
	b := newTextBuilder(Header{SampleTypes: []ValueType{{"samples", "count"}}})
	in := lineReader{bytes.TrimPrefix(data, byteOrderMark)}
	functions := make(map[string]uint32) // by frame as it is written
	var stack []uint32
	found, columns := false, true
	for n := 1; !in.done(); n++ {
		line, _, _ := in.next()
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		frames, count, err := cutCount(line)
		if !found && !looksFolded(line, err) {
			return nil, errUnrecognized
		}
		if err != nil {
			return nil, foldedError(fmt.Sprintf("line %d: %v", n, err))
		}
		found = true
		if columns {
			_, _, err := cutCount(frames)
			columns = err == nil
		}
		if stack, err = b.foldedStack(frames, functions, stack[:0]); err != nil {
			return nil, err
		}
		b.count(stack, 0, count)
	}
	switch {
	case !found:
		return nil, errUnrecognized
	case columns:
		// A frame may end in a number, but hardly every leaf.
		return nil, foldedError("two counts on each line, as difffolded writes: give the two profiles separately")
	}
	return b.Profile()
}

func foldedError(what string) error {
	return &FormatError{Doing: "parsing profile", Err: errUnrecognized, Detail: inFolded + what}
}

// inFolded begins the details of mistakes in folded stacks.
const inFolded = "folded stacks: "

// looksFolded reports whether line, which has a count unless err says why not, may be the first of folded stacks.
func looksFolded(line []byte, err error) bool {
	if !utf8.Valid(line) || bytes.ContainsFunc(line, func(r rune) bool { return unicode.IsControl(r) && r != '\t' }) {
		return false
	}
	return err == nil || bytes.IndexByte(line, ';') >= 0
}

// cutCount cuts the count off a line. Frames may contain spaces, so it is what follows the last one.
func cutCount(line []byte) (frames []byte, count int64, err error) {
	i := bytes.LastIndexAny(line, " \t")
	if i < 0 {
		return nil, 0, errors.New("a stack and a count are needed, with a space between them")
	}
	text := string(line[i+1:])
	count, err = strconv.ParseInt(text, 10, 64)
	if err != nil {
		what := "a number"
		if _, err := strconv.ParseFloat(text, 64); err == nil {
			what = "a whole number below 2⁶³"
		}
		return nil, 0, fmt.Errorf("count %.40q is not %s", text, what)
	}
	return bytes.TrimSpace(line[:i]), count, nil
}

// foldedStack appends the stack that frames spell, from the leaf to the root.
func (b *textBuilder) foldedStack(frames []byte, functions map[string]uint32, stack []uint32) ([]uint32, error) {
	var lines []Line // of the location that goes on
	end := func() error {
		if len(lines) == 0 {
			return nil
		}
		slices.Reverse(lines)
		loc, err := b.location(lines)
		stack, lines = append(stack, loc), lines[:0]
		if err == nil && len(stack) > maxDepth {
			err = limitError{fmt.Sprintf("%d frames in one stack", maxDepth)}
		}
		return err
	}
	for len(frames) > 0 {
		var frame []byte
		frame, frames, _ = bytes.Cut(frames, []byte(";"))
		frame = bytes.TrimSpace(frame)
		if len(frame) == 0 {
			continue
		}
		if name, ok := bytes.CutSuffix(frame, []byte(inlinedSuffix)); ok && len(lines) > 0 && len(name) > 0 {
			frame = bytes.TrimSpace(name)
		} else if err := end(); err != nil {
			return nil, err
		}
		f, ok := functions[string(frame)]
		if !ok {
			name := string(frame)
			f = b.function(name, "")
			functions[name] = f
		}
		lines = append(lines, Line{Function: f})
	}
	err := end()
	slices.Reverse(stack)
	return stack, err
}

// FoldedName returns name as it can stand in a folded stack, which parseFolded then reads as the same name.
func FoldedName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r == ';':
			return ':'
		case unicode.IsControl(r), r == '\ufeff':
			return ' '
		}
		return r
	}, name)
	for {
		name = strings.TrimSpace(name)
		short, ok := strings.CutSuffix(name, inlinedSuffix)
		if !ok {
			break
		}
		name = short
	}
	if strings.HasPrefix(name, "#") {
		name = "_" + name // not a comment
	}
	if i := strings.LastIndexByte(name, ' '); i >= 0 {
		if _, err := strconv.ParseInt(name[i+1:], 10, 64); err == nil {
			name = name[:i] + "_" + name[i+1:] // not a count
		}
	}
	return cmp.Or(name, "[unknown]")
}
