package cli

import (
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/hone-perf/hone/internal/mcp"
	"github.com/hone-perf/hone/internal/render"
	"github.com/hone-perf/hone/internal/unit"
)

// A saying tells on standard error what is being done. On a terminal it does so at once, in a line that the next one replaces. Elsewhere it
// writes a line every ten seconds, so that whoever reads a log knows that hone is still at work.
type saying struct {
	sys      *System
	terminal bool

	mu      sync.Mutex
	doing   string // "" is nothing to tell
	began   time.Time
	ticking bool
}

// sayEvery is how often there is a line where there is no terminal.
const sayEvery = 10 * time.Second

func newSaying(sys *System) *saying { return &saying{sys: sys, terminal: width(sys.Err) > 0} }

// now says what is being done from now on; "" is nothing, or that something else is going to be written.
func (s *saying) now(doing string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if doing == "recording" {
		doing = "" // the program has standard error
	}
	s.doing = render.Message(doing)
	switch {
	case s.terminal:
		s.show()
	case doing == "":
	case s.began.IsZero():
		s.began = time.Now()
		fallthrough
	default:
		if !s.ticking {
			s.ticking = true
			time.AfterFunc(sayEvery, s.tick)
		}
	}
}

func (s *saying) show() {
	fmt.Fprint(s.sys.Err, "\r\033[K")
	if s.doing == "" {
		return
	}
	line := "hone: " + s.doing + "…"
	// What wraps would stay when the next line comes.
	if room := width(s.sys.Err) - 1; room > 1 && utf8.RuneCountInString(line) > room {
		line = string([]rune(line)[:room-1]) + "…"
	}
	fmt.Fprint(s.sys.Err, line)
}

func (s *saying) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ticking = s.doing != ""; s.ticking {
		mark := ""
		if s.sys.forTools() {
			mark = mcp.Progress
		}
		fmt.Fprintf(s.sys.Err, "%shone: %s… (%s)\n", mark, s.doing, unit.Time(time.Since(s.began).Truncate(time.Second)))
		time.AfterFunc(sayEvery, s.tick)
	}
}
