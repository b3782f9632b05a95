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

// demoFolder returns a folder for the profiles of a demo. Main removes it.
func demoFolder() (string, error) { return scratch.Files("demo") }

// demoReach is how far back runDemo looks for the history of an earlier demo.
const demoReach = 400 * 24 * time.Hour

// runDemo sends profiles of the demo services to a server until ctx ends, and prints what to try. It calls ready when the server has a history.
func runDemo(ctx context.Context, sys *System, to *fleet.Server, address string, ready func(), folder string, log *slog.Logger) {
	defer to.Fill(false)
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
		Add: add, Folder: folder, History: history, Began: demo.Beginning(there),
		Ready: func(s demo.Story) { to.Fill(false); ready(); sayDemo(sys, address, s, time.Now()) },
		Deployed: func(d demo.Deployed) {
			fmt.Fprintf(sys.Err, "hone: %s is being deployed: %s follows %s\n", d.Service, d.To, d.From)
		},
	})
	if err != nil {
		log.Error("the demo stopped", "err", err)
	}
}

// sayDemo prints what happened to the demo services, perhaps days ago, and what to try.
func sayDemo(sys *System, address string, s demo.Story, now time.Time) {
	at := func(t time.Time) string {
		if now.Sub(t).Abs() < 12*time.Hour {
			return t.UTC().Format("15:04 UTC")
		}
		return t.UTC().Format("2006-01-02 15:04 UTC")
	}
	next := "gets a new version at "
	if s.Next.Before(now) {
		next = "got a new version at "
	}
	fmt.Fprintf(sys.Out, "\nThe shop became slower with v3 at %s; search %s%s. Try, in another terminal:\n", at(s.Slower), next, at(s.Next))
	if address != source.UsualStore {
		fmt.Fprintf(sys.Out, "  export %s=%s\n", source.StoreVariable, address)
	}
	hours := int(now.Sub(s.Slower)/time.Hour) + 2 // includes some hours before the shop became slower
	fmt.Fprintf(sys.Out, `  hone services
  hone top store:shop
  hone diff --cum --per second 'store:shop{version="v2"}@-%[1]dh' 'store:shop{version="v3"}@-%[1]dh'
`, hours)
}
