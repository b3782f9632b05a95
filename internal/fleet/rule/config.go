// Package rule watches services: for limits that the user set, and for processes that were restarted or killed. What it sees becomes
// an event, and for events it does what the user asked for: it tells a web hook, pins profiles, and takes a recording.
//
// Load reads the rules and actions of a configuration. New makes a Watcher, whose Run looks each minute and acts on what the log of
// events says, whoever noted it there.
package rule

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/hone-perf/hone/internal/fleet/event"
	"github.com/hone-perf/hone/internal/fleet/scrape"
	"github.com/hone-perf/hone/internal/fleet/settings"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/unit"
)

// A Config is the rules and actions in a file.
type Config struct {
	Rules   []*Rule
	Actions []*Action
}

// A Rule is a limit, and what to measure.
type Rule struct {
	Name     string
	Tenant   string
	Selector store.Selector // of services and versions; empty is all
	Metric   string         // one of report.RuleShare and its neighbors
	Above    float64        // the limit: a share, cores, bytes or a number
	Grown    bool           // Above is a factor of what is usual
	Function *regexp.Regexp // of a share
	Says     string         // Function, as it was written
	Memory   int64          // that a process may have, where its label does not say it
	Over     settings.Duration
	Usual    settings.Duration // how far back is looked to know what is usual
	For      settings.Duration // how long it has to hold
	Cooldown settings.Duration // after an event is over, until there is another one
	Daily    int               // events at most
}

// An Action is what to do about events.
type Action struct {
	Tenant   string
	On       []on
	Selector store.Selector // of services; empty is all
	Hook     *Hook
	Pin      *Pin
	Capture  *Capture
}

// An on selects events.
type on struct {
	kind event.Kind
	rule string // "" is any
	at   settings.Value
}

// A Hook is a web hook for events.
type Hook struct {
	Name       string
	URL        settings.Secret // which often has a password in it
	URLFile    string
	Headers    []header
	Secret     settings.Secret // to sign with
	SecretFile string
	Timeout    settings.Duration
}

type header struct {
	name  string
	value settings.Secret
}

// A Pin protects the profiles around an event, from Before it until After it.
type Pin struct{ Before, After settings.Duration }

// A Capture records a process in more detail.
type Capture struct {
	CPU, Trace settings.Duration
	Cooldown   settings.Duration // of a service
	Daily      int               // of a service
}

// Default values and limits.
const (
	usualOver     = settings.Duration(5 * time.Minute)
	usualUsual    = settings.Duration(6 * time.Hour)
	usualFor      = settings.Duration(5 * time.Minute)
	usualCooldown = settings.Duration(time.Hour)
	usualDaily    = 20

	usualTimeout = settings.Duration(10 * time.Second)
	usualAround  = settings.Duration(10 * time.Minute)

	usualCPU             = settings.Duration(30 * time.Second)
	usualTrace           = settings.Duration(5 * time.Second)
	usualCaptureCooldown = settings.Duration(30 * time.Minute)
	usualCaptures        = 10

	mostRules   = 200
	mostActions = 50
	day         = 24 * time.Hour
)

// Load reads a file: the scrape jobs, and the rules and actions. more are keys of other packages.
func Load(name string, more ...settings.Key) (*scrape.Config, *Config, error) {
	c := &Config{}
	targets, err := scrape.Load(name, append(c.Keys(name), more...)...)
	if err == nil {
		err = c.Check()
	}
	return targets, c, err
}

// Keys returns the readers of rules and actions in a file. Names of other files are relative to file.
func (c *Config) Keys(file string) []settings.Key {
	dir := filepath.Dir(file)
	return []settings.Key{
		{Name: "rules", Read: func(v settings.Value) {
			v.Each(func(v settings.Value) { c.addRule(v) })
			if len(c.Rules) > mostRules {
				v.Wrong("there are %d rules; the limit is %d", len(c.Rules), mostRules)
			}
		}},
		{Name: "actions", Read: func(v settings.Value) {
			v.Each(func(v settings.Value) {
				a := readAction(v, dir)
				if a.Hook != nil && slices.ContainsFunc(c.Actions, func(other *Action) bool { return other.Hook != nil && other.Hook.Name == a.Hook.Name }) {
					v.Wrong("another webhook is called %s, too: give each a name", profile.Shorten(a.Hook.Name, 60))
				}
				c.Actions = append(c.Actions, a)
			})
			if len(c.Actions) > mostActions {
				v.Wrong("there are %d actions; the limit is %d", len(c.Actions), mostActions)
			}
		}},
	}
}

// selector reads which services something is about.
func selector(into *store.Selector) func(settings.Value) {
	return func(v settings.Value) {
		text, ok := v.Name()
		if !ok {
			return
		}
		s, err := store.ParseSelector(text)
		if err != nil {
			v.Wrong("%v", err)
			return
		}
		*into = s
	}
}

func (c *Config) addRule(v settings.Value) {
	r := &Rule{Over: usualOver, Usual: usualUsual, For: usualFor, Cooldown: usualCooldown, Daily: usualDaily}
	var when *settings.Value
	v.Mapping(
		settings.Key{Name: "name", Read: settings.Name(&r.Name)},
		settings.Key{Name: "tenant", Read: settings.Name(&r.Tenant)},
		settings.Key{Name: "service", Read: selector(&r.Selector)},
		settings.Key{Name: "when", Read: func(v settings.Value) { when = &v }},
		settings.Key{Name: "function", Read: r.readFunction},
		settings.Key{Name: "memory", Read: settings.Size(&r.Memory, 1, math.MaxInt64)},
		settings.Key{Name: "over", Read: settings.Time(&r.Over, time.Minute, time.Hour)},
		settings.Key{Name: "usual", Read: settings.Time(&r.Usual, time.Hour, 7*day)},
		settings.Key{Name: "for", Read: settings.Time(&r.For, 0, day)},
		settings.Key{Name: "cooldown", Read: settings.Time(&r.Cooldown, 0, 7*day)},
		settings.Key{Name: "daily", Read: settings.Int(&r.Daily, 1, 1000)},
	)
	switch {
	case r.Name == "":
		v.Wrong("the rule has no name")
	case slices.ContainsFunc(c.Rules, func(other *Rule) bool { return other.Name == r.Name }):
		v.Wrong("the rule %q is there twice", profile.Shorten(r.Name, 60))
	}
	if when == nil {
		v.Wrong("the rule has no when, such as %s", metricOf(report.RuleCores).example)
	} else {
		r.readWhen(*when)
	}
	if (r.Metric == report.RuleShare) != (r.Function != nil) && when != nil {
		v.Wrong("function and a share go together: function: main.price and when: share > 5%%")
	}
	if r.Memory > 0 && r.Metric != report.RuleMemory {
		v.Wrong("memory goes with when: memory > 90%%")
	}
	c.Rules = append(c.Rules, r)
}

// readFunction reads the name of a function or, between slashes, a pattern.
func (r *Rule) readFunction(v settings.Value) {
	text, ok := v.Name()
	if !ok {
		return
	}
	r.Says = text
	pattern := "^" + regexp.QuoteMeta(text) + "$"
	if rest, ok := strings.CutPrefix(text, "/"); ok && strings.HasSuffix(rest, "/") {
		pattern = strings.TrimSuffix(rest, "/")
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		v.Wrong("%v", err)
		return
	}
	r.Function = re
}

// A metric is a value that rules can measure.
type metric struct {
	name, example string
	unit          string // share, cores, bytes or goroutines
}

var metrics = []metric{
	{report.RuleShare, "share > 5%", "share"},
	{report.RuleCores, "cores > 4", "cores"},
	{report.RuleHeap, "heap > 1GB", "bytes"},
	{report.RuleRSS, "rss > 2GB", "bytes"},
	{report.RuleGoroutines, "goroutines > 10000", "goroutines"},
	{report.RuleGC, "gc > 25%", "share"},
	{report.RuleMemory, "memory > 90%", "share"},
}

func metricOf(name string) *metric {
	i := slices.IndexFunc(metrics, func(m metric) bool { return m.name == name })
	if i < 0 {
		return nil
	}
	return &metrics[i]
}

// readWhen reads a condition, such as cores > 4 and cores > 150% of usual.
func (r *Rule) readWhen(v settings.Value) {
	text, ok := v.Name()
	if !ok {
		return
	}
	name, limit, found := strings.Cut(text, ">")
	name, limit = strings.TrimSpace(name), strings.TrimSpace(limit)
	m := metricOf(name)
	if m == nil && strings.ContainsAny(name, "<=") {
		v.Wrong("%q is not a condition such as cores > 4: a rule finds what is more than a limit", profile.Shorten(text, 60))
		return
	}
	if m == nil {
		names := make([]string, len(metrics))
		for i, m := range metrics {
			names[i] = m.name
		}
		v.WrongChoice("the quantity", name, names)
		return
	}
	r.Metric = m.name
	wrong := func() {
		v.Wrong("%q is not a condition such as %s or %s > 150%% of usual", profile.Shorten(text, 60), m.example, m.name)
	}
	if !found || limit == "" {
		wrong()
		return
	}
	if of, ok := strings.CutSuffix(limit, "of usual"); ok {
		n, ok := percent(of)
		if !ok || n <= 1 || n > 1000 {
			v.Wrong("%q is not how much more than usual, such as 150%% of usual", profile.Shorten(limit, 60))
			return
		}
		r.Above, r.Grown = n, true
		return
	}
	switch m.unit {
	case "share":
		if r.Above, ok = percent(limit); !ok || r.Above > 1 {
			wrong()
		}
	case "bytes":
		n, ok := unit.ParseSize(limit)
		if !ok {
			wrong()
		}
		r.Above = float64(n)
	default:
		n, err := strconv.ParseFloat(limit, 64)
		if err != nil || !(n > 0) || n > 1e12 {
			wrong()
			return
		}
		r.Above = n
	}
}

// percent reads a percentage above zero.
func percent(text string) (float64, bool) {
	number, ok := strings.CutSuffix(strings.TrimSpace(text), "%")
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	return n / 100, ok && err == nil && n > 0 && n < 1e6
}

// size reads bytes.
func readAction(v settings.Value, dir string) *Action {
	a := &Action{}
	v.Mapping(
		settings.Key{Name: "on", Read: a.readOn},
		settings.Key{Name: "tenant", Read: settings.Name(&a.Tenant)},
		settings.Key{Name: "service", Read: selector(&a.Selector)},
		settings.Key{Name: "webhook", Read: func(v settings.Value) { a.Hook = readHook(v, dir) }},
		settings.Key{Name: "pin", Read: func(v settings.Value) {
			a.Pin = &Pin{Before: usualAround, After: usualAround}
			v.Mapping(
				settings.Key{Name: "before", Read: settings.Time(&a.Pin.Before, 0, day)},
				settings.Key{Name: "after", Read: settings.Time(&a.Pin.After, 0, day)},
			)
		}},
		settings.Key{Name: "capture", Read: func(v settings.Value) {
			a.Capture = &Capture{CPU: usualCPU, Trace: usualTrace, Cooldown: usualCaptureCooldown, Daily: usualCaptures}
			v.Mapping(
				settings.Key{Name: "cpu", Read: settings.Time(&a.Capture.CPU, 0, 5*time.Minute)},
				settings.Key{Name: "trace", Read: settings.Time(&a.Capture.Trace, 0, 30*time.Second)},
				settings.Key{Name: "cooldown", Read: settings.Time(&a.Capture.Cooldown, time.Minute, day)},
				settings.Key{Name: "daily", Read: settings.Int(&a.Capture.Daily, 1, 200)},
			)
		}},
	)
	for _, m := range a.Selector {
		if m.Name != store.ServiceLabel {
			v.Wrong("service of an action names services alone, and no other labels")
			break
		}
	}
	if a.Hook == nil && a.Pin == nil && a.Capture == nil {
		v.Wrong("the action does nothing: it needs webhook, pin: {} or capture: {}")
	}
	return a
}

// readOn reads what an action is for: kinds of events, and rules by name.
func (a *Action) readOn(v settings.Value) {
	v.Each(func(v settings.Value) {
		text, ok := v.Name()
		if !ok {
			return
		}
		kind, rule, _ := strings.Cut(text, " ")
		o := on{event.Kind(kind), strings.TrimSpace(rule), v}
		if !slices.Contains(event.Kinds, o.kind) || o.kind == event.Captured && a.Capture != nil {
			var names []string
			for _, k := range event.Kinds {
				names = append(names, string(k))
			}
			v.WrongChoice("the kind of event", kind, names)
			return
		}
		if o.rule != "" && o.kind != event.Broken {
			v.Wrong("%q: only rules have names, as in rule json", profile.Shorten(text, 60))
			return
		}
		a.On = append(a.On, o)
	})
}

// Check returns an error if rules and actions do not fit together.
func (c *Config) Check() error {
	names := make([]string, len(c.Rules))
	for i, r := range c.Rules {
		names[i] = r.Name
	}
	for _, a := range c.Actions {
		for _, o := range a.On {
			if o.rule != "" && !slices.Contains(names, o.rule) {
				o.at.WrongChoice("the rule", o.rule, names)
				return o.at.Err()
			}
		}
	}
	return nil
}

func readHook(v settings.Value, dir string) *Hook {
	h := &Hook{Timeout: usualTimeout}
	file := func(into *string) func(settings.Value) {
		return func(v settings.Value) {
			if name, ok := v.Name(); ok {
				if !filepath.IsAbs(name) {
					name = filepath.Join(dir, name)
				}
				*into = name
			}
		}
	}
	v.Mapping(
		settings.Key{Name: "name", Read: settings.Name(&h.Name)},
		settings.Key{Name: "url", Read: settings.Hidden(&h.URL)},
		settings.Key{Name: "url_file", Read: file(&h.URLFile)},
		settings.Key{Name: "secret", Read: settings.Hidden(&h.Secret)},
		settings.Key{Name: "secret_file", Read: file(&h.SecretFile)},
		settings.Key{Name: "timeout", Read: settings.Time(&h.Timeout, time.Second, time.Minute)},
		settings.Key{Name: "headers", Read: func(v settings.Value) {
			v.Pairs(func(key, value settings.Value) {
				name, _ := key.Name()
				one := header{name: name}
				if !isHeader(name) {
					key.Wrong("%q is not the name of a header that can be set", profile.Shorten(name, 60))
				}
				settings.Hidden(&one.value)(value)
				if strings.ContainsFunc(string(one.value), unicode.IsControl) {
					value.Wrong("the value has more than one line")
				}
				h.Headers = append(h.Headers, one)
			})
		}},
	)
	v.Only("url", h.URL != "", "url_file", h.URLFile != "")
	v.Only("secret", h.Secret != "", "secret_file", h.SecretFile != "")
	switch {
	case h.URL == "" && h.URLFile == "":
		v.Wrong("the webhook has no url")
	case h.URL != "":
		u, err := parseURL(string(h.URL))
		if err != nil {
			v.Wrong("%v", err)
		} else if h.Name == "" {
			h.Name = u.Host
		}
	}
	h.Name = cmp.Or(h.Name, filepath.Base(h.URLFile))
	return h
}

// isHeader reports whether users may set a header.
func isHeader(name string) bool {
	for _, c := range name {
		if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	switch http.CanonicalHeaderKey(name) {
	case "", "Host", "Content-Length", "Content-Type", "Transfer-Encoding", "Connection", "Trailer", "Upgrade", signatureHeader, timeHeader:
		return false
	}
	return true
}

// parseURL reads the address of a receiver. An error does not show it: it may have a password in it.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("the url is not one such as https://hooks.example.com/abc")
	} else if !settings.IsPort(u.Port()) {
		return nil, fmt.Errorf("the port of a URL is a number from 1 to 65535")
	}
	return u, nil
}

const mostSecret = 64 << 10

// valueOf returns a secret, from its file if it has one.
func valueOf(inline settings.Secret, file string) (string, error) {
	if file == "" {
		return string(inline), nil
	}
	info, err := os.Stat(file)
	if err == nil && info.Size() > mostSecret {
		err = fmt.Errorf("%s has %d bytes; the limit is %d", file, info.Size(), mostSecret)
	}
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(file)
	return strings.TrimSpace(string(text)), err
}
