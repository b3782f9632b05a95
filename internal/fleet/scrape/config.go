package scrape

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/fleet/receive"
	"github.com/hone-perf/hone/internal/fleet/relabel"
	"github.com/hone-perf/hone/internal/fleet/settings"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/secret"
	"github.com/hone-perf/hone/internal/store"
)

// A Config is the scrape configuration, in the format of Prometheus. Its JSON is the effective configuration, with defaults and without secrets.
type Config struct {
	Jobs []*Job `json:"scrape_configs"`
}

// A Job is a set of targets with the same settings.
type Job struct {
	Name            string              `json:"job_name"`
	Tenant          string              `json:"tenant,omitempty"`
	Interval        settings.Duration   `json:"scrape_interval"`
	Timeout         settings.Duration   `json:"scrape_timeout"`
	Scheme          string              `json:"scheme"`
	PathPrefix      string              `json:"path_prefix,omitempty"`
	Params          map[string][]string `json:"params,omitempty"`
	FollowRedirects bool                `json:"follow_redirects"`
	TargetLimit     int                 `json:"target_limit"`
	ServiceLabel    string              `json:"service_label"`
	RowLabels       []string            `json:"row_labels"`
	Profiles        Profiles            `json:"profiles"`
	Metrics         *Metrics            `json:"metrics,omitempty"`
	HTTP
	Static  []Group        `json:"static_configs,omitempty"`
	Files   []FileSD       `json:"file_sd_configs,omitempty"`
	Servers []HTTPSD       `json:"http_sd_configs,omitempty"`
	Names   []DNSSD        `json:"dns_sd_configs,omitempty"`
	Relabel []relabel.Rule `json:"relabel_configs,omitempty"`
}

// HTTP is the settings of requests.
type HTTP struct {
	Basic *BasicAuth     `json:"basic_auth,omitempty"`
	Auth  *Authorization `json:"authorization,omitempty"`
	TLS   TLS            `json:"tls_config,omitzero"`
}

// BasicAuth is a user and password. The password file is read for each request.
type BasicAuth struct {
	Username     string          `json:"username,omitempty"`
	UsernameFile string          `json:"username_file,omitempty"`
	Password     settings.Secret `json:"password,omitempty"`
	PasswordFile string          `json:"password_file,omitempty"`
}

// Authorization is the Authorization header. The file is read for each request.
type Authorization struct {
	Type            string          `json:"type"`
	Credentials     settings.Secret `json:"credentials,omitempty"`
	CredentialsFile string          `json:"credentials_file,omitempty"`
}

// TLS is the settings of TLS connections. Files are read for each connection.
type TLS struct {
	CA         string          `json:"ca,omitempty"`
	CAFile     string          `json:"ca_file,omitempty"`
	Cert       string          `json:"cert,omitempty"`
	CertFile   string          `json:"cert_file,omitempty"`
	Key        settings.Secret `json:"key,omitempty"`
	KeyFile    string          `json:"key_file,omitempty"`
	ServerName string          `json:"server_name,omitempty"`
	Insecure   bool            `json:"insecure_skip_verify,omitempty"`
	MinVersion string          `json:"min_version,omitempty"`
}

// A Group is a list of targets with additional labels.
type Group struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels,omitempty"`
}

// FileSD is a list of files with groups.
type FileSD struct {
	Files   []string          `json:"files"`
	Refresh settings.Duration `json:"refresh_interval"`
}

// HTTPSD is a server with groups.
type HTTPSD struct {
	URL     string            `json:"url"`
	Refresh settings.Duration `json:"refresh_interval"`
	HTTP
}

// MarshalJSON hides possible secrets in the URL.
func (h HTTPSD) MarshalJSON() ([]byte, error) {
	type plain HTTPSD
	h.URL = strings.ReplaceAll(new(secret.Hider).URL(h.URL), secret.Mask, "xxxxx") // which is still a URL
	return json.Marshal(plain(h))
}

// DNSSD is a list of DNS names of targets.
type DNSSD struct {
	Names   []string          `json:"names"`
	Type    string            `json:"type"`
	Port    int               `json:"port,omitempty"`
	Refresh settings.Duration `json:"refresh_interval"`
}

// A Profile is the settings for one kind of profile.
type Profile struct {
	Kind     string            `json:"-"`
	Path     string            `json:"path"`
	Interval settings.Duration `json:"interval"`
	Seconds  int               `json:"seconds,omitempty"` // how long the target profiles; 0 for a snapshot
	Delta    bool              `json:"delta,omitempty"`   // only what the target counted during Seconds

	metrics *Metrics // of kind process: how to read the answer; nil for others
}

// Profiles are a mapping by kind in files, in order.
type Profiles []Profile

// MarshalJSON writes a mapping by kind.
func (p Profiles) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, one := range p {
		if i > 0 {
			b = append(b, ',')
		}
		kind, _ := json.Marshal(one.Kind)
		what, err := json.Marshal(one)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, kind...), ':'), what...)
	}
	return append(b, '}'), nil
}

// MarshalJSON hides possible secrets in parameters and in addresses of other servers.
func (j *Job) MarshalJSON() ([]byte, error) {
	type plain Job
	p := plain(*j)
	var hide secret.Hider
	p.Params = make(map[string][]string, len(j.Params))
	for name, values := range j.Params {
		for _, v := range values {
			p.Params[name] = append(p.Params[name], hide.Pair(name, v))
		}
	}
	p.Static = slices.Clone(j.Static)
	for i, g := range p.Static {
		p.Static[i].Labels = make(map[string]string, len(g.Labels))
		for name, v := range g.Labels {
			p.Static[i].Labels[name] = hide.Pair(strings.TrimPrefix(name, paramPrefix), v)
		}
	}
	p.Relabel = slices.Clone(j.Relabel)
	for i, r := range p.Relabel {
		if name, ok := strings.CutPrefix(r.Target, paramPrefix); ok {
			p.Relabel[i].Replacement = hide.Pair(name, r.Replacement)
		}
	}
	return json.Marshal(p)
}

// A usualKind is a kind of profile of net/http/pprof.
type usualKind struct {
	kind, path string
	deltas     bool // has a delta over some seconds
	unasked    bool // is fetched by default
}

const cpuKind = "cpu"

// usualKinds are the kinds that need no path. allocs is left out: heap has the same data.
var usualKinds = []usualKind{
	{cpuKind, "/debug/pprof/profile", false, true},
	{"heap", "/debug/pprof/heap", true, true},
	{"goroutine", "/debug/pprof/goroutine", false, true},
	{"mutex", "/debug/pprof/mutex", true, true},
	{"block", "/debug/pprof/block", true, true},
	{"allocs", "/debug/pprof/allocs", true, false},
	{"threadcreate", "/debug/pprof/threadcreate", false, false},
}

func usualKindOf(kind string) (usualKind, bool) {
	i := slices.IndexFunc(usualKinds, func(k usualKind) bool { return k.kind == kind })
	if i < 0 {
		return usualKind{}, false
	}
	return usualKinds[i], true
}

// UsualRowLabels are labels that identify processes, from push clients and from discovery. They must not be labels of series, which would then have a
// new series for each process.
var UsualRowLabels = slices.Concat(
	slices.DeleteFunc(slices.Clone(receive.DefaultRow), func(name string) bool { return strings.HasPrefix(name, hiddenPrefix) }),
	[]string{"container", "ip_address", "process_id", "replica", "task_id", "alloc_id"},
)

// Limits of times. Counters need a previous profile that is not older than store.Baseline.
const (
	leastInterval = time.Second
	mostInterval  = store.Baseline
	leastTimeout  = 100 * time.Millisecond
	mostTimeout   = 10 * time.Minute
	leastRefresh  = time.Second
	mostRefresh   = 24 * time.Hour
)

// Defaults. CPU profiles run for a sixth of the time: 10 s of each minute.
const (
	usualInterval = settings.Duration(time.Minute)
	usualTimeout  = settings.Duration(10 * time.Second)
	usualSeconds  = 10
	cpuShare      = 6 // 1/cpuShare of the interval
	mostTargets   = 10_000
)

// Load reads a file. more are keys of other packages.
func Load(name string, more ...settings.Key) (*Config, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return Parse(name, text, more...)
}

// Parse parses a configuration. name is for errors, and file names in it are relative to its folder.
func Parse(name string, text []byte, more ...settings.Key) (*Config, error) {
	doc, err := settings.Parse(name, text)
	if err != nil {
		return nil, err
	}
	r := &reader{
		dir: filepath.Dir(name),
		usual: Job{
			Interval: usualInterval, Scheme: "http", FollowRedirects: true, TargetLimit: mostTargets,
			ServiceLabel: store.ServiceLabel, RowLabels: UsualRowLabels,
		},
	}
	cfg := &Config{}
	var jobs []settings.Value
	doc.MappingBut(otherSections(), append([]settings.Key{
		{Name: "global", Read: r.global},
		{Name: "scrape_configs", Read: func(v settings.Value) {
			v.Each(func(v settings.Value) { jobs = append(jobs, v) })
		}},
	}, more...)...)
	lines := map[string]int{}
	for _, v := range jobs {
		j := r.job(v)
		if line, twice := lines[j.Name]; twice {
			v.Wrong("job_name %q is already the name of the job in line %d", profile.Shorten(j.Name, 60), line)
		} else if j.Name != "" {
			lines[j.Name] = v.Line()
		}
		cfg.Jobs = append(cfg.Jobs, j)
	}
	if err := doc.Err(); err != nil {
		return nil, err
	}
	return cfg, nil
}
