// Hone finds what makes a Go program slow, helps to fix it, and proves it.
package main

import (
	"os"

	"github.com/hone-perf/hone/internal/cli"
)

func main() {
	cli.Quiet()
	args := os.Args[1:]
	ctx, stop := cli.Interruptible(args)
	code := cli.Main(ctx, cli.OS(), args)
	stop() // explicitly: os.Exit skips deferred calls
	os.Exit(code)
}
