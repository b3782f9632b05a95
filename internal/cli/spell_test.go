package cli

import (
	"testing"

	"github.com/hone-perf/hone/internal/hint"
)

// The prompt spells questions about its own refs as lines at the prompt, and other commands for a shell.
func TestPromptSpeller(t *testing.T) {
	by := promptSpeller{refs: []string{"a.hone"}}
	for _, test := range []struct {
		in   hint.Command
		want string
	}{
		{hint.Ask("top", "a.hone").With("cum", "").With("metric", "alloc_space"), "top cum metric=alloc_space"},
		{hint.Ask("peek", "a.hone").Of("^main.(*T).run$"), "peek '^main.(*T).run$'"},
		{hint.Ask("top", "a.hone").With("focus", "a b"), "top focus='a b'"},
		{hint.Ask("top", "b.hone"), "hone top b.hone"},
		{hint.Ask("trace", "a.hone"), "hone trace a.hone"},
		{hint.Ask("advise", "a.hone"), "hone advise a.hone"},
		{hint.Ask("top", "a.hone").With("binary", "app"), "hone top --binary app a.hone"},
	} {
		if got := by.Command(test.in); got != test.want {
			t.Errorf("%v is %s, want %s", test.in, got, test.want)
		}
	}
}
