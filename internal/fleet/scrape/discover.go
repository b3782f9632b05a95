package scrape

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/fleet/relabel"
	"github.com/hone-perf/hone/internal/fleet/settings"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/secret"
)

// A set is the labels of a discovered target.
type set map[string]string

// Limits of discovery.
const (
	mostFound     = 16 << 20 // bytes of a file or an answer
	lookupTimeout = 30 * time.Second
	usualPoll     = settings.Duration(5 * time.Second) // how often files are checked
)

// sets returns the targets of groups. Labels of a group take precedence over those of the source.
func sets(groups []Group, source set) []set {
	var out []set
	for _, g := range groups {
		for _, address := range g.Targets {
			s := set{}
			maps.Copy(s, source)
			maps.Copy(s, g.Labels)
			s[addressLabel] = address
			out = append(out, s)
		}
	}
	return out
}

// A finder discovers targets at intervals.
type finder struct {
	kind  string // as in the configuration
	what  string // where it looks
	every time.Duration

	// look returns the current targets. With an error and nil, the previous targets stay.
	look  func(ctx context.Context) ([]set, error)
	close func() // is called at the end; may be nil

	stop context.CancelFunc
	done chan struct{}

	mu    sync.Mutex
	found []set
	when  time.Time
	err   error
}

// run looks for targets until ctx ends, and reports changes.
func (f *finder) run(ctx context.Context, changed func()) {
	defer close(f.done)
	if f.close != nil {
		defer f.close()
	}
	for {
		within, cancel := context.WithTimeout(ctx, lookupTimeout)
		found, err := f.look(within)
		cancel()
		if ctx.Err() != nil {
			return
		}
		f.mu.Lock()
		f.err, f.when = err, time.Now()
		isNew := (found != nil || err == nil) && !slices.EqualFunc(found, f.found, func(a, b set) bool { return maps.Equal(a, b) })
		if isNew {
			f.found = found
		}
		f.mu.Unlock()
		if isNew {
			changed()
		}
		sleep(ctx, f.every)
		if ctx.Err() != nil {
			return
		}
	}
}

func (f *finder) sets() []set {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.found
}

func (f *finder) state() Source {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Source{Kind: f.kind, What: f.what, Targets: len(f.found), Looked: f.when, Err: textError(f.err)}
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// finders returns the finders of j by a key of their settings.
func (s *Scraper) finders(j *Job) map[string]*finder {
	all := map[string]*finder{}
	add := func(key string, f *finder) {
		f.done = make(chan struct{})
		all[key] = f
	}
	for _, c := range j.Files {
		add(fmt.Sprintf("file %q %s", c.Files, c.Refresh), &finder{
			kind: "file_sd_configs", what: strings.Join(c.Files, " "), every: time.Duration(c.Refresh), look: (&files{patterns: c.Files}).look,
		})
	}
	for _, c := range j.Servers {
		look := &server{url: c.URL, every: time.Duration(c.Refresh), client: s.newClient(c.HTTP, true)}
		add(fmt.Sprintf("http %q %s %s", c.URL, c.Refresh, c.HTTP.fingerprint()), &finder{
			kind: "http_sd_configs", what: new(secret.Hider).URL(c.URL), every: time.Duration(c.Refresh), look: look.look, close: look.client.close,
		})
	}
	for _, c := range j.Names {
		add(fmt.Sprintf("dns %q %s %d %s", c.Names, c.Type, c.Port, c.Refresh), &finder{
			kind: "dns_sd_configs", what: strings.Join(c.Names, " "), every: time.Duration(c.Refresh), look: (&names{DNSSD: c, ask: s.opt.Resolver}).look,
		})
	}
	return all
}

// files are files with groups. For a file that cannot be read, its last targets stay; a file that was removed has no targets.
type files struct {
	patterns []string
	known    map[string]*knownFile
}

type knownFile struct {
	changed time.Time
	size    int64
	found   []set
	err     error
}

func (f *files) look(context.Context) ([]set, error) {
	known := map[string]*knownFile{}
	for _, pattern := range f.patterns {
		list, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range list {
			known[name] = f.read(name)
		}
	}
	f.known = known
	found := []set{}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(known)) {
		found = append(found, known[name].found...)
		if err := known[name].err; err != nil {
			errs = append(errs, err)
		}
	}
	return found, errors.Join(errs...)
}

// read returns the content of a file. It reads the file again when it has changed, and as long as reading fails.
func (f *files) read(name string) *knownFile {
	before := f.known[name]
	if before == nil {
		before = &knownFile{}
	}
	st, err := os.Stat(name)
	if err != nil {
		return &knownFile{found: before.found, err: err}
	}
	now := &knownFile{changed: st.ModTime(), size: st.Size(), found: before.found}
	// A file that was written just now may be written again within the resolution of its modification time, which then does not change.
	if before.err == nil && before.changed.Equal(now.changed) && before.size == now.size && time.Since(now.changed) > 10*time.Second {
		return before
	}
	text, err := readFile(name, mostFound)
	if err != nil {
		now.err = err
		return now
	}
	groups, err := parseGroups(name, text, filepath.Ext(name) == ".json")
	if err != nil {
		now.err = err
		return now
	}
	now.found = sets(groups, set{metaPrefix + "filepath": name})
	return now
}

// readFile reads a file of limited size.
func readFile(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s has more than %d bytes", name, most)
	}
	return text, err
}

// parseGroups reads groups in the format of Prometheus.
func parseGroups(name string, text []byte, isJSON bool) ([]Group, error) {
	var groups []Group
	if !isJSON {
		v, err := settings.Parse(name, text)
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(text)) > 0 {
			v.Each(func(v settings.Value) { groups = append(groups, group(v, false)) })
		}
		return groups, v.Err()
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&groups); err != nil {
		line := 1 + bytes.Count(text[:min(dec.InputOffset(), int64(len(text)))], []byte{'\n'})
		return nil, fmt.Errorf(`%s:%d: this is not a list such as [{"targets": ["api:6060"], "labels": {"version": "v2"}}]: %w`, name, line, err)
	}
	if dec.More() {
		return nil, fmt.Errorf("%s: unexpected text after the list of targets", name)
	}
	for _, g := range groups {
		for label := range g.Labels {
			if !relabel.ValidName(label) {
				return nil, fmt.Errorf("%s: %q is not a label name", name, label)
			}
		}
	}
	return groups, nil
}

// A server returns groups over HTTP.
type server struct {
	url    string
	every  time.Duration
	client *client
}

func (s *server) look(ctx context.Context) ([]set, error) {
	u, err := url.Parse(s.url)
	if err != nil {
		return nil, errors.New("the URL is broken")
	}
	hidden := new(secret.Hider).URL(s.url)
	body, err := s.client.get(ctx, u, request{
		most: mostFound, accept: "application/json", header: "X-Prometheus-Refresh-Interval-Seconds", value: strconv.FormatFloat(s.every.Seconds(), 'f', -1, 64),
		reserve: func(int64) bool { return true },
	})
	if err != nil {
		return nil, err
	}
	groups, err := parseGroups(hidden, body, true)
	if err != nil {
		return nil, err
	}
	return append([]set{}, sets(groups, set{metaPrefix + "url": hidden})...), nil
}

// A Resolver looks names up. *net.Resolver is one.
type Resolver interface {
	LookupSRV(ctx context.Context, service, proto, name string) (string, []*net.SRV, error)
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// names are DNS names. When a lookup fails, the last targets of the name stay.
type names struct {
	DNSSD
	ask   Resolver
	known map[string][]set
}

func (n *names) look(ctx context.Context) ([]set, error) {
	if n.known == nil {
		n.known = map[string][]set{}
	}
	found := []set{}
	var errs []error
	for _, name := range n.Names {
		now, err := n.lookup(ctx, name)
		var dns *net.DNSError
		switch {
		case err == nil || errors.As(err, &dns) && dns.IsNotFound:
			n.known[name] = now
		default:
			errs = append(errs, err)
		}
		found = append(found, n.known[name]...)
	}
	return found, errors.Join(errs...)
}

func (n *names) lookup(ctx context.Context, name string) ([]set, error) {
	var out []set
	add := func(host string, port int, more set) {
		s := set{addressLabel: net.JoinHostPort(host, strconv.Itoa(port)), metaPrefix + "dns_name": name}
		maps.Copy(s, more)
		out = append(out, s)
	}
	if n.Type == "SRV" {
		_, records, err := n.ask.LookupSRV(ctx, "", "", name)
		for _, r := range records {
			host := strings.TrimRight(r.Target, ".")
			add(host, int(r.Port), set{metaPrefix + "dns_srv_record_target": r.Target, metaPrefix + "dns_srv_record_port": strconv.Itoa(int(r.Port))})
		}
		return ordered(out), err
	}
	network := "ip4"
	if n.Type == "AAAA" {
		network = "ip6"
	}
	addresses, err := n.ask.LookupNetIP(ctx, network, name)
	for _, a := range addresses {
		add(a.Unmap().String(), n.Port, nil)
	}
	return ordered(out), err
}

// ordered sorts targets by address: name servers shuffle them.
func ordered(sets []set) []set {
	order.Stable(sets, func(a, b set) int { return strings.Compare(a[addressLabel], b[addressLabel]) })
	return sets
}
