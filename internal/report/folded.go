package report

import (
	"bufio"
	"encoding/json"
	"io"
	"iter"
	"strconv"
	"strings"
	"unicode"
)

// Folded is every stack with what it costs, in order. There may be millions, so they are made one at a time.
type Folded struct {
	Head
	Each iter.Seq[*FoldedStack] `json:"-"` // the FoldedStack is only valid until the next one
}

// A FoldedStack is the frames of a stack, outermost first, and what ends there.
type FoldedStack struct {
	Frames []string `json:"frames"`
	Value  int64    `json:"value"`
}

// WriteText writes the stacks as lines that programs which draw flame graphs read, and profile.Parse too:
//
//	main;serve;read 12
//
// The form has no place for a metric, a unit or notes; those are in Head.
func (f *Folded) WriteText(w io.Writer) error {
	out := bufio.NewWriter(w)
	words := make(map[string]string)
	var line []byte
	for s := range f.Each {
		line = line[:0]
		for i, frame := range s.Frames {
			word, ok := words[frame]
			if !ok {
				word = foldedWord(frame)
				words[frame] = word
			}
			if i > 0 {
				line = append(line, ';')
			}
			line = append(line, word...)
		}
		line = strconv.AppendInt(append(line, ' '), s.Value, 10)
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return out.Flush()
}

// foldedWord returns the name of a frame without what means something else in folded stacks: semicolons between
// frames, the ends of lines, comments, the mark of inlined frames and the count at the end.
func foldedWord(name string) string {
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
		short, ok := strings.CutSuffix(name, "_[i]")
		if !ok {
			break
		}
		name = short
	}
	if strings.HasPrefix(name, "#") {
		name = "_" + name
	}
	if i := strings.LastIndexByte(name, ' '); i >= 0 {
		if _, err := strconv.ParseInt(name[i+1:], 10, 64); err == nil {
			name = name[:i] + "_" + name[i+1:]
		}
	}
	if name == "" {
		return "[unknown]"
	}
	return name
}

// Blocks returns the text of the stacks. Those who can write it piece by piece take WriteText.
func (f *Folded) Blocks() iter.Seq[Block] {
	var b strings.Builder
	if err := f.WriteText(&b); err != nil {
		panic(err) // a Builder takes everything
	}
	return blocks([]Block{Plain{b.String()}})
}

// MarshalJSON writes all stacks.
func (f *Folded) MarshalJSON() ([]byte, error) {
	var out struct {
		Head
		Stacks []json.RawMessage `json:"stacks"`
	}
	out.Head = f.Head
	for s := range f.Each {
		b, err := json.Marshal(s)
		if err != nil {
			return nil, err
		}
		out.Stacks = append(out.Stacks, b)
	}
	return json.Marshal(out)
}
