// Package prompt asks a user for lines: at a terminal with editing, history and completion, elsewhere just line by line. What is
// said to the user goes to standard error, so that answers can be piped.
package prompt

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/hone-perf/hone/internal/unit"
)

// A Prompt is how a command talks with the user.
type Prompt interface {
	ReadLine(ctx context.Context, prompt string) (string, error) // the last one when ctx has ended
	Say(text string)
	Complain(text string)
	Asks() bool     // whether there is somebody at a terminal to answer
	Terminal() bool // whether answers would go to a terminal
	Complete(f func(line string) string)
}

// New returns a terminal with line editing and history, where there is one, or plain lines. Env knows what kind of terminal it is.
func New(in io.Reader, out, err io.Writer, env func(string) string) Prompt {
	f, ok := in.(*os.File)
	t := strings.ToLower(env("TERM"))
	if !ok || t == "" || t == "dumb" || !term.IsTerminal(int(f.Fd())) {
		return &plain{in: bufio.NewReaderSize(in, maxLine), out: out, err: err}
	}
	rw := struct {
		io.Reader
		io.Writer
	}{&keys{from: f}, err}
	return &terminal{in: f, term: term.NewTerminal(rw, ""), out: out, color: env("NO_COLOR") == ""}
}

// keys are what is typed. For the terminal, Ctrl-C is the end of all input; whoever types it in the middle of a line has thought better of the
// line. So it is the keys that go to the end of a line and erase all before: Ctrl-E, Ctrl-U.
type keys struct {
	from io.Reader
	rest []byte // read already
}

func (k *keys) Read(p []byte) (int, error) {
	if len(k.rest) == 0 {
		n, err := k.from.Read(p)
		if n == 0 {
			return 0, err
		}
		k.rest = bytes.ReplaceAll(p[:n], []byte{'\x03'}, []byte{'\x05', '\x15'})
	}
	n := copy(p, k.rest)
	k.rest = k.rest[n:]
	return n, nil
}

func line(text string) string {
	if strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// maxLine is how long a line may be that nobody types.
const maxLine = 64 << 10

type plain struct {
	in       *bufio.Reader
	out, err io.Writer
}

func (p *plain) ReadLine(ctx context.Context, prompt string) (string, error) {
	io.WriteString(p.out, prompt)
	return await(ctx, func() (string, error) {
		line, err := p.in.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			err = fmt.Errorf("it has more than %s: questions are lines of text", unit.Size(maxLine))
		}
		return string(line), err
	})
}

// await returns what read does, or that ctx has ended. Nothing can interrupt reading, which goes on then until the program ends.
func await(ctx context.Context, read func() (string, error)) (string, error) {
	done := make(chan struct{})
	var line string
	var err error
	go func() {
		defer close(done)
		line, err = read()
	}()
	select {
	case <-done:
		return line, err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (p *plain) Say(text string)              { io.WriteString(p.err, line(text)) }
func (p *plain) Complain(text string)         { p.Say(text) }
func (p *plain) Asks() bool                   { return false }
func (p *plain) Terminal() bool               { return false }
func (p *plain) Complete(func(string) string) {}

type terminal struct {
	in   *os.File
	term *term.Terminal
	out  io.Writer

	color bool // for complaints
}

func (t *terminal) ReadLine(ctx context.Context, prompt string) (string, error) {
	t.term.SetPrompt(prompt)
	t.width()
	state, err := term.MakeRaw(int(t.in.Fd()))
	if err != nil {
		return "", err
	}
	defer term.Restore(int(t.in.Fd()), state)
	return await(ctx, t.term.ReadLine)
}

func (t *terminal) Say(text string) { io.WriteString(t.term, line(Wrap(text, t.width()))) }

// width returns how many columns the terminal has now, which editing a line has to know, too.
func (t *terminal) width() int {
	cols, rows, err := term.GetSize(int(t.in.Fd()))
	if err != nil || cols <= 0 || rows <= 0 {
		return 80
	}
	t.term.SetSize(cols, rows) // it knows of no other error than one of a cursor, which the next line repairs
	return cols
}

// Wrap breaks lines that are longer than so many columns between words. What follows stands below the last column of the line: in a
// list of names and what they mean, below the meaning.
func Wrap(text string, columns int) string {
	var out strings.Builder
	for l := range strings.Lines(text) {
		if utf8.RuneCountInString(l) <= columns {
			out.WriteString(l)
			continue
		}
		l = strings.TrimRight(l, "\n")
		begins := len(l) - len(strings.TrimLeft(l, " "))
		if i := strings.LastIndex(string([]rune(l)[:columns/2]), "  "); i > begins {
			begins = i + len("  ")
		}
		indent := utf8.RuneCountInString(l[:begins])
		now := l[:begins]
		used, first := indent, true
		for word := range strings.SplitSeq(l[begins:], " ") {
			n := utf8.RuneCountInString(word)
			switch {
			case first:
				first = false
			case used+1+n > columns:
				out.WriteString(strings.TrimRight(now, " ") + "\n")
				now, used = strings.Repeat(" ", indent), indent
			default:
				now += " "
				used++
			}
			now += word
			used += n
		}
		out.WriteString(now + "\n")
	}
	return out.String()
}

func (t *terminal) Complain(text string) {
	text = line(Wrap(text, t.width()))
	if t.color {
		text = "\033[0;31m" + text + "\033[0m"
	}
	io.WriteString(t.term, text)
}

func (t *terminal) Asks() bool { return true }

func (t *terminal) Terminal() bool {
	f, ok := t.out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Complete makes the tab key replace the line by what f returns.
func (t *terminal) Complete(f func(string) string) {
	t.term.AutoCompleteCallback = func(line string, pos int, key rune) (string, int, bool) {
		if key != '\t' || pos != len(line) {
			return "", 0, false
		}
		done := f(line)
		return done, len(done), done != line
	}
}

// TheOnly returns the only one of all that fits part, or part.
func TheOnly(part string, all []string, fits func(s, part string) bool) string {
	found := part
	for _, s := range all {
		if fits(s, part) {
			if found != part {
				return part
			}
			found = s
		}
	}
	return found
}
