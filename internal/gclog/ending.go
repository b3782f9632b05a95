package gclog

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// An Ending is what a log says about how the program ended, after its last cycle.
type Ending struct {
	How  HowEnded
	Line int    // in the log; 0 when it was seen by other means
	Text string // of the line, or the part of it that says so
}

// HowEnded is by what a program was ended.
type HowEnded int

// The ends that have to do with memory.
const (
	Killed      HowEnded = iota // with SIGKILL, by whomever
	OOMKilled                   // by the kernel or a container, for want of memory
	OutOfMemory                 // the runtime got no memory, and gave up
)

// endings are what shells, go run, make, the kernel, containers and the runtime say. A word that programs use themselves, such as
// killed, counts only in the form that those give it.
var endings = sync.OnceValue(func() []ending {
	return []ending{
		{OutOfMemory, regexp.MustCompile(`^(?:fatal error: )?runtime: (?:out of memory|cannot allocate memory)`)},
		{OOMKilled, regexp.MustCompile(`\bOOMKilled\b|[Oo]ut of memory: Killed process \d+|\boom-kill:|\boom_reaper:`)},
		{Killed, regexp.MustCompile(`(?:^|[^A-Za-z ] ?)Killed(?:$|\s{2,}| \(core dumped\))|^zsh: killed\b|\bsignal: killed$|\b[Tt]erminated by signal 9\b|` +
			`\b(?:exit status|exit code|exited with code|Error) 137\b`)},
	}
})

type ending struct {
	how  HowEnded
	said *regexp.Regexp
}

// end looks for the end of the program in a line that is not, or not all, about garbage collection.
func (p *Parser) end(s string) {
	const longest = 400
	s = strings.TrimSpace(s)
	if len(s) > longest {
		s = s[len(s)-longest:] // of a line that was cut short, the end
	}
	if !strings.Contains(s, "illed") && !strings.Contains(s, "memory") && !strings.Contains(s, "137") && !strings.Contains(s, "signal 9") && !strings.Contains(s, "oom") {
		return
	}
	for _, e := range endings() {
		m := e.said.FindString(s)
		if m == "" {
			continue
		}
		if p.log.Ending == nil || e.how > p.log.Ending.How {
			p.log.Ending = &Ending{How: e.how, Line: p.log.Lines, Text: strings.TrimSpace(strings.TrimLeftFunc(m, notLetter))}
		}
		return
	}
}

func notLetter(r rune) bool { return !unicode.IsLetter(r) }
