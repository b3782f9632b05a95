// Package ab is hone ab: the flags, the report and the exit codes of the ab of Apache httpd 2.4, which many scripts take
// apart. It speaks HTTP/1.0 as ab does. What differs on purpose is in docs/compat-ab.md: mainly, answers that are no HTTP
// count as failures.
//
// Options are read by parse, the plan of package load is made and run in Main, and report writes what came of it.
package ab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"syscall"
	"time"

	"github.com/hone-perf/hone/internal/latency"
	"github.com/hone-perf/hone/internal/load"
	"github.com/hone-perf/hone/internal/safefile"
)

// A System is what the command may touch.
type System struct {
	Out, Err io.Writer
	Zone     *time.Location // of the dates in the file of -g
}

// Exit codes of ab, beside numbers of system errors.
const (
	exitDone  = 0
	exitError = 1
	exitUsage = 22  // EINVAL
	exitName  = 50  // what is left of 670002, the number of APR for a host that was not found
	exitTime  = 119 // and of 70007, for a timeout
)

// Main runs the command and returns its exit code.
func Main(ctx context.Context, sys System, args []string) int {
	o, code := parse(sys, args)
	if o == nil {
		return code
	}
	copyright(sys.Out, o.html)
	b := &bench{options: o, sys: sys}
	p, err := b.plan()
	if err != nil {
		fmt.Fprintf(sys.Err, "ab: %v\n", err)
		return exitError
	}
	if !o.html {
		dots := "..."
		if o.heartbeat > 0 {
			dots = "\n"
		}
		through := ""
		if o.proxyHost != "" {
			through = fmt.Sprintf("[through %s:%d] ", o.proxyHost, o.proxyPort)
		}
		fmt.Fprintf(sys.Out, "Benchmarking %s %s(be patient)%s", o.host, through, dots)
	}
	if o.verbosity >= 2 {
		fmt.Fprintf(sys.Out, "INFO: %s header == \n---\n%s\n---\n", o.method, o.wire())
	}
	b.began = time.Now()
	l, err := load.Run(ctx, *p)
	if err != nil {
		return b.notBegun(err)
	}
	switch {
	case l.Stopped == load.Interrupted:
		b.html = false
	case l.Stopped != "":
		return b.aborted(latency.Cause(l.Stopped))
	case o.heartbeat > 0:
		fmt.Fprintf(sys.Err, "Finished %d requests\n", b.done)
	default:
		fmt.Fprintln(sys.Out, "..done")
	}
	b.report(l)
	if !b.html && !b.files() || l.Stopped == load.Interrupted {
		return exitError
	}
	return exitDone
}

// notBegun says why nothing was sent.
func (b *bench) notBegun(err error) int {
	var public *load.PublicError
	var dns *net.DNSError
	var nobody *load.NoHostError
	var from *load.FromError
	name := b.host
	if errors.As(err, &nobody) {
		name = nobody.Name
	}
	switch {
	case errors.As(err, &from):
		text, code := "Cannot assign requested address", 99
		if n := syscall.Errno(0); errors.As(err, &n) {
			text, code = sentence(n), int(n)
		}
		fmt.Fprintf(b.sys.Err, "bind: %s (%d)\n", text, code)
		return code
	case errors.As(err, &public):
		fmt.Fprintf(b.sys.Err, "ab: %v; hone load --allow-public loads it\n", err)
		return exitError
	case errors.As(err, &dns), nobody != nil:
		fmt.Fprintf(b.sys.Err, "apr_sockaddr_info_get() for %s: Name or service not known (670002)\n", name)
		return exitName
	}
	fmt.Fprintf(b.sys.Err, "ab: %v\n", err)
	return exitError
}

// A socketError is how ab calls what ends a run, unless -r is given.
type socketError struct {
	text   string
	number int
	code   int
}

// socketErrors are the errors of sockets. All else is a failure that is counted.
var socketErrors = map[latency.Cause]socketError{
	latency.Refused:        {"apr_socket_recv: Connection refused", 111, 111},
	latency.Reset:          {"apr_socket_recv: Connection reset by peer", 104, 104},
	latency.Dial:           {"apr_socket_connect(): No route to host", 113, 113},
	latency.NoPorts:        {"apr_socket_connect(): Cannot assign requested address", 99, 99},
	latency.NoFiles:        {"socket: Too many open files", 24, 24},
	latency.ConnectTimeout: {"apr_pollset_poll: The timeout specified has expired", 70007, exitTime},
	latency.WaitTimeout:    {"apr_pollset_poll: The timeout specified has expired", 70007, exitTime},
	latency.ReadTimeout:    {"apr_pollset_poll: The timeout specified has expired", 70007, exitTime},
}

// stopAt reports whether a failure ends the run. A timeout does so with -r, too.
func (b *bench) stopAt(c latency.Cause) bool {
	e, ok := socketErrors[c]
	return ok && (!b.goOn || e.code == exitTime)
}

// aborted says what ended the run.
func (b *bench) aborted(c latency.Cause) int {
	e, ok := socketErrors[c]
	if !ok {
		fmt.Fprintf(b.sys.Err, "ab: %s\n", c)
		return exitError
	}
	fmt.Fprintf(b.sys.Err, "%s (%d)\n", e.text, e.number)
	if b.done > 0 {
		fmt.Fprintf(b.sys.Out, "Total of %d requests completed\n", b.done)
	}
	return e.code
}

// A bench is a run and what of it ab wants to know beyond what package latency counts.
type bench struct {
	*options
	sys   System
	began time.Time
	first *load.First

	done                                 int
	keptAlive                            int
	non2xx                               int
	connect, receive, length, exceptions int

	times [4]series // by kind
	rows  []row     // with -g
	heads []answerHead
}

// What is measured of a request.
const (
	connectTime = iota
	processing
	waiting
	total
)

// A row is a request in the file of -g. Times are microseconds, since the start and of the parts.
type row struct {
	start                  int64
	connect, total, waited int32
}

// plan returns what is to be sent.
func (b *bench) plan() (*load.Plan, error) {
	o := b.options
	p := &load.Plan{
		Targets: []load.Target{{Method: o.method, URL: o.target(), Wire: append([]byte(o.wire()), o.body...)}},
		Conns:   o.concurrency,
		Number:  o.requests,
		Timeout: o.timeout, ConnectTimeout: o.timeout, Stalled: true,
		Duration:    o.timeLimit,
		NoKeepAlive: !o.keepAlive,
		HTTP10:      true,
		Expect:      load.Expect{Status: []load.StatusRange{{From: 100, To: 999}}, Same: !o.anyLength},
		From:        spelledOut(o.from),
		Window:      o.window,
		StopAt:      b.stopAt,
		Each:        b.each,
		First:       func(f *load.First) { b.first = f },
	}
	if o.timeLimit > 0 {
		p.Grace = time.Nanosecond // what is under way then is not waited for
	} else {
		p.Grace = load.MaxDuration
	}
	if o.proxyHost != "" {
		p.Via = net.JoinHostPort(spelledOut(o.proxyHost), strconv.Itoa(o.proxyPort))
	}
	if o.verbosity >= 2 {
		p.Engine, p.Heard = load.Portable, b.heard
	}
	var err error
	p.TLS, err = o.tls()
	return p, err
}

// each is told of every request.
func (b *bench) each(o *load.Outcome) {
	if o.Error != "" && b.stopAt(o.Error) {
		return // it ends the run, and is not part of it
	}
	b.done++
	switch {
	case unsecured(o):
		// For ab that is an answer of no bytes, and of another length once there was one with some.
		fmt.Fprintf(b.sys.Err, "SSL handshake failed (1).\n%s\n", o.Reason)
		if b.first != nil && b.first.Body > 0 && !b.anyLength {
			b.length++
		}
	case o.Error != "":
		if e, ok := socketErrors[o.Error]; ok && b.verbosity >= 1 {
			fmt.Fprintf(b.sys.Err, "%s (%d)\n", e.text, e.number)
		}
		b.failed(o)
	case o.Differs == latency.OtherLength:
		b.length++
	}
	if o.Error == "" && (o.Status < 200 || o.Status > 299) {
		b.non2xx++
	}
	if o.KeptAlive {
		b.keptAlive++
	}
	whole := o.End - o.Began
	connect := o.Connected - o.Began
	waited := max(o.First-o.Connected, 0)
	if o.Error != "" && o.First == 0 && !unsecured(o) {
		waited = whole - connect
	}
	for i, d := range [...]time.Duration{connect, whole - connect, waited, whole} {
		b.times[i].add(d)
	}
	if b.gnuplot != nil {
		us := func(d time.Duration) int32 { return int32(min(d.Microseconds(), 1<<31-1)) }
		b.rows = append(b.rows, row{o.Began.Microseconds(), us(connect), us(whole), us(waited)})
	}
	if b.heartbeat > 0 && b.done%b.heartbeat == 0 {
		fmt.Fprintf(b.sys.Err, "Completed %d requests\n", b.done)
	}
}

// unsecured reports whether the handshake of TLS failed.
func unsecured(o *load.Outcome) bool { return o.Error == latency.TLS && o.Reason != "" }

// failed counts a request without a whole answer in the words of ab.
func (b *bench) failed(o *load.Outcome) {
	switch o.Error {
	case latency.Refused, latency.Dial, latency.NoPorts, latency.NoFiles, latency.ConnectTimeout, latency.TLS:
		b.connect++
	case latency.Reset, latency.WaitTimeout, latency.ReadTimeout:
		b.receive++
	case latency.ClosedInside:
		if o.Status > 0 { // the header was there
			b.length++
		} else {
			b.exceptions++
		}
	default:
		b.exceptions++
	}
}

// files writes the files of -e and -g, and reports whether it could.
func (b *bench) files() bool {
	return b.writeTo(b.csv, "CSV", b.writeCSV) && b.writeTo(b.gnuplot, "gnuplot", b.writeGnuplot)
}

func (b *bench) writeTo(file *string, what string, write func(io.Writer) error) bool {
	if file == nil {
		return true
	}
	f, err := safefile.Create(*file)
	if err != nil {
		fmt.Fprintf(b.sys.Err, "Cannot open %s output file: %s\n", what, sentence(err))
		return false
	}
	if err = write(f); err == nil {
		err = f.Commit()
	} else {
		f.Discard()
	}
	if err != nil {
		fmt.Fprintf(b.sys.Err, "ab: writing the %s output file: %v\n", what, err)
		return false
	}
	return true
}
