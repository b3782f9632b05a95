package scrape

import (
	"encoding/json"
	"fmt"
	"net/url"
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

// A Config says what to ask for profiles, in the shape of Prometheus. As JSON it is what counts, defaults filled in and secrets left out.
type Config struct {
	Jobs []*Job `json:"scrape_configs"`
}

// A Job is a set of targets that are asked in one way.
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

// HTTP is how to ask a server.
type HTTP struct {
	Basic *BasicAuth     `json:"basic_auth,omitempty"`
	Auth  *Authorization `json:"authorization,omitempty"`
	TLS   TLS            `json:"tls_config,omitzero"`
}

// BasicAuth is a user and a password. A file is read for each request.
type BasicAuth struct {
	Username     string          `json:"username,omitempty"`
	UsernameFile string          `json:"username_file,omitempty"`
	Password     settings.Secret `json:"password,omitempty"`
	PasswordFile string          `json:"password_file,omitempty"`
}

// Authorization is what a request says in its header of that name. A file is read for each request.
type Authorization struct {
	Type            string          `json:"type"`
	Credentials     settings.Secret `json:"credentials,omitempty"`
	CredentialsFile string          `json:"credentials_file,omitempty"`
}

// TLS is how connections are secured. Files are read for each connection.
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

// A Group is targets with labels of their own.
type Group struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels,omitempty"`
}

// FileSD names files that hold groups.
type FileSD struct {
	Files   []string          `json:"files"`
	Refresh settings.Duration `json:"refresh_interval"`
}

// HTTPSD is a server that is asked for groups.
type HTTPSD struct {
	URL     string            `json:"url"`
	Refresh settings.Duration `json:"refresh_interval"`
	HTTP
}

// MarshalJSON leaves out what may be a secret in the URL.
func (h HTTPSD) MarshalJSON() ([]byte, error) {
	type plain HTTPSD
	h.URL = strings.ReplaceAll(new(secret.Hider).URL(h.URL), secret.Mask, "xxxxx") // which is still a URL
	return json.Marshal(plain(h))
}

// DNSSD is names that the domain name system has targets for.
type DNSSD struct {
	Names   []string          `json:"names"`
	Type    string            `json:"type"`
	Port    int               `json:"port,omitempty"`
	Refresh settings.Duration `json:"refresh_interval"`
}

// A Profile is a kind of profile that targets are asked for.
type Profile struct {
	Kind     string            `json:"-"`
	Path     string            `json:"path"`
	Interval settings.Duration `json:"interval"`
	Seconds  int               `json:"seconds,omitempty"` // that the target takes to make it; 0 for one of a moment
	Delta    bool              `json:"delta,omitempty"`   // of what the target counts, only what comes within Seconds

	metrics *Metrics // of kind process: how to read the answer; nil for others
}

// Profiles are written as a mapping by kind, in order.
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

// MarshalJSON leaves out what may be a secret in parameters and in addresses of other servers.
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

// A usualKind is a kind that net/http/pprof has.
type usualKind struct {
	kind, path string
	deltas     bool // can be asked for what comes within some seconds
	unasked    bool // is taken where nobody says what to take
}

const cpuKind = "cpu"

// usualKinds are the kinds that need no path. What allocs has is in heap as well.
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

// UsualRowLabels are labels that tell one process from another, as what is pushed has them, and those that discovery gives. They would make a
// series of each process that ever ran.
var UsualRowLabels = slices.Concat(
	slices.DeleteFunc(slices.Clone(receive.DefaultRow), func(name string) bool { return strings.HasPrefix(name, hiddenPrefix) }),
	[]string{"container", "ip_address", "process_id", "replica", "task_id", "alloc_id"},
)

// Bounds of times. Counters are compared with the profile before, which must not be older than store.Baseline.
const (
	leastInterval = time.Second
	mostInterval  = store.Baseline
	leastTimeout  = 100 * time.Millisecond
	mostTimeout   = 10 * time.Minute
	leastRefresh  = time.Second
	mostRefresh   = 24 * time.Hour
)

// What counts where nothing is said. A CPU profile takes a sixth of the time: 10 s of each minute.
const (
	usualInterval = settings.Duration(time.Minute)
	usualTimeout  = settings.Duration(10 * time.Second)
	usualSeconds  = 10
	cpuShare      = 6 // one part of so many
	mostTargets   = 10_000
)

// Load reads a file. Others read what more has of it.
func Load(name string, more ...settings.Key) (*Config, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return Parse(name, text, more...)
}

// Parse reads a configuration. Its name is for mistakes, and for names of files in it, which are relative to where it is.
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
	doc.MappingBut(otherSections, append([]settings.Key{
		{Name: "global", Read: r.global},
		{Name: "scrape_configs", Read: func(v settings.Value) {
			v.Each(func(v settings.Value) { jobs = append(jobs, v) })
		}},
	}, more...)...)
	lines := map[string]int{}
	for _, v := range jobs {
		j := r.job(v)
		if line, twice := lines[j.Name]; twice {
			v.Wrong("job_name %q is also that of the job in line %d", profile.Shorten(j.Name, 60), line)
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

// Keys of Prometheus that mean nothing here.
var (
	otherSections = map[string]string{
		"alerting": "put what is to be done into actions", "rule_files": "put rules into rules",
		"remote_write": "profiles go to the store", "remote_read": "profiles are in the store", "storage": "this file is about scraping",
		"scrape_config_files": "put the jobs into scrape_configs",
	}
	otherGlobals = map[string]string{
		"evaluation_interval": "rules are looked at each minute", "external_labels": "put labels into static_configs, or set them with relabel_configs",
	}
	otherJobKeys = map[string]string{
		"metrics_path":           "use metrics with path for counts of requests and memory; profiles have paths of their own",
		"metric_relabel_configs": "relabel_configs see each profile, with its kind in __name__",
		"kubernetes_sd_configs":  "use http_sd_configs or file_sd_configs",
		"consul_sd_configs":      "use dns_sd_configs or http_sd_configs",
		"ec2_sd_configs":         "use http_sd_configs or file_sd_configs",
		"docker_sd_configs":      "use http_sd_configs or file_sd_configs",
		"sample_limit":           "the store has limits of its own",
		"body_size_limit":        "the store has limits of its own",
		"label_limit":            "the store has limits of its own",
		"proxy_url":              "targets are asked without a proxy",
		"proxy_from_environment": "targets are asked without a proxy",
		"oauth2":                 "use authorization with credentials_file",
		"bearer_token":           "use authorization with credentials",
		"bearer_token_file":      "use authorization with credentials_file",
		"enable_http2":           "targets are asked with HTTP/1.1",
		"enable_compression":     "what targets pack is unpacked",
	}
)

// A reader knows what jobs have in common.
type reader struct {
	dir   string
	usual Job
}

func (r *reader) global(v settings.Value) {
	j := &r.usual
	v.MappingBut(otherGlobals,
		settings.Key{Name: "scrape_interval", Read: settings.Time(&j.Interval, leastInterval, mostInterval)},
		settings.Key{Name: "scrape_timeout", Read: settings.Time(&j.Timeout, leastTimeout, mostTimeout)},
		settings.Key{Name: "service_label", Read: settings.Name(&j.ServiceLabel)},
		settings.Key{Name: "row_labels", Read: settings.Texts(&j.RowLabels)},
	)
	if j.Timeout > j.Interval {
		v.Wrong("scrape_timeout %s is longer than scrape_interval %s", j.Timeout, j.Interval)
	}
}

func (r *reader) job(v settings.Value) *Job {
	j := r.usual
	var ownInterval, ownTimeout settings.Duration
	var profiles, parca *settings.Value
	later := func(into **settings.Value) func(settings.Value) {
		return func(v settings.Value) { *into = &v }
	}
	keys := []settings.Key{
		{Name: "job_name", Read: settings.Name(&j.Name)},
		{Name: "tenant", Read: settings.Name(&j.Tenant)},
		{Name: "scrape_interval", Read: settings.Time(&ownInterval, leastInterval, mostInterval)},
		{Name: "scrape_timeout", Read: settings.Time(&ownTimeout, leastTimeout, mostTimeout)},
		{Name: "scheme", Read: settings.Choice(&j.Scheme, "scheme", "http", "https")},
		{Name: "path_prefix", Read: path(&j.PathPrefix)},
		{Name: "params", Read: params(&j.Params)},
		{Name: "follow_redirects", Read: settings.Bool(&j.FollowRedirects)},
		{Name: "target_limit", Read: settings.Int(&j.TargetLimit, 1, 1_000_000)},
		{Name: "service_label", Read: settings.Name(&j.ServiceLabel)},
		{Name: "row_labels", Read: settings.Texts(&j.RowLabels)},
		{Name: "profiles", Read: later(&profiles)},
		{Name: "profiling_config", Read: later(&parca)},
		{Name: "metrics", Read: j.metrics},
		{Name: "static_configs", Read: func(v settings.Value) { v.Each(func(v settings.Value) { j.Static = append(j.Static, group(v, true)) }) }},
		{Name: "file_sd_configs", Read: func(v settings.Value) { v.Each(func(v settings.Value) { j.Files = append(j.Files, r.fileSD(v)) }) }},
		{Name: "http_sd_configs", Read: func(v settings.Value) { v.Each(func(v settings.Value) { j.Servers = append(j.Servers, r.httpSD(v)) }) }},
		{Name: "dns_sd_configs", Read: func(v settings.Value) { v.Each(func(v settings.Value) { j.Names = append(j.Names, dnsSD(v)) }) }},
		{Name: "relabel_configs", Read: relabel.ReadAll(&j.Relabel)},
	}
	v.MappingBut(otherJobKeys, append(keys, r.http(&j.HTTP)...)...)
	j.HTTP.check(v)
	if j.Name == "" && v.IsMapping() {
		v.Wrong("the job has no job_name")
	}
	j.times(v, ownInterval, ownTimeout)
	switch {
	case parca != nil:
		j.profilingConfig(*parca, profiles)
	case profiles != nil:
		j.readProfiles(*profiles)
	default:
		j.Profiles = nil
		for _, k := range usualKinds {
			if k.unasked {
				j.Profiles = append(j.Profiles, j.finish(v, Profile{Kind: k.kind}))
			}
		}
	}
	return &j
}

// times decides how often targets are asked, and how long they may take. A timeout that was said for all jobs is cut where a job asks more often.
func (j *Job) times(v settings.Value, interval, timeout settings.Duration) {
	if interval > 0 {
		j.Interval = interval
	}
	switch {
	case timeout > j.Interval:
		v.Wrong("scrape_timeout %s is longer than scrape_interval %s", timeout, j.Interval)
	case timeout > 0:
		j.Timeout = timeout
	default:
		if j.Timeout == 0 {
			j.Timeout = usualTimeout
		}
		j.Timeout = min(j.Timeout, j.Interval)
	}
}

// path reads the path of a URL.
func path(into *string) func(settings.Value) {
	return func(v settings.Value) {
		s, ok := v.Text()
		if !ok {
			return
		}
		if s != "" && !strings.HasPrefix(s, "/") || strings.ContainsAny(s, "?#") {
			v.Wrong("%q is not a path such as /debug/pprof/heap", profile.Shorten(s, 60))
			return
		}
		*into = s
	}
}

func params(into *map[string][]string) func(settings.Value) {
	return func(v settings.Value) {
		all := map[string][]string{}
		v.Pairs(func(key, value settings.Value) {
			name, _ := key.Text()
			var values []string
			settings.Texts(&values)(value)
			all[name] = values
		})
		*into = all
	}
}

// readProfiles reads a list of kinds, or a mapping from kinds to how they are asked for.
func (j *Job) readProfiles(v settings.Value) {
	j.Profiles = Profiles{}
	if v.IsList() {
		v.Each(func(v settings.Value) {
			if kind, ok := v.Name(); ok {
				j.addProfile(v, v, Profile{Kind: kind})
			}
		})
		return
	}
	v.PairsAll(func(key, value settings.Value) {
		kind, _ := key.Name()
		p := Profile{Kind: kind}
		if !value.IsNothing() {
			value.Mapping(p.keys()...)
		}
		j.addProfile(key, value, p)
	})
}

const mostSeconds = 600

func (p *Profile) keys() []settings.Key {
	return []settings.Key{
		{Name: "interval", Read: settings.Time(&p.Interval, leastInterval, mostInterval)},
		{Name: "seconds", Read: settings.Int(&p.Seconds, 1, mostSeconds)},
		{Name: "delta", Read: settings.Bool(&p.Delta)},
		{Name: "path", Read: path(&p.Path)},
	}
}

func (j *Job) addProfile(key, value settings.Value, p Profile) {
	if slices.ContainsFunc(j.Profiles, func(other Profile) bool { return other.Kind == p.Kind }) {
		key.Wrong("profile %q is there twice", profile.Shorten(p.Kind, 60))
		return
	}
	if _, usual := usualKindOf(p.Kind); !usual && p.Path == "" {
		names := make([]string, len(usualKinds))
		for i, k := range usualKinds {
			names[i] = k.kind
		}
		key.WrongChoice("a profile without a path:", p.Kind, names)
		return
	}
	j.Profiles = append(j.Profiles, j.finish(value, p))
}

// finish fills in what nobody said about a profile. A CPU profile that nobody says more about takes a sixth of the time at most, however
// often other profiles are asked for.
func (j *Job) finish(v settings.Value, p Profile) Profile {
	usual, isUsual := usualKindOf(p.Kind)
	if p.Path == "" {
		p.Path = usual.path
	}
	cpu := p.Kind == cpuKind
	if cpu {
		p.Delta = false // it always is
	}
	switch {
	case p.Delta && isUsual && !usual.deltas:
		v.Wrong("a profile of kind %s cannot be a delta: it counts nothing that grows", p.Kind)
	case p.Seconds > 0 && isUsual && !cpu && !p.Delta:
		v.Wrong("seconds of a profile of kind %s needs delta: true", p.Kind)
	}
	if !cpu && !p.Delta && p.Seconds == 0 {
		if p.Interval == 0 {
			p.Interval = j.Interval
		}
		return p
	}
	share := settings.Duration(cpuShare * time.Second)
	switch {
	case p.Interval == 0 && p.Seconds == 0:
		p.Interval, p.Seconds = max(j.Interval, usualSeconds*share), usualSeconds
	case p.Interval == 0:
		p.Interval = max(j.Interval, settings.Duration(p.Seconds)*share)
	case p.Seconds == 0:
		if p.Seconds = min(usualSeconds, int(p.Interval/share)); p.Seconds == 0 {
			v.Wrong("with an interval of %s, kind %s needs seconds: a profile takes a sixth of the time where nothing is said", p.Interval, p.Kind)
		}
	}
	if settings.Duration(p.Seconds)*settings.Duration(time.Second) >= p.Interval {
		v.Wrong("kind %s takes %d seconds, which is not less than its interval %s", p.Kind, p.Seconds, p.Interval)
	}
	return p
}

// parcaKinds are what Parca and Pyroscope call kinds.
var parcaKinds = map[string]string{"memory": "heap", "process_cpu": cpuKind}

// profilingConfig reads kinds in the shape of Parca: the usual ones, but for what is said about them.
func (j *Job) profilingConfig(v settings.Value, profiles *settings.Value) {
	type entry struct {
		Profile
		enabled    bool
		key, value settings.Value
	}
	var all []*entry
	for _, k := range usualKinds {
		if k.unasked {
			all = append(all, &entry{Profile: Profile{Kind: k.kind}, enabled: true, key: v, value: v})
		}
	}
	v.Mapping(
		settings.Key{Name: "path_prefix", Read: path(&j.PathPrefix)},
		settings.Key{Name: "pprof_config", Read: func(v settings.Value) {
			if profiles != nil {
				v.Wrong("the job has profiles as well, which says the same")
				return
			}
			v.Pairs(func(key, value settings.Value) {
				kind, _ := key.Name()
				if name := parcaKinds[kind]; name != "" {
					kind = name
				}
				i := slices.IndexFunc(all, func(e *entry) bool { return e.Kind == kind })
				if i < 0 {
					i = len(all)
					all = append(all, &entry{Profile: Profile{Kind: kind}, enabled: true})
				}
				e := all[i]
				e.key, e.value = key, value
				value.MappingBut(map[string]string{"keep_sample_type": "all values of a profile are kept"},
					append(e.keys(), settings.Key{Name: "enabled", Read: settings.Bool(&e.enabled)})...)
			})
		}},
	)
	if profiles != nil {
		j.readProfiles(*profiles)
		return
	}
	j.Profiles = Profiles{}
	for _, e := range all {
		if e.enabled {
			j.addProfile(e.key, e.value, e.Profile)
		}
	}
}

func (r *reader) http(h *HTTP) []settings.Key {
	return []settings.Key{
		{Name: "basic_auth", Read: func(v settings.Value) {
			b := &BasicAuth{}
			v.Mapping(
				settings.Key{Name: "username", Read: settings.Text(&b.Username)},
				settings.Key{Name: "username_file", Read: r.file(&b.UsernameFile)},
				settings.Key{Name: "password", Read: settings.Hidden(&b.Password)},
				settings.Key{Name: "password_file", Read: r.file(&b.PasswordFile)},
			)
			v.Only("username", b.Username != "", "username_file", b.UsernameFile != "")
			v.Only("password", b.Password != "", "password_file", b.PasswordFile != "")
			h.Basic = b
		}},
		{Name: "authorization", Read: func(v settings.Value) {
			a := &Authorization{Type: "Bearer"}
			v.Mapping(
				settings.Key{Name: "type", Read: settings.Name(&a.Type)},
				settings.Key{Name: "credentials", Read: settings.Hidden(&a.Credentials)},
				settings.Key{Name: "credentials_file", Read: r.file(&a.CredentialsFile)},
			)
			v.Only("credentials", a.Credentials != "", "credentials_file", a.CredentialsFile != "")
			if strings.EqualFold(a.Type, "basic") {
				v.Wrong("authorization of type basic is basic_auth")
			}
			if !isToken(a.Type) {
				v.Wrong("the type of an authorization is one word, such as Bearer")
			}
			h.Auth = a
		}},
		{Name: "tls_config", Read: func(v settings.Value) {
			t := &h.TLS
			v.Mapping(
				settings.Key{Name: "ca", Read: settings.Text(&t.CA)},
				settings.Key{Name: "ca_file", Read: r.file(&t.CAFile)},
				settings.Key{Name: "cert", Read: settings.Text(&t.Cert)},
				settings.Key{Name: "cert_file", Read: r.file(&t.CertFile)},
				settings.Key{Name: "key", Read: settings.Hidden(&t.Key)},
				settings.Key{Name: "key_file", Read: r.file(&t.KeyFile)},
				settings.Key{Name: "server_name", Read: settings.Text(&t.ServerName)},
				settings.Key{Name: "insecure_skip_verify", Read: settings.Bool(&t.Insecure)},
				settings.Key{Name: "min_version", Read: settings.Choice(&t.MinVersion, "version", "TLS10", "TLS11", "TLS12", "TLS13")},
			)
			v.Only("ca", t.CA != "", "ca_file", t.CAFile != "")
			v.Only("cert", t.Cert != "", "cert_file", t.CertFile != "")
			v.Only("key", t.Key != "", "key_file", t.KeyFile != "")
			if (t.Cert != "" || t.CertFile != "") != (t.Key != "" || t.KeyFile != "") {
				v.Wrong("a certificate needs its key, and a key its certificate")
			}
		}},
	}
}

// isToken reports whether s can be the first word of a header.
func isToken(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

func (h *HTTP) check(v settings.Value) {
	v.Only("basic_auth", h.Basic != nil, "authorization", h.Auth != nil)
}

// file reads the name of a file. Relative ones start where the configuration is.
func (r *reader) file(into *string) func(settings.Value) {
	return func(v settings.Value) {
		if s, ok := v.Name(); ok {
			*into = r.abs(s)
		}
	}
}

func (r *reader) abs(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(r.dir, name)
}

// group reads targets with labels. What is found elsewhere may have addresses that rules have yet to make one of.
func group(v settings.Value, checked bool) Group {
	var g Group
	v.Mapping(
		settings.Key{Name: "targets", Read: func(v settings.Value) {
			v.Each(func(v settings.Value) {
				s, ok := v.Name()
				if err := checkAddress(s); ok && checked && err != nil {
					v.Wrong("%v", err)
				}
				g.Targets = append(g.Targets, s)
			})
		}},
		settings.Key{Name: "labels", Read: func(v settings.Value) {
			g.Labels = map[string]string{}
			v.Pairs(func(key, value settings.Value) {
				name, _ := key.Text()
				text, ok := value.Text()
				if !relabel.ValidName(name) {
					key.Wrong("%q is not a name of a label", profile.Shorten(name, 60))
				}
				if ok {
					g.Labels[name] = text
				}
			})
		}},
	)
	return g
}

// checkAddress reports what is wrong with the address of a target. It is not shown: it may be a URL with a password.
func checkAddress(s string) error {
	if strings.ContainsAny(s, "/@?# \t\r\n\"<>\\") {
		return fmt.Errorf("a target is host:port and no URL; scheme, path_prefix, params and basic_auth say the rest")
	}
	if u, err := url.Parse("http://" + s); err != nil || u.Host != s || u.Hostname() == "" {
		return fmt.Errorf("a target is host:port, such as 10.0.0.7:6060, api:6060 or [::1]:6060")
	}
	return nil
}

const usualRefresh = settings.Duration(time.Minute)

func (r *reader) fileSD(v settings.Value) FileSD {
	f := FileSD{Refresh: usualPoll}
	v.Mapping(
		settings.Key{Name: "files", Read: func(v settings.Value) {
			v.Each(func(v settings.Value) {
				s, ok := v.Name()
				if !ok {
					return
				}
				f.Files = append(f.Files, r.abs(s)) // also a wrong one: files are there
				dir, last := filepath.Split(s)
				if strings.ContainsAny(dir, "*?[") || !slices.Contains([]string{".json", ".yml", ".yaml"}, filepath.Ext(last)) || strings.Count(last, "*") > 1 {
					v.Wrong("%q is not the name of a .json, .yml or .yaml file, with one * in its last part at most", profile.Shorten(s, 80))
				}
			})
		}},
		settings.Key{Name: "refresh_interval", Read: settings.Time(&f.Refresh, leastRefresh, mostRefresh)},
	)
	if len(f.Files) == 0 {
		v.Wrong("file_sd_configs needs files")
	}
	return f
}

func (r *reader) httpSD(v settings.Value) HTTPSD {
	h := HTTPSD{Refresh: usualRefresh}
	keys := []settings.Key{
		{Name: "url", Read: func(v settings.Value) {
			s, ok := v.Name()
			h.URL = s
			u, err := url.Parse(s)
			if ok && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
				v.Wrong("this is not a URL that begins with http:// or https:// and a host") // and may have a password
			}
		}},
		{Name: "refresh_interval", Read: settings.Time(&h.Refresh, leastRefresh, mostRefresh)},
	}
	v.Mapping(append(keys, r.http(&h.HTTP)...)...)
	h.HTTP.check(v)
	if h.URL == "" {
		v.Wrong("http_sd_configs needs url")
	}
	return h
}

func dnsSD(v settings.Value) DNSSD {
	d := DNSSD{Type: "SRV", Refresh: settings.Duration(30 * time.Second)}
	v.Mapping(
		settings.Key{Name: "names", Read: settings.Texts(&d.Names)},
		settings.Key{Name: "type", Read: settings.Choice(&d.Type, "type", "SRV", "A", "AAAA")},
		settings.Key{Name: "port", Read: settings.Int(&d.Port, 1, 65535)},
		settings.Key{Name: "refresh_interval", Read: settings.Time(&d.Refresh, leastRefresh, mostRefresh)},
	)
	if len(d.Names) == 0 {
		v.Wrong("dns_sd_configs needs names")
	}
	if d.Type != "SRV" && d.Port == 0 {
		v.Wrong("dns_sd_configs of type %s needs a port", d.Type)
	}
	return d
}

// fingerprint tells settings from others, secrets included.
func (h *HTTP) fingerprint() string {
	var b strings.Builder
	if h.Basic != nil {
		fmt.Fprintf(&b, "basic %q %q", *h.Basic, string(h.Basic.Password))
	}
	if h.Auth != nil {
		fmt.Fprintf(&b, "auth %q %q", *h.Auth, string(h.Auth.Credentials))
	}
	fmt.Fprintf(&b, "tls %+v %q", h.TLS, string(h.TLS.Key))
	return b.String()
}
