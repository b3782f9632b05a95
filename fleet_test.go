package main

import (
	"testing"

	"github.com/hone-perf/hone/internal/testrun"
)

// TestPyroscopeClients lets the Go SDK of Pyroscope and the client that Grafana and profilecli are built on talk to the fleet server. They
// are in a module of their own, so that those who use hone do not depend on them.
func TestPyroscopeClients(t *testing.T) {
	t.Parallel()
	testrun.Nightly(t, "builds the clients of Pyroscope")
	goCommand(t, "-C", "tools/pyroscope", "mod", "tidy", "-diff")
	goCommand(t, "-C", "tools/pyroscope", "test", "-vet=all", "-ldflags=-w", "./...")
}
