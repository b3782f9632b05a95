// Package mcp offers the commands of hone to editors and agents, as tools of the Model Context Protocol.
//
// A tool is a command of hone. Its input becomes a command line, which runs as a process of its own in the folder in which the server was
// started. check.go checks the paths and refs that the caller names. Long answers are cut into pages, because editors and agents limit the
// size of an answer.
package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Options say how to serve.
type Options struct {
	Folder  string // that tools work in
	Version string // of hone
	Network bool   // other machines may be asked, too
	Runs    string // the folder where hone keeps recordings of benchmarks that it ran to answer a question
	Store   string // the address that store: refs and links to a shelf go to, besides this machine

	// Run runs a command line of hone in the folder until it ends or the context does, and returns its exit code.
	Run func(ctx context.Context, args []string, out, err io.Writer) (int, error)
}

const instructions = `hone finds what makes a Go program slow, fixes it, and proves it.

Usual order: record a program, its tests or a server; then advise for findings with line, cause and patch, or top, list, flame and
diff to look by yourself; why_alloc for a line; fix to try patches (it writes nothing without apply); prove that a change does the same;
compare to measure it. For latency: record with trace, then requests, request, waits.

Refs name what to look at: files and recordings (.hone) in this folder, servers of this machine such as localhost:6060 (30s of CPU) or
localhost:6060/debug/pprof/profile?seconds=5 or /heap, and store:SERVICE@-1h where hone serve runs: services lists them. Results say which recording they made; use it as a ref.

Answers say what to ask next as calls: top {"ref": "a.hone"} is the tool top with that input, and {"limit": 50} an input of the same tool. What
begins with hone is for a shell. Long answers come in pages; more reads the next one. Measuring takes a while: for and budget say how long.`

// mostLooks is how many tools may look at once. Others wait.
const mostLooks = 4

type server struct {
	Options
	tools   []*tool
	results results
	life    context.Context // of the server
	alone   chan struct{}   // for what measures: two at once would disturb each other
	looks   chan struct{}

	mu   sync.Mutex
	made map[string]bool // recordings in Runs that calls of this server made
}

func newServer(life context.Context, o Options) *server {
	return &server{
		Options: o, life: life, tools: slices.Concat(knownTools(), []*tool{moreTool}),
		alone: make(chan struct{}, 1), looks: make(chan struct{}, mostLooks), made: map[string]bool{},
	}
}

// An Answer is what each tool says. Some clients show this to their model, and others the text beside it, so each has all of it.
type Answer struct {
	Text      string          `json:"text,omitempty"`
	Result    string          `json:"result,omitempty"` // names it for more
	Page      int             `json:"page"`
	Pages     int             `json:"pages"`
	Outcome   string          `json:"outcome"`             // done, failed, wrong input, gate, undecided, interrupted
	Recording string          `json:"recording,omitempty"` // that was made; it can be used as a ref
	Exit      int             `json:"exit,omitempty"`      // code of the program that was recorded
	Report    json.RawMessage `json:"report,omitempty"`    // where json was asked for and is not too long
}

// outcomes are the exit codes of hone.
var outcomes = map[int]string{0: "done", 1: "failed", 2: "wrong input", 3: "gate", 4: "undecided", 130: "interrupted"}

// The longest that a tool may take.
const (
	longLook = 5 * time.Minute
	longRun  = 30 * time.Minute
)

// call runs a tool. It passes the lines that say how it goes to tell, if that is not nil, one at a time and none after it returns.
func (s *server) call(ctx context.Context, t *tool, input json.RawMessage, tell func(line string)) reply {
	c, err := t.read(s, input)
	if err != nil {
		return refuse(fmt.Errorf("%s: %w", t.name, err))
	}
	if t == moreTool {
		return s.more(c)
	}
	limit, turn := longLook, s.looks
	if t.runs {
		limit, turn = longRun, s.alone
	}
	teller := newTeller(tell, "waiting for another call to end")
	defer teller.end()
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return reply{} // a canceled call gets no answer
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, said := &capped{most: mostText}, &capped{most: mostSaid}
	for _, n := range c.notes {
		fmt.Fprintln(said, n)
	}
	teller.now("running " + t.name)
	lines := &lines{to: said, tell: teller.line}
	code, err := s.Run(ctx, c.args, out, lines)
	lines.end()
	if err != nil {
		return refuse(fmt.Errorf("%s: %w", t.name, err))
	}
	a := Answer{Outcome: outcomes[code], Page: 1}
	if a.Outcome == "" {
		a.Outcome = "failed"
	}
	if c.makes != "" && s.there(c.makes) {
		a.Recording = c.makes
		if ctx.Err() == nil {
			a.Outcome, a.Exit = outcomes[0], code // hone is done; the code is that of the program
		}
	}
	if t.keeps && s.keep(lines.made) {
		a.Recording = lines.made
	}
	text := out.String()
	isReport := c.json && utf8.ValidString(text) && json.Valid([]byte(text))
	if isReport && len(text) <= mostJSON {
		a.Report = json.RawMessage(text)
		return replyWith(plainText(said)+text, a.with(plainText(said)))
	}
	if isReport {
		fmt.Fprintf(said, "note: the report has %d bytes, which is too much for one answer; a smaller limit or filters make it shorter\n", len(text))
	}
	// What a tool says besides is about what went wrong, what it made, and what to do next.
	if !isReport {
		text = plainText(out)
	}
	if notes := plainText(said); notes != "" {
		text = strings.TrimRight(notes, "\n") + "\n" + text
	}
	if ctx.Err() == context.DeadlineExceeded {
		text = fmt.Sprintf("%s was stopped after %d minutes\n", t.name, int(limit.Minutes())) + text
	}
	return s.answer(a, s.results.add(text))
}

// isError reports whether there is no answer, as opposed to one that may not please.
func (a Answer) isError() bool { return a.Outcome == outcomes[1] || a.Outcome == outcomes[2] }

// with returns the answer, of one page, with a text.
func (a Answer) with(text string) Answer {
	a.Text, a.Page, a.Pages = text, 1, 1
	return a
}

// answer returns a page of a result.
func (s *server) answer(a Answer, res *result) reply {
	a.Pages = len(res.pages)
	text := res.pages[a.Page-1]
	if a.Pages > 1 {
		a.Result = res.name
		text += fmt.Sprintf("\n[page %d of %d; more with result %q has the others]\n", a.Page, a.Pages, res.name)
	}
	a.Text = text
	return replyWith(text, a)
}

func (s *server) more(c *call) reply {
	name := c.given["result"][0]
	res := s.results.get(name)
	if res == nil {
		return refuse(fmt.Errorf("more: there is no result %q, or not any more; run the tool again", clip(name)))
	}
	page, err := strconv.Atoi(c.given["page"][0])
	if err != nil || page > len(res.pages) {
		return refuse(fmt.Errorf("more: result %s has pages 1 to %d", res.name, len(res.pages)))
	}
	return s.answer(Answer{Outcome: outcomes[0], Page: page}, res)
}

// refuse returns what is wrong with a call, so that the caller can do better.
func refuse(err error) reply {
	return replyWith(err.Error(), Answer{Outcome: outcomes[2]}.with(err.Error()))
}

// replyWith returns an answer, with a text for callers that show no other form of it.
func replyWith(text string, a Answer) reply {
	return reply{Content: []content{{Type: "text", Text: text}}, Answer: a, IsError: a.isError()}
}
