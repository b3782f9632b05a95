package receive

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/fleet/body"
	"github.com/hone-perf/hone/internal/fleet/settings"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/profile"
)

// A Config is the limits of tenants, and the labels that identify processes.
type Config struct {
	usual Limits
	own   map[string]Limits // of tenants that have some
	row   []string
}

// NewConfig returns the default Config.
func NewConfig() *Config {
	return &Config{usual: DefaultLimits, own: map[string]Limits{}, row: DefaultRow}
}

// Of returns the limits of a tenant.
func (c *Config) Of(tenant string) Limits {
	if l, ok := c.own[tenant]; ok {
		return l
	}
	return c.usual
}

// mostBytes is the most that a limit in bytes can be: a profile that is unpacked has to fit into memory.
const mostBytes = 4 << 30

// A limitEntry is the limits of a tenant in a file.
type limitEntry struct {
	tenant string // "" is every tenant
	set    []func(*Limits)
}

// Keys returns the readers of a Config in a file.
func (c *Config) Keys() []settings.Key {
	return []settings.Key{
		{Name: "limits", Read: c.readLimits},
		{Name: "pushed", Read: func(v settings.Value) {
			v.Mapping(settings.Key{Name: "row_labels", Read: settings.Texts(&c.row)})
		}},
	}
}

func (c *Config) readLimits(v settings.Value) {
	var entries []limitEntry
	v.Each(func(v settings.Value) {
		var e limitEntry
		e.read(v)
		if slices.ContainsFunc(entries, func(other limitEntry) bool { return other.tenant == e.tenant }) {
			if e.tenant == "" {
				v.Wrong("the limits of every tenant are there twice")
			} else {
				v.Wrong("the limits of tenant %s are there twice", profile.Shorten(e.tenant, 60))
			}
		}
		entries = append(entries, e)
	})
	// The limits of one tenant are those of all, but for what its own entry says.
	order.Stable(entries, func(a, b limitEntry) int { return min(len(a.tenant), 1) - min(len(b.tenant), 1) })
	for _, e := range entries {
		l := c.usual
		for _, set := range e.set {
			set(&l)
		}
		if e.tenant == "" {
			c.usual = l
		} else {
			c.own[e.tenant] = l
		}
	}
}

// read reads an entry. Its keys are the names of limits in answers, with _ for -.
func (e *limitEntry) read(v settings.Value) {
	size := func(name string, field func(*Limits) *int64) settings.Key {
		return settings.Key{Name: name, Read: func(v settings.Value) {
			var n int64
			settings.Size(&n, 1, mostBytes)(v)
			e.set = append(e.set, func(l *Limits) { *field(l) = n })
		}}
	}
	number := func(name string, most int, into func(*Limits, int)) settings.Key {
		return settings.Key{Name: name, Read: func(v settings.Value) {
			var n int
			settings.Int(&n, 1, most)(v)
			e.set = append(e.set, func(l *Limits) { into(l, n) })
		}}
	}
	burst := int64(0)
	v.Mapping(
		settings.Key{Name: "tenant", Read: settings.Name(&e.tenant)},
		size("rate", func(l *Limits) *int64 { return &l.Rate }),
		settings.Key{Name: "burst", Read: settings.Size(&burst, 1, mostBytes)},
		size("profile_size", func(l *Limits) *int64 { return &l.Bytes }),
		size("pushed_recording_size", func(l *Limits) *int64 { return &l.Recording }),
		size("profile_size_unpacked", func(l *Limits) *int64 { return &l.Unpacked }),
		number("samples", 1e8, func(l *Limits, n int) { l.Samples = int64(n) }),
		number("stack_depth", 1e5, func(l *Limits, n int) { l.Depth = int64(n) }),
		number("labels", 1000, func(l *Limits, n int) { l.Labels = n }),
		number("label_name_length", 1e5, func(l *Limits, n int) { l.Name = n }),
		number("label_value_length", 1e6, func(l *Limits, n int) { l.Value = n }),
		number("label_values", 1e7, func(l *Limits, n int) { l.Values = n }),
		number("series", 1e7, func(l *Limits, n int) { l.Series = n }),
		number("concurrent_bodies", 10_000, func(l *Limits, n int) { l.Bodies = n }),
	)
	e.set = append(e.set, func(l *Limits) {
		if burst > 0 {
			l.Burst = burst
		}
		l.Burst = max(l.Burst, l.Rate, l.Bytes, l.Recording) // so that each body that is allowed can come
	})
}

// Configure applies a configuration, also to tenants that have sent profiles.
func (s *Server) Configure(c *Config) {
	row := map[string]bool{}
	for _, name := range c.row {
		row[name] = true
	}
	s.row.Store(&row)
	s.mu.Lock()
	s.opt.Limits = c.Of
	tenants := maps.Clone(s.tenants)
	s.mu.Unlock()
	for name, t := range tenants {
		t.limit(c.Of(name))
	}
}

// canBeSet are the limits that have a setting.
var canBeSet = []string{
	limitRate, limitBodies, body.LimitBytes, body.LimitUnpacked, limitSamples, limitDepth, limitLabels, limitName, limitValue, limitSeries,
}

// withSetting says which setting raises the limit that an error is about.
func withSetting(err error) error {
	var bad *body.Error
	if !errors.As(err, &bad) || !slices.Contains(canBeSet, bad.Limit) {
		return err
	}
	e := *bad
	e.Message += "; to raise it, set " + strings.ReplaceAll(e.Limit, "-", "_") + " under limits in the configuration of the server"
	return &e
}
