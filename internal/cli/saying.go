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

// A saying shows progress on standard error. On a terminal, each message replaces the line of the one before. Elsewhere it writes a line every ten
// seconds, so that readers of a log know that hone is still working.
type saying struct {
	sys      *System
	terminal bool
	dots     string // after a message

	mu      sync.Mutex
	doing   string // "" is no message
	began   time.Time
	ticking bool
}

// sayEvery is the time between lines if standard error is not a terminal.
const sayEvery = 10 * time.Second

func newSaying(sys *System) *saying {
	s := &saying{sys: sys, terminal: width(sys.Err) > 0, dots: "…"}
	if !utf8Locale(sys) {
		s.dots = "..."
	}
	return s
}

// now sets the progress message. "" removes it, for example before other output.
func (s *saying) now(doing string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if doing == "recording" {
		doing = "" // the program uses standard error
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
	line := "hone: " + s.doing + s.dots
	// The next message could not replace a line that wraps.
	if room := width(s.sys.Err) - 1; room > 1 && utf8.RuneCountInString(line) > room {
		line = string([]rune(line)[:max(room-len([]rune(s.dots)), 0)]) + s.dots
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
		fmt.Fprintf(s.sys.Err, "%shone: %s%s (%s)\n", mark, s.doing, s.dots, unit.Time(time.Since(s.began).Truncate(time.Second)))
		time.AfterFunc(sayEvery, s.tick)
	}
}
