package notice

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/fleet/event"
	"github.com/hone-perf/hone/internal/store"
)

// versionLabel identifies versions of a service; without it, the build does.
const versionLabel = "version"

const (
	gone         = 30 * time.Minute // a version that was absent for so long, while others ran, counts as deployed again
	mostVersions = 200
	mostDeploys  = 50
)

// looks are the times after a deploy at which versions that run side by side are compared.
var looks = []time.Duration{15 * time.Minute, 30 * time.Minute, time.Hour}

// versions notices versions that were not there before. The lines are of the step of q.
func (n *Noticer) versions(ctx context.Context, s *service, lines []store.Line, q store.Query) error {
	from := q.From
	label := store.BuildLabel
	if slices.ContainsFunc(lines, func(l store.Line) bool { return l.Labels.Get(versionLabel) != "" }) {
		label = versionLabel
	}
	profiles := map[string]int{}
	builds := map[string]string{}
	for _, l := range lines {
		for _, p := range l.Points {
			profiles[l.Labels.Get(label)] += p.Profiles
		}
		builds[l.Labels.Get(label)] = l.Labels.Get(store.BuildLabel)
	}
	delete(profiles, "")
	if len(profiles) == 0 {
		return nil
	}
	first := len(s.versions) == 0 || s.label != label
	if first {
		s.label, s.versions, s.current = label, map[string]time.Time{}, ""
	}
	var fresh []string
	most := ""
	for v, count := range profiles {
		seen, known := s.versions[v]
		if !first && (!known || from.Sub(seen) > gone && s.others(v, seen)) {
			fresh = append(fresh, v)
		}
		if most == "" || count > profiles[most] || count == profiles[most] && v < most {
			most = v
		}
	}
	before := s.current
	for v := range profiles {
		s.versions[v] = from
	}
	s.current = most
	for len(s.versions) > mostVersions {
		oldest := ""
		for v, at := range s.versions {
			if oldest == "" || at.Before(s.versions[oldest]) {
				oldest = v
			}
		}
		delete(s.versions, oldest)
	}
	slices.Sort(fresh)
	var bad error
	for _, v := range fresh {
		if v == before {
			continue
		}
		d := &deploy{label: label, version: v, before: before, at: from, first: from, id: id(s.tenant, s.name, label, v, from.Unix())}
		if first, err := n.first(ctx, q, s.of(label, v)); err != nil {
			return err
		} else if !first.IsZero() {
			d.first = first
		}
		if s.deploys = append(s.deploys, d); len(s.deploys) > mostDeploys {
			s.deploys = s.deploys[1:]
		}
		if n.Events.Get(s.tenant, d.id) != nil {
			continue // known since before a restart
		}
		e := event.Event{
			ID: d.id, Tenant: s.tenant, Kind: event.Deployed, Service: s.name, Time: d.first, Noticed: n.Now().UTC(),
			Deploy: &event.Deploy{Before: name(before), Build: name(builds[v])},
		}
		if label == versionLabel {
			e.Deploy.Version = name(v)
		}
		bad = errors.Join(bad, n.Events.Add(e))
	}
	return bad
}

// instant is the resolution of the time of a deploy.
const instant = 10 * time.Second

// first returns when the first profile of a selection came in the step of q, or no time if there is none.
func (n *Noticer) first(ctx context.Context, q store.Query, of store.Selector) (time.Time, error) {
	q.Selector = of
	lines, err := n.Store.Totals(ctx, q, instant, nil)
	if err != nil {
		return time.Time{}, err
	}
	var first time.Time
	for _, l := range lines {
		for _, p := range l.Points {
			if p.Profiles > 0 && (first.IsZero() || p.Time.Before(first)) {
				first = p.Time
			}
		}
	}
	return first, nil
}

// others reports whether other versions were seen after a time.
func (s *service) others(v string, after time.Time) bool {
	for other, at := range s.versions {
		if other != v && at.After(after) {
			return true
		}
	}
	return false
}

// compareVersions compares new versions with those that run beside them.
func (n *Noticer) compareVersions(ctx context.Context, s *service, now time.Time) error {
	for _, d := range s.deploys {
		if d.looked == len(looks) || now.Sub(d.at) < looks[d.looked] || d.before == "" {
			continue
		}
		for d.looked < len(looks) && now.Sub(d.at) >= looks[d.looked] {
			d.looked++
		}
		for _, w := range watched { // what is allocated first: see Noticer.shows
			m := s.memories[w.kind]
			if m == nil {
				continue
			}
			if err := n.compareVersion(ctx, s, w.kind, m, d, now); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *service) of(label, value string) store.Selector {
	return append(store.Service(s.name), store.Matcher{Name: label, Op: store.Is, Value: value})
}

func (n *Noticer) compareVersion(ctx context.Context, s *service, kind string, m *memory, d *deploy, now time.Time) error {
	if len(m.steps) < shortest || m.steps[len(m.steps)-1].Time.Before(d.at) {
		return nil
	}
	old, err := n.side(ctx, s, kind, m, s.of(d.label, d.before), d.at, now)
	if err != nil || old == nil {
		return err
	}
	fresh, err := n.side(ctx, s, kind, m, s.of(d.label, d.version), d.at, now)
	if err != nil || fresh == nil {
		return err
	}
	if min(old.profiles, fresh.profiles) < 10 {
		return nil
	}
	functions, rows := len(m.names.functions), len(m.entries)
	b, x := old.costs.table(functions, rows, m.row), fresh.costs.table(functions, rows, m.row)
	ratio := m.ratios(b, x)
	between, err := n.between(ctx, s, kind, m, d, now)
	if err != nil {
		return err
	}
	processes := 1/float64(max(1, fresh.streams)) + 1/float64(max(1, old.streams))
	known := float64(old.profiles) / float64(fresh.profiles)
	c := m.compare(old.costs, fresh.costs, ratio, known, noise{
		spread: func(int32) float64 { return 1.5 * m.unit },
		wander: func(f int32) float64 { return between(f) * processes },
	})
	var bad error
	for _, x := range c.causes(sure) {
		bad = errors.Join(bad, n.tell(s, kind, m, x, old, fresh, d.at, c.total, d))
	}
	return bad
}

// usualBetween is the standard deviation of the relative cost of a function between processes, where that cannot be measured.
const usualBetween = 0.05

// between returns the variance of the relative costs of functions between processes of the version that a deploy replaces.
func (n *Noticer) between(ctx context.Context, s *service, kind string, m *memory, d *deploy, now time.Time) (func(f int32) float64, error) {
	unknown := func(int32) float64 { return usualBetween * usualBetween }
	from := d.at.Add(-time.Hour)
	sel := s.of(d.label, d.before)
	label, values, err := n.processes(ctx, s, kind, sel, from, now)
	if err != nil || len(values) < 3 {
		return unknown, err
	}
	rows := len(m.entries)
	functions := 0
	var tables []*table
	for _, v := range values {
		x, err := n.side(ctx, s, kind, m, append(slices.Clone(sel), store.Matcher{Name: label, Op: store.Is, Value: v}), from, now)
		if err != nil {
			return nil, err
		}
		if x != nil {
			functions = len(m.names.functions)
			tables = append(tables, x.costs.table(functions, rows, m.row))
		}
	}
	if len(tables) < 3 {
		return unknown, nil
	}
	sum := &table{make([][]float64, rows), make([][]float64, rows)}
	for r := range rows {
		sum.self[r], sum.cum[r] = make([]float64, functions), make([]float64, functions)
		for _, t := range tables {
			for f := range t.self[r] {
				sum.self[r][f] += t.self[r][f]
				sum.cum[r][f] += t.cum[r][f]
			}
		}
	}
	squares := make([]float64, functions)
	for _, t := range tables {
		for r := range rows { // functions that came later cost nothing here
			t.self[r] = append(t.self[r], make([]float64, functions-len(t.self[r]))...)
			t.cum[r] = append(t.cum[r], make([]float64, functions-len(t.cum[r]))...)
		}
		ratio := m.ratios(sum, t)
		for f := range functions {
			cost, should := 0.0, 0.0
			for r := range rows {
				cost += t.cum[r][f]
				should += ratio[r] * sum.cum[r][f]
			}
			if should > 0 {
				squares[f] += max(0, (cost/should-1)*(cost/should-1)-sampleSpread*m.unit/should)
			}
		}
	}
	var usual []float64
	count := float64(len(tables) - 1)
	for f := range functions {
		total := 0.0
		for r := range rows {
			total += sum.cum[r][f]
		}
		if total > 500*m.unit*count {
			usual = append(usual, squares[f]/count)
		}
	}
	pooled := usualBetween * usualBetween
	if len(usual) >= 10 {
		slices.Sort(usual)
		pooled = max(usual[len(usual)*3/4], 0.01*0.01)
	}
	return func(f int32) float64 {
		if int(f) >= len(squares) {
			return pooled
		}
		return (squares[f] + 4*pooled) / (count + 4)
	}, nil
}

// mostProcesses is how many processes are examined individually.
const mostProcesses = 12

// processes returns the label that identifies processes, and its values.
func (n *Noticer) processes(ctx context.Context, s *service, kind string, sel store.Selector, from, to time.Time) (label string, values []string, err error) {
	q := store.Query{Tenant: s.tenant, Selector: sel, Kind: kind, From: from, To: to}
	names, err := n.Store.Names(ctx, q)
	if err != nil {
		return "", nil, err
	}
	for _, label := range event.ProcessLabels {
		if !slices.Contains(names, label) {
			continue
		}
		values, _, err := n.Store.Values(ctx, q, label, "", mostProcesses)
		if err != nil || len(values) > 1 {
			return label, values, err
		}
	}
	return "", nil, nil
}

// local returns the functions that changed in a few processes only. The reason is a noisy neighbor or an odd request, not a change of the service.
func (n *Noticer) local(ctx context.Context, s *service, kind string, m *memory, causes []*cause, from, began, to time.Time) (map[int32]bool, error) {
	if len(causes) == 0 {
		return nil, nil
	}
	sel := store.Service(s.name)
	label, values, err := n.processes(ctx, s, kind, sel, began, to)
	if err != nil || len(values) < 4 {
		return nil, err
	}
	changes := make([][]float64, len(causes))
	spread := make([]float64, len(causes)) // sum of variances
	for _, v := range values {
		sel := append(slices.Clone(sel), store.Matcher{Name: label, Op: store.Is, Value: v})
		before, err := n.side(ctx, s, kind, m, sel, from, began)
		if err != nil {
			return nil, err
		}
		after, err := n.side(ctx, s, kind, m, sel, began, to)
		if err != nil {
			return nil, err
		}
		if before == nil || after == nil {
			continue // it is new, or gone
		}
		for i, c := range causes {
			was, is := before.costs.share(c.function), after.costs.share(c.function)
			changes[i] = append(changes[i], is-was)
			spread[i] += sampleSpread * m.unit * (was/before.costs.total() + is/after.costs.total())
		}
	}
	out := map[int32]bool{}
	for i, c := range causes {
		list := changes[i]
		if len(list) < 4 {
			continue
		}
		slices.SortFunc(list, func(a, b float64) int { return cmp.Compare(math.Abs(b), math.Abs(a)) })
		all, rest := 0.0, 0.0
		few := (len(list) + 3) / 4
		for j, d := range list {
			all += d
			if j >= few {
				rest += d
			}
		}
		// Counts of single processes vary, and those that seem to have changed most were taken away.
		noise := math.Sqrt(spread[i] / float64(len(list)))
		doubt := noise * (0.5 + 2/math.Sqrt(float64(len(list)-few)))
		out[c.function] = math.Abs(rest)/float64(len(list)-few)+doubt < 0.5*math.Abs(all)/float64(len(list))
	}
	return out, nil
}

// share returns the share of what is below f.
func (c *costs) share(f int32) float64 {
	part, all := 0.0, 0.0
	for i, s := range c.stacks {
		all += c.values[i]
		if slices.Contains(s, f) {
			part += c.values[i]
		}
	}
	if all == 0 {
		return 0
	}
	return part / all
}
