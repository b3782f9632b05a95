package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hone-perf/hone/internal/fleet"
	"github.com/hone-perf/hone/internal/fleet/event"
	"github.com/hone-perf/hone/internal/fleet/notice"
	"github.com/hone-perf/hone/internal/fleet/receive"
	"github.com/hone-perf/hone/internal/fleet/rule"
	"github.com/hone-perf/hone/internal/fleet/scrape"
	"github.com/hone-perf/hone/internal/fleet/shelf"
	"github.com/hone-perf/hone/internal/fleet/token"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/store/clickhouse"
	"github.com/hone-perf/hone/internal/store/disk"
	"github.com/hone-perf/hone/internal/unit"
	"github.com/hone-perf/hone/internal/web"
)

const serveHelp = `Collect the profiles of many processes, and query all of them over time.

Processes and agents push profiles. Pyroscope SDKs and Alloy take the address of hone
in place of Pyroscope's; everything else can use curl or hone push.

With --config, hone scrapes programs that serve net/http/pprof, the way Prometheus scrapes
metrics. The file also has rules, actions and the limits of tenants. SIGHUP makes hone read it
again.

Every command can read the store, as store:SERVICE@TIME:

  hone top store:api@-1h
  hone top 'store:api{version="v2"}@-2h..now' --base 'store:api{version="v1"}@-2h..now'
  hone web store:api@2026-09-01T10:00..2026-09-01T11:00

Commands find the store at http://127.0.0.1:4040, or at the address in HONE_STORE, and send the
token in HONE_TOKEN. If its certificate is from an authority of your own, HONE_CA names the file
with the certificate of that authority.

Without tokens, hone serve only listens on this machine. hone serve token NAME makes a token, in
the folder that --data names.

hone keeps single profiles for --keep, hourly sums for --keep-hours, and daily sums for
--keep-days. These times begin at the end of a day (UTC), since profiles become sums a whole day
at a time: with --keep 12h, hone has the single profiles of a day until noon of the next one.
When the folder exceeds --max-size, hone removes the oldest days.

With --store, any number of servers can share one ClickHouse database.

With --demo, it starts with three days of profiles of three practice services. A deploy made one
of them slower.`

// tokensFile is the file of tokens, in the folder of the store.
const tokensFile = "tokens.json"

// eventsFile is the log of events of services, in the folder of the store.
const eventsFile = "events.jsonl"

// usualData is the default folder of the store.
const usualData = "hone-data"

func serveCommand(sys *System) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "serve",
		Short:   "Collect and store the profiles of many services",
		Long:    serveHelp,
		Example: "  hone serve\n  hone serve token ci --scope write --data /var/lib/hone\n  hone serve --data /var/lib/hone --listen :4040\n  hone serve check --data /var/lib/hone",
		GroupID: groupWatch,
	}
	if !sys.names(cmd) {
		return cmd
	}
	data := cmd.Flags().String("data", usualData, "keep the profiles in `DIR`")
	listen := cmd.Flags().String("listen", strings.TrimPrefix(source.UsualStore, "http://"), "listen on `HOST:PORT`")
	config := cmd.Flags().String("config", "", "scrape the targets in `FILE`")
	hosts := hostFlag(cmd.Flags(), "answer only requests for these host `NAME`s (default: any, if there are tokens)")
	cert := cmd.Flags().String("tls-cert", "", "serve HTTPS with the certificate in `FILE`")
	key := cmd.Flags().String("tls-key", "", "private key of the certificate, in `FILE`")
	database := cmd.Flags().String("store", "", "keep profiles in ClickHouse, at `URL`: clickhouse://USER:PASSWORD@HOST:8123/DATABASE")
	demo := cmd.Flags().Bool("demo", false, "show a small fleet of practice services, in a temporary folder unless --data is given")
	o := disk.Defaults
	cmd.Flags().Var(&ageFlag{&o.Detail}, "keep", "keep single profiles for this long after the end of their day (default 7d)")
	cmd.Flags().Var(&ageFlag{&o.Hours}, "keep-hours", "keep hourly sums for this long (default 30d, or --keep if that is longer)")
	cmd.Flags().Var(&ageFlag{&o.Days}, "keep-days", "keep daily sums for this long (default 400d, or --keep-hours if that is longer)")
	cmd.Flags().Var(&sizeFlag{&o.Bytes}, "max-size", "use at most this much disk space (default 20GB)")
	shared := shelf.Defaults
	cmd.Flags().Var(&sizeFlag{&shared.Bytes}, "shelf-size", "for each tenant, keep at most this much of the recordings shared with hone push (default 5GB)")
	cmd.Flags().Var(&ageFlag{&shared.Keep}, "shelf-keep", "keep shared recordings for this long, unless hone push sets --expires (default 90d)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usagef("hone serve --help lists its flags", "serve takes no arguments, but got %s", quoted(args[0]))
		}
		if (*cert == "") != (*key == "") {
			return usagef("", "--tls-cert and --tls-key go together")
		}
		if err := checkHosts(*hosts); err != nil {
			return err
		}
		if err := checkKept(cmd.Flags(), &o, *database); err != nil {
			return err
		}
		if *demo && *database != "" {
			return usagef("", "--demo keeps its profiles in a folder: it cannot be used with --store")
		}
		if *demo && !cmd.Flags().Changed("data") {
			var err error
			if *data, err = demoFolder(); err != nil {
				return err
			}
		}
		return serve(cmd.Context(), sys, serving{*data, *listen, *database, *config, *hosts, *cert, *key, o, *demo, shared})
	}
	cmd.AddCommand(tokenCommand(sys), checkCommand(sys))
	return cmd
}

// leastSize is the least disk space in which a store can keep anything for long: some minutes of one service, and its log.
const leastSize = 10 << 20

// checkKept refuses limits of a store that cannot work together. A limit that is not given is never less than the one before it.
func checkKept(flags *pflag.FlagSet, o *disk.Options, database string) error {
	for _, name := range []string{"keep", "keep-hours", "keep-days", "max-size"} {
		if database != "" && flags.Changed(name) {
			return usagef("as in --store 'clickhouse://127.0.0.1:8123/hone?keep=7d&hours=30d&days=400d'", "--%s is for a store in a folder; with --store, the address says how long profiles are kept", name)
		}
	}
	if o.Bytes > 0 && o.Bytes < leastSize {
		return usagef("", "--max-size %s has no room for the profiles of a day; want at least %s", unit.Size(o.Bytes), unit.Size(leastSize))
	}
	for _, c := range []struct {
		name, before string
		is, least    *time.Duration
		what, sooner string
	}{
		{"keep-hours", "keep", &o.Hours, &o.Detail, "hourly sums", "single profiles"}, {"keep-days", "keep-hours", &o.Days, &o.Hours, "daily sums", "hourly sums"},
	} {
		switch {
		case *c.is >= *c.least:
		case !flags.Changed(c.name):
			*c.is = *c.least
		default:
			return usagef("", "--%s %s is less than --%s %s, but %s take the place of %s after that time", c.name, store.Age(*c.is), c.before, store.Age(*c.least), c.what, c.sooner)
		}
	}
	return nil
}

// serving holds the settings of hone serve.
type serving struct {
	data, listen string
	database     string
	config       string
	hosts        []string
	cert, key    string
	disk         disk.Options
	demo         bool
	shelf        shelf.Options
}

func serve(ctx context.Context, sys *System, o serving) error {
	if _, _, err := net.SplitHostPort(o.listen); err != nil {
		return usagef("", "--listen %s: want an address such as 127.0.0.1:4040 or :4040", quoted(o.listen))
	}
	secured, err := o.secured()
	if err != nil {
		return err
	}
	tokens, err := token.Open(filepath.Join(o.data, tokensFile))
	if err != nil {
		return err
	}
	if err := token.MayListen(o.listen, tokens); err != nil {
		return err
	}
	l, err := net.Listen("tcp", o.listen)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", o.listen, err)
	}
	defer l.Close()
	var config *scrape.Config
	var rules *rule.Config
	received := receive.NewConfig()
	if o.config != "" {
		if config, rules, err = rule.Load(o.config, received.Keys()...); err != nil {
			return err
		}
	}
	began := time.Now()
	log := slog.New(slog.NewTextHandler(sys.Err, nil))
	s, keep, err := openStore(ctx, o, log)
	if err != nil {
		return aboutData(err)
	}
	events, err := openEvents(o.data)
	if err != nil {
		return errors.Join(aboutData(err), s.Close())
	}
	defer events.Close()
	recordings, err := shelf.Open(filepath.Join(o.data, "shelf"), o.shelf)
	if err != nil {
		return errors.Join(aboutData(err), s.Close())
	}
	answering := fleet.New(fleet.Options{Store: s, Shelf: recordings, Tokens: tokens, Events: events, Hosts: o.hosts, Version: version(), Log: log})
	answering.Configure(received)
	answering.Pages = web.OfStore(web.Options{Version: version(), By: flagSpeller{}}, answering.Open)
	if config != nil {
		answering.Scraper = scraperOf(answering, config, log)
	}
	answering.Rules = rule.New(rules, rule.Options{
		Store: s, Events: events, Tenant: token.DefaultTenant, Add: answering.Add, Ask: asker(answering.Scraper), Version: version(), Log: log,
		Keep: func(ctx context.Context, tenant, name, file string) (string, error) {
			f, err := os.Open(file)
			if err != nil {
				return "", err
			}
			defer f.Close()
			return recordings.Add(ctx, tenant, shelf.Meta{Name: name, Who: "hone serve"}, f)
		},
	})
	server := &http.Server{
		Handler: answering, TLSConfig: secured,
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	// Without --config there is nothing to reload, but the signal must not end the server.
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGHUP)
	defer signal.Stop(again)
	scheme := "http"
	if secured != nil {
		scheme = "https"
	}
	fmt.Fprintf(sys.Out, "%s://%s\n", scheme, l.Addr())
	if width(sys.Out) > 0 && !o.demo && o.database == "" && answering.Scraper == nil { // otherwise it is clear where profiles come from
		note(sys, "the server keeps profiles in %s; hone push --service NAME cpu.pprof sends one, hone serve --help lists other ways, and Ctrl-C ends the server", o.data)
	}
	if took := time.Since(began); took > time.Second {
		log.Info("opened", "data", o.data, "took", unit.Time(took))
	}
	ctx, stop := context.WithCancel(ctx)
	var working sync.WaitGroup
	working.Go(func() { keep(ctx) })
	watch := func() {
		working.Go(func() { notice.New(notice.Options{Store: s, Events: events, Log: log}).Run(ctx) })
	}
	if o.demo {
		answering.Fill(true)
		// Look for changes only when the profiles of earlier days are loaded.
		working.Go(func() {
			runDemo(ctx, sys, answering, scheme+"://"+l.Addr().String(), watch, filepath.Join(o.data, "demo"), log)
		})
	} else {
		watch()
	}
	working.Go(func() { boundMemory(ctx, sys) })
	working.Go(func() { answering.Rules.Run(ctx) })
	working.Go(func() { recordings.Run(ctx, func(err error) { log.Error("keeping the shelf", "err", err) }) })
	if scraper := answering.Scraper; scraper != nil {
		working.Go(func() {
			if err := scraper.Run(ctx); err != nil {
				log.Error("asking targets", "err", err)
			}
		})
	}
	working.Go(func() { reload(ctx, again, o.config, answering, log) })
	err = listen(ctx, server, l)
	stop()
	working.Wait()
	return errors.Join(err, events.Close(), s.Close())
}

// secured returns the certificate to serve with; nil means HTTP.
func (o *serving) secured() (*tls.Config, error) {
	if o.cert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(o.cert, o.key)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate %s and its key %s: %w", o.cert, o.key, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}}, nil
}

// scraperOf returns a scraper whose profiles go to a server.
func scraperOf(answering *fleet.Server, config *scrape.Config, log *slog.Logger) *scrape.Scraper {
	sink := func(ctx context.Context, tenant string, uploads []*store.Upload) error {
		outcomes, err := answering.Add(ctx, tenant, uploads)
		for _, outcome := range outcomes {
			err = errors.Join(err, outcome.Err)
		}
		return err
	}
	return scrape.New(config, scrape.Options{Sink: sink, Tenant: token.DefaultTenant, Log: log})
}

// listen answers requests until ctx ends, and finishes those that have begun.
func listen(ctx context.Context, server *http.Server, l net.Listener) error {
	ended := make(chan error, 1)
	go func() {
		if server.TLSConfig != nil {
			ended <- server.ServeTLS(l, "", "")
			return
		}
		ended <- server.Serve(l)
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		// Finish uploads, and write what is only in memory.
		patience, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer done()
		err := server.Shutdown(patience)
		if errors.Is(err, context.DeadlineExceeded) {
			return server.Close()
		}
		return err
	}
}

// aboutData adds a next step to an error about the folder of the store.
func aboutData(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return hint.Errorf(hint.Text{hint.Option{Name: "data", Value: "DIR"}, " names a folder that you can write to"}, "%w", err)
	}
	return err
}

// openEvents opens the log of events of services, in the folder of the store.
func openEvents(data string) (*event.Log, error) {
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, err
	}
	return event.Open(filepath.Join(data, eventsFile))
}

// openStore opens the store. The second result maintains it until its context ends.
func openStore(ctx context.Context, o serving, log *slog.Logger) (store.Store, func(context.Context), error) {
	if o.database != "" {
		at, err := clickhouse.ParseAddress(o.database)
		if err != nil {
			return nil, nil, err
		}
		s, err := clickhouse.Open(ctx, at, clickhouse.Options{})
		return s, func(context.Context) {}, err // the database maintains itself
	}
	s, err := disk.Open(o.data, o.disk)
	if err != nil {
		return nil, nil, err
	}
	for _, bad := range s.Damage() {
		log.Warn("opening the store", "err", hint.With(bad).Spell(flagSpeller{}))
	}
	return s, func(ctx context.Context) {
		s.Run(ctx, func(err error) { log.Error("keeping the store", "err", err) })
	}, nil
}

// asker returns a function that fetches more profiles from a process, or nil if the server does not scrape.
func asker(s *scrape.Scraper) func(context.Context, scrape.Deeper) (*scrape.Deep, error) {
	if s == nil {
		return nil
	}
	return s.Deeper
}

// reload reads the configuration again at each signal. If it has an error, the old one stays.
func reload(ctx context.Context, again <-chan os.Signal, name string, answering *fleet.Server, log *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-again:
		}
		if name == "" {
			log.Warn("there is no configuration to read again", "why", "the server was started without --config")
			continue
		}
		received := receive.NewConfig()
		config, rules, err := rule.Load(name, received.Keys()...)
		if err != nil {
			log.Error("the configuration stays as it was", "err", err)
			continue
		}
		answering.Scraper.Reload(config)
		answering.Rules.Reload(rules)
		answering.Configure(received)
		log.Info("read the configuration", "file", name)
	}
}

func tokenCommand(sys *System) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "token NAME",
		Short:   "Make, list and revoke tokens",
		Long:    "Make a token for clients, and print it. hone keeps only its hash, so it cannot be printed again.\n\nA running server notices changes at once.",
		Example: "  hone serve token ci --scope write\n  hone serve token grafana --scope read --tenant shop --expires 90d\n  hone serve token --list\n  hone serve token --revoke ci",
	}
	data := cmd.Flags().String("data", usualData, "the server keeps its profiles in `DIR`")
	scopes := cmd.Flags().StringSlice("scope", []string{string(token.Read), string(token.Write)}, "allow `SCOPE`: read, write or admin; may be repeated")
	tenant := cmd.Flags().String("tenant", token.DefaultTenant, "make it a token of the tenant `NAME`")
	var expires time.Duration
	cmd.Flags().Var(&ageFlag{&expires}, "expires", "how long it is valid (default: until it is revoked)")
	list := cmd.Flags().Bool("list", false, "list the tokens")
	revoke := cmd.Flags().String("revoke", "", "revoke the token `NAME`")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		file := filepath.Join(*data, tokensFile)
		tokens, err := token.Open(file)
		if err != nil {
			return err
		}
		switch {
		case *revoke != "":
			return tokens.Revoke(*revoke)
		case *list:
			return listTokens(sys, tokens, file)
		case len(args) != 1:
			return usagef("for example: hone serve token ci --scope write", "token needs a name")
		}
		_, missing := os.Stat(*data)
		if err := os.MkdirAll(*data, 0o700); err != nil {
			return aboutData(err)
		}
		if errors.Is(missing, fs.ErrNotExist) {
			// If a server is running, it has another --data, and will not read these tokens.
			fmt.Fprintf(sys.Err, "hone: made the folder %s: start the server with the same --data\n", *data)
		}
		t := token.Token{Name: args[0], Tenant: *tenant}
		for _, s := range *scopes {
			t.Scopes = append(t.Scopes, token.Scope(s))
		}
		if expires > 0 {
			t.Expires = time.Now().Add(expires)
		}
		secret, err := tokens.Make(t)
		if err != nil {
			return err
		}
		fmt.Fprintln(sys.Out, secret)
		return nil
	}
	return cmd
}

func listTokens(sys *System, tokens *token.File, file string) error {
	all, err := tokens.List()
	if err != nil {
		return err
	}
	if len(all) == 0 {
		fmt.Fprintf(sys.Out, "there are no tokens in %s\n", file)
	}
	for _, t := range all {
		expires := "never expires"
		if !t.Expires.IsZero() {
			expires = "expires " + t.Expires.In(sys.Zone).Format(time.DateTime)
		}
		var scopes []string
		for _, s := range t.Scopes {
			scopes = append(scopes, string(s))
		}
		fmt.Fprintf(sys.Out, "%s  tenant %s  %s  made %s  %s\n", t.Name, t.Tenant, strings.Join(scopes, ","), t.Made.In(sys.Zone).Format(time.DateTime), expires)
	}
	return nil
}

func checkCommand(sys *System) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "check",
		Short:   "Check a store while no server uses it",
		Long:    "Read everything in a store, and report what is damaged.\n\n--mend moves unreadable files, and files that belong to nothing, to the folder damaged, and\nrebuilds a lost catalog.",
		Example: "  hone serve check --data /var/lib/hone\n  hone serve check --data /var/lib/hone --mend",
	}
	data := cmd.Flags().String("data", usualData, "check the store in `DIR`")
	mend := cmd.Flags().Bool("mend", false, "repair the store")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usagef("hone serve check --data DIR", "check takes no arguments, but got %s", quoted(args[0]))
		}
		found, err := disk.Check(*data, *mend)
		if err != nil {
			return err
		}
		left := 0
		for _, p := range found.Problems {
			what := "left as it is"
			switch {
			case p.Mended && p.Moved != "":
				what = "mended; the file is kept as " + filepath.Join(*data, filepath.FromSlash(p.Moved))
			case p.Mended:
				what = "mended"
			default:
				left++
			}
			fmt.Fprintf(sys.Out, "%s: %v (%s)\n", p.File, p.Err, what)
		}
		logged := ""
		if found.Logged > 0 {
			logged = ", " + unit.Counted(found.Logged, "profile") + " in the log"
		}
		fmt.Fprintf(sys.Out, "%d profiles in %d segments, %s%s\n", found.Profiles, found.Segments, unit.Size(found.Bytes), logged)
		if left > 0 {
			return fmt.Errorf("%s in %s", unit.Counted(left, "problem"), *data)
		}
		return nil
	}
	return cmd
}

// An ageFlag is how long to keep profiles: a duration, or days and weeks.
type ageFlag struct{ d *time.Duration }

func (f *ageFlag) Set(text string) error {
	d, err := store.ParseAge(text)
	if err != nil || d < time.Minute {
		return errors.New("want a time such as 12h, 7d or 4w")
	}
	*f.d = d
	return nil
}

func (f *ageFlag) String() string { return "" }
func (f *ageFlag) Type() string   { return "TIME" }

// A sizeFlag is a number of bytes.
type sizeFlag struct{ n *int64 }

func (f *sizeFlag) Set(text string) error {
	n, ok := unit.ParseSize(text)
	if !ok {
		return errors.New("want a size such as 500MB or 20GB")
	}
	*f.n = n
	return nil
}

func (f *sizeFlag) String() string { return "" }
func (f *sizeFlag) Type() string   { return "SIZE" }
