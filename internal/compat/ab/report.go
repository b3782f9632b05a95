package ab

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/tls"
	"fmt"
	"io"
	"math"
	"net"
	"strings"

	"github.com/hone-perf/hone/internal/latency"
	"github.com/hone-perf/hone/internal/load"
)

func copyright(w io.Writer, html bool) {
	if html {
		io.WriteString(w, `<p>
 This is ApacheBench, Version 2.3 <i>&lt;$Revision$&gt;</i><br>
 Copyright 1996 Adam Twiss, Zeus Technology Ltd, http://www.zeustech.net/<br>
 Licensed to The Apache Software Foundation, http://www.apache.org/<br>
</p>
<p>
`)
		return
	}
	io.WriteString(w, `This is ApacheBench, Version 2.3 <$Revision$>
Copyright 1996 Adam Twiss, Zeus Technology Ltd, http://www.zeustech.net/
Licensed to The Apache Software Foundation, http://www.apache.org/

`)
}

// figures are the numbers of a report.
type figures struct {
	seconds     float64
	failed      int
	transferred int64
	posted      int64
	body        int64
}

// report writes what came of a run.
func (b *bench) report(l *latency.Log) {
	f := figures{seconds: l.Took.Seconds(), failed: b.connect + b.receive + b.length + b.exceptions, transferred: l.Received, posted: l.Wrote, body: l.Body}
	if b.first == nil {
		b.first = &load.First{} // there was no answer
	}
	if b.html {
		b.reportHTML(&f)
		return
	}
	w := b.sys.Out
	label := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-23s "+format+"\n", append([]any{name + ":"}, args...)...)
	}
	fmt.Fprint(w, "\n\n")
	label("Server Software", "%s", serverName(b.first.Server))
	label("Server Hostname", "%s", b.host)
	label("Server Port", "%s", b.port())
	if s := b.first.TLS; s != nil {
		label("SSL/TLS Protocol", "%s", protocolOf(s))
		if key := keyOf(s.CurveID); key != "" {
			label("Server Temp Key", "%s", key)
		}
		if !b.noServerName && net.ParseIP(b.host) == nil {
			label("TLS Server Name", "%s", b.host)
		}
	}
	fmt.Fprintln(w)
	label("Document Path", "%s", b.path)
	if b.anyLength {
		label("Document Length", "Variable")
	} else {
		label("Document Length", "%d bytes", b.first.Body)
	}
	fmt.Fprintln(w)
	label("Concurrency Level", "%d", b.concurrency)
	label("Time taken for tests", "%.3f seconds", f.seconds)
	label("Complete requests", "%d", b.done)
	label("Failed requests", "%d", f.failed)
	if f.failed > 0 {
		fmt.Fprintf(w, "   (Connect: %d, Receive: %d, Length: %d, Exceptions: %d)\n", b.connect, b.receive, b.length, b.exceptions)
	}
	if b.non2xx > 0 {
		label("Non-2xx responses", "%d", b.non2xx)
	}
	if b.keepAlive {
		label("Keep-Alive requests", "%d", b.keptAlive)
	}
	label("Total transferred", "%d bytes", f.transferred)
	if b.hasBody {
		label("Total body sent", "%d", f.posted)
	}
	label("HTML transferred", "%d bytes", f.body)
	if f.seconds > 0 && b.done > 0 {
		done := float64(b.done)
		label("Requests per second", "%.2f [#/sec] (mean)", done/f.seconds)
		label("Time per request", "%.3f [ms] (mean)", float64(b.concurrency)*f.seconds*1000/done)
		label("Time per request", "%.3f [ms] (mean, across all concurrent requests)", f.seconds*1000/done)
		label("Transfer rate", "%.2f [Kbytes/sec] received", float64(f.transferred)/1024/f.seconds)
		if b.hasBody {
			fmt.Fprintf(w, "%24s%.2f kb/s sent\n", "", float64(f.posted)/1024/f.seconds)
			fmt.Fprintf(w, "%24s%.2f kb/s total\n", "", float64(f.transferred+f.posted)/1024/f.seconds)
		}
	}
	if b.done > 0 {
		b.connectionTimes(w)
	}
	if b.percentiles && b.done > 1 {
		b.percentages(w)
	}
}

func (b *bench) connectionTimes(w io.Writer) {
	names := [...]string{"Connect", "Processing", "Waiting", "Total"}
	var lines [len(names)]line
	for i := range lines {
		lines[i] = b.times[i].line()
	}
	fmt.Fprint(w, "\nConnection Times (ms)\n")
	if !b.confidence {
		fmt.Fprint(w, "              min   avg   max\n")
		for i, l := range lines {
			fmt.Fprintf(w, "%-12s%5d %5d%5d\n", names[i]+":", l.min, l.mean, l.max)
		}
		return
	}
	fmt.Fprint(w, "              min  mean[+/-sd] median   max\n")
	for i, l := range lines {
		fmt.Fprintf(w, "%-12s%5d %4d %5.1f %6d %7d\n", names[i]+":", l.min, l.mean, l.deviation, l.median, l.max)
	}
	for i, what := range [...]string{"the initial connection time", "the processing time", "the waiting time", "the total time"} {
		l := lines[i]
		switch apart := math.Abs(float64(l.mean - l.median)); {
		case apart > 2*l.deviation:
			fmt.Fprintf(w, "ERROR: The median and mean for %s are more than twice the standard\n"+
				"       deviation apart. These results are NOT reliable.\n", what)
		case apart > l.deviation:
			fmt.Fprintf(w, "WARNING: The median and mean for %s are not within a normal deviation\n"+
				"        These results are probably not that reliable.\n", what)
		}
	}
}

func (b *bench) percentages(w io.Writer) {
	fmt.Fprint(w, "\nPercentage of the requests served within a certain time (ms)\n")
	s := &b.times[total]
	for _, p := range []int64{50, 66, 75, 80, 90, 95, 98, 99} {
		fmt.Fprintf(w, "  %d%%  %5d\n", p, millis(s.at(int64(b.done)*p/100)))
	}
	fmt.Fprintf(w, " 100%%  %5d (longest request)\n", millis(s.h.Max()))
}

// reportHTML writes the tables of -w.
func (b *bench) reportHTML(f *figures) {
	w := b.sys.Out
	th := func(text string) string { return fmt.Sprintf("<th %s>%s</th>", b.td, text) }
	cell := func(n int64) string { return fmt.Sprintf("<td %s>%5d</td>", b.td, n) }
	fmt.Fprintf(w, "\n\n<table %s>\n", b.table)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "<tr %s><th colspan=2 %s>%s:</th><td colspan=2 %s>%s</td></tr>\n", b.tr, b.td, name, b.td, fmt.Sprintf(format, args...))
	}
	line("Server Software", "%s", serverName(b.first.Server))
	line("Server Hostname", "%s", b.host)
	line("Server Port", "%s", b.port())
	line("Document Path", "%s", b.path)
	if b.anyLength {
		line("Document Length", "Variable")
	} else {
		line("Document Length", "%d bytes", b.first.Body)
	}
	line("Concurrency Level", "%d", b.concurrency)
	line("Time taken for tests", "%.3f seconds", f.seconds)
	line("Complete requests", "%d", b.done)
	line("Failed requests", "%d", f.failed)
	if f.failed > 0 {
		fmt.Fprintf(w, "<tr %s><td colspan=4 %s >   (Connect: %d, Length: %d, Exceptions: %d)</td></tr>\n", b.tr, b.td, b.connect, b.length, b.exceptions)
	}
	if b.non2xx > 0 {
		line("Non-2xx responses", "%d", b.non2xx)
	}
	if b.keepAlive {
		line("Keep-Alive requests", "%d", b.keptAlive)
	}
	line("Total transferred", "%d bytes", f.transferred)
	if b.hasBody {
		line("Total body sent", "%d", f.posted)
	}
	line("HTML transferred", "%d bytes", f.body)
	if f.seconds > 0 {
		line("Requests per second", "%.2f", float64(b.done)/f.seconds)
		line("Transfer rate", "%.2f kb/s received", float64(f.transferred)/1024/f.seconds)
		if b.hasBody {
			fmt.Fprintf(w, "<tr %s><td colspan=2 %s>&nbsp;</td><td colspan=2 %s>%.2f kb/s sent</td></tr>\n", b.tr, b.td, b.td, float64(f.posted)/1024/f.seconds)
			fmt.Fprintf(w, "<tr %s><td colspan=2 %s>&nbsp;</td><td colspan=2 %s>%.2f kb/s total</td></tr>\n", b.tr, b.td, b.td, float64(f.transferred+f.posted)/1024/f.seconds)
		}
	}
	if b.done > 0 {
		fmt.Fprintf(w, "<tr %s><th %s colspan=4>Connection Times (ms)</th></tr>\n", b.tr, b.td)
		fmt.Fprintf(w, "<tr %s>%s %s   %s   %s</tr>\n", b.tr, th("&nbsp;"), th("min"), th("avg"), th("max"))
		// ab rounds sums to milliseconds before it divides, and takes the times of processing for the difference of the others.
		connect, whole := b.times[connectTime].table(), b.times[total].table()
		row := func(name string, t [3]int64) {
			fmt.Fprintf(w, "<tr %s>%s%s%s%s</tr>\n", b.tr, th(name+":"), cell(t[0]), cell(t[1]), cell(t[2]))
		}
		row("Connect", connect)
		row("Processing", [3]int64{whole[0] - connect[0], whole[1] - connect[1], whole[2] - connect[2]})
		row("Total", whole)
	}
	fmt.Fprint(w, "</table>\n")
}

// serverName returns what the field Server begins with. It ends, as in ab, at the first byte that is no letter of ASCII, digit or sign.
func serverName(field string) string {
	if i := strings.IndexFunc(field, func(c rune) bool { return c <= ' ' || c >= 0x80 }); i >= 0 {
		return field[:i]
	}
	return field
}

// protocolOf describes a connection in the words of OpenSSL.
func protocolOf(s *tls.ConnectionState) string {
	version := strings.ReplaceAll(tls.VersionName(s.Version), "TLS ", "TLSv")
	if version == "TLSv1.0" {
		version = "TLSv1"
	}
	name := tls.CipherSuiteName(s.CipherSuite)
	bits := 256
	if strings.Contains(name, "AES_128") {
		bits = 128
	}
	if s.Version < tls.VersionTLS13 {
		name = openSSL.Replace(name)
	}
	key := 0
	if len(s.PeerCertificates) > 0 {
		switch k := s.PeerCertificates[0].PublicKey.(type) {
		case *rsa.PublicKey:
			key = k.N.BitLen()
		case *ecdsa.PublicKey:
			key = k.Curve.Params().BitSize
		case ed25519.PublicKey:
			key = 256
		}
	}
	return fmt.Sprintf("%s,%s,%d,%d", version, name, key, bits)
}

// keyOf names what both sides agreed on a key with.
func keyOf(c tls.CurveID) string {
	switch c {
	case tls.X25519:
		return "X25519 253 bits"
	case tls.CurveP256:
		return "ECDH prime256v1 256 bits"
	case tls.CurveP384:
		return "ECDH secp384r1 384 bits"
	case tls.CurveP521:
		return "ECDH secp521r1 521 bits"
	case 0:
		return ""
	}
	return c.String()
}
