package clickhouse

import (
	"context"
	"fmt"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// References are what samples refer to: stacks, the frames on them, sets of labels, heads of profiles. Each is named by a hash of
// what it is, so it is written by who sees it first, and again each day so that it does not expire.

// A written is what this process has written of a service.
type written struct {
	at                         time.Time
	stacks, frames, sets, head map[uint64]bool
}

const (
	// writeAgain is how long what was written counts as written.
	writeAgain = 24 * time.Hour
	// maxWritten bounds what is remembered of a service, and maxServices of how many.
	maxWritten  = 1 << 20
	maxServices = 1 << 10
)

func newWritten(now time.Time) *written {
	return &written{at: now, stacks: map[uint64]bool{}, frames: map[uint64]bool{}, sets: map[uint64]bool{}, head: map[uint64]bool{}}
}

func (w *written) old(now time.Time) bool { return now.Sub(w.at).Abs() > writeAgain }

func (w *written) len() int { return len(w.stacks) + len(w.frames) + len(w.sets) + len(w.head) }

func knownKey(tenant, service string) string {
	return fmt.Sprintf("%d %s %s", len(tenant), tenant, service)
}

// A references is what the samples of a batch refer to and has to be written.
type references struct {
	fresh map[string]*written // by knownKey

	stacks struct {
		services []string
		ids      []uint64
		frames   [][]uint64
	}
	frames frameRows
	sets   setRows
	heads  struct {
		services []string
		ids      []uint64
		texts    []string
	}
}

func (r *references) init() { r.fresh = map[string]*written{} }

// isNew reports whether something has to be written, and notes that it will be.
func isNew(id uint64, known, fresh map[uint64]bool) bool {
	if known[id] || fresh[id] {
		return false
	}
	fresh[id] = true
	return true
}

// add adds what the samples of an upload refer to, of which samples are one for each stack and set of labels.
func (r *references) add(s *Store, tenant string, u *store.Upload, samples []int, stacks, sets []uint64) {
	p := u.Parsed
	key := knownKey(tenant, u.Service)
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.known[key]
	if known == nil || known.old(s.now()) {
		known = &written{}
	}
	fresh := r.fresh[key]
	if fresh == nil {
		fresh = newWritten(s.now())
		r.fresh[key] = fresh
	}
	if text := headOf(&p.Header).text(); isNew(hashOf(text), known.head, fresh.head) {
		r.heads.services, r.heads.ids = append(r.heads.services, u.Service), append(r.heads.ids, hashOf(text))
		r.heads.texts = append(r.heads.texts, text)
	}
	var frames []uint64
	var stack []uint32
	for _, i := range samples {
		if set := p.Label(i); sets[set] != 0 && isNew(sets[set], known.sets, fresh.sets) {
			r.sets.add(u.Service, sets[set], p.LabelSets()[set])
		}
		if !isNew(stacks[i], known.stacks, fresh.stacks) {
			continue
		}
		if frames == nil {
			frames = p.LocationHashes()
		}
		stack = p.Stack(i, stack[:0])
		of := make([]uint64, len(stack))
		for k, l := range stack {
			of[k] = frames[l]
			if isNew(frames[l], known.frames, fresh.frames) {
				r.frames.add(u.Service, frames[l], p, &p.Locations[l])
			}
		}
		r.stacks.services, r.stacks.ids = append(r.stacks.services, u.Service), append(r.stacks.ids, stacks[i])
		r.stacks.frames = append(r.stacks.frames, of)
	}
}

// writeReferences writes what the samples of a batch refer to.
func (s *Store) writeReferences(ctx context.Context, b *batch) error {
	r := &b.refs
	for _, t := range []struct {
		name    string
		columns []column
	}{
		{"heads", []column{{"service", r.heads.services}, {"head", r.heads.ids}, {"text", r.heads.texts}}},
		{"sets", r.sets.columns()},
		{"frames", r.frames.columns()},
		{"stacks", []column{{"service", r.stacks.services}, {"stack", r.stacks.ids}, {"frames", r.stacks.frames}}},
	} {
		n := rowsOf(t.columns[0].values)
		if err := s.db.insert(ctx, t.name, b.token, append(t.columns, column{"tenant", repeat(b.tenant, n)})); err != nil {
			return err
		}
	}
	return nil
}

// wrote notes what has been written.
func (s *Store) wrote(b *batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, fresh := range b.refs.fresh {
		known := s.known[key]
		if known == nil || known.len() > maxWritten || known.old(fresh.at) {
			if len(s.known) > maxServices {
				clear(s.known)
			}
			s.known[key] = fresh
			continue
		}
		for _, m := range []struct{ to, from map[uint64]bool }{
			{known.stacks, fresh.stacks}, {known.frames, fresh.frames}, {known.sets, fresh.sets}, {known.head, fresh.head},
		} {
			for id := range m.from {
				m.to[id] = true
			}
		}
	}
}

type frameRows struct {
	services                  []string
	ids, addresses            []uint64
	folded, mapped            []uint8
	mappingFiles, builds      []string
	mappings                  [][]uint64
	functions, systems, files [][]string
	starts, lines, columnsOf  [][]int64
}

func (r *frameRows) columns() []column {
	return []column{
		{"service", r.services}, {"frame", r.ids}, {"folded", r.folded}, {"address", r.addresses}, {"mapped", r.mapped},
		{"file", r.mappingFiles}, {"build", r.builds}, {"mapping", r.mappings}, {"functions", r.functions}, {"systems", r.systems},
		{"files", r.files}, {"starts", r.starts}, {"lines", r.lines}, {"columns", r.columnsOf},
	}
}

// What a mapping says it has, as bits.
const (
	hasFunctions = 1 << iota
	hasFilenames
	hasLineNumbers
	hasInlineFrames
)

func (r *frameRows) add(service string, id uint64, p *profile.Profile, l *profile.Location) {
	r.services, r.ids = append(r.services, service), append(r.ids, id)
	r.folded, r.addresses = append(r.folded, bit(l.Folded)), append(r.addresses, l.Address)
	var m profile.Mapping
	if l.Mapping != profile.NoMapping {
		m = p.Mappings[l.Mapping]
	}
	has := uint64(bit(m.HasFunctions))*hasFunctions | uint64(bit(m.HasFilenames))*hasFilenames |
		uint64(bit(m.HasLineNumbers))*hasLineNumbers | uint64(bit(m.HasInlineFrames))*hasInlineFrames
	r.mapped = append(r.mapped, bit(l.Mapping != profile.NoMapping))
	r.mappingFiles, r.builds = append(r.mappingFiles, m.File), append(r.builds, m.BuildID)
	r.mappings = append(r.mappings, []uint64{m.Start, m.Limit, m.Offset, has})
	var functions, systems, files []string
	var starts, lines, columns []int64
	for _, line := range l.Lines {
		f := &p.Functions[line.Function]
		functions, files = append(functions, f.Name), append(files, f.File)
		system := f.SystemName
		if system == f.Name {
			system = "" // as it nearly always is
		}
		systems = append(systems, system)
		starts, lines, columns = append(starts, f.StartLine), append(lines, line.Line), append(columns, line.Column)
	}
	r.functions, r.systems, r.files = append(r.functions, functions), append(r.systems, systems), append(r.files, files)
	r.starts, r.lines, r.columnsOf = append(r.starts, starts), append(r.lines, lines), append(r.columnsOf, columns)
}

type setRows struct {
	services           []string
	ids                []uint64
	keys, texts, units [][]string
	kinds, numbers     [][]int64
}

func (r *setRows) columns() []column {
	return []column{
		{"service", r.services}, {"labels", r.ids}, {"keys", r.keys}, {"texts", r.texts}, {"kinds", r.kinds},
		{"numbers", r.numbers}, {"units", r.units},
	}
}

// Kinds of labels of samples.
const (
	textLabel = iota
	numberLabel
	unitLabel // a number whose unit is known, though it may be empty
)

func (r *setRows) add(service string, id uint64, set profile.LabelSet) {
	var keys, texts, units []string
	var kinds, numbers []int64
	for _, l := range set {
		kind := int64(textLabel)
		switch {
		case l.Numeric && l.HasUnit:
			kind = unitLabel
		case l.Numeric:
			kind = numberLabel
		}
		keys, texts, units = append(keys, l.Key), append(texts, l.Str), append(units, l.Unit)
		kinds, numbers = append(kinds, kind), append(numbers, l.Num)
	}
	r.services, r.ids = append(r.services, service), append(r.ids, id)
	r.keys, r.texts, r.units = append(r.keys, keys), append(r.texts, texts), append(r.units, units)
	r.kinds, r.numbers = append(r.kinds, kinds), append(r.numbers, numbers)
}
