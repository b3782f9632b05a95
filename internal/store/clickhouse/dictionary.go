package clickhouse

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/profile"
)

// A dictionary is what this process knows of what samples of a service refer to. It never changes, since it is named by what it is;
// who asks twice about a service does not fetch it twice.
type dictionary struct {
	tenant, service string

	mu     sync.Mutex
	used   time.Time
	size   int // in bytes, about
	stacks map[uint64][]uint64
	sets   map[uint64][]profile.Label
	frames map[uint64]*frame
}

// A frame is a location as the database keeps it.
type frame struct {
	location profile.Location
	mapping  profile.Mapping
	lines    []profile.Function // what the lines are in
}

// maxDictionaries is how many bytes dictionaries take together.
const maxDictionaries = 64 << 20

func (s *Store) dictionary(tenant, service string) *dictionary {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := knownKey(tenant, service)
	d := s.dictionaries[key]
	if d == nil {
		d = &dictionary{
			tenant: tenant, service: service,
			stacks: map[uint64][]uint64{}, sets: map[uint64][]profile.Label{}, frames: map[uint64]*frame{},
		}
		s.dictionaries[key] = d
	}
	return d
}

// trim drops dictionaries that were not used for longest, until the others take no more than they may; at last the one that was just used.
func (s *Store) trim(used *dictionary) {
	s.mu.Lock()
	defer s.mu.Unlock()
	used.mu.Lock()
	used.used = time.Now()
	used.mu.Unlock()
	for {
		total := 0
		oldest, at := "", time.Time{}
		for key, d := range s.dictionaries {
			d.mu.Lock()
			total += d.size
			if oldest == "" || d.used.Before(at) {
				oldest, at = key, d.used
			}
			d.mu.Unlock()
		}
		if total <= maxDictionaries {
			return
		}
		delete(s.dictionaries, oldest)
	}
}

// lookUp returns things by their ids, of which it fetches those that are not known yet.
func lookUp[T any](ctx context.Context, d *dictionary, known *map[uint64]T, ids []uint64,
	fetch func(ctx context.Context, d *dictionary, ids []uint64, keep func(id uint64, thing T, size int)) error) (map[uint64]T, error) {
	out := make(map[uint64]T, len(ids))
	var missing []uint64
	d.mu.Lock()
	for _, id := range ids {
		if thing, ok := (*known)[id]; ok {
			out[id] = thing
		} else {
			missing = append(missing, id)
		}
	}
	d.mu.Unlock()
	if len(missing) == 0 {
		return out, nil
	}
	size := 0
	err := fetch(ctx, d, missing, func(id uint64, thing T, n int) {
		out[id] = thing
		size += n
	})
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.size += size // a little too much when two fetch the same
	for _, id := range missing {
		if thing, ok := out[id]; ok {
			(*known)[id] = thing
		}
	}
	return out, nil
}

// maxRefer is how many things a query names that samples refer to.
const maxRefer = 50_000

// refer returns the condition for things that samples of a service refer to.
func (d *dictionary) refer(id string, ids []uint64) string {
	return fmt.Sprintf(" WHERE tenant = %s AND service = %s AND %s IN %s LIMIT 1 BY %s", quote(d.tenant), quote(d.service), id, list(ids), id)
}

func (s *Store) stacks(ctx context.Context, d *dictionary, ids []uint64, keep func(uint64, []uint64, int)) error {
	for part := range slices.Chunk(ids, maxRefer) {
		var found []uint64
		var frames [][]uint64
		if err := s.db.query(ctx, "SELECT stack, frames FROM "+s.table("stacks")+d.refer("stack", part), &found, &frames); err != nil {
			return err
		}
		for i, id := range found {
			keep(id, frames[i], 8*len(frames[i])+48)
		}
	}
	return nil
}

func (s *Store) sets(ctx context.Context, d *dictionary, ids []uint64, keep func(uint64, []profile.Label, int)) error {
	for part := range slices.Chunk(ids, maxRefer) {
		var found []uint64
		var keys, texts, units [][]string
		var kinds, numbers [][]int64
		err := s.db.query(ctx, "SELECT labels, keys, texts, units, kinds, numbers FROM "+s.table("sets")+d.refer("labels", part),
			&found, &keys, &texts, &units, &kinds, &numbers)
		if err != nil {
			return err
		}
		for i, id := range found {
			set := make([]profile.Label, min(len(keys[i]), len(texts[i]), len(units[i]), len(kinds[i]), len(numbers[i])))
			for k := range set {
				set[k] = profile.Label{
					Key: keys[i][k], Str: texts[i][k], Num: numbers[i][k], Unit: units[i][k],
					Numeric: kinds[i][k] != textLabel, HasUnit: kinds[i][k] == unitLabel,
				}
			}
			keep(id, set, 100*len(set)+48)
		}
	}
	return nil
}

func (s *Store) frames(ctx context.Context, d *dictionary, ids []uint64, keep func(uint64, *frame, int)) error {
	for part := range slices.Chunk(ids, maxRefer) {
		var found, addresses []uint64
		var folded, mapped []uint8
		var files, builds []string
		var mappings [][]uint64
		var functions, systems, sources [][]string
		var starts, lines, columns [][]int64
		err := s.db.query(ctx, "SELECT frame, folded, address, mapped, CAST(file, 'String'), CAST(build, 'String'), mapping, functions, systems, files, starts, lines, columns FROM "+
			s.table("frames")+d.refer("frame", part),
			&found, &folded, &addresses, &mapped, &files, &builds, &mappings, &functions, &systems, &sources, &starts, &lines, &columns)
		if err != nil {
			return err
		}
		for i, id := range found {
			size := 300
			f := &frame{location: profile.Location{Mapping: profile.NoMapping, Address: addresses[i], Folded: folded[i] != 0}}
			if m := mappings[i]; mapped[i] != 0 && len(m) == 4 {
				f.location.Mapping = 0
				f.mapping = profile.Mapping{
					File: files[i], BuildID: builds[i], Start: m[0], Limit: m[1], Offset: m[2],
					HasFunctions: m[3]&hasFunctions != 0, HasFilenames: m[3]&hasFilenames != 0,
					HasLineNumbers: m[3]&hasLineNumbers != 0, HasInlineFrames: m[3]&hasInlineFrames != 0,
				}
			}
			for k := range min(len(functions[i]), len(systems[i]), len(sources[i]), len(starts[i]), len(lines[i]), len(columns[i])) {
				fn := profile.Function{Name: functions[i][k], SystemName: systems[i][k], File: sources[i][k], StartLine: starts[i][k]}
				if fn.SystemName == "" {
					fn.SystemName = fn.Name
				}
				f.lines = append(f.lines, fn)
				size += 130 + len(fn.Name) + len(fn.File)
				f.location.Lines = append(f.location.Lines, profile.Line{Line: lines[i][k], Column: columns[i][k]})
			}
			keep(id, f, size)
		}
	}
	return nil
}
