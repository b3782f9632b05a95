package gclog

import "testing"

func TestBegins(t *testing.T) {
	const line = "gc 1 @0.001s 4%: 0.009+0.32+0.002 ms clock, 0.018+0.12/0.2/0.1+0.004 ms cpu, 4->4->0 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P"
	for i := 3; i < len(line)-20; i++ { // from some place on, it is a line of an older Go
		if !Begins(line[:i]) && line[i-1] != '.' { // the runtime writes 0.001 at once
			t.Errorf("%q is not the beginning of a line", line[:i])
		}
	}
	for _, s := range []string{"", "gc", "gcc: error", "gc collected", "gc 1 of 3", "x gc 1 @", line} {
		if Begins(s) {
			t.Errorf("%q is the beginning of a line", s)
		}
	}
}
