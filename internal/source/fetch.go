// Package source turns what a user types into recordings: files, directories, globs, standard input, host:port and
// URLs. It also names addresses that a profile leaves unnamed, from programs on disk or the server that was asked.
package source

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
)

// Options tune fetching. The zero Options read files, and ask servers with the default timeouts.
type Options struct {
	Duration time.Duration // duration of a server's recording; 0 means the server's default
	Timeout  time.Duration // timeout for an answer; 0 means a minute, or Duration and half of it

	TLSCert, TLSKey, TLSCA string // files with client and CA certificates

	Binary     string   // program of profiles that do not name it
	BuildID    string   // build ID of that program
	BinaryPath []string // folders with the programs that profiles name

	Kind string // kind of profile to fetch if a ref only names a server; "" means a CPU profile

	Metric string     // selects a profile of a recording
	At     query.Span // time range of an execution trace or recording

	AllFrames bool // keep frames that the profile marks as uninteresting, and drop the mark

	Symbolize string // ways to symbolize: none, local, remote, force…, joined by colons; "" means local, then remote

	PProf bool // parse program names like pprof, by the rules of this system; see query.Query

	Stdin io.Reader        // input for the ref -; nil means empty
	Say   func(msg string) // called with messages about progress; may be nil

	// Missed is called for each of several profiles that cannot be read; nil means that Say gets a message.
	Missed func(ref string, err error)

	// Absent is called with the programs that are missing on this machine, so that their functions have no names; "" stands for a program without a
	// name. It may be nil. For pprof, Say gets a message instead.
	Absent func(programs []string)

	Progress func(done int) // called with the number of profiles added up so far; may be nil

	stall time.Duration // maximum pause within an answer; 0 means usualStall

	Large func() // called while reading a large file, once it is known to be a profile; may be nil
}

func (o *Options) say(format string, args ...any) {
	if o.Say != nil {
		o.Say(fmt.Sprintf(format, args...))
	}
}

// A Fetched is a profile and its origin.
type Fetched struct {
	Profile *profile.Profile
	URL     string // set if it came from a server
}

// Fetch reads one profile from a file or a server.
func (o *Options) Fetch(ctx context.Context, ref string) (Fetched, error) {
	if ref == "-" {
		if o.Stdin == nil {
			return Fetched{}, errors.New("standard input is closed")
		}
		p, err := o.read(o.Stdin)
		return Fetched{Profile: p}, err
	}
	f, err := os.Open(ref)
	if err == nil {
		defer f.Close()
		if !isZip(f) {
			p, err := o.read(&file{f, o.Large})
			return Fetched{Profile: p}, err
		}
	}
	if r, at, err := Recording(ctx, ref); r != nil || err != nil {
		return o.part(r, at, err)
	}
	if _, statErr := os.Stat(ref); statErr == nil {
		return Fetched{}, err
	} else if u := o.url(ref); u == nil {
		return Fetched{}, statErr
	} else {
		return o.ask(ctx, u)
	}
}

// A file is a file that may hold a large profile.
type file struct {
	*os.File
	large func() // called for a large profile; may be nil
}

// large is the size in bytes of profiles that take so long to read that other work can be done meanwhile.
const large = 1 << 20

// Recognized is called by package profile.
func (f *file) Recognized() {
	if st, err := f.Stat(); f.large != nil && err == nil && st.Size() > large {
		f.large()
	}
}

// cpuProfile is the path of CPU profiles on Go servers, the default for a ref that only names a server.
const cpuProfile = "/debug/pprof/profile"

// url returns the URL of a ref, or nil. The scheme may be missing: localhost:6060 is enough.
func (o *Options) url(ref string) *url.URL {
	u, err := url.Parse(ref)
	if err != nil || u.Host == "" && u.Scheme != "" && u.Scheme != "file" {
		// Without a scheme, url.Parse takes the host for the scheme.
		u, err = url.Parse("http://" + ref)
	}
	if err != nil || u.Host == "" {
		return nil
	}
	if u.Path == "" || u.Path == "/" {
		switch o.Kind {
		case recording.Goroutine:
			u.Path, u.RawQuery = "/debug/pprof/goroutine", "debug=2"
		case recording.Execution.Name:
			u.Path = "/debug/pprof/trace"
		default:
			u.Path = cpuProfile
		}
	}
	q := u.Query()
	lasts := o.Duration
	if o.Kind == recording.Execution.Name && !q.Has("seconds") {
		lasts = cmp.Or(lasts, TraceLength)
	}
	if lasts > 0 {
		q.Set("seconds", strconv.Itoa(int(lasts.Seconds())))
	}
	u.RawQuery = q.Encode()
	return u
}

// patience returns the timeout for an answer.
func (o *Options) patience(u *url.URL) time.Duration {
	if o.Timeout > 0 {
		return o.Timeout
	}
	if d := asked(u); d > 0 {
		return d + d/2
	}
	return time.Minute
}

func (o *Options) ask(ctx context.Context, u *url.URL) (Fetched, error) {
	from := u.String()
	o.say("Fetching profile over HTTP from %s", from)
	if o.Duration > 0 {
		o.say("Please wait... (%v)", o.Duration)
	}
	resp, err := o.do(ctx, http.MethodGet, u, nil, o.patience(u)+5*time.Second)
	if err != nil {
		return Fetched{}, err
	}
	defer resp.Body.Close()
	p, err := o.read(resp.Body)
	return Fetched{p, from}, err
}

// do sends a request and returns an answer with status OK.
func (o *Options) do(ctx context.Context, method string, u *url.URL, body []byte, patience time.Duration) (*http.Response, error) {
	conf, err := o.TLS()
	if err != nil {
		return nil, err
	}
	target := *u
	if target.Scheme == "https+insecure" {
		target.Scheme = "https"
		conf.InsecureSkipVerify = true
	}
	ctx, stop := context.WithCancel(ctx)
	req, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(body))
	if err != nil {
		stop()
		return nil, err
	}
	if strings.HasSuffix(target.Path, "/"+storeProfile) && !conf.InsecureSkipVerify {
		if token := tokenFor(target.Scheme+"://"+target.Host, ""); token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
	}
	client := &http.Client{Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		ResponseHeaderTimeout: patience,
		TLSClientConfig:       conf,
		DisableKeepAlives:     true,
	}, CheckRedirect: stay}
	resp, err := client.Do(req)
	if err != nil {
		stop()
		return nil, err
	}
	resp.Body = keepMoving(resp.Body, stop, u, asked(u)+cmp.Or(o.stall, usualStall))
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		if resp.Header.Get("X-Go-Pprof") != "" && strings.Contains(resp.Header.Get("Content-Type"), "text/plain") {
			// The body explains the error, for example that another CPU profile is running.
			if words, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10)); err == nil {
				return nil, &StatusError{resp.Status, resp.StatusCode, strings.TrimSpace(string(words))}
			}
		}
		return nil, &StatusError{Status: resp.Status, Code: resp.StatusCode}
	}
	return resp, nil
}

// stay follows redirects like net/http, but not from this machine to another: the user only asked for this one.
func stay(req *http.Request, via []*http.Request) error {
	if len(via) >= 10 {
		return errors.New("stopped after 10 redirects")
	}
	if first := via[0].URL; isHere(first.Hostname()) && !isHere(req.URL.Hostname()) {
		return fmt.Errorf("it redirects to another machine, %s; give the address there", req.URL.Redacted())
	}
	return nil
}

func isHere(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// A StatusError is an error answer of a server.
type StatusError struct {
	Status string // status line, such as "404 Not Found"
	Code   int
	Said   string // why, in the words of net/http/pprof; "" where that did not answer
}

func (e *StatusError) Error() string {
	if e.Said != "" {
		return "server response: " + e.Status + " - " + e.Said
	}
	return "server response: " + e.Status
}

// TLS returns the TLS configuration for servers.
func (o *Options) TLS() (*tls.Config, error) {
	conf := &tls.Config{}
	switch {
	case o.TLSCert != "" && o.TLSKey != "":
		cert, err := tls.LoadX509KeyPair(o.TLSCert, o.TLSKey)
		if err != nil {
			return nil, fmt.Errorf("could not load certificate/key pair specified by -tls_cert and -tls_key: %v", err)
		}
		conf.Certificates = []tls.Certificate{cert}
	case o.TLSKey != "":
		return nil, errors.New("-tls_key is specified, so -tls_cert must also be specified")
	case o.TLSCert != "":
		return nil, errors.New("-tls_cert is specified, so -tls_key must also be specified")
	}
	if o.TLSCA != "" {
		pem, err := os.ReadFile(o.TLSCA)
		if err != nil {
			return nil, fmt.Errorf("could not load CA specified by -tls_ca: %v", err)
		}
		conf.RootCAs = x509.NewCertPool()
		conf.RootCAs.AppendCertsFromPEM(pem)
	}
	return conf, nil
}
