package profile

import (
	"fmt"
	"strings"
	"testing"
)

// TestNamed reads texts of net/http/pprof with debug=1.
func TestNamed(t *testing.T) {
	const wait = "#\t0x1a\tmain.wait+0x2a\t\t/app/wait.go:12\n"
	for _, tt := range []struct{ name, in, want string }{
		{"names", "goroutine profile: total 2\n2 @ 0x5 0x1b 0x2b 0x9\n" + wait + "#\t0x2a\tmain.main+0x3\tC:/app/main.go:7\n",
			"runtime.(unnamed) main.wait@/app/wait.go:12 main.main@C:/app/main.go:7 runtime.(unnamed)"},
		{"inlined", "goroutine profile: total 1\n1 @ 0x1b\n#\t0x1a\tmain.in+0x2a\t/a.go:1\n#\t0x1a\tmain.out+0x2a\t/a.go:2\n", "main.in@/a.go:1,main.out@/a.go:2"},
		{"recursion", "goroutine profile: total 1\n1 @ 0x1b 0x1b\n" + wait + wait, "main.wait@/app/wait.go:12 main.wait@/app/wait.go:12"},
		{"met again", "goroutine profile: total 2\n1 @ 0x1b\n" + wait + "\n1 @ 0x1b 0x1b\n#\t0x1a\tmain.other+0x1\t/b.go:1\n",
			"main.wait@/app/wait.go:12 | main.wait@/app/wait.go:12 main.wait@/app/wait.go:12"},
		{"not known", "goroutine profile: total 1\n1 @ 0x6 0x1b\n#\t0x5\n" + wait, "? main.wait@/app/wait.go:12"},
		{"generic, and a carriage return", "goroutine profile: total 1\r\n1 @ 0x1b\r\n#\t0x1a\tmain.of[...].get+0x2a\t/a b.go:1\r\n", "main.of[...].get@/a b.go:1"},
		{"a stack of which nothing is named", "goroutine profile: total 2\n1 @ 0x1b\n" + wait + "\n1 @ 0x7\n", "main.wait@/app/wait.go:12 | ?"},
		{"heap", "heap profile: 1: 8 [1: 8] @ heap/1048576\n1: 8 [1: 8] @ 0x5 0x1b\n" + wait, "runtime.(unnamed) main.wait@/app/wait.go:12"},
		{"no names", "goroutine profile: total 1\n1 @ 0x1b\n", "?"},
		{"other comments", "goroutine profile: total 1\n1 @ 0x1b\n#\t0x1a\tmain\n#\t0xzz\tmain.a+0x1\t/a.go:1\n#\t0x1a\tmain.a+0x1\t/a.go:x\n#\t0x1a\t+0x1\t:1\n# a\n", "?"},
	} {
		p, err := ParseBytes([]byte(tt.in))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := strings.Trim(namesOf(p), "? |"); got != "" {
			t.Errorf("%s: without names asked for, there are %q", tt.name, got)
		}
		if got := namesOf(p.Named()); got != tt.want {
			t.Errorf("%s:\n%q has the stacks\n%s\nwant\n%s", tt.name, tt.in, got, tt.want)
		}
	}
}

func namesOf(p *Profile) string {
	var stacks []string
	for i := range p.NumSamples() {
		var frames []string
		for _, at := range p.Stack(i, nil) {
			var lines []string
			for _, l := range p.Locations[at].Lines {
				f := p.Functions[l.Function]
				if name := f.Name; f.File != "" {
					lines = append(lines, fmt.Sprintf("%s@%s:%d", name, f.File, l.Line))
				} else {
					lines = append(lines, name)
				}
			}
			if len(lines) == 0 {
				lines = []string{"?"}
			}
			frames = append(frames, strings.Join(lines, ","))
		}
		stacks = append(stacks, strings.Join(frames, " "))
	}
	return strings.Join(stacks, " | ")
}
