package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/fleet"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/open"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/unit"
)

const pushHelp = `Share a recording by a link, or send profiles to a hone server.

With --service, hone sends the profiles of the files to the store of the server, as profiles of that
service. A profile that was sent before is not stored twice. If several processes run at the same
time, give each its own label: --label instance=NAME.

Without --service, hone puts a recording on the shelf of the server and prints a link. The link
opens in a browser, and every command takes it like a file. It works for 90 days, unless --expires
or the server sets another time. hone shelf lists the recordings.

hone finds the server at --to, at the address in HONE_STORE, or at http://127.0.0.1:4040, and
sends the token in HONE_TOKEN.`

// pushFlags are the flags of hone push.
type pushFlags struct {
	to, service, kind string
	labels            []string

	// Flags for recordings on the shelf.
	name, note string
	expires    time.Duration
	forever    bool
}

func pushCommand(sys *System) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "push FILE…",
		Short:   "Share a recording by a link, or send profiles to a store",
		Long:    pushHelp,
		Example: "  hone push server.hone\n  hone push --note 'slow after the deploy' --expires 30d server.hone\n  hone push --service api server.hone\n  hone push --service api --kind cpu --label version=v2 cpu.pprof --to https://profiles.example.com",
		GroupID: groupWatch,
	}
	if !sys.names(cmd) {
		return cmd
	}
	var f pushFlags
	flags := cmd.Flags()
	flags.StringVar(&f.to, "to", "", "send to the server at `URL`")
	flags.StringVar(&f.service, "service", "", "send the profiles to the store, as those of the service `NAME`")
	flags.StringVar(&f.kind, "kind", "", "`KIND` of a profile, if it does not say: cpu, heap, goroutine, mutex, block")
	flags.StringArrayVar(&f.labels, "label", nil, "with --service: add the label `NAME=VALUE` to the profiles (repeatable)")
	flags.StringVar(&f.name, "name", "", "call the shared recording `NAME` (default: as its file)")
	flags.StringVar(&f.note, "note", "", "show `TEXT` with the shared recording")
	flags.Var(&ageFlag{&f.expires}, "expires", "share it for this long (default 90d)")
	flags.BoolVar(&f.forever, "keep-forever", false, "share it until somebody deletes it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		given := func(names ...string) string {
			for _, n := range names {
				if flags.Changed(n) {
					return n
				}
			}
			return ""
		}
		profiles, shared := given("kind", "label"), given("name", "note", "expires", "keep-forever")
		switch {
		case len(args) == 0:
			return usagef("for example: hone push server.hone", "push needs a file")
		case f.service == "" && given("service") != "":
			return usagef("for example: --service api", "--service needs a name")
		case f.service == "" && profiles != "":
			return usagef("for example: --service api", "--%s is for profiles of a service, so push has to know which", profiles)
		case f.service != "" && shared != "":
			return usagef("without --service, the recording is shared by a link", "--%s is for recordings that are shared, and --service for profiles", shared)
		case f.forever && f.expires > 0:
			return usagef("use only one of them", "--keep-forever and --expires can't be combined")
		case f.name != "" && len(args) > 1:
			return usagef("push them one by one", "--name is for one recording, but %d are given", len(args))
		}
		q := url.Values{"service": {f.service}, "label": f.labels}
		if f.kind != "" {
			q.Set("kind", f.kind)
		}
		for _, name := range args {
			if f.service == "" {
				link, err := f.share(cmd.Context(), sys, name)
				if err != nil {
					return err
				}
				fmt.Fprintln(sys.Out, link)
				continue
			}
			said, err := pushFile(cmd.Context(), f.to, q, name)
			if err != nil {
				return err
			}
			fmt.Fprintf(sys.Out, "%s: %s\n", name, said)
		}
		return nil
	}
	return cmd
}

// openFile opens a file to send.
func openFile(name string) (*os.File, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, open.NoFile(name)
	}
	return f, err
}

// share uploads a recording to the shelf of a server, and returns its URL.
func (f *pushFlags) share(ctx context.Context, sys *System, name string) (string, error) {
	in, err := openFile(name)
	if err != nil {
		return "", err
	}
	defer in.Close()
	// Check the limits of the server before uploading.
	st, err := in.Stat()
	switch {
	case err != nil:
		return "", err
	case st.IsDir():
		return "", fmt.Errorf("%s is a folder, but only a recording in one file can be shared", name)
	case !recording.IsRecording(name):
		return "", usagef("hone push --service NAME "+quotedRefs([]string{name})+" sends a profile", "%s is not a hone recording; only recordings are shared by a link", name)
	}
	m, err := recording.Check(in, st.Size(), math.MaxInt64)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if m.KeepSecrets && m.How != recording.Stored {
		note(sys, "%s was recorded with --keep-secrets: everyone with the link can read passwords and tokens in it", name)
	}
	q := url.Values{"name": {cmp.Or(f.name, filepath.Base(name))}}
	if f.note != "" {
		q.Set("note", f.note)
	}
	switch {
	case f.forever:
		q.Set("expires", "never")
	case f.expires > 0:
		q.Set("expires", f.expires.String())
	}
	resp, err := source.AskStore(ctx, f.to, http.MethodPost, "api/v1/shelf", q, in)
	if err != nil {
		return "", fmt.Errorf("sending %s: %w", name, err)
	}
	defer resp.Body.Close()
	var made report.SharedRecording
	if err := json.NewDecoder(resp.Body).Decode(&made); err != nil || made.Link == "" {
		return "", fmt.Errorf("sending %s: the answer of the server is not about a recording: %v", name, err)
	}
	return source.StoreAddress(f.to, made.Link), nil
}

func shelfCommand(sys *System) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "shelf",
		Short: "List shared recordings",
		Long: `List the recordings that hone push has put on the shelf of a server. Their links open in a browser,
and every command takes them like files.

hone shelf rm deletes a recording. Only its owner and admins can.`,
		Example: "  hone shelf\n  hone shelf --json\n  hone shelf rm http://127.0.0.1:4040/shelf/rjq2vmvkzcqbetwk3l5a",
		GroupID: groupWatch,
	}
	if !sys.names(cmd) {
		return cmd
	}
	to := cmd.PersistentFlags().String("to", "", "use the server at `URL`")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usagef("hone shelf rm LINK deletes a recording", "shelf takes no arguments, but got %s", quoted(args[0]))
		}
		out, err := outputOf(cmd, sys)
		if err != nil {
			return err
		}
		resp, err := source.AskStore(cmd.Context(), *to, http.MethodGet, "api/v1/shelf", nil, nil)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		var list report.Shelf
		if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
			return fmt.Errorf("the answer of the server: %w", err)
		}
		for i := range list.Recordings {
			r := &list.Recordings[i]
			r.Link = source.StoreAddress(*to, r.Link)
			if r.Made = r.Made.In(sys.Zone); !r.Expires.IsZero() {
				r.Expires = r.Expires.In(sys.Zone)
			}
		}
		if len(list.Recordings) > 0 {
			list.Next = []hint.Command{hint.Ask("top", list.Recordings[0].Link).For("the hottest functions of the newest")}
		}
		return out.write(sys, &list)
	}
	cmd.AddCommand(&cobra.Command{
		Use:     "rm LINK…",
		Short:   "Delete shared recordings",
		Long:    "Delete recordings from the shelf of a server, by their links or IDs.",
		Example: "  hone shelf rm http://127.0.0.1:4040/shelf/rjq2vmvkzcqbetwk3l5a\n  hone shelf rm rjq2vmvkzcqbetwk3l5a",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("hone shelf lists them", "rm needs a link or an ID")
			}
			for _, link := range args {
				if err := source.Unshare(cmd.Context(), *to, link); err != nil {
					return err
				}
			}
			return nil
		},
	})
	return cmd
}

// pushFile sends a file to a store, and returns the outcome for each of its profiles.
func pushFile(ctx context.Context, to string, q url.Values, name string) (string, error) {
	f, err := openFile(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	resp, err := source.AskStore(ctx, to, http.MethodPost, "api/v1/profiles", q, f)
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
		return unit.Counted(fresh, "profile") + " stored"
	case fresh == 0:
		return unit.Counted(old, "profile") + " stored before"
	}
	return fmt.Sprintf("%s stored, %d stored before", unit.Counted(fresh, "profile"), old)
}

func servicesCommand(sys *System) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "services",
		Short: "Show what the services in a store cost",
		Long: `Show what the services in a store cost: cores, memory and goroutines of all their processes.

The column change compares the cores with those of the time before, which is as long: the last hour
with the hour before it. It is empty if the time before has less than half as many steps with
profiles. In the column version, v1 → v2 says that v2 replaced v1, and v1, v2 that both run.`,
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
			return usagef("hone top store:SERVICE looks at one", "services takes no arguments, but got %s", quoted(args[0]))
		}
		out, err := outputOf(cmd, sys)
		if err != nil {
			return err
		}
		resp, err := source.AskStore(cmd.Context(), "", http.MethodGet, "api/v1/services", url.Values{"last": {last.String()}}, nil)
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
