package pprof

import (
	"bufio"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// A ui is how the command talks with the user: what is said goes to standard error, so that reports can be piped.
type ui interface {
	readLine(prompt string) (string, error)
	say(text string)
	complain(text string)
	terminal() bool // whether reports would go to a terminal
	complete(f func(line string) string)
}

// newUI returns a terminal with line editing and history, where there is one, or plain lines.
func newUI(sys System) ui {
	in, ok := sys.In.(*os.File)
	t := strings.ToLower(sys.Env("TERM"))
	if !ok || t == "" || t == "dumb" || !term.IsTerminal(int(in.Fd())) {
		return &plainUI{in: bufio.NewReader(sys.In), out: sys.Out, err: sys.Err}
	}
	rw := struct {
		io.Reader
		io.Writer
	}{in, sys.Err}
	return &termUI{in: in, term: term.NewTerminal(rw, ""), out: sys.Out}
}

func line(text string) string {
	if strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

type plainUI struct {
	in       *bufio.Reader
	out, err io.Writer
}

func (u *plainUI) readLine(prompt string) (string, error) {
	io.WriteString(u.out, prompt)
	return u.in.ReadString('\n')
}

func (u *plainUI) say(text string)              { io.WriteString(u.err, line(text)) }
func (u *plainUI) complain(text string)         { u.say(text) }
func (u *plainUI) terminal() bool               { return false }
func (u *plainUI) complete(func(string) string) {}

type termUI struct {
	in   *os.File
	term *term.Terminal
	out  io.Writer
}

func (u *termUI) readLine(prompt string) (string, error) {
	u.term.SetPrompt(prompt)
	state, err := term.MakeRaw(int(u.in.Fd()))
	if err != nil {
		return "", err
	}
	defer term.Restore(int(u.in.Fd()), state)
	return u.term.ReadLine()
}

func (u *termUI) say(text string) { io.WriteString(u.term, line(text)) }

func (u *termUI) complain(text string) { u.say("\033[0;31m" + line(text) + "\033[0m") }

func (u *termUI) terminal() bool {
	f, ok := u.out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// complete makes the tab key replace the line by what f returns.
func (u *termUI) complete(f func(string) string) {
	u.term.AutoCompleteCallback = func(line string, pos int, key rune) (string, int, bool) {
		if key != '\t' || pos != len(line) {
			return "", 0, false
		}
		done := f(line)
		return done, len(done), done != line
	}
}
