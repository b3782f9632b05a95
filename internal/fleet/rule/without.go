package rule

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/store"
)

// A rule with a wrong name in it can never fire, and nobody would know: so a rule is listed, and logged, while the store has never had a profile that
// it measures.

// without is a rule for which there are no profiles now.
type without struct {
	tenant string
	fact   *report.RuleWithoutData // nil if there were profiles at some time
	since  time.Time
	looked time.Time // when the whole store was searched last
	logged bool
}

const (
	searchAgain = 10 * time.Minute // a search of the whole store costs more than a measurement
	logAfter    = 5 * time.Minute  // the first profiles of a new scrape job take a while
	mostKnown   = 8                // names in a fact
	mostSearch  = 1000             // names in a search
)

// withoutKey identifies what a rule measures, so that a changed rule is searched for again.
func withoutKey(r *Rule) string { return keyOf(r.Tenant, r.Name, r.Selector.String(), r.Metric) }

// heard notes whether there are profiles that a rule measures now.
func (w *Watcher) heard(ctx context.Context, r *Rule, some bool, now time.Time) error {
	key := withoutKey(r)
	w.mu.Lock()
	was := w.without[key]
	w.mu.Unlock()
	switch {
	case some && was != nil && was.logged:
		w.opt.Log.Info("a rule has data now", "rule", r.Name, "tenant", r.Tenant)
		fallthrough
	case some:
		w.mu.Lock()
		delete(w.without, key)
		w.mu.Unlock()
		return nil
	}
	is := without{tenant: r.Tenant, since: now}
	if was != nil {
		is = *was
	}
	if is.looked.IsZero() || is.fact != nil && now.Sub(is.looked) >= searchAgain {
		fact, err := w.lacks(ctx, r)
		if err != nil {
			return err
		}
		is.fact, is.looked = fact, now
	}
	if is.fact != nil && !is.logged && now.Sub(is.since) >= logAfter {
		is.logged = true
		w.opt.Log.Warn("a rule has no data and cannot fire", "rule", r.Name, "tenant", r.Tenant, "why", is.fact.Text)
	}
	w.mu.Lock()
	w.without[key] = &is
	w.mu.Unlock()
	return nil
}

// lacks says what the store has never had of what a rule measures, or nil if it had such profiles at some time.
func (w *Watcher) lacks(ctx context.Context, r *Rule) (*report.RuleWithoutData, error) {
	ever := store.Query{Tenant: r.Tenant, Selector: r.Selector, From: time.Unix(0, 0), To: time.Unix(1<<33, 0)}
	series, err := w.opt.Store.Series(ctx, ever)
	if err != nil {
		return nil, err
	}
	kinds := map[string]bool{}
	for _, s := range series {
		kinds[s.Kind] = true
	}
	kind := kindOf(r.Metric)
	if kinds[kind] {
		return nil, nil
	}
	fact := &report.RuleWithoutData{Rule: r.Name, Of: r.Selector.String(), Kind: kind}
	if len(r.Selector) == 0 {
		fact.Of = ""
	}
	if len(kinds) > 0 {
		fact.Lacks = report.LacksKind
		fact.Known = slices.Sorted(maps.Keys(kinds))
		return told(fact, ""), nil
	}
	service, _ := r.Selector.Only(store.ServiceLabel)
	found := store.Explain(ctx, w.opt.Store, ever).Found
	switch {
	case found != nil && found.Labels != nil:
		fact.Lacks, fact.Name, fact.Known, fact.More = report.LacksLabel, found.Label, found.Labels, found.More
		return told(fact, fact.Name), nil
	case found != nil && found.Label != "":
		fact.Lacks, fact.Name, fact.Known, fact.More = report.LacksValue, found.Label, found.Values, found.More
		value, _ := r.Selector.Only(found.Label)
		return told(fact, value), nil
	}
	ever.Selector = nil
	services, more, err := w.opt.Store.Values(ctx, ever, store.ServiceLabel, "", mostSearch)
	if err != nil {
		return nil, err
	}
	if slices.Contains(services, service) {
		return nil, fmt.Errorf("finding out why the rule %s has no data took too long", r.Name)
	}
	fact.Lacks, fact.Name, fact.Known, fact.More = report.LacksService, service, services, more
	return told(fact, service), nil
}

// told completes a fact: the name that is probably meant in place of the wrong one, not too many known names, and the text.
func told(fact *report.RuleWithoutData, wrong string) *report.RuleWithoutData {
	if near := query.Nearest(wrong, fact.Known); len(near) > 2 { // v2 is as near to v9 as any other
		fact.Meant = near
	}
	if len(fact.Known) > mostKnown {
		fact.Known, fact.More = fact.Known[:mostKnown], true
	}
	fact.Text = fact.Words()
	return fact
}

// forgetWithout forgets rules that are no longer in the configuration. The caller holds the lock.
func (w *Watcher) forgetWithout(cfg *Config) {
	keep := map[string]bool{}
	for _, r := range cfg.Rules {
		keep[withoutKey(r)] = true
	}
	maps.DeleteFunc(w.without, func(key string, _ *without) bool { return !keep[key] })
}

// WithoutData returns the rules of a tenant for which the store has never had a profile, by name.
func (w *Watcher) WithoutData(tenant string) []report.RuleWithoutData {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []report.RuleWithoutData
	for _, one := range w.without {
		if one.tenant == tenant && one.fact != nil {
			out = append(out, *one.fact)
		}
	}
	slices.SortFunc(out, func(a, b report.RuleWithoutData) int { return strings.Compare(a.Rule, b.Rule) })
	return out
}
