package source

import (
	"context"
	"errors"
	"os"
	"runtime"

	"github.com/hone-perf/hone/internal/profile"
)

// A Gathered is the sum of several profiles.
type Gathered struct {
	Profile *profile.Profile
	N       int      // profiles that went in
	Missing []string // refs that could not be had
	Remote  bool     // whether any came from a server

	servers servers
}

// servers are the addresses that profiles came from, by the build id or file of their mappings. They are asked for
// the names of addresses.
type servers map[string][]server

type server struct {
	url   string
	start uint64 // of the mapping there
}

func (s servers) add(other servers) {
	for k, v := range other {
		s[k] = append(s[k], v...)
	}
}

// One turns the only profile there is into a sum.
func (o *Options) One(f Fetched) (*Gathered, error) {
	if _, err := profile.Agree(f.Profile); err != nil {
		return nil, err
	}
	g := &Gathered{N: 1, Remote: f.URL != ""}
	g.Profile, g.servers = o.locate(f.Profile, f.URL)
	return g, nil
}

// atOnce returns how many refs to read at the same time. Servers record while we wait, all over the same seconds.
func (o *Options) atOnce(refs []string) int {
	for _, ref := range refs {
		if _, err := os.Stat(ref); err != nil && o.url(ref) != nil {
			return min(len(refs), 128)
		}
	}
	return runtime.GOMAXPROCS(0)
}

// Gather gets profiles and adds them up. Several are read at once, but never more than there are cores, and each
// goes into the sum as soon as those before it have: memory is bounded by the sum and what is being read. A profile
// that cannot be had is said and left out; N and Missing tell.
func (o *Options) Gather(ctx context.Context, refs []string) (*Gathered, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	type slot struct {
		Fetched
		servers servers
		err     error
	}
	slots := make([]chan slot, len(refs))
	for i := range slots {
		slots[i] = make(chan slot, 1)
	}
	room := make(chan struct{}, o.atOnce(refs))
	get := func(ref string) (s slot) {
		if s.Fetched, s.err = o.Fetch(ctx, ref); s.err == nil {
			s.Profile, s.servers = o.locate(s.Profile, s.URL)
		}
		return s
	}
	if len(refs) == 1 {
		room <- struct{}{} // waking threads for one would take longer than reading a small one
		slots[0] <- get(refs[0])
	} else {
		go func() {
			for i, ref := range refs {
				select {
				case room <- struct{}{}:
				case <-ctx.Done():
					slots[i] <- slot{err: ctx.Err()}
					continue
				}
				go func() { slots[i] <- get(ref) }()
			}
		}()
	}

	g := &Gathered{servers: make(servers)}
	var sum profile.Merger
	for i, ref := range refs {
		s := <-slots[i]
		if s.err == nil && len(refs) > 1 {
			// What is missing from one of several profiles would look like a finding in the sum.
			s.err = s.Profile.Damage
		}
		if s.err == nil {
			g.N++
			g.Remote = g.Remote || s.URL != ""
			g.servers.add(s.servers)
			if len(refs) == 1 {
				if _, err := profile.Agree(s.Profile); err != nil {
					return nil, err
				}
				g.Profile = s.Profile
			} else if err := sum.Take(s.Profile); err != nil {
				return nil, err
			}
		} else if errors.Is(s.err, context.Canceled) {
			return nil, s.err
		} else {
			g.Missing = append(g.Missing, ref)
			if o.Missed != nil {
				o.Missed(ref, s.err)
			} else {
				o.say("%s: %v", ref, s.err)
			}
		}
		if o.Progress != nil {
			o.Progress(i + 1)
		}
		// Only now may the next one be read: one that has been read but not added takes room, too.
		<-room
	}
	if g.N > 0 && len(refs) > 1 {
		var err error
		if g.Profile, err = sum.Profile(); err != nil {
			return nil, err
		}
	}
	return g, nil
}
