package scrape

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	pathpkg "path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/fleet/relabel"
	"github.com/hone-perf/hone/internal/fleet/settings"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// Labels with request settings. After relabeling, all labels that begin with two underscores are removed.
const (
	hiddenPrefix  = "__"
	metaPrefix    = "__meta_"
	paramPrefix   = "__param_"
	addressLabel  = "__address__"
	schemeLabel   = "__scheme__"
	prefixLabel   = "__profile_path_prefix__"
	pathLabel     = "__profile_path__"
	kindLabel     = "__name__"
	intervalLabel = "__scrape_interval__"
	timeoutLabel  = "__scrape_timeout__"
	jobLabel      = "job"
	instanceLabel = "instance"
)

// A target is one kind of profile of one process.
type target struct {
	job, tenant string
	service     string
	labels, row store.Labels
	kind        string
	url         *url.URL
	base        string // the scheme, host and prefix: the process
	interval    time.Duration
	timeout     time.Duration
	seconds     int
	delta       bool
	metrics     *Metrics // of kind process
}

// errDropped means that relabeling drops a target. It is not shown as an error.
var errDropped = errors.New("dropped")

// target makes a target of a discovered set of labels. It returns errDropped if relabeling drops it.
func (j *Job) target(found set, p Profile) (*target, error) {
	from := make(map[string]string, len(found)+8)
	for name, value := range found {
		from[name] = value
	}
	unless := func(name, value string) {
		if from[name] == "" {
			from[name] = value
		}
	}
	unless(jobLabel, j.Name)
	unless(schemeLabel, j.Scheme)
	unless(prefixLabel, j.PathPrefix)
	unless(pathLabel, p.Path)
	unless(kindLabel, p.Kind)
	unless(intervalLabel, p.Interval.String())
	unless(timeoutLabel, j.Timeout.String())
	for name, values := range j.Params {
		if len(values) > 0 {
			unless(paramPrefix+name, values[0])
		}
	}
	labels := relabel.NewLabels(from)
	if !relabel.Apply(j.Relabel, labels) {
		return nil, errDropped
	}
	t := &target{job: j.Name, tenant: j.Tenant, kind: p.Kind, seconds: p.Seconds, delta: p.Delta, metrics: p.metrics}
	address := labels.Get(addressLabel)
	if address == "" {
		return nil, errors.New("a target has no address")
	}
	if err := checkAddress(address); err != nil {
		return nil, err
	}
	var err error
	if t.interval, err = within(labels, intervalLabel, leastInterval, mostInterval); err != nil {
		return nil, err
	}
	if t.timeout, err = within(labels, timeoutLabel, leastTimeout, mostTimeout); err != nil {
		return nil, err
	}
	if took := time.Duration(t.seconds) * time.Second; took >= t.interval {
		return nil, fmt.Errorf("%s takes %d seconds, but must take less than the interval %s", t.kind, t.seconds, settings.Duration(t.interval))
	}
	if labels.Get(instanceLabel) == "" {
		labels.Set(instanceLabel, address)
	}
	if err := t.setURL(j, address, labels); err != nil {
		return nil, err
	}
	if t.service = labels.Get(j.ServiceLabel); t.service == "" {
		t.service = labels.Get(jobLabel)
	}
	if t.service == "" {
		return nil, errors.New("a target has neither a label that names its service nor a job")
	}
	for _, l := range labels.Sorted() {
		switch {
		case l.Name == "", strings.HasPrefix(l.Name, hiddenPrefix), l.Name == j.ServiceLabel, l.Name == store.ServiceLabel:
		case !relabel.ValidName(l.Name) || !relabel.ValidName(l.Value):
			return nil, fmt.Errorf("the label %q is not UTF-8", profile.Shorten(l.Name, 60))
		case slices.Contains(j.RowLabels, l.Name):
			t.row = append(t.row, l)
		default:
			t.labels = append(t.labels, l)
		}
	}
	return t, nil
}

// within returns a time that a rule may have set.
func within(labels *relabel.Labels, name string, least, most time.Duration) (time.Duration, error) {
	d, err := settings.ParseDuration(labels.Get(name))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	if time.Duration(d) < least || time.Duration(d) > most {
		return 0, fmt.Errorf("%s: %s is not a time from %s to %s", name, d, settings.Duration(least), settings.Duration(most))
	}
	return time.Duration(d), nil
}

// setURL sets the URL to fetch.
func (t *target) setURL(j *Job, address string, labels *relabel.Labels) error {
	scheme := labels.Get(schemeLabel)
	if scheme != "http" && scheme != "https" {
		return fmt.Errorf("the scheme %q is neither http nor https", profile.Shorten(scheme, 40))
	}
	prefix, path := labels.Get(prefixLabel), labels.Get(pathLabel)
	for _, p := range []string{prefix, path} {
		if strings.ContainsAny(p, "?#") {
			return errors.New("a path has a ? or #; parameters are in params")
		}
	}
	query := url.Values{}
	for name, values := range j.Params {
		query[name] = slices.Clone(values)
	}
	for _, l := range labels.Sorted() {
		if name, ok := strings.CutPrefix(l.Name, paramPrefix); ok {
			if len(query[name]) > 0 {
				query[name][0] = l.Value
			} else {
				query[name] = []string{l.Value}
			}
		}
	}
	if t.seconds > 0 {
		query.Set("seconds", strconv.Itoa(t.seconds))
	} else {
		query.Del("seconds") // which would change the profile
	}
	query.Del("debug") // which would make it text
	// Escapes in the path stay as they are written.
	whole := pathpkg.Join("/", prefix, path)
	u, err := url.Parse(whole)
	if err != nil || u.Host != "" || u.Scheme != "" {
		return fmt.Errorf("%q is not the path of a URL", profile.Shorten(whole, 80))
	}
	u.Scheme, u.Host, u.RawQuery = scheme, address, query.Encode()
	t.url = u
	t.base = scheme + "://" + address + strings.TrimSuffix(pathpkg.Join("/", prefix), "/")
	return nil
}

// key identifies a target with its settings.
func (t *target) key(how string) string {
	metrics := ""
	if m := t.metrics; m != nil {
		metrics = fmt.Sprintf("%q %q %q", m.Requests, m.Handler, m.Functions)
	}
	return fmt.Sprintf("%s\x00%s\x00%d %s %d %v %s\x00%s", t.identity(), t.tenant, t.interval, t.timeout, t.seconds, t.delta, metrics, how)
}

// identity identifies a target by its labels and address.
func (t *target) identity() string {
	return fmt.Sprintf("%q %q %q %q %q %s %s", t.job, t.service, t.kind, t.url.Host, t.url.String(), t.labels, t.row)
}

// offset returns when within its interval a target is scraped. It depends only on the target, so that it stays the same when hone restarts. Offsets
// are spread evenly.
func (t *target) offset(seed string) time.Duration {
	sum := sha256.Sum256([]byte(seed + "\x00" + t.identity()))
	return time.Duration(binary.BigEndian.Uint64(sum[:8]) % uint64(t.interval))
}

// process identifies a process, which can take one CPU profile at a time. Processes may share an address and differ in their paths.
func (t *target) process() string {
	return strings.ToLower(t.url.Host) + pathpkg.Dir(t.url.Path)
}
