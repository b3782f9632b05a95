package gclog

import (
	"strings"
	"testing"
)

// What shells, go run, make, the kernel, containers and the runtime say of the end is told from what programs say.
func TestEnding(t *testing.T) {
	const cycle = "gc 1 @0.010s 2%: 0.10+1.2+0.05 ms clock, 0.20+0.10/0.90/0.30+0.10 ms cpu, 4->4->1 MB, 4 MB goal, 2 P\n"
	tests := []struct {
		log  string
		how  HowEnded
		text string // "" is no end
	}{
		{cycle + "Killed\n", Killed, "Killed"},
		{cycle + "Killed", Killed, "Killed"},
		{cycle + "./run.sh: line 3: 12345 Killed                  ./server\n$ \n", Killed, "Killed"},
		{cycle + "gc 2 @0.020s 2%: 0.10+1Killed\n", Killed, "Killed"},
		{cycle + "zsh: killed     ./server\n", Killed, "zsh: killed"},
		{cycle + "signal: killed\n", Killed, "signal: killed"},
		{cycle + "make: *** [Makefile:3: run] Killed\n", Killed, "Killed"},
		{cycle + "make: *** [Makefile:3: run] Error 137\n", Killed, "Error 137"},
		{cycle + "Command terminated by signal 9\n", Killed, "terminated by signal 9"},
		{cycle + "app-1 exited with code 137\n", Killed, "exited with code 137"},
		{cycle + "Memory cgroup out of memory: Killed process 4711 (server) total-vm:1kB\nKilled\n", OOMKilled, "out of memory: Killed process 4711"},
		{cycle + "    Reason:       OOMKilled\n    Exit Code:    137\n", OOMKilled, "OOMKilled"},
		{cycle + "runtime: out of memory: cannot allocate 4194304-byte block (1 in use)\nfatal error: out of memory\n", OutOfMemory, "runtime: out of memory"},
		{cycle + "fatal error: runtime: out of memory\n\ngoroutine 1 [running]:\n", OutOfMemory, "fatal error: runtime: out of memory"},
		{cycle + "job 7 was killed by its owner\n", 0, ""},
		{cycle + "Killed 12 idle connections\n", 0, ""},
		{cycle + "jobs Killed\n", 0, ""},
		{cycle + "read 137 rows, memory is fine\n", 0, ""},
		{"Killed\n" + cycle, 0, ""}, // it went on
	}
	for _, tt := range tests {
		log, err := Parse(strings.NewReader(tt.log))
		if err != nil {
			t.Fatal(err)
		}
		e := log.Ending
		switch {
		case e == nil && tt.text == "":
		case e == nil || tt.text == "" || e.How != tt.how || e.Text != tt.text:
			t.Errorf("%q ends with %+v, want %d %q", tt.log[strings.Index(tt.log, cycle):], e, tt.how, tt.text)
		}
	}
}
