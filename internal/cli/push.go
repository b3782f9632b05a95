package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/fleet"
	"github.com/hone-perf/hone/internal/source"
)

func pushCommand(sys *System) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "push FILE…",
		Short: "Send profiles and recordings to a store",
		Long: `Send profiles and recordings to a hone server, as profiles of a service.

hone finds the server at --to, at the address in HONE_STORE, or at http://127.0.0.1:4040, and
sends the token in HONE_TOKEN. The server does not store a profile twice.`,
		Example: "  hone push --service api server.hone\n  hone push --service api --kind cpu --label version=v2 cpu.pprof --to https://profiles.example.com",
		GroupID: groupWatch,
	}
	if !sys.names(cmd) {
		return cmd
	}
	to := cmd.Flags().String("to", "", "send to the server at `URL`")
	service := cmd.Flags().String("service", "", "send them as profiles of the service `NAME`")
	kind := cmd.Flags().String("kind", "", "kind of a profile, if it does not say: `cpu`, heap, goroutine, mutex, block")
	labels := cmd.Flags().StringArray("label", nil, "label of the profiles: `NAME=VALUE` (repeatable)")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef("for example: hone push --service api server.hone", "push needs a file")
		}
		if *service == "" {
			return usagef("for example: --service api", "push has to know whose profiles these are")
		}
		q := url.Values{"service": {*service}, "label": *labels}
		if *kind != "" {
			q.Set("kind", *kind)
		}
		for _, name := range args {
			said, err := pushFile(*to, q, name)
			if err != nil {
				return err
			}
			fmt.Fprintf(sys.Out, "%s: %s\n", name, said)
		}
		return nil
	}
	return cmd
}

// pushFile sends a file to a store, and returns what became of its profiles.
func pushFile(to string, q url.Values, name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	resp, err := source.AskStore(to, http.MethodPost, "api/v1/profiles", q, f)
	if err != nil {
		return "", fmt.Errorf("sending %s: %w", name, err)
	}
	defer resp.Body.Close()
	var answer struct {
		Profiles []struct {
			Kind     string
			Repeated bool
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return "", fmt.Errorf("sending %s: the answer of the store: %w", name, err)
	}
	fresh, old := 0, 0
	for _, p := range answer.Profiles {
		if p.Repeated {
			old++
		} else {
			fresh++
		}
	}
	return sent(fresh, old), nil
}

func sent(fresh, old int) string {
	switch {
	case old == 0:
		return counted(fresh, "profile") + " stored"
	case fresh == 0:
		return counted(old, "profile") + " stored before"
	}
	return fmt.Sprintf("%s stored, %d stored before", counted(fresh, "profile"), old)
}

func servicesCommand(sys *System) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "services",
		Short: "Show what the services in a store cost",
		Long: `Show what the services in a store cost: cores, memory and goroutines of all their processes.

The change compares cores in the second half of the time with the first half.`,
		Example: "  hone services\n  hone services --last 24h --json",
		GroupID: groupWatch,
	}
	if !sys.names(cmd) {
		return cmd
	}
	last := time.Hour
	cmd.Flags().Var(&ageFlag{&last}, "last", "show the last `TIME` (default 1h)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usagef("hone top store:SERVICE looks at one", "services takes no %s", quoted(args[0]))
		}
		out, err := outputOf(cmd, sys)
		if err != nil {
			return err
		}
		resp, err := source.AskStore("", http.MethodGet, "api/v1/services", url.Values{"last": {last.String()}}, nil)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		var costs fleet.Costs
		if err := json.NewDecoder(resp.Body).Decode(&costs); err != nil {
			return fmt.Errorf("the answer of the store: %w", err)
		}
		costs.From, costs.To = costs.From.In(sys.Zone), costs.To.In(sys.Zone)
		return out.write(sys, costs.Report())
	}
	return cmd
}
