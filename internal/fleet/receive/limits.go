package receive

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/fleet/body"
	"github.com/hone-perf/hone/internal/fleet/message"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/unit"
)

// Limits are the limits of a tenant. Zero means no limit.
type Limits struct {
	Rate      int64 // bytes a second, as they are sent
	Burst     int64 // bytes that may come at once
	Bytes     int64 // of a body, and so of a profile, as it is sent
	Unpacked  int64 // bytes of a profile
	Recording int64 // bytes of a recording, as it is sent
	Samples   int64 // of a profile
	Depth     int64 // of a stack
	Labels    int   // of a profile
	Name      int   // bytes of the name of a label
	Value     int   // bytes of a value of a label
	Series    int   // with profiles in the last day
	Values    int   // of a label; those beyond it become Overflow
	Bodies    int   // that are on their way at the same time
	BodyTime  time.Duration
}

// DefaultLimits let a fleet of a hundred processes send large profiles every ten seconds.
var DefaultLimits = Limits{
	Rate: 32 << 20, Burst: 64 << 20, Bytes: 8 << 20, Recording: 32 << 20, Unpacked: 64 << 20, Samples: 100_000, Depth: 1000,
	Labels: 30, Name: 128, Value: 1024, Series: 10_000, Values: 1000, Bodies: 32, BodyTime: 30 * time.Second,
}

// ofMessage returns the limits of a message that profiles come in.
func (l Limits) ofMessage() message.Limits { return message.Limits{Memory: memoryFor * l.Unpacked} }

// memoryFor is how much memory may be taken for each byte that a profile may have. What programs send takes less; what somebody made up can
// take twenty times its size.
const memoryFor = 4

// Names of limits in answers and settings.
const (
	limitRate    = "rate"
	limitBodies  = "concurrent-bodies"
	limitSamples = "samples"
	limitDepth   = "stack-depth"
	limitLine    = "line-length"
	limitLabels  = "labels"
	limitName    = "label-name-length"
	limitValue   = "label-value-length"
	limitSeries  = "series"
)

// Overflow replaces label values beyond the limit.
const Overflow = "__overflow__"

const (
	active  = 24 * time.Hour // how long a series counts after its last profile
	cleanUp = time.Minute    // how often those that do not count any more are looked for
)

// A tenant is the state of a tenant.
type tenant struct {
	once sync.Once // what the store has is known

	mu      sync.Mutex
	limits  Limits
	bodies  int
	room    float64   // bytes that may come now
	filled  time.Time // when room was worked out
	series  map[string]time.Time
	values  map[string]map[string]time.Time // by label
	cleaned time.Time
}

func newTenant(limits Limits) *tenant {
	return &tenant{limits: limits, room: float64(limits.Burst), series: map[string]time.Time{}, values: map[string]map[string]time.Time{}}
}

// limited returns the limits as they are now.
func (t *tenant) limited() Limits {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.limits
}

// limit sets the limits.
func (t *tenant) limit(l Limits) {
	t.mu.Lock()
	t.limits = l
	t.mu.Unlock()
}

// enter counts a body in.
func (t *tenant) enter() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.limits.Bodies > 0 && t.bodies >= t.limits.Bodies {
		return &body.Error{
			Status: http.StatusTooManyRequests, Limit: limitBodies, Retry: time.Second,
			Message: fmt.Sprintf("%d requests with profiles are being received already (limit: %s)", t.bodies, limitBodies),
		}
	}
	t.bodies++
	return nil
}

func (t *tenant) leave() {
	t.mu.Lock()
	t.bodies--
	t.mu.Unlock()
}

// spend takes bytes out of what may come now. The last ones may be more than is left, and are made up for later.
func (t *tenant) spend(n int64, now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.limits.Rate <= 0 {
		return nil
	}
	if !t.filled.IsZero() {
		t.room += now.Sub(t.filled).Seconds() * float64(t.limits.Rate)
	}
	t.filled = now
	t.room = min(t.room, float64(t.limits.Burst))
	if need := min(n, t.limits.Burst); t.room < float64(need) || t.room <= 0 {
		wait := time.Duration((float64(max(need, 1)) - t.room) / float64(t.limits.Rate) * float64(time.Second))
		return &body.Error{
			Status: http.StatusTooManyRequests, Limit: limitRate, Retry: max(wait, time.Second),
			Message: fmt.Sprintf("more than %s came in a second (limit: %s)", unit.Size(t.limits.Rate), limitRate),
		}
	}
	t.room -= float64(n)
	return nil
}

// charge takes bytes that came without being announced.
func (t *tenant) charge(n int64) {
	t.mu.Lock()
	t.room -= float64(n)
	t.mu.Unlock()
}

func seriesKey(service, kind string, labels store.Labels) string {
	var b strings.Builder
	for _, s := range []string{service, kind} {
		b.WriteString(s)
		b.WriteByte(0)
	}
	for _, l := range labels {
		b.WriteString(l.Name)
		b.WriteByte(0)
		b.WriteString(l.Value)
		b.WriteByte(0)
	}
	return b.String()
}

// known counts a series that is in the store.
func (t *tenant) known(s *store.Series) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.note(seriesKey(s.Service, s.Kind, s.Labels), s.Labels, s.Last)
}

func (t *tenant) note(key string, labels store.Labels, seen time.Time) {
	t.series[key] = seen
	for _, l := range labels {
		if t.values[l.Name] == nil {
			t.values[l.Name] = map[string]time.Time{}
		}
		t.values[l.Name][l.Value] = seen
	}
}

// admit counts an upload to its series. Values beyond the limit of their label become Overflow; a series more than there may be is an error.
func (t *tenant) admit(u *store.Upload, now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	labels := u.Labels
	for i, l := range labels {
		values := t.values[l.Name]
		if _, ok := values[l.Value]; ok || t.limits.Values <= 0 || len(values) < t.limits.Values {
			continue
		}
		if t.clean(now); len(t.values[l.Name]) < t.limits.Values {
			continue
		}
		if &labels[0] == &u.Labels[0] {
			labels = append(store.Labels(nil), u.Labels...)
		}
		labels[i].Value = Overflow
	}
	key := seriesKey(u.Service, u.Kind, labels)
	if _, ok := t.series[key]; !ok && t.limits.Series > 0 && len(t.series) >= t.limits.Series {
		if t.clean(now); len(t.series) >= t.limits.Series {
			return &body.Error{
				Status: http.StatusTooManyRequests, Limit: limitSeries, Retry: time.Hour,
				Message: fmt.Sprintf("there are %d series already (limit: %s), and %s is a new one: send labels with fewer values", len(t.series), limitSeries,
					profile.Shorten(u.Service+labels.String(), 200)),
			}
		}
	}
	u.Labels = labels
	t.note(key, labels, now)
	return nil
}

// clean forgets what was not seen for long.
func (t *tenant) clean(now time.Time) {
	if now.Sub(t.cleaned) < cleanUp {
		return
	}
	t.cleaned = now
	old := now.Add(-active)
	for key, seen := range t.series {
		if seen.Before(old) {
			delete(t.series, key)
		}
	}
	for name, values := range t.values {
		for v, seen := range values {
			if seen.Before(old) {
				delete(values, v)
			}
		}
		if len(values) == 0 {
			delete(t.values, name)
		}
	}
}
