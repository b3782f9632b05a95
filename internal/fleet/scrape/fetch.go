package scrape

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/klauspost/compress/gzip"

	"github.com/hone-perf/hone/internal/fleet/settings"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/secret"
)

// A Cause is a kind of error.
type Cause string

// The causes of errors.
const (
	CauseConnect  Cause = "connect"  // the connection failed
	CauseTimeout  Cause = "timeout"  // it took too long
	CauseStatus   Cause = "status"   // the answer was an error
	CauseBusy     Cause = "busy"     // another client is taking a CPU profile
	CauseSize     Cause = "size"     // the answer is larger than the limit, compressed or not
	CauseFormat   Cause = "format"   // the answer is not a profile
	CauseRedirect Cause = "redirect" // the answer is on another host
	CauseSecret   Cause = "secret"   // a file with a password, a token or a certificate is unusable
	CauseMemory   Cause = "memory"   // there was no memory left for the answer
	CauseRefused  Cause = "refused"  // the store does not take the profile
)

// An Error explains why a scrape failed.
type Error struct {
	Cause  Cause
	Status int // of HTTP, where there was one
	Err    error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// MarshalJSON writes what is known.
func (e *Error) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Cause  Cause  `json:"cause"`
		Status int    `json:"status,omitempty"`
		Text   string `json:"text"`
	}{e.Cause, e.Status, e.Error()})
}

// textError returns err as text, for JSON.
func textError(err error) *Error {
	if err == nil {
		return nil
	}
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	return &Error{Err: err}
}

var errNoMemory = errors.New("other profiles take all the memory that scraping may use")

// A client sends requests with the same settings.
type client struct {
	HTTP
	http *http.Client
}

const (
	dialTimeout  = 10 * time.Second
	keepIdle     = 90 * time.Second
	mostHeaders  = 64 << 10
	mostWords    = 1 << 10 // bytes of an error message of a server
	mostRedirect = 3
)

// errElsewhere is the error for redirects to another server. If hone followed them, a target could make it send requests to any server in its network.
var errElsewhere = errors.New("the server redirects to another host, or from https to http; hone only follows redirects within a host")

func (s *Scraper) newClient(h HTTP, follow bool) *client {
	c := &client{HTTP: h}
	dial := (&net.Dialer{Timeout: dialTimeout}).DialContext
	if s.opt.dial != nil {
		dial = s.opt.dial
	}
	c.http = &http.Client{
		Transport: &http.Transport{
			DialContext: dial,
			// Certificates are replaced while hone runs, so their files are read for each connection.
			DialTLSContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				host, _, err := net.SplitHostPort(addr)
				if err != nil {
					return nil, err
				}
				conf, err := h.TLS.config(host)
				if err != nil {
					return nil, &Error{Cause: CauseSecret, Err: err}
				}
				plain, err := dial(ctx, network, addr)
				if err != nil {
					return nil, err
				}
				conn := tls.Client(plain, conf)
				if err := conn.HandshakeContext(ctx); err != nil {
					plain.Close()
					return nil, err
				}
				return conn, nil
			},
			MaxIdleConnsPerHost:    2,
			MaxIdleConns:           512,
			IdleConnTimeout:        keepIdle,
			MaxResponseHeaderBytes: mostHeaders,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			switch before := via[len(via)-1].URL; {
			case !follow:
				return http.ErrUseLastResponse
			case !strings.EqualFold(req.URL.Host, before.Host), before.Scheme == "https" && req.URL.Scheme != "https":
				return &Error{Cause: CauseRedirect, Err: errElsewhere}
			case len(via) > mostRedirect:
				return &Error{Cause: CauseRedirect, Err: fmt.Errorf("more than %d redirects", mostRedirect)}
			}
			return nil
		},
	}
	return c
}

func (c *client) close() { c.http.CloseIdleConnections() }

var versions = map[string]uint16{"TLS10": tls.VersionTLS10, "TLS11": tls.VersionTLS11, "TLS12": tls.VersionTLS12, "TLS13": tls.VersionTLS13}

// config returns the TLS settings for a host.
func (t *TLS) config(host string) (*tls.Config, error) {
	conf := &tls.Config{ServerName: host, InsecureSkipVerify: t.Insecure, MinVersion: versions[t.MinVersion]}
	if t.ServerName != "" {
		conf.ServerName = t.ServerName
	}
	text := func(inline, file string) ([]byte, error) {
		if file == "" {
			return []byte(inline), nil
		}
		return readFile(file, mostSecret)
	}
	if t.CA != "" || t.CAFile != "" {
		pem, err := text(t.CA, t.CAFile)
		if err != nil {
			return nil, err
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("tls_config: no certificate in ca or ca_file")
		}
	}
	if t.Cert != "" || t.CertFile != "" {
		cert, err := text(t.Cert, t.CertFile)
		if err != nil {
			return nil, err
		}
		key, err := text(string(t.Key), t.KeyFile)
		if err != nil {
			return nil, err
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("tls_config: the certificate or its key cannot be used: %w", err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	return conf, nil
}

const mostSecret = 1 << 20 // bytes of a file with a secret or certificates

// value returns a secret, from its file if it has one. White space around the content of a file is ignored.
func value(inline settings.Secret, file string) (string, error) {
	if file == "" {
		return string(inline), nil
	}
	text, err := readFile(file, mostSecret)
	return strings.TrimSpace(string(text)), err
}

// authorize adds credentials to a request. It returns the secrets, which must not be shown.
func (c *client) authorize(req *http.Request) (secrets []string, err error) {
	switch {
	case c.Basic != nil:
		user, err := value(settings.Secret(c.Basic.Username), c.Basic.UsernameFile)
		if err != nil {
			return nil, err
		}
		password, err := value(c.Basic.Password, c.Basic.PasswordFile)
		if err != nil {
			return nil, err
		}
		req.SetBasicAuth(user, password)
		_, coded, _ := strings.Cut(req.Header.Get("Authorization"), " ")
		return []string{password, coded}, nil
	case c.Auth != nil:
		credentials, err := value(c.Auth.Credentials, c.Auth.CredentialsFile)
		if err != nil {
			return nil, err
		}
		if strings.ContainsFunc(credentials, unicode.IsControl) {
			return nil, errors.New("the credentials have more than one line")
		}
		req.Header.Set("Authorization", c.Auth.Type+" "+credentials)
		return []string{credentials}, nil
	}
	return nil, nil
}

// A request is a request, with the limits of its answer.
type request struct {
	most          int64 // bytes
	accept        string
	header, value string                 // one more header
	reserve       func(bytes int64) bool // reports whether so many more bytes may be used; a negative number gives them back
}

// get returns the body of an answer. It has reserved cap(body) bytes, also if there is an error.
func (c *client) get(ctx context.Context, u *url.URL, r request) (body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, &Error{Cause: CauseConnect, Err: errors.New("the URL cannot be used")}
	}
	req.Header.Set("User-Agent", "hone")
	if r.accept != "" {
		req.Header.Set("Accept", r.accept)
	}
	if r.header != "" {
		req.Header.Set(r.header, r.value)
	}
	secrets, err := c.authorize(req)
	if err != nil {
		return nil, &Error{Cause: CauseSecret, Err: err}
	}
	if password, ok := u.User.Password(); ok {
		secrets = append(secrets, password)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, failure(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, refusal(resp, secrets)
	}
	return read(ctx, resp, r)
}

// read reads the body of an answer.
func read(ctx context.Context, resp *http.Response, r request) (body []byte, err error) {
	tooLarge := func() error {
		return &Error{Cause: CauseSize, Err: fmt.Errorf("the answer has more than %d bytes", r.most)}
	}
	if resp.ContentLength > r.most {
		return nil, tooLarge()
	}
	size := int64(32 << 10)
	if resp.ContentLength > 0 {
		size = resp.ContentLength + 1 // one more, so that Read sees io.EOF without growing the buffer
	}
	for {
		if int64(len(body)) == int64(cap(body)) {
			if cap(body) > 0 {
				size = min(2*int64(cap(body)), r.most+1)
			}
			if !r.reserve(size - int64(cap(body))) {
				return body, &Error{Cause: CauseMemory, Err: errNoMemory}
			}
			larger := make([]byte, len(body), size)
			copy(larger, body)
			body = larger
		}
		n, err := resp.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > r.most:
			return body, tooLarge()
		case err == io.EOF:
			if spare := cap(body) - len(body); spare > 1<<10 {
				exact := make([]byte, len(body))
				copy(exact, body)
				r.reserve(int64(-spare))
				body = exact
			}
			return body, nil
		case err != nil:
			return body, failure(ctx, err)
		}
	}
}

// failure explains why there is no answer.
func failure(ctx context.Context, err error) error {
	var known *Error
	var ofURL *url.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &Error{Cause: CauseTimeout, Err: errors.New("it took longer than scrape_timeout")}
	case errors.As(err, &ofURL):
		err = ofURL.Err // without the URL, which may have secrets
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		err = errors.New("connection refused")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		err = errors.New("the connection was closed before the answer was complete, as with a short WriteTimeout of the server")
	}
	return &Error{Cause: CauseConnect, Err: err}
}

// refusal returns the error message of a server, without the secrets of the request.
func refusal(resp *http.Response, secrets []string) error {
	e := &Error{Cause: CauseStatus, Status: resp.StatusCode}
	status := fmt.Sprintf("HTTP %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	words := ""
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") {
		longest := 0
		for _, s := range secrets {
			longest = max(longest, len(s))
		}
		b, _ := io.ReadAll(io.LimitReader(resp.Body, int64(mostWords+longest)))
		cut := len(b) == mostWords+longest
		for _, s := range secrets {
			if s != "" {
				b = bytes.ReplaceAll(b, []byte(s), []byte(settings.Secret(s).String()))
			}
		}
		if cut { // the cut may be within a secret
			b = b[:max(0, len(b)-longest)]
		}
		words = string(b)
	}
	// Answers of net/http/pprof. Other servers use other words, but include the error of runtime/pprof.
	if resp.StatusCode == http.StatusInternalServerError && strings.Contains(words, "profiling already in use") {
		e.Cause = CauseBusy
	}
	words = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(words, "\ufffd"))
	var hide secret.Hider
	hide.URL(resp.Request.URL.String())
	words = hide.Text(words)
	if words = strings.Join(strings.Fields(words), " "); words != "" {
		status += ": " + profile.Shorten(words, 200)
	}
	e.Err = errors.New(status)
	return e
}

// unpackedShare is how many times the limit of its compressed size a profile may have uncompressed.
const unpackedShare = 8

var gzipMagic = []byte{0x1f, 0x8b}

// parse reads a profile that a target sent. It returns the uncompressed size, which is reserved, also if there is an error.
func parse(raw []byte, most int64, reserve func(int64) bool) (p *profile.Profile, unpacked int64, err error) {
	plain := &counted{r: bytes.NewReader(raw), most: most, reserve: reserve}
	fail := func(cause Cause, err error) (*profile.Profile, int64, error) {
		return nil, plain.n, &Error{Cause: cause, Err: err}
	}
	head := raw
	if len(raw) == 0 {
		return fail(CauseFormat, errors.New("the answer is empty"))
	}
	if bytes.HasPrefix(raw, gzipMagic) {
		zr, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			return fail(CauseFormat, err)
		}
		defer zr.Close()
		head = make([]byte, 64)
		n, err := io.ReadFull(zr, head)
		if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
			return fail(CauseFormat, err)
		}
		head = head[:n]
		plain.r = io.MultiReader(bytes.NewReader(head), zr)
	}
	if isText(head) {
		return fail(CauseFormat, errors.New("the answer is text, not a profile; it may be a page of another server, or a login page"))
	}
	if isPacked(head) {
		return fail(CauseFormat, errors.New("it is compressed twice, or in a way that net/http/pprof does not use"))
	}
	p, err = profile.Parse(plain)
	switch {
	case plain.full:
		return fail(CauseMemory, errNoMemory)
	case plain.n > most:
		return fail(CauseSize, fmt.Errorf("the profile has more than %d bytes uncompressed", most))
	case err != nil:
		return fail(CauseFormat, err)
	case p.Damage != nil:
		return fail(CauseFormat, p.Damage)
	}
	return p, plain.n, nil
}

// isText reports whether data has no control characters except white space. Profiles begin with bytes below that of a space.
func isText(head []byte) bool {
	return !bytes.ContainsFunc(head[:min(len(head), 256)], func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' })
}

// isPacked reports whether profile.Parse would uncompress data that begins like this.
func isPacked(head []byte) bool {
	return bytes.HasPrefix(head, gzipMagic) || bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd})
}

// counted is a reader that ends at a limit.
type counted struct {
	r       io.Reader
	n, most int64
	reserve func(int64) bool
	full    bool // the memory limit was reached
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	if !c.reserve(int64(n)) {
		c.full = true
		return 0, errNoMemory
	}
	if c.n += int64(n); c.n > c.most {
		return 0, errors.New("too large")
	}
	return n, err
}
