package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/mcp"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/source/gosrc"
)

func mcpCommand(sys *System) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Offer hone as tools to editors and agents (Model Context Protocol)",
		Long: `Answer the Model Context Protocol on standard input and output, for editors and agents that call tools: record,
look, advise, fix, prove, compare.

Tools work in the folder that hone mcp was started in. They build, run and change nothing outside of it, and open no
recordings there but those that advise made of the benchmarks it ran. Whatever files a profile names, they show only source files of the folder, of the Go installation
and of the module cache, and those inside of a recording. Tools ask only the servers of this machine, unless --network
is given, and one store: the one of --store. The fix tool writes files only when it is told to apply.

Tools that record, prove and compare run the programs in the folder, with your rights. Start hone mcp where you would
also let the agent run go test.`,
		Example: "  hone mcp\n  hone mcp --store https://hone.example.com\n  claude mcp add hone -- hone mcp\n  code --add-mcp '{\"name\":\"hone\",\"command\":\"hone\",\"args\":[\"mcp\"]}'",
		GroupID: groupOther,
	}
	if !sys.names(cmd) {
		return cmd
	}
	network := cmd.Flags().Bool("network", false, "tools may also ask the servers of other machines")
	store := cmd.Flags().String("store", "", "use the store at `URL` for store: refs (default HONE_STORE, or http://127.0.0.1:4040)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usagef("it works in the folder that it is started in", "mcp takes no %s", quoted(args[0]))
		}
		if u, err := url.Parse(*store); *store != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
			return usagef("an address looks like "+source.UsualStore, "--store: %s is not the address of a store", quoted(*store))
		}
		program, err := os.Executable()
		if err != nil {
			return err
		}
		folder, err := filepath.Abs(sys.Dir)
		if err != nil {
			return err
		}
		env := append(os.Environ(), gosrc.WithinVariable+"="+folder, readerVariable+"="+readerTools)
		if *store != "" {
			env = append(env, source.StoreVariable+"="+*store)
		}
		runs, _ := runsFolder() // without a folder, recordings are not kept
		err = mcp.Serve(cmd.Context(), mcp.Options{
			Folder: sys.Dir, Runs: runs, Version: version(), Network: *network, Store: cmp.Or(*store, os.Getenv(source.StoreVariable)),
			Run: func(ctx context.Context, args []string, out, said io.Writer) (int, error) {
				return runSelf(ctx, program, sys.Dir, env, args, out, said)
			},
		}, io.NopCloser(sys.In), nopCloser{sys.Out})
		if errors.Is(err, io.EOF) || cmd.Context().Err() != nil {
			return nil // the client has disconnected
		}
		return err
	}
	return cmd
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// runSelf runs hone as a child process and returns its exit code.
func runSelf(ctx context.Context, program, dir string, env, args []string, out, said io.Writer) (int, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, out, said
	var end os.Signal = os.Interrupt
	if signal.Ignored(end) {
		end = syscall.SIGTERM // background jobs of shells ignore SIGINT, and so do their child processes
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(end) } // the child prints what it has, and cleans up
	cmd.WaitDelay = 15 * time.Second                             // longer than the child waits for a program that it ends
	err := cmd.Run()
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return exitInterrupted, nil
	case errors.As(err, &ended):
		return ended.ExitCode(), nil
	}
	return 0, err
}
