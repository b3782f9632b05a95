package main

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv("HONE_TEST_EXEC") != "" {
		main() // tests run the command by running themselves
		return
	}
	os.Exit(m.Run())
}
