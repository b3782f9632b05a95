package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/tui"
)

// The flags about flame graphs.
const (
	interactiveFlag = "interactive"
	flameFlag       = "flame"
	darkFlag        = "dark"
	upFlag          = "up"
)

// flameFlags adds them to the commands that have flame graphs.
func flameFlags(cmd *cobra.Command) {
	switch cmd.Name() {
	case "flame":
		cmd.Flags().BoolP(interactiveFlag, "i", false, "explore the graph with keys and mouse, in the whole terminal")
	case "diff":
		cmd.Flags().Bool(flameFlag, false, "show the difference as a flame graph")
	case "dot":
		cmd.Flags().Bool(darkFlag, false, "draw on a dark background (default light; SVG follows the reader's theme)")
		return
	default:
		return
	}
	cmd.Flags().Bool(darkFlag, false, "draw on a dark background (default light; SVG and HTML follow the reader's theme)")
	cmd.Flags().Bool(upFlag, false, "draw the graph growing upwards, from callers to callees")
}

// painted returns o with what the flags about pictures say, and refuses them where no picture is made.
func painted(cmd *cobra.Command, out output) (output, error) {
	out.opt.Dark, _ = cmd.Flags().GetBool(darkFlag)
	out.opt.Up, _ = cmd.Flags().GetBool(upFlag)
	for name, on := range map[string]bool{darkFlag: out.opt.Dark, upFlag: out.opt.Up} {
		if on && !out.pictured() {
			return out, usagef("-o flame.svg makes one; so do .png and .html", "--%s is only for pictures", name)
		}
	}
	return out, nil
}

// asFlame reports whether the answer of another command is to be shown as a flame graph.
func asFlame(cmd *cobra.Command) bool {
	on, _ := cmd.Flags().GetBool(flameFlag)
	return on
}

// isInteractive reports whether cmd is to be walked through, and refuses where that cannot be.
func isInteractive(cmd *cobra.Command, sys *System, out output) (bool, error) {
	on, _ := cmd.Flags().GetBool(interactiveFlag)
	if !on {
		return false, nil
	}
	if out.file != "" {
		return true, usagef("use only one of them", "-i shows the flame graph on the terminal, -o writes it to %s", quoted(out.file))
	}
	if out.format != "terminal" && out.format != "text" {
		return true, usagef("use only one of them", "-i and --%s cannot be used together", out.format)
	}
	in, _, err := terminals(sys)
	if err == nil && in != sys.In {
		in.Close()
	}
	return true, err
}

// errNoTerminal is for where there is nobody to press keys.
var errNoTerminal = usagef("drop -i for a flame graph in text, or draw a picture with -o flame.svg",
	"-i needs a terminal to show the flame graph on and to read keys from")

// terminals returns the terminal to write to and the one to read keys from: standard input may be a profile.
func terminals(sys *System) (in, out *os.File, err error) {
	if sys.Env("TERM") != "dumb" {
		if in, out, ok := tui.Terminals(sys.In, sys.Out); ok {
			return in, out, nil
		}
	}
	return nil, nil, errNoTerminal
}

// walk shows a flame graph that can be walked through.
func walk(cmd *cobra.Command, sys *System, out output, in []*recording.Recording, q query.Query) error {
	f, err := tui.NewFlame(in, q, out.opt)
	if err != nil {
		return fmt.Errorf("%s: %w", in[0].Ref, err)
	}
	keys, to, err := terminals(sys)
	if err != nil {
		return err
	}
	if keys != sys.In {
		defer keys.Close()
	}
	return f.Run(cmd.Context(), keys, to)
}
