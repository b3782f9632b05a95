package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/latency"
	"github.com/hone-perf/hone/internal/load"
	"github.com/hone-perf/hone/internal/open"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/safefile"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/unit"
	"github.com/hone-perf/hone/internal/view"
	"github.com/hone-perf/hone/internal/view/loadview"
)

const loadHelp = `Send requests to a server, count the outcomes, and show how long answers take.

Without --rate, each of --conns connections sends its next request as soon as the last one
is answered. That finds out how much a server can do. With --rate, hone sends requests on a
schedule, whether the server keeps up or not, and measures response times from the scheduled
time: that is what users see, even while the server stalls. --stages is a schedule with a
changing rate.

hone parses answers strictly: anything that is not valid HTTP is an error. --expect says which
status codes are good (default 200 to 399). Errors are counted by cause. Requests that were
still unanswered at the end, or never sent, are counted separately.

The report also shows the CPU time of the load generator, and whether it was the bottleneck.
-o run.hone saves the run; hone load run.hone shows it again. Passwords, keys and tokens in
headers, bodies and URLs are saved as …, unless --keep-secrets is given.

--record PACKAGE builds a server with a recorder inside, runs it, waits until it answers, and
loads it. --pprof URL fetches profiles from a running server during the load. The report then
also shows what each request costs, by function: CPU time, memory, waiting. Add --trace or
--flight 10s to --record, and it also shows what the slowest requests waited for. Add --when
'latency>200ms' --flight 10s to catch slow requests at any time of a long run.

hone only loads this machine and private networks, unless --allow-public is given.`

const loadExamples = `  hone load localhost:8080/search?q=x
  hone load http://localhost:8080/ --rate 200 --for 30s --conns 50
  hone load -n 10000 --method POST --body '{"a":1}' -H 'Content-Type: application/json' localhost:8080
  hone load --targets requests.txt --stages 100..2000/60s,2000/5m
  hone load localhost:8080 --rate 500 --slo 'p99<50ms,errors<0.1%'  # exit code 3 when a goal is missed
  hone load localhost:8080 --find-max --slo 'p99<50ms'   # highest rate that meets the goal
  hone load localhost:8080 -o run.hone     # then: hone load run.hone -o run.svg
  hone load --record ./cmd/server localhost:8080 -- -addr :8080
  hone load --record ./cmd/server localhost:{port}/search -- -addr localhost:{port}
  hone load --pprof localhost:6060 localhost:8080/search --rate 500`

// loadFlags are the flags of hone load.
type loadFlags struct {
	number                            int64
	conns, threads                    int
	duration, warmup, timeout, grace  time.Duration
	rate, stages, slo, engine, proxy  string
	headers                           []string
	method, body, bodyFile            string
	auth, cookie, targets, expect     string
	expectBody, hgrm                  string
	expectLength, maxBody             int64
	insecure, noKeepAlive, http2, any bool
	ndjson, findMax                   bool
	record, pprof, from               string
	trace                             bool
	flight, cooldown                  time.Duration
	when                              whenFlag
	captures                          int
	keepSecrets                       bool
}

func loadCommand(v *view.View, sys *System) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "load [flags] URL [-- ARGUMENTS…] | RECORDING",
		Short:   "Load-test an HTTP server",
		Long:    loadHelp,
		Example: loadExamples,
		GroupID: groupLoad,
	}
	if !sys.names(cmd) {
		return cmd
	}
	f, ask := loadFlagsOf(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		out, err := outputOf(cmd, sys)
		if err != nil {
			return err
		}
		behind := []string(nil)
		if dash := cmd.ArgsLenAtDash(); dash >= 0 {
			args, behind = args[:dash], args[dash:]
		}
		if f.record == "" && (f.flight > 0 || f.trace && f.pprof == "") {
			return usagef("--record ./cmd/server starts a server with the recorder", "an execution trace needs --record or --pprof")
		}
		if f.record == "" && len(f.when.list) > 0 {
			return usagef("--record ./cmd/server starts a server that can be watched", "--when needs a server that is recorded")
		}
		if f.record != "" || f.pprof != "" {
			return recordLoad(cmd, sys, out, f, ask, args, behind)
		}
		if len(behind) > 0 {
			return usagef("--record PACKAGE starts a server", "arguments after -- are for a server")
		}
		if len(args) == 1 && !strings.Contains(args[0], "://") && (recording.IsRecording(args[0]) || strings.HasSuffix(args[0], ".hone")) {
			return loaded(cmd.Context(), sys, out, f, args[0])
		}
		return runLoad(cmd, sys, out, f, ask, args)
	}
	return cmd
}

// loadFlagsOf adds the flags of hone load.
func loadFlagsOf(cmd *cobra.Command) (*loadFlags, *source.Options) {
	f := &loadFlags{}
	flags := cmd.Flags()
	flags.Int64VarP(&f.number, "number", "n", 0, "send `N` requests (default: as many as fit in --for)")
	flags.IntVarP(&f.conns, "conns", "c", 0, "use `N` connections (default 10)")
	flags.VarP(&timeFlag{&f.duration}, lengthFlag, "t", "how long to send requests (default 10s)")
	formerly(flags, lengthFlag, "duration")
	flags.StringVar(&f.rate, "rate", "", "send `N` requests a second in total, on a schedule: 200, 2k, 30/m")
	flags.StringVar(&f.stages, "stages", "", "change the rate by a `SCHEDULE`, such as 100..2000/60s,2000/5m")
	flags.Var(&timeFlag{&f.warmup}, "warmup", "first send requests that do not count, for this long (default 2s; none with -n)")
	flags.Var(&timeFlag{&f.timeout}, "timeout", "how long to wait for an answer (default 30s)")
	flags.Var(&timeFlag{&f.grace}, "grace", "how long to wait for the last answers (default 5s)")
	flags.StringVarP(&f.method, "method", "X", "", "request `METHOD` (default GET, or POST with a body)")
	flags.StringArrayVarP(&f.headers, "header", "H", nil, "send a header `FIELD`, such as 'Accept: text/html'; may be repeated")
	flags.StringVar(&f.body, "body", "", "send `TEXT` as the body")
	flags.StringVar(&f.bodyFile, "body-file", "", "send the content of `FILE` as the body")
	flags.StringVar(&f.auth, "auth", "", "`USER:PASSWORD` for basic authentication")
	flags.StringVar(&f.cookie, "cookie", "", "send a `COOKIE`, such as id=1; color=red")
	flags.StringVar(&f.targets, "targets", "", "send the requests in `FILE` in turn: vegeta targets or HAR; - is standard input")
	flags.StringVar(&f.expect, "expect", "", "`STATUS` codes of good answers, such as 200, 2xx or 200,404")
	flags.StringVar(&f.expectBody, "expect-body", "", "only answers with the body `TEXT` are good")
	flags.Int64Var(&f.expectLength, "expect-length", -1, "only answers with a body of `N` bytes are good")
	flags.Int64Var(&f.maxBody, "max-body", 0, "a body of more than `N` bytes is an error")
	flags.StringVar(&f.slo, "slo", "", "exit with 3 when one of the `GOALS` is missed: p99<50ms,mean<10ms,max<1s,errors<0.1%")
	flags.BoolVar(&f.findMax, "find-max", false, "find the highest rate that meets --slo; each try takes --for (default 5s)")
	flags.StringVar(&f.engine, "engine", "", "send with the engine `NAME`: "+strings.Join(load.Engines(), ", "))
	flags.IntVar(&f.threads, "threads", 0, "use `N` threads in the epoll engine (default: half the cores)")
	flags.BoolVar(&f.noKeepAlive, "no-keepalive", false, "open a new connection for each request")
	flags.BoolVar(&f.http2, "http2", false, "use HTTP/2; --conns is then the number of concurrent requests")
	flags.StringVarP(&f.proxy, "proxy", "x", "", "send through the proxy at `URL`")
	flags.StringVar(&f.from, "from", "", "connect from this local `ADDRESS`; each address has its own ports")
	flags.BoolVarP(&f.insecure, "insecure", "k", false, "accept any TLS certificate")
	flags.BoolVar(&f.any, "allow-public", false, "allow load on a server outside this machine and private networks")
	flags.BoolVar(&f.ndjson, "ndjson", false, "write a line of JSON every second, and the report as the last line")
	flags.StringVar(&f.record, "record", "", "build `PACKAGE` with a recorder, run it with the arguments after --, and show what requests cost; an executable runs as it is")
	flags.StringVar(&f.pprof, "pprof", "", "fetch profiles from the server at `URL` during the run, and show what requests cost")
	flags.BoolVar(&f.trace, "trace", false, "with --record or --pprof: also record an execution trace, and show what the slowest requests waited for")
	flags.Var(&secondsFlag{&f.flight}, "flight", "with --record: like --trace, for the last `TIME` of the run")
	flags.Var(&f.when, "when", "with --record: capture when CONDITION holds, such as latency>200ms; with --flight, also write the execution trace then")
	flags.Var(&secondsFlag{&f.cooldown}, "cooldown", "with --when: ignore a condition for this long after it held (default 10s)")
	flags.IntVar(&f.captures, "captures", 5, "with --when: capture at most `N` times")
	flags.StringVar(&f.hgrm, "hgrm", "", "write percentiles to `FILE` in HdrHistogram format")
	keepSecretsFlag(flags, &f.keepSecrets)
	ask := &source.Options{}
	flags.StringVar(&ask.TLSCert, "tls-cert", "", "present the client certificate in `FILE`")
	flags.StringVar(&ask.TLSKey, "tls-key", "", "private key of the client certificate, in `FILE`")
	flags.StringVar(&ask.TLSCA, "tls-ca", "", "trust the certificate authorities in `FILE`")
	return f, ask
}

// A timeFlag is a duration of any length: a number of seconds, or a number with a unit.
type timeFlag struct{ d *time.Duration }

func (f *timeFlag) Set(text string) error {
	d, err := time.ParseDuration(text)
	if n, floatErr := strconv.ParseFloat(text, 64); floatErr == nil && n < 1e6 {
		d, err = time.Duration(n*float64(time.Second)), nil
	}
	if err != nil || d < 0 {
		return errors.New("want a number of seconds, or a time such as 90s, 2m or 500ms")
	}
	*f.d = d
	return nil
}

func (f *timeFlag) String() string {
	if f.d == nil || *f.d == 0 {
		return ""
	}
	return f.d.String()
}

func (f *timeFlag) Type() string { return "TIME" }

// loaded shows a recorded load run.
func loaded(ctx context.Context, sys *System, out output, f *loadFlags, ref string) error {
	rec, _, err := openPart(ctx, sys, view.LoadRun, ref)
	var none *open.NoPartError
	var other *open.NotRecordingError
	switch {
	case errors.As(err, &none):
		return withHint(fmt.Errorf("%s: %w", ref, loadview.ErrNoLoad), "hone load URL -o FILE.hone records one")
	case errors.As(err, &other):
		return present([]string{ref})
	case err != nil:
		return err
	}
	defer rec.Close()
	if err := rec.Check(); err != nil {
		return err
	}
	return showLoad(sys, out, f, rec)
}

// showLoad shows a load run. Its error says whether the run missed a goal.
func showLoad(sys *System, out output, f *loadFlags, rec *recording.Recording) error {
	goals, err := f.goals()
	if err != nil {
		return err
	}
	r, err := loadview.Load([]*recording.Recording{rec}, query.Query{View: "load"})
	if err != nil {
		return err
	}
	if f.hgrm != "" {
		if err := writeHGRM(f.hgrm, recording.LoadRun.In(rec)); err != nil {
			return err
		}
	}
	if f.ndjson {
		err = writeLine(sys.Out, struct {
			Type string `json:"type"`
			*report.Load
		}{"run", r.(*report.Load)})
	} else {
		err = out.write(sys, r)
	}
	if err != nil {
		return err
	}
	var missed []string
	for _, g := range goals {
		if ok, has := g.Met(recording.LoadRun.In(rec)); !ok {
			missed = append(missed, g.Text+": "+has)
		}
	}
	if len(missed) > 0 {
		return &exited{exitGate, errors.New("missed: " + strings.Join(missed, "; "))}
	}
	return nil
}

func (f *loadFlags) goals() ([]latency.Goal, error) {
	if f.slo == "" {
		return nil, nil
	}
	goals, err := latency.ParseGoals(f.slo)
	if err != nil {
		return nil, usagef("", "--slo: %w", err)
	}
	return goals, nil
}

func writeLine(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	if isBrokenPipe(err) {
		return nil
	}
	return err
}

func writeHGRM(file string, l *latency.Log) error {
	return safefile.Write(file, func(w io.Writer) error { return latency.WriteHGRM(w, l.Times()) })
}

// runLoad sends requests and shows the results.
func runLoad(cmd *cobra.Command, sys *System, out output, f *loadFlags, ask *source.Options, args []string) error {
	if _, err := f.goals(); err != nil {
		return err // before sending anything
	}
	p, err := f.plan(cmd, sys, ask, args)
	if err != nil {
		return err
	}
	if f.findMax {
		return findMax(cmd, sys, out, f, p)
	}
	save := ""
	if strings.HasSuffix(out.file, ".hone") {
		// The recording goes to the file; the answer still goes to standard output.
		save, out.file = out.file, ""
		if _, err := os.Stat(save); err == nil {
			return withHint(fmt.Errorf("%s: file already exists", save), "choose another name with -o, or remove the file")
		}
	}
	say := newSaying(sys)
	p.Row = f.row(sys, say)
	if !f.ndjson {
		say.now("loading " + p.Targets[0].URL.Redacted())
	}
	began := time.Now()
	l, err := load.Run(cmd.Context(), *p)
	say.now("")
	var public *load.PublicError
	switch {
	case errors.As(err, &public):
		return &usageError{err, "--allow-public loads it anyway: make sure that you are allowed to"}
	case err != nil:
		return err
	}
	if l.Stopped == load.Interrupted {
		l.Notes = append(l.Notes, "interrupted: this was done so far")
	}
	if save != "" {
		m := &recording.Manifest{
			Format: recording.Format, Hone: version(), How: recording.Loaded, Dir: sys.Dir, Target: l.Target,
			Command: append([]string{"hone"}, sys.args...), Started: began.In(sys.Zone), Ended: time.Now().In(sys.Zone),
			KeepSecrets: f.keepSecrets,
		}
		hidden, err := recording.SaveLoad(save, m, l)
		if err != nil {
			return fmt.Errorf("writing %s: %w", save, err)
		}
		sayHidden(sys, "recording", hidden)
	}
	why := noAnswer(l)
	if why != nil && l.Asked == 0 && (out.format == "text" || out.format == "terminal") {
		return finished(cmd.Context(), why) // no request was counted, so the table would be all zeros
	}
	if err := showLoad(sys, out, f, recording.LoadRun.Of(l.Target, l)); err != nil {
		return finished(cmd.Context(), err)
	}
	return finished(cmd.Context(), why)
}

// findMax searches for the highest rate that meets the goals.
func findMax(cmd *cobra.Command, sys *System, out output, f *loadFlags, p *load.Plan) error {
	goals, err := f.goals()
	switch {
	case err != nil:
		return err
	case len(goals) == 0:
		return usagef("for example: hone load --find-max --slo 'p99<50ms,errors<0.1%' URL", "--find-max needs the goals to meet, with --slo")
	case f.number > 0 || f.stages != "" || f.ndjson || f.hgrm != "" || strings.HasSuffix(out.file, ".hone"):
		return usagef("", "--find-max makes many runs: it cannot be combined with -n, --stages, --ndjson, --hgrm or a recording")
	}
	p.Duration = cmp.Or(p.Duration, 5*time.Second)
	if !cmd.Flags().Changed("warmup") {
		p.Warmup = time.Second
	}
	say := newSaying(sys)
	p.Row = func(r latency.Row) { say.now(live(r)) }
	r := &report.FindMax{Target: p.Targets[0].URL.Redacted(), Goals: f.slo, For: p.Duration}
	best, _, err := load.FindMax(cmd.Context(), *p, goals, func(s load.Step) {
		l := s.Log
		r.Steps = append(r.Steps, report.FindMaxStep{
			Rate: s.Rate, Answered: float64(l.Answered) / max(l.Took, 1).Seconds(), Met: s.Met, Why: s.Why,
			P50: l.Response.Quantile(0.5), P99: l.Response.Quantile(0.99), Max: l.Response.Max(),
		})
	})
	say.now("")
	if err != nil {
		if len(r.Steps) == 0 {
			return err
		}
		r.Notes = append(r.Notes, "the search ended early: "+err.Error())
	}
	r.Rate = best
	if err := finished(cmd.Context(), out.write(sys, r)); err != nil {
		return err
	}
	if best == 0 {
		return &exited{exitGate, errors.New("no rate meets " + f.slo)}
	}
	return nil
}

// noAnswer explains why no request was answered.
func noAnswer(l *latency.Log) error {
	asked, during, errs := l.Asked, "", l.Errors
	if asked == 0 { // if nothing can connect, the run ends during warm-up
		asked, during, errs = l.Warm.Sent+l.Warm.FailedBefore(), " of the warm-up", l.Warm.Errors
	}
	if l.Answered+l.Warm.Answered > 0 || asked == 0 || l.Stopped == load.Interrupted {
		return nil
	}
	err := fmt.Errorf("%s answered none of %d requests%s", l.Target, asked, during)
	if l.Asked == 0 && len(errs) > 0 { // l.Errors has only errors of counted requests, and none was counted
		causes := slices.Sorted(maps.Keys(errs))
		order.Stable(causes, func(a, b latency.Cause) int { return cmp.Compare(errs[b], errs[a]) })
		err = fmt.Errorf("%w: %s", err, causes[0])
	}
	switch {
	case errs[latency.Refused] > 0:
		return withHint(err, "is the server running on this port?")
	case errs[latency.TLS] > 0:
		return withHint(err, "--insecure accepts any certificate; http:// uses no TLS")
	case errs[latency.Malformed] > 0:
		return withHint(err, "the server does not speak HTTP/1; use --http2 for HTTP/2, https:// for TLS")
	}
	return err
}

// live formats the progress line: the results of the last second.
func live(r latency.Row) string {
	text := fmt.Sprintf("%s: %s answers/s, 50%% in %s, 99%% in %s, longest %s, %d under way", unit.Time((r.From + r.For).Truncate(time.Second)),
		unit.Number(float64(r.Answered)/r.For.Seconds()), unit.Time(r.P50), unit.Time(r.P99), unit.Time(r.Max), r.InFlight)
	if r.Errors > 0 {
		text += fmt.Sprintf(", %d errors", r.Errors)
	}
	if r.Backlog > 0 {
		text += fmt.Sprintf(", %d waiting", r.Backlog)
	}
	return text
}

// plan makes a load plan from the flags.
func (f *loadFlags) plan(cmd *cobra.Command, sys *System, ask *source.Options, args []string) (*load.Plan, error) {
	p := &load.Plan{
		Agent: "hone/" + version(), Number: f.number, Conns: f.conns, Threads: f.threads, Duration: f.duration, Warmup: f.warmup,
		Timeout: f.timeout, Grace: f.grace, Engine: f.engine, NoKeepAlive: f.noKeepAlive, HTTP2: f.http2, AnyHost: f.any, MaxBody: f.maxBody,
		From: f.from,
	}
	var err error
	if p.Targets, err = f.requests(cmd, sys, args); err != nil {
		return nil, err
	}
	for _, of := range []struct {
		flag string
		n    int64
	}{{"number", f.number}, {"conns", int64(f.conns)}} {
		if cmd.Flags().Changed(of.flag) && of.n < 1 {
			return nil, usagef("", "--%s %d: want at least 1", of.flag, of.n)
		}
	}
	if f.rate != "" {
		if p.Rate, err = load.ParseRate(f.rate); err == nil && p.Rate == 0 {
			err = errors.New("there would be no requests to send")
		}
		if err != nil {
			return nil, usagef("", "--rate: %w", err)
		}
	}
	if f.stages != "" {
		if p.Stages, err = load.ParseStages(f.stages); err != nil {
			return nil, usagef("", "--stages: %w", err)
		}
	}
	if f.expect != "" {
		if p.Expect.Status, err = load.ParseStatus(f.expect); err != nil {
			return nil, usagef("", "--expect: %w", err)
		}
	}
	if cmd.Flags().Changed("expect-body") {
		p.Expect.Body = []byte(f.expectBody)
	}
	if f.expectLength >= 0 {
		p.Expect.Length, p.Expect.HasLength = f.expectLength, true
	}
	if f.proxy != "" {
		if p.Proxy, err = address(f.proxy); err != nil {
			return nil, usagef("", "--proxy: %w", err)
		}
	}
	if !cmd.Flags().Changed("warmup") && f.number == 0 {
		p.Warmup = 2 * time.Second
	}
	if p.TLS, err = ask.TLS(); err != nil {
		return nil, err
	}
	p.TLS.InsecureSkipVerify = p.TLS.InsecureSkipVerify || f.insecure
	if err := p.Check(); err != nil {
		return nil, usagef("", "%w", err)
	}
	return p, nil
}

// address parses a URL; http:// may be missing.
func address(text string) (*url.URL, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	if u.Host == "" {
		return nil, fmt.Errorf("%q has no host", text)
	}
	return u, nil
}

// requests returns the requests to send.
func (f *loadFlags) requests(cmd *cobra.Command, sys *System, args []string) ([]load.Target, error) {
	var out []load.Target
	switch {
	case f.targets != "" && len(args) > 0:
		return nil, usagef("", "--targets takes no URL; the file has the URLs")
	case f.targets != "":
		list, err := readTargets(sys, f.targets)
		if err != nil {
			return nil, err
		}
		out = list
	case len(args) != 1:
		return nil, usagef("for example: hone load localhost:8080", "load needs one URL")
	default:
		if strings.HasPrefix(args[0], ".") || strings.HasPrefix(args[0], "/") {
			return nil, usagef("to run a server and load it: hone load URL --record "+quoted(args[0]), "%s is a path, but load needs a URL", args[0])
		}
		u, err := address(args[0])
		if err != nil {
			return nil, usagef("", "%w", err)
		}
		out = []load.Target{{URL: u}}
	}
	if f.body != "" && f.bodyFile != "" {
		return nil, usagef("", "--body and --body-file cannot be used together")
	}
	body := []byte(f.body)
	if f.bodyFile != "" {
		var err error
		if body, err = os.ReadFile(f.bodyFile); err != nil {
			return nil, err
		}
	}
	var fields []load.Field
	for _, h := range f.headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return nil, usagef("for example: -H 'Accept: text/html'", "-H %s: a header field is a name, a colon and a value", quoted(h))
		}
		fields = append(fields, load.Field{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value)})
	}
	if f.auth != "" {
		user, password, ok := strings.Cut(f.auth, ":")
		if !ok {
			return nil, usagef("", "--auth: want USER:PASSWORD")
		}
		fields = append(fields, load.Field{Name: "Authorization", Value: load.BasicAuth(user, password)})
	}
	if f.cookie != "" {
		fields = append(fields, load.Field{Name: "Cookie", Value: f.cookie})
	}
	hasBody := cmd.Flags().Changed("body") || f.bodyFile != ""
	for i := range out {
		t := &out[i]
		t.Header = slices.Concat(t.Header, fields)
		if hasBody {
			t.Body = body
			if t.Method == "" {
				t.Method = "POST"
			}
		}
		if f.method != "" {
			t.Method = f.method
		}
	}
	return out, nil
}

// readTargets reads a list of requests. Files with their bodies are in the same folder.
func readTargets(sys *System, file string) ([]load.Target, error) {
	in, dir := sys.In, sys.Dir
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in, dir = f, filepath.Dir(file)
	}
	const most = 64 << 20
	return load.ReadTargets(in, file, func(name string) ([]byte, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		st, err := os.Stat(name)
		if err == nil && st.Size() > most {
			return nil, fmt.Errorf("%s is longer than %s", name, unit.Size(most))
		}
		return os.ReadFile(name)
	})
}
