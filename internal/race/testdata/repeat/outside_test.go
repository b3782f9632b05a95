package repeat_test

import (
	"testing"

	"example.com/repeat"
)

func TestRun(t *testing.T) {
	type env struct{ with string }
	e := env{", "}
	program, ok := repeat.Compile(repeat.NewData("let let=a b"))
	if !ok {
		t.Fatal("it does not compile")
	}
	got := repeat.Run(program, e.with)
	if got != "a, b" {
		t.Error(got)
	}
}
