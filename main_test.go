package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	if os.Getenv("HONE_TEST_EXEC") != "" {
		main() // tests run the command by running themselves
		return
	}
	testscript.Main(m, map[string]func(){"hone": main})
}
