//go:build unix

package cli

import (
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/hone-perf/hone/internal/gocmd"
)

// quietDebug holds GODEBUG for the hone that Quiet starts.
const quietDebug = "HONE_GODEBUG"

// Quiet keeps the runtime of hone itself from printing what GODEBUG asks for, such as gctrace=1: the user wants to know that of the programs that
// hone runs, and could not tell them apart. The runtime reads these settings only when it starts, so hone starts again in this process, without
// them, and hands them on. If it cannot, it goes on as it is.
func Quiet() {
	if value, ok := os.LookupEnv(quietDebug); ok {
		os.Unsetenv(quietDebug)
		os.Setenv("GODEBUG", value)
		return
	}
	value := os.Getenv("GODEBUG")
	quiet := gocmd.Untraced(value)
	self, err := os.Executable()
	if quiet == value || err != nil {
		return
	}
	env := slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "GODEBUG=") })
	syscall.Exec(self, os.Args, append(env, "GODEBUG="+quiet, quietDebug+"="+value))
}
