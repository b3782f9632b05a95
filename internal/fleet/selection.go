package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/cache"
	"github.com/hone-perf/hone/internal/fleet/event"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/safefile"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/view/fleetview"
)

// A selection is the merged profiles of a query, by kind.
type selection struct {
	manifest *recording.Manifest
	profiles map[string]*profile.Profile
	rec      *recording.Recording // nil if it is not cached
	file     int64                // size of the file of rec
	until    time.Time            // when to compute it again; zero means never
}

// selected returns the selection of a query.
func (s *Server) selected(ctx context.Context, q store.Query) (*selection, error) {
	out := &selection{
		manifest: &recording.Manifest{
			Format: recording.Format, Hone: s.Version, How: recording.Stored, Target: q.Selector.String(), Started: q.From, Ended: q.To,
			KeepSecrets: true, // the store has them already
			Fleet:       map[string]recording.Load{},
		},
		profiles: map[string]*profile.Profile{},
	}
	if i := slices.IndexFunc(q.Selector, func(m store.Matcher) bool { return m.Name == store.ProfileLabel && m.Op == store.Is }); i >= 0 {
		return out, s.single(ctx, q, i, out)
	}
	series, err := s.Store.Series(ctx, q)
	if err != nil {
		return nil, err
	}
	var kinds []string
	for _, kind := range recording.Kinds {
		if slices.ContainsFunc(series, func(s store.Series) bool { return s.Kind == kind }) {
			kinds = append(kinds, kind)
		}
	}
	merged := make([]*store.Merged, len(kinds))
	loads := make([]recording.Load, len(kinds))
	failed := make([]error, len(kinds))
	var all sync.WaitGroup
	for i, kind := range kinds {
		all.Go(func() {
			q := q
			q.Kind = kind
			if merged[i], failed[i] = s.Store.Merge(ctx, q); failed[i] != nil {
				return
			}
			at := fleetview.Window{From: q.From, To: q.To, Step: fleetview.LoadStep(q.From, q.To)}
			totals, err := s.means(ctx, q, at.Step)
			totals = slices.DeleteFunc(totals, func(l store.Line) bool { return !merged[i].Has(kind, l.Types) })
			loads[i], failed[i] = fleetview.Load(kind, totals, merged[i], at), err
			loads[i].Shared = merged[i].Shared
			if kind == recording.CPU && err == nil {
				loads[i].Uneven, failed[i] = s.uneven(ctx, q)
			}
		})
	}
	all.Wait()
	// Report kinds that cannot be read, and show the others.
	unread := 0
	for i := range kinds {
		var bad *store.DamageError
		if !errors.As(failed[i], &bad) {
			continue
		}
		merged[i], failed[i] = &store.Merged{Damage: bad.Damage}, nil
		unread++
	}
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	if unread == len(kinds) && unread > 0 {
		return nil, &store.DamageError{Damage: merged[0].Damage}
	}
	for i, kind := range kinds {
		for n, bad := range merged[i].Damage {
			out.manifest.Notes = append(out.manifest.Notes, fmt.Sprintf("%s: %v", kind, bad))
			if n < mostDamage {
				loads[i].Notes = append(loads[i].Notes, bad.Error())
			}
		}
		if merged[i].Profile == nil {
			continue
		}
		out.profiles[kind] = merged[i].Profile
		out.manifest.Fleet[kind] = loads[i]
	}
	if len(kinds) == 0 {
		return nil, &store.NothingError{Query: q}
	}
	if sums, ok := s.Store.(store.SumStore); ok {
		for kind, load := range out.manifest.Fleet {
			q.Kind = kind
			sum, err := sums.Sums(ctx, q)
			if err != nil {
				return nil, err
			}
			if sum != nil && sum.Beyond(q) {
				load.Sums = sum
				out.manifest.Fleet[kind] = load
			}
		}
	}
	return out, nil
}

// uneven compares for which part of their time the processes of a selection were profiled.
func (s *Server) uneven(ctx context.Context, q store.Query) (*store.Uneven, error) {
	lines, err := s.means(ctx, q, fleetview.AllStep, append([]string{store.ServiceLabel}, event.ProcessLabels...)...)
	return fleetview.Uneven(lines, event.ProcessLabels), err
}

// single adds the profile that matcher i of a query names by ID.
func (s *Server) single(ctx context.Context, q store.Query, i int, out *selection) error {
	id, err := store.ParseID(q.Selector[i].Value)
	if err != nil {
		return badRequest{fmt.Errorf("%s: %w", store.ProfileLabel, err)}
	}
	q.Selector = slices.Delete(slices.Clone(q.Selector), i, i+1)
	e, p, _, err := s.Store.Profile(ctx, q, id)
	if errors.Is(err, store.ErrNotFound) {
		return &noProfile{q.Selector, id}
	}
	if err != nil {
		return err
	}
	if !slices.Contains(recording.Kinds, e.Kind) {
		return badRequest{fmt.Errorf("it is a %s profile, and a recording has %s", profile.Shorten(e.Kind, 40), strings.Join(recording.Kinds, ", "))}
	}
	out.profiles[e.Kind] = p
	out.manifest.Started, out.manifest.Ended = e.Start, e.End
	return nil
}

// A noProfile means that there is no profile with an ID.
type noProfile struct {
	of store.Selector
	id store.ID
}

func (e *noProfile) Error() string {
	return fmt.Sprintf("no profile of %s has the ID %s in that time, or not any more", e.of, e.id)
}
func (e *noProfile) Unwrap() error { return store.ErrNotFound }

// explained adds to an error about an empty selection what the store has instead.
func (s *Server) explained(ctx context.Context, err error) error {
	var none *store.NothingError
	if errors.As(err, &none) && none.Found == nil {
		return source.Nothing(store.RefPrefix, s.explain(ctx, none.Query))
	}
	return err
}

// explain is store.Explain for the store of this server.
func (s *Server) explain(ctx context.Context, q store.Query) *store.NothingError {
	filling := s.filling.Load() // before looking: when it is over, all profiles are there
	none := store.Explain(ctx, s.Store, q)
	if none.Found != nil {
		none.Found.Filling = filling
	}
	return none
}

// pack writes a recording.
func (o *selection) pack(folder, file string) error {
	for kind, p := range o.profiles {
		name := filepath.Join(folder, filepath.FromSlash(recording.PartFile(kind, 0, o.manifest.Ended.Sub(o.manifest.Started))))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		if err := safefile.Write(name, p.Write); err != nil {
			return err
		}
	}
	_, err := recording.Pack(folder, file, o.manifest)
	return err
}

// mostDamage is the maximum number of notes about damage.
const mostDamage = 5

// The cache of selections for pages.
const (
	openedBytes = 96 << 20
	fresh       = time.Minute      // how long a selection that ends now is cached, so that all views of it agree
	settling    = 15 * time.Minute // how long profiles may arrive late
)

func newOpened() *cache.Cache[string, *selection] {
	return cache.New[string](openedBytes, func(o *selection) int64 {
		n := 64<<10 + 4*o.file // for decompressed profiles
		for _, p := range o.profiles {
			n += 2 * p.Size() // views use copies with short names
		}
		return n
	})
}

type tenantKey struct{}

// pages answers browsers.
func (s *Server) pages(w http.ResponseWriter, r *http.Request, tenant string) error {
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET is allowed here", http.StatusMethodNotAllowed)
		return nil
	case s.Pages == nil:
		http.NotFound(w, r)
		return nil
	}
	s.Pages.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), tenantKey{}, tenant)))
	return nil
}

// SharedPrefix begins refs of shared recordings.
const SharedPrefix = "shelf:"

// Open returns the recording that a ref names, such as store:api@-1h or shelf:ID, for a request to Options.Pages. It caches selections, also those
// that end now, for a short time. With functions, it may drop line numbers, which makes the stacks fewer.
func (s *Server) Open(ctx context.Context, ref string, functions bool) (*recording.Recording, error) {
	tenant, ok := ctx.Value(tenantKey{}).(string)
	if id, shared := strings.CutPrefix(ref, SharedPrefix); ok && shared {
		return s.openShared(tenant, id)
	}
	name, stored := strings.CutPrefix(ref, store.RefPrefix)
	if !ok || !stored {
		return nil, fmt.Errorf("%q is not a store ref, such as store:api@-1h", profile.Shorten(ref, 80))
	}
	now := s.Now()
	at, err := store.ParseRef(name, now)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", profile.Shorten(ref, 200), err)
	}
	key := tenant + "\x00" + name
	if functions {
		key += "\x00functions"
	}
	s.opened.Remove(key, func(o *selection) bool { return !o.until.IsZero() && now.After(o.until) })
	o, err := s.opened.Do(key, func() (*selection, error) {
		// Other requests may wait for it, so it must not end with the first one.
		q := store.Query{Tenant: tenant, Selector: at.Selector, From: at.From, To: at.To, Functions: functions}
		select {
		case s.adding <- struct{}{}:
			defer func() { <-s.adding }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		o, err := s.selected(context.WithoutCancel(ctx), q)
		if err != nil {
			return nil, s.explained(ctx, err)
		}
		if later, err := store.ParseRef(name, now.Add(25*time.Hour)); err != nil || !later.To.Equal(at.To) || now.Sub(at.To) < settling {
			o.until = now.Add(fresh)
		}
		rec, _, err := recording.Made(ref, o.manifest, o.profiles).Pick("", 0, 0)
		if err != nil {
			return nil, err
		}
		o.rec = rec
		return o, nil
	})
	if err != nil {
		return nil, err
	}
	return o.rec, nil
}

// openShared opens a shared recording of a tenant.
func (s *Server) openShared(tenant, id string) (*recording.Recording, error) {
	_, file, err := s.Recording(tenant, id) // not cached, because it may have been deleted
	if err != nil {
		return nil, err
	}
	o, err := s.opened.Do(tenant+"\x00"+SharedPrefix+id, func() (*selection, error) {
		rec, err := recording.Open(file) // its file is closed when it becomes unreachable
		if err != nil {
			return nil, errors.New("the recording cannot be read") // do not reveal the name of the file
		}
		if err := rec.Check(); err != nil {
			rec.Close()
			return nil, errors.New("the recording cannot be read")
		}
		rec = rec.Named(SharedPrefix + id)
		o := &selection{}
		if info, err := os.Stat(file); err == nil {
			o.file = info.Size()
		}
		if o.rec, _, err = rec.Pick("", 0, 0); errors.Is(err, recording.ErrNoProfile) {
			o.rec, err = rec.WithProfile(&profile.Profile{}, ""), nil // it may have other parts than profiles
		}
		return o, err
	})
	if err != nil {
		return nil, err
	}
	return o.rec, nil
}
