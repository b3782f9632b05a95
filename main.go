// Hone finds what makes a Go program slow, helps to fix it, and proves it.
package main

import (
	"os"

	"github.com/hone-perf/hone/internal/cli"
)

func main() {
	ctx, stop := cli.Interruptible()
	code := cli.Main(ctx, cli.OS(), os.Args[1:])
	stop() // explicitly: os.Exit skips deferred calls
	os.Exit(code)
}
