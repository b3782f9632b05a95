package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hone-perf/hone/internal/fleet"
	"github.com/hone-perf/hone/internal/fleet/demo"
	"github.com/hone-perf/hone/internal/fleet/token"
	"github.com/hone-perf/hone/internal/scratch"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/store"
)

// demoFolder returns a folder for the profiles of a demo, which Main removes.
func demoFolder() (string, error) { return scratch.Files("demo") }

// demoReach is how far back a fleet is looked for that goes on.
const demoReach = 400 * 24 * time.Hour

// runDemo lets the services of the demo send to a server until a context ends, and says what to try. It calls ready when there is a history.
func runDemo(ctx context.Context, sys *System, to *fleet.Server, address string, ready func(), log *slog.Logger) {
	add := func(ctx context.Context, uploads []*store.Upload) error {
		outcomes, err := to.Add(ctx, token.DefaultTenant, uploads)
		for _, outcome := range outcomes {
			err = errors.Join(err, outcome.Err)
		}
		return err
	}
	there, err := to.Store.Series(ctx, store.Query{Tenant: token.DefaultTenant, From: time.Now().Add(-demoReach), To: time.Now()})
	if err != nil {
		log.Error("looking for the history of the demo", "err", err)
		return
	}
	history := len(there) == 0
	if history {
		fmt.Fprintln(sys.Err, "hone: making three days of profiles of three practice services")
	}
	err = demo.Run(ctx, demo.Options{
		Add: add, History: history, Began: demo.Beginning(there),
		Ready: func() { ready(); sayDemo(sys, address) },
		Deployed: func(d demo.Deployed) {
			fmt.Fprintf(sys.Err, "hone: %s is being deployed: %s follows %s\n", d.Service, d.To, d.From)
		},
	})
	if err != nil {
		log.Error("the demo stopped", "err", err)
	}
}

func sayDemo(sys *System, address string) {
	fmt.Fprintln(sys.Out, "\nThe shop became slower with v3, 40 minutes ago; search gets a new version in 3 minutes. Try, in another terminal:")
	if address != source.UsualStore {
		fmt.Fprintf(sys.Out, "  export %s=%s\n", source.StoreVariable, address)
	}
	fmt.Fprintln(sys.Out, `  hone services
  hone top store:shop
  hone diff --cum --normalize 'store:shop{version="v2"}@-2h' 'store:shop{version="v3"}@-2h'`)
}
