package bench

import (
	"bytes"
	"cmp"
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"sync"
)

var passed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^PASS\r?$`) })

// Passed reports whether a test program came to its end, by what it wrote to standard output.
func Passed(stdout []byte) bool { return passed().Match(stdout) }

var failure = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(--- FAIL: .*|panic: .*|fatal error: .*|.*_test\.go:\d+: .*)$`)
})

// WhyFailed says in a line why a test program failed, by what it wrote.
func WhyFailed(err error, outs ...[]byte) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err // it did not fail by itself
	}
	for _, out := range outs {
		if lines := failure().FindAll(out, 3); len(lines) > 0 {
			return errors.New(string(bytes.Join(trimmed(lines), []byte("; "))))
		}
	}
	var last string
	if len(outs) > 0 {
		last = strings.TrimSpace(string(outs[len(outs)-1]))
		last = last[strings.LastIndexByte(last, '\n')+1:]
	}
	return errors.New(cmp.Or(last, err.Error()))
}

func trimmed(lines [][]byte) [][]byte {
	for i, l := range lines {
		lines[i] = bytes.TrimSpace(l)
	}
	return lines
}
