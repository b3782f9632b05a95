package scrape

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/fleet/relabel"
	"github.com/hone-perf/hone/internal/fleet/settings"
	"github.com/hone-perf/hone/internal/profile"
)

// Keys of Prometheus without a meaning here, and what to use instead.
var (
	otherSections = sync.OnceValue(func() map[string]string {
		return map[string]string{
			"alerting": "use actions", "rule_files": "put rules into rules",
			"remote_write": "profiles go to the store", "remote_read": "profiles are in the store", "storage": "this file is about scraping",
			"scrape_config_files": "put the jobs into scrape_configs",
		}
	})
	otherGlobals = sync.OnceValue(func() map[string]string {
		return map[string]string{
			"evaluation_interval": "hone evaluates rules every minute", "external_labels": "put labels into static_configs, or set them with relabel_configs",
		}
	})
	otherJobKeys = sync.OnceValue(func() map[string]string {
		return map[string]string{
			"metrics_path":           "for request counts and memory, use metrics with path; each profile has its own path",
			"metric_relabel_configs": "use relabel_configs; they apply to each profile, with its kind in __name__",
			"kubernetes_sd_configs":  "use http_sd_configs or file_sd_configs",
			"consul_sd_configs":      "use dns_sd_configs or http_sd_configs",
			"ec2_sd_configs":         "use http_sd_configs or file_sd_configs",
			"docker_sd_configs":      "use http_sd_configs or file_sd_configs",
			"sample_limit":           "the store has limits of its own",
			"body_size_limit":        "the store has limits of its own",
			"label_limit":            "the store has limits of its own",
			"proxy_url":              "hone connects to targets without a proxy",
			"proxy_from_environment": "hone connects to targets without a proxy",
			"oauth2":                 "use authorization with credentials_file",
			"bearer_token":           "use authorization with credentials",
			"bearer_token_file":      "use authorization with credentials_file",
			"enable_http2":           "hone sends requests with HTTP/1.1",
			"enable_compression":     "hone always accepts compressed answers",
		}
	})
)

// A reader knows what jobs have in common.
type reader struct {
	dir   string
	usual Job
}

func (r *reader) global(v settings.Value) {
	j := &r.usual
	v.MappingBut(otherGlobals(),
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
	v.MappingBut(otherJobKeys(), append(keys, r.http(&j.HTTP)...)...)
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

// times sets the interval and the timeout of a job. The global timeout is reduced to the interval of the job.
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

// readProfiles reads a list of kinds, or a mapping from kinds to their settings.
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
		if p.Delta && kind == cpuKind {
			value.Wrong("delta is not for kind cpu: a CPU profile always covers only its seconds")
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

// finish fills in defaults of a profile. By default, CPU profiles run for a sixth of the time at most, whatever the interval of other
// profiles.
func (j *Job) finish(v settings.Value, p Profile) Profile {
	usual, isUsual := usualKindOf(p.Kind)
	if p.Path == "" {
		p.Path = usual.path
	}
	cpu := p.Kind == cpuKind
	if cpu {
		p.Delta = false // a CPU profile always is one; configurations of Parca say so
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
			v.Wrong("with an interval of %s, kind %s needs seconds: the default is a sixth of the interval", p.Interval, p.Kind)
		}
	}
	if settings.Duration(p.Seconds)*settings.Duration(time.Second) >= p.Interval {
		v.Wrong("kind %s takes %d seconds, which is not less than its interval %s", p.Kind, p.Seconds, p.Interval)
	}
	return p
}

// parcaKinds are what Parca and Pyroscope call kinds.
var parcaKinds = map[string]string{"memory": "heap", "process_cpu": cpuKind}

// profilingConfig reads kinds in the format of Parca: the usual kinds, with changes.
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
				v.Wrong("the job has both profiles and profiling_config; use one of them")
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
				v.Wrong("for authorization of type basic, use basic_auth")
			}
			if !isToken(a.Type) {
				v.Wrong("the type of an authorization is one word, such as Bearer")
			}
			h.Auth = a
		}},
		{Name: "tls_config", Read: func(v settings.Value) {
			t := &h.TLS
			v.Mapping(
				settings.Key{Name: "ca", Read: certificates(&t.CA)},
				settings.Key{Name: "ca_file", Read: r.file(&t.CAFile)},
				settings.Key{Name: "cert", Read: certificates(&t.Cert)},
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
			if t.Cert != "" && t.Key != "" {
				if _, err := tls.X509KeyPair([]byte(t.Cert), []byte(t.Key)); err != nil {
					v.Wrong("cert and key: %v", err) // which quotes neither
				}
			}
		}},
	}
}

// certificates reads PEM text with at least one certificate.
func certificates(into *string) func(settings.Value) {
	return func(v settings.Value) {
		s, ok := v.Text()
		if !ok {
			return
		}
		if s != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(s)) {
			v.Wrong("there is no certificate in PEM here; it begins with -----BEGIN CERTIFICATE-----")
			return
		}
		*into = s
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

// group reads targets with labels. Relabeling may still change the addresses of discovered targets.
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
					key.Wrong("%q is not a label name", profile.Shorten(name, 60))
				}
				if ok {
					g.Labels[name] = text
				}
			})
		}},
	)
	return g
}

// checkAddress reports what is wrong with the address of a target. Errors omit the address, which may be a URL with a password.
func checkAddress(s string) error {
	if strings.ContainsAny(s, "/@?# \t\r\n\"<>\\") {
		return fmt.Errorf("a target is host:port, not a URL; use scheme, path_prefix, params and basic_auth for the rest")
	}
	if u, err := url.Parse("http://" + s); err != nil || u.Host != s || u.Hostname() == "" {
		return fmt.Errorf("a target is host:port, such as 10.0.0.7:6060, api:6060 or [::1]:6060")
	} else if !settings.IsPort(u.Port()) {
		return fmt.Errorf("the port of a target is a number from 1 to 65535")
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
				f.Files = append(f.Files, r.abs(s)) // also a wrong one, so that files is not empty
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
				v.Wrong("this is not a URL that begins with http:// or https:// and a host") // not shown, since it may have a password
			} else if ok && !settings.IsPort(u.Port()) {
				v.Wrong("the port of a URL is a number from 1 to 65535")
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

// fingerprint returns a key of the settings, including secrets.
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
