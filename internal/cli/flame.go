package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/tui"
)

// The flags of flame graphs.
const (
	interactiveFlag = "interactive"
	flameFlag       = "flame"
	darkFlag        = "dark"
	upFlag          = "up"
)

// flameFlags adds these flags to a command that can draw flame graphs.
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

// painted returns o with the values of the flags about pictures. It returns an error if one is set but no picture is written.
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

// asFlame reports whether a command other than flame is to draw its answer as a flame graph.
func asFlame(cmd *cobra.Command) bool {
	on, _ := cmd.Flags().GetBool(flameFlag)
	return on
}

// isInteractive reports whether to open the interactive flame graph. It returns an error if that is impossible here.
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

// errNoTerminal means that there is no terminal to read keys from.
var errNoTerminal = usagef("drop -i for a flame graph in text, or draw a picture with -o flame.svg",
	"-i needs a terminal to show the flame graph on and to read keys from")

// terminals returns the terminal to write to, and the one to read keys from, because standard input may be a profile.
func terminals(sys *System) (in, out *os.File, err error) {
	if sys.Env("TERM") != "dumb" {
		if in, out, ok := tui.Terminals(sys.In, sys.Out); ok {
			return in, out, nil
		}
	}
	return nil, nil, errNoTerminal
}

// walk opens the interactive flame graph.
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
