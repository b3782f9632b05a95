package tui

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"
)

// A screen is a terminal that is all ours for a while.
type screen struct {
	in, out *os.File
	lines   []string // what is shown
}

// What switches a terminal to its other screen, without cursor, with the mouse reported; and back.
const (
	screenOn  = "\x1b[?1049h\x1b[?25l\x1b[?1000h\x1b[?1006h\x1b[2J"
	screenOff = "\x1b[?1006l\x1b[?1000l\x1b[?25h\x1b[?1049l"
)

// Terminals returns the terminal to write to and the one to read keys from: standard input may be something else. It is false when there
// is none.
func Terminals(stdin io.Reader, stdout io.Writer) (in, out *os.File, ok bool) {
	isTerminal := func(f any) (*os.File, bool) {
		file, ok := f.(*os.File)
		return file, ok && term.IsTerminal(int(file.Fd()))
	}
	out, ok = isTerminal(stdout)
	if !ok {
		return nil, nil, false
	}
	if in, ok := isTerminal(stdin); ok {
		return in, out, true
	}
	in, err := os.OpenFile(keyboard, os.O_RDWR, 0)
	return in, out, err == nil
}

// Run shows the flame graph until the user quits or ctx ends, and leaves the terminal as it was.
func (u *Flame) Run(ctx context.Context, in, out *os.File) error {
	return (&screen{in: in, out: out}).run(ctx, u)
}

// run shows u until the user quits or ctx ends, and leaves the terminal as it was.
func (s *screen) run(ctx context.Context, u *Flame) error {
	// What ends a program by default would leave the terminal as it is.
	ctx, stop := signal.NotifyContext(ctx, endSignals...)
	defer stop()
	was, err := term.MakeRaw(int(s.in.Fd()))
	if err != nil {
		return fmt.Errorf("preparing the terminal: %w", err)
	}
	defer term.Restore(int(s.in.Fd()), was)
	undo, err := showSequences(s.out)
	if err != nil {
		return fmt.Errorf("preparing the terminal: %w", err)
	}
	defer undo()
	defer io.WriteString(s.out, screenOff)
	if _, err := io.WriteString(s.out, screenOn); err != nil {
		return err
	}
	resized := make(chan os.Signal, 1)
	defer watchSize(resized)()
	input := make(chan []byte)
	go s.read(ctx, input) // it ends with the program, as nothing can interrupt it
	return s.loop(ctx, u, input, resized)
}

// read passes on what the user types.
func (s *screen) read(ctx context.Context, to chan<- []byte) {
	defer close(to)
	for {
		b := make([]byte, 1024)
		n, err := s.in.Read(b)
		if err != nil {
			return
		}
		select {
		case to <- b[:n]:
		case <-ctx.Done():
			return
		}
	}
}

// loop does what keys ask for.
func (s *screen) loop(ctx context.Context, u *Flame, input <-chan []byte, resized <-chan os.Signal) error {
	// An escape may be a key or begin what is sent for one. The rest of that follows at once, even over a network.
	const follows = 60 * time.Millisecond
	var pending []byte
	var late <-chan time.Time
	for {
		if err := s.draw(u); err != nil {
			return err
		}
		last := false
		select {
		case <-ctx.Done():
			return nil
		case <-resized:
			s.lines = nil
			continue
		case b, ok := <-input:
			if !ok {
				return nil // the terminal is gone
			}
			pending = append(pending, b...)
		case <-late:
			last = true
		}
		var keys []key
		keys, pending = decodeKeys(pending, last)
		late = nil
		if len(pending) > 0 {
			late = time.After(follows)
		}
		if slices.ContainsFunc(keys, u.update) {
			return nil
		}
	}
}

// draw writes the lines that changed.
func (s *screen) draw(u *Flame) error {
	cols, rows, err := term.GetSize(int(s.out.Fd()))
	if err != nil {
		return fmt.Errorf("asking for the size of the terminal: %w", err)
	}
	lines := u.view(cols, rows)
	var b strings.Builder
	if s.lines == nil {
		b.WriteString("\x1b[2J")
	}
	for i, l := range lines {
		if s.lines == nil || i >= len(s.lines) || s.lines[i] != l {
			fmt.Fprintf(&b, "\x1b[%d;1H%s\x1b[0m\x1b[K", i+1, l)
		}
	}
	if len(s.lines) > len(lines) {
		fmt.Fprintf(&b, "\x1b[%d;1H\x1b[J", len(lines)+1)
	}
	s.lines = lines
	if b.Len() == 0 {
		return nil
	}
	_, err = io.WriteString(s.out, b.String())
	return err
}
