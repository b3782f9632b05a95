package main

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	if os.Getenv("HONE_TEST_EXEC") != "" {
		main() // tests run the command by running themselves
		return
	}
	// Most tests wait for other programs, and those for their own: more at a time than there are cores.
	flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0)))
	testscript.Main(m, map[string]func(){"hone": main})
}
