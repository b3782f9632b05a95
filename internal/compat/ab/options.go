package ab

import (
	"crypto/tls"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// options are the command line.
type options struct {
	requests    int64
	concurrency int
	timeLimit   time.Duration
	timeout     time.Duration
	heartbeat   int // requests between two lines that say how far it is; 0 is none

	method      string
	methodSet   bool // it may be ""
	body        []byte
	hasBody     bool
	contentType string
	cookie      string
	auth        string
	headers     string
	own         map[string]bool // Host, User-Agent, Accept: given with -H
	keepAlive   bool

	percentiles, confidence bool
	anyLength, goOn         bool
	html                    bool
	table, tr, td           string
	gnuplot, csv            *string // files; nil is none

	proxyHost string
	proxyPort int
	proxyAuth string
	from      string
	window    int

	verbosity int

	noServerName bool
	protocol     string
	ciphers      string
	certFile     string

	whole string // argument
	url   *url.URL
	host  string // name alone
	path  string
}

// letters are the options; those with a colon have an argument.
const letters = "n:c:t:s:b:T:p:u:v:lrkVhwiIx:y:z:C:H:P:A:g:X:de:SqB:m:Z:f:E:"

// Flags returns the options, described as in the usage.
func Flags() *flag.FlagSet {
	about := map[byte]string{}
	for line := range strings.Lines(usage) {
		if rest, ok := strings.CutPrefix(line, "    -"); ok && strings.IndexByte(letters, rest[0]) >= 0 {
			about[rest[0]] = strings.TrimSpace(rest[len("n requests     "):])
		}
	}
	fs := flag.NewFlagSet("ab", flag.ContinueOnError)
	for i := range len(letters) {
		switch c := letters[i]; {
		case c == ':':
		case i+1 < len(letters) && letters[i+1] == ':':
			fs.String(string(c), "", about[c])
		default:
			fs.Bool(string(c), false, about[c])
		}
	}
	return fs
}

// parse reads a command line as apr_getopt does: letters may stand together, an argument may follow at once, and options
// end at the first word that is none. When there is nothing to run it returns nil and the exit code.
func parse(sys System, args []string) (*options, int) {
	o := &options{
		requests: 1, concurrency: 1, timeout: 30 * time.Second, heartbeat: 100, percentiles: true, confidence: true,
		own: map[string]bool{}, method: "GET", contentType: "text/plain", td: "bgcolor=white",
	}
	usageError := func(format string, a ...any) (*options, int) {
		fmt.Fprintf(sys.Err, "ab: "+format+"\n", a...)
		io.WriteString(sys.Err, usage)
		return nil, exitUsage
	}
	const wrongNumber = "wrong number of arguments"
options:
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		whole, word := args[0], args[0][1:]
		args = args[1:]
		if word == "-" {
			break
		}
		for word != "" {
			c := word[0]
			word = word[1:]
			i := strings.IndexByte(letters, c)
			if i < 0 || c == ':' {
				// ab says so, and goes on with what is behind it.
				fmt.Fprintf(sys.Err, "ab: illegal option -- %c\n", c)
				if word != "" {
					args = append([]string{whole}, args...)
				}
				break options
			}
			arg := ""
			if i+1 < len(letters) && letters[i+1] == ':' {
				switch {
				case word != "":
					arg, word = word, ""
				case len(args) > 0:
					arg, args = args[0], args[1:]
				default:
					fmt.Fprintf(sys.Err, "ab: option requires an argument -- %c\n", c)
					return usageError(wrongNumber)
				}
			}
			if code, stop := o.set(sys, c, arg); stop {
				return nil, code
			}
		}
	}
	if len(args) != 1 {
		return usageError(wrongNumber)
	}
	if !o.parseURL(args[0]) {
		return usageError("invalid URL")
	}
	switch {
	case o.concurrency < 1 || o.concurrency > maxConcurrency:
		return usageError("Invalid Concurrency [Range 1..%d]", maxConcurrency)
	case int64(o.concurrency) > o.requests:
		return usageError("Cannot use concurrency level greater than total number of requests")
	}
	if o.heartbeat > 0 {
		if o.requests > 150 {
			o.heartbeat = int(max(o.requests/10, 100))
		} else {
			o.heartbeat = 0
		}
	}
	return o, 0
}

const maxConcurrency = 20000

// set sets one option. It reports whether there is nothing more to do.
func (o *options) set(sys System, c byte, arg string) (code int, stop bool) {
	fail := func(text string) (int, bool) {
		fmt.Fprintf(sys.Err, "%s\n\n", text)
		return exitError, true
	}
	switch c {
	case 'n':
		if o.requests = int64(atoi(arg)); o.requests <= 0 {
			return fail("Invalid number of requests")
		}
	case 'c':
		o.concurrency = atoi(arg)
	case 't':
		o.timeLimit = time.Duration(atoi(arg)) * time.Second
		o.requests = 50000 // to be overridden by -n behind it
	case 's':
		o.timeout = max(time.Duration(atoi(arg))*time.Second, 0)
		if o.timeout == 0 {
			return fail("Invalid timeout")
		}
	case 'k':
		o.keepAlive = true
	case 'q':
		o.heartbeat = 0
	case 'i':
		if o.methodSet {
			return fail("Cannot mix HEAD with other methods")
		}
		o.method, o.methodSet = "HEAD", true
	case 'p', 'u':
		name := map[byte]string{'p': "POST", 'u': "PUT"}[c]
		if o.methodSet {
			return fail("Cannot mix " + name + " with other methods")
		}
		body, err := os.ReadFile(arg)
		if err != nil {
			if st, _ := os.Stat(arg); st != nil && st.IsDir() {
				fmt.Fprintf(sys.Err, "ab: Could not read POST data file: %s\n", sentence(err))
			} else {
				fmt.Fprintf(sys.Err, "ab: Could not open POST data file (%s): %s\n", arg, sentence(err))
			}
			return exitError, true
		}
		o.method, o.methodSet, o.body, o.hasBody = name, true, body, true
	case 'm':
		o.method, o.methodSet = arg, true
	case 'T':
		o.contentType = arg
	case 'C':
		o.cookie = "Cookie: " + arg + "\r\n" // the last one, though the usage says otherwise
	case 'A':
		o.auth = "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(strings.TrimLeft(arg, " \t"))) + "\r\n"
	case 'X':
		host, port, _ := strings.Cut(arg, ":")
		o.proxyHost, o.proxyPort = host, atoi(port)
	case 'P':
		o.proxyAuth = "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(strings.TrimLeft(arg, " \t"))) + "\r\n"
	case 'B':
		o.from = arg
	case 'b':
		o.window = max(atoi(arg), 0)
	case 'H':
		o.headers += arg + "\r\n"
		for _, name := range []string{"Host", "User-Agent", "Accept"} {
			if len(arg) > len(name) && strings.EqualFold(arg[:len(name)+1], name+":") {
				o.own[name] = true
			}
		}
	case 'v':
		o.verbosity = atoi(arg)
	case 'd':
		o.percentiles = false
	case 'S':
		o.confidence = false
	case 'l':
		o.anyLength = true
	case 'r':
		o.goOn = true
	case 'w':
		o.html = true
	case 'x':
		o.html, o.table = true, arg
	case 'y':
		o.html, o.tr = true, arg
	case 'z':
		o.html, o.td = true, arg
	case 'g':
		o.gnuplot = &arg
	case 'e':
		o.csv = &arg
	case 'I':
		o.noServerName = true
	case 'f':
		o.protocol = arg
	case 'Z':
		o.ciphers = arg
	case 'E':
		o.certFile = arg
	case 'V':
		copyright(sys.Out, o.html)
		return exitDone, true
	case 'h':
		io.WriteString(sys.Err, usage)
		return exitUsage, true
	}
	return 0, false
}

// sentence writes an error of the system as C does.
func sentence(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	s := err.Error()
	return strings.ToUpper(s[:1]) + s[1:]
}

// atoi reads a number as C does: as far as it goes.
func atoi(s string) int {
	s = strings.TrimLeft(s, " \t")
	end := 0
	for end < len(s) && (s[end] >= '0' && s[end] <= '9' || end == 0 && (s[0] == '-' || s[0] == '+')) {
		end++
	}
	n, err := strconv.ParseInt(s[:end], 10, 32)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0
	}
	return int(n)
}

// parseURL reads [http[s]://]host[:port]/path. What is no port belongs to the host, whose name is then not found.
func (o *options) parseURL(text string) bool {
	o.whole = text
	scheme, rest := "http", text
	if r, ok := strings.CutPrefix(text, "http://"); ok && r != "" {
		rest = r
	} else if r, ok := strings.CutPrefix(text, "https://"); ok && r != "" {
		scheme, rest = "https", r
	}
	at := strings.IndexByte(rest, '/')
	if at < 1 {
		return false
	}
	host, port, ok := cutPort(rest[:at])
	if ok && host[0] == '[' {
		host, ok = strings.CutSuffix(host[1:], "]")
		ok = ok && net.ParseIP(host) != nil
	}
	if !ok {
		return false
	}
	o.host, o.path = host, rest[at:]
	o.url = &url.URL{Scheme: scheme, Host: host, Path: "/"}
	if strings.Contains(host, ":") {
		o.url.Host = "[" + host + "]"
	}
	if port != 0 {
		o.url.Host = net.JoinHostPort(host, strconv.Itoa(port))
	}
	return true
}

// cutPort cuts the port off a host, where there is one; 0 is none.
func cutPort(text string) (host string, port int, ok bool) {
	digits := text[len(strings.TrimRight(text, "0123456789")):]
	if host, ok = strings.CutSuffix(text[:len(text)-len(digits)], ":"); !ok || digits == "" {
		return text, 0, digits != text
	}
	port, err := strconv.Atoi(digits)
	return host, port, err == nil && host != "" && 1 <= port && port <= 65535
}

// port returns the port that is connected to.
func (o *options) port() string {
	switch {
	case o.url.Port() != "":
		return o.url.Port()
	case o.url.Scheme == "https":
		return "443"
	}
	return "80"
}

// target returns the URL to connect to.
func (o *options) target() *url.URL {
	if a := spelledOut(o.host); a != o.host {
		u := *o.url
		u.Host = net.JoinHostPort(a, o.port())
		return &u
	}
	return o.url
}

// spelledOut returns the usual form of an IPv4 address in another form that C takes: one to four numbers, each decimal, octal (017) or
// hexadecimal (0xf), of which the last fills all bytes that are left. Other names stay as they are.
func spelledOut(name string) string {
	parts := strings.Split(name, ".")
	if len(parts) > 4 {
		return name
	}
	var ip uint64
	for i, part := range parts {
		digits, base := part, 10
		switch {
		case strings.HasPrefix(part, "0x"), strings.HasPrefix(part, "0X"):
			digits, base = part[2:], 16
		case strings.HasPrefix(part, "0"):
			base = 8
		}
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (4 - i)
		}
		n, err := strconv.ParseUint(digits, base, bits)
		if err != nil {
			return name
		}
		ip |= n << (32 - 8*i - bits)
	}
	return netip.AddrFrom4([4]byte{byte(ip >> 24), byte(ip >> 16), byte(ip >> 8), byte(ip)}).String()
}

// wire returns the request without its body, header by header in the order of ab.
func (o *options) wire() string {
	var b strings.Builder
	path := o.path
	if o.proxyHost != "" {
		path = o.whole
	}
	fmt.Fprintf(&b, "%s %s HTTP/1.0\r\n", o.method, path)
	if o.keepAlive {
		b.WriteString("Connection: Keep-Alive\r\n")
	}
	b.WriteString(o.cookie + o.proxyAuth + o.auth)
	if o.hasBody {
		fmt.Fprintf(&b, "Content-length: %d\r\nContent-type: %s\r\n", len(o.body), o.contentType)
	}
	b.WriteString(o.headers)
	if !o.own["Host"] {
		host := o.host
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		if p := o.port(); p != map[string]string{"http": "80", "https": "443"}[o.url.Scheme] {
			host = net.JoinHostPort(o.host, p)
		}
		fmt.Fprintf(&b, "Host: %s\r\n", host)
	}
	if !o.own["User-Agent"] {
		b.WriteString("User-Agent: ApacheBench/2.3\r\n")
	}
	if !o.own["Accept"] {
		b.WriteString("Accept: */*\r\n")
	}
	b.WriteString("\r\n")
	return b.String()
}

// tls returns how connections are secured: as ab does, without looking at the certificate.
func (o *options) tls() (*tls.Config, error) {
	c := &tls.Config{
		InsecureSkipVerify: true, ServerName: o.host,
		CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384, tls.CurveP521}, // those of OpenSSL 3.0
	}
	if o.noServerName {
		c.ServerName = "0.0.0.0" // an address is not sent
	}
	switch strings.ToUpper(o.protocol) {
	case "TLS1":
		c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS10
	case "TLS1.1":
		c.MinVersion, c.MaxVersion = tls.VersionTLS11, tls.VersionTLS11
	case "TLS1.2":
		c.MinVersion, c.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	case "TLS1.3":
		c.MinVersion, c.MaxVersion = tls.VersionTLS13, tls.VersionTLS13
	} // all else is for all of them
	var err error
	if c.CipherSuites, err = ciphers(o.ciphers); err != nil {
		return nil, err
	}
	if o.certFile != "" {
		pair, err := tls.LoadX509KeyPair(o.certFile, o.certFile)
		if err != nil {
			return nil, fmt.Errorf("-E %s: %w", o.certFile, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
