package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/fleet"
	"github.com/hone-perf/hone/internal/fleet/event"
	"github.com/hone-perf/hone/internal/source"
)

func eventsCommand(sys *System) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "events [SERVICE]",
		Short: "Show what happened to services",
		Long: `Show what happened to the services in a store, the newest first: functions that cost more or less
than before, deployed versions, broken rules, processes that were restarted or
killed, and the recordings that hone took at that time.

Kinds of events are ` + event.KindNames() + `.`,
		Example: "  hone events\n  hone events api --last 7d --kind change,deploy",
		GroupID: groupWatch,
	}
	if !sys.names(cmd) {
		return cmd
	}
	last := 24 * time.Hour
	cmd.Flags().Var(&ageFlag{&last}, "last", "show events of the last `TIME` (default 1d)")
	var kinds []string
	cmd.Flags().Var(&kindsFlag{&kinds}, "kind", "show only events of these `KIND`s")
	limit := cmd.Flags().Int("limit", 50, "show at most `N` events")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usagef("", "events takes one service, and not %s", quoted(args[1]))
		}
		out, err := outputOf(cmd, sys)
		if err != nil {
			return err
		}
		q := url.Values{"last": {last.String()}, "kind": kinds, "limit": {strconv.Itoa(*limit)}, "service": args}
		resp, err := source.AskStore(cmd.Context(), "", http.MethodGet, "api/v1/events", q, nil)
		if err != nil {
			if len(args) > 0 {
				err = source.NoService(args[0], err)
			}
			return err
		}
		defer resp.Body.Close()
		var found fleet.Happened
		if err := json.NewDecoder(resp.Body).Decode(&found); err != nil {
			return fmt.Errorf("the answer of the store: %w", err)
		}
		found.From, found.To = found.From.In(sys.Zone), found.To.In(sys.Zone)
		return out.write(sys, found.Report())
	}
	return cmd
}
