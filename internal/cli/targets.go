package cli

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/source"
)

func targetsCommand(sys *System) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "targets",
		Short: "Show which targets of hone serve fail, and why",
		Long: `Show from which processes hone serve --config cannot fetch profiles, since when, and why. Jobs that
find no targets are listed as well.`,
		Example: "  hone targets\n  hone targets --json",
		GroupID: groupWatch,
	}
	if !sys.names(cmd) {
		return cmd
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usagef("", "targets takes no arguments, but got %s", quoted(args[0]))
		}
		out, err := outputOf(cmd, sys)
		if err != nil {
			return err
		}
		resp, err := source.AskStore(cmd.Context(), "", http.MethodGet, "api/v1/fleet/targets", nil, nil)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		var found report.Targets
		if err := json.NewDecoder(resp.Body).Decode(&found); err != nil {
			return fmt.Errorf("reading the answer of the store: %w", err)
		}
		return out.write(sys, &found)
	}
	return cmd
}
