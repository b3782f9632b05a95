package gocmd

import (
	"slices"
	"strings"
)

// traces are the settings in GODEBUG that have the runtime print to standard error while a program runs.
var traces = []string{"allocfreetrace", "gcpacertrace", "gctrace", "inittrace", "scavtrace", "scheddetail", "schedtrace"}

// Untraced returns a value of GODEBUG without the settings that have the runtime print.
func Untraced(value string) string {
	settings := strings.Split(value, ",")
	rest := slices.DeleteFunc(slices.Clone(settings), func(s string) bool {
		name, _, _ := strings.Cut(s, "=")
		return slices.Contains(traces, name)
	})
	if len(rest) == len(settings) {
		return value
	}
	return strings.Join(rest, ",")
}

// untraced has the go command and the compilers that it runs print nothing that the user wants to know of a program: it keeps what compilers
// print, and prints it again in later builds.
func untraced(env []string) []string {
	const name = "GODEBUG="
	for i := len(env) - 1; i >= 0; i-- { // the last one counts
		value, ok := strings.CutPrefix(env[i], name)
		if !ok {
			continue
		}
		if quiet := Untraced(value); quiet != value {
			env = append(env[:len(env):len(env)], name+quiet)
		}
		break
	}
	return env
}
