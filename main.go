// Hone finds what makes a Go program slow, helps to fix it, and proves it.
package main

import (
	"context"
	"os"
	"os/signal"

	"github.com/hone-perf/hone/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // who asks twice does not want to wait
	code := cli.Main(ctx, cli.OS(), os.Args[1:])
	stop() // explicitly: os.Exit skips deferred calls
	os.Exit(code)
}
