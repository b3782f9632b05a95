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
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/safefile"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/view/fleetview"
)

// A selection is what a query selects, added up kind by kind.
type selection struct {
	manifest *recording.Manifest
	profiles map[string]*profile.Profile
	rec      *recording.Recording // nil where it is not kept
	file     int64                // bytes of the file that rec is in
	until    time.Time            // when it is made anew; zero is never
}

// selected returns what a query selects.
func (s *Server) selected(ctx context.Context, q store.Query) (*selection, error) {
	out := &selection{
		manifest: &recording.Manifest{
			Format: recording.Format, Hone: s.Version, How: recording.Stored, Target: q.Selector.String(), Started: q.From, Ended: q.To,
			KeepSecrets: true, // all of it is in the store already
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
			totals, at, err := s.even(ctx, q, fleetview.LoadStep(q.From, q.To))
			loads[i], failed[i] = fleetview.Load(totals, merged[i], at), err
		})
	}
	all.Wait()
	// Kinds of which nothing can be read are told of. The others are shown.
	unread := 0
	for i := range kinds {
		if bad := new(store.DamageError); errors.As(failed[i], &bad) {
			merged[i], failed[i] = &store.Merged{Damage: bad.Damage}, nil
			unread++
		}
	}
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	if unread == len(kinds) && unread > 0 {
		return nil, &store.DamageError{Damage: merged[0].Damage}
	}
	for i, kind := range kinds {
		p := merged[i].Profile
		for n, bad := range merged[i].Damage {
			out.manifest.Notes = append(out.manifest.Notes, fmt.Sprintf("%s: %v", kind, bad))
			if n < mostDamage && p != nil {
				p = p.WithNote(bad.Error())
			}
		}
		if p == nil {
			continue
		}
		out.profiles[kind] = p
		out.manifest.Fleet[kind] = loads[i]
	}
	if len(kinds) == 0 {
		return nil, &store.NothingError{Query: q}
	}
	return out, nil
}

// single adds the one profile that matcher number i of a query names.
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

// A noProfile says that there is no profile with an ID.
type noProfile struct {
	of store.Selector
	id store.ID
}

func (e *noProfile) Error() string {
	return fmt.Sprintf("no profile of %s has the ID %s in that time, or not any more", e.of, e.id)
}
func (e *noProfile) Unwrap() error { return store.ErrNotFound }

// explained returns an error with what there is, where it says that there is nothing.
func (s *Server) explained(ctx context.Context, err error) error {
	var none *store.NothingError
	if errors.As(err, &none) && none.Found == nil {
		return source.Nothing(store.RefPrefix, store.Explain(ctx, s.Store, none.Query))
	}
	return err
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

// mostDamage is how many notes views have about what could not be read.
const mostDamage = 5

// What is kept of selections that pages look at.
const (
	openedBytes = 96 << 20
	fresh       = time.Minute      // for which one that ends now stays as it is, so that all views of it agree
	settling    = 15 * time.Minute // in which profiles may still arrive late
)

func newOpened() *cache.Cache[string, *selection] {
	return cache.New[string](openedBytes, func(o *selection) int64 {
		n := 64<<10 + 4*o.file // of profiles that are unpacked when somebody asks
		for _, p := range o.profiles {
			n += 2 * p.Size() // what views ask for is a copy with short names
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

// SharedPrefix begins refs to recordings on the shelf.
const SharedPrefix = "shelf:"

// Open returns what a ref names, such as store:api@-1h or shelf:ID, for a request that Pages was asked. It stays the same for a moment also where it ends now.
// With functions, it may leave out the lines of stacks, so that there are fewer of these.
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
		// Others may wait for it, so it does not end with the one who asked first.
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

// openShared opens a recording on the shelf of a tenant.
func (s *Server) openShared(tenant, id string) (*recording.Recording, error) {
	_, file, err := s.Recording(tenant, id) // each time: it may have been deleted
	if err != nil {
		return nil, err
	}
	o, err := s.opened.Do(tenant+"\x00"+SharedPrefix+id, func() (*selection, error) {
		rec, err := recording.Open(file) // its file is closed when nobody has it any more
		if err != nil {
			return nil, errors.New("the recording cannot be read") // the name of the file is nobody's business
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
			o.rec, err = rec.WithProfile(&profile.Profile{}, ""), nil // there is more to look at than profiles
		}
		return o, err
	})
	if err != nil {
		return nil, err
	}
	return o.rec, nil
}
