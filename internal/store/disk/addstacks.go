package disk

import (
	"cmp"
	"slices"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// entriesOf returns the entry of each sample of p.
func (d *dict) entriesOf(p *profile.Profile) []uint32 {
	f := d.finding()
	a := &stackAdder{dict: d, p: p, functions: functionHashes(p), known: make([]uint32, len(p.Locations))}
	a.frames = frameHashes(p, a.functions)
	keys := a.keys()
	out := make([]uint32, len(keys))
	var fresh []int // samples with new entries
	// A separate loop lets the processor do several lookups at the same time, each of which misses the cache.
	for i, key := range keys {
		id, ok := f.entries.get(key)
		if !ok {
			fresh = append(fresh, i)
		}
		out[i] = id
	}
	a.add(fresh, keys, out)
	return out
}

func functionHashes(p *profile.Profile) []uint64 {
	functions := make([]uint64, len(p.Functions))
	for i := range p.Functions {
		fn := &p.Functions[i]
		functions[i] = hashFunction(fn.Name, fn.SystemName, fn.File, fn.StartLine)
	}
	return functions
}

// frameHashes returns the hash of each location, from those of functions.
func frameHashes(p *profile.Profile, functions []uint64) []uint64 {
	files := make([]uint64, len(p.Mappings))
	for i := range p.Mappings {
		files[i] = hashFrame(p.Mappings[i].File, true, false, 0)
	}
	frames := make([]uint64, len(p.Locations))
	for i := range p.Locations {
		l := &p.Locations[i]
		file, address := "", uint64(0)
		if l.Mapping != profile.NoMapping {
			file = p.Mappings[l.Mapping].File
		}
		if len(l.Lines) == 0 {
			address = l.Address
		}
		var h uint64
		if address == 0 && !l.Folded && l.Mapping != profile.NoMapping {
			h = files[l.Mapping]
		} else {
			h = hashFrame(file, l.Mapping != profile.NoMapping, l.Folded, address)
		}
		for _, line := range l.Lines {
			h = hashLine(h, functions[line.Function], line.Line, line.Column)
		}
		frames[i] = h
	}
	return frames
}

// A stackAdder adds the stacks of a profile to the call tree.
type stackAdder struct {
	*dict
	p         *profile.Profile
	functions []uint64 // hashes
	frames    []uint64 // hashes, by location
	sets      []uint32 // of the dict
	known     []uint32 // frames of the dict, by location, plus 1; 0 is not known yet

	// The previous stack, from the root, with its nodes.
	last, path []uint32
}

// keys returns a hash of the stack and labels of each sample.
func (a *stackAdder) keys() []uint64 {
	p := a.p
	a.sets = make([]uint32, len(p.LabelSets()))
	for i, s := range p.LabelSets() {
		a.sets[i] = a.set(s)
	}
	out := make([]uint64, p.NumSamples())
	roots := make([]uint64, p.NumRoots()) // hashes of the outermost frames that stacks share; 0 means unknown
	var own, whole []uint32
	for i := range out {
		stack := p.StackAt(i)
		own = stack.AppendOwn(own[:0])
		var h uint64
		if root, ok := stack.Root(); ok {
			if h = roots[root]; h == 0 {
				whole = stack.Append(whole[:0])
				for _, l := range slices.Backward(whole[len(own):]) {
					h = mix(h, a.frames[l])
				}
				roots[root] = h
			}
		}
		for j := len(own) - 1; j >= 0; j-- {
			h = mix(h, a.frames[own[j]])
		}
		out[i] = mix(h, uint64(a.sets[p.Label(i)]))
	}
	return out
}

// A newStack is the stack of a sample. Its locations are frames[from:to] of the batch.
type newStack struct{ sample, from, to int }

// addTogether is the number of frames of new stacks to sort at a time. It limits the memory for hostile stacks.
const addTogether = 1 << 16

// add adds entries for samples, and stores their numbers in out. After a deploy, most stacks of a profile are new. They are sorted first, so that the
// common part with the previous stack is not looked up again, which saves two cache misses per frame.
func (a *stackAdder) add(samples []int, keys []uint64, out []uint32) {
	var frames []uint32 // from the root
	var stacks []newStack
	for len(samples) > 0 {
		frames, stacks = frames[:0], stacks[:0]
		for len(samples) > 0 && len(frames) < addTogether {
			from := len(frames)
			stack := a.p.StackAt(samples[0])
			frames = stack.Append(frames)
			slices.Reverse(frames[from:])
			stacks = append(stacks, newStack{samples[0], from, len(frames)})
			samples = samples[1:]
		}
		slices.SortFunc(stacks, func(x, y newStack) int {
			return cmp.Or(slices.Compare(frames[x.from:x.to], frames[y.from:y.to]), cmp.Compare(x.sample, y.sample))
		})
		for _, s := range stacks {
			key := keys[s.sample]
			id, ok := a.find.entries.get(key)
			if !ok {
				id = uint32(len(a.entries))
				a.entries = append(a.entries, entry{a.node(frames[s.from:s.to]), a.sets[a.p.Label(s.sample)]})
				a.find.entries.put(key, id)
			}
			out[s.sample] = id
		}
	}
}

// node returns the node of a stack, which begins at the root.
func (a *stackAdder) node(stack []uint32) uint32 {
	shared, at := 0, uint32(0)
	for shared < min(len(stack), len(a.last)) && stack[shared] == a.last[shared] {
		shared++
	}
	if shared > 0 {
		at = a.path[shared-1]
	}
	a.last, a.path = append(a.last[:shared], stack[shared:]...), a.path[:shared]
	below := true // whether the last node can have children
	for _, l := range stack[shared:] {
		n := store.CallNode{Parent: at, Frame: a.frame(l)}
		next, ok := uint32(0), false
		if below {
			next, ok = a.find.nodes.get(a.nodes, n)
		}
		if !ok {
			below = false
			next = uint32(len(a.nodes))
			a.nodes = append(a.nodes, n)
			a.find.nodes.put(a.nodes, next)
		}
		at = next
		a.path = append(a.path, at)
	}
	return at
}

// frame returns the frame of a location.
func (a *stackAdder) frame(location uint32) uint32 {
	if a.known[location] == 0 {
		hash := a.frames[location]
		id, ok := a.find.frames[hash]
		if !ok {
			id = a.addFrame(a.p, &a.p.Locations[location], a.functions)
			a.find.frames[hash] = id
		}
		a.known[location] = id + 1
	}
	return a.known[location] - 1
}

func (d *dict) addFrame(p *profile.Profile, l *profile.Location, functions []uint64) uint32 {
	fr := frame{folded: l.Folded}
	if l.Mapping != profile.NoMapping {
		fr.mapping = d.text(p.Mappings[l.Mapping].File) + 1
	}
	if len(l.Lines) == 0 {
		fr.address = l.Address
	}
	for _, ln := range l.Lines {
		id, ok := d.find.functions[functions[ln.Function]]
		if !ok {
			fn := &p.Functions[ln.Function]
			id = uint32(len(d.functions))
			d.functions = append(d.functions, function{d.text(fn.Name), d.text(fn.SystemName), d.text(fn.File), fn.StartLine})
			d.find.functions[functions[ln.Function]] = id
		}
		fr.lines = append(fr.lines, line{id, ln.Line, ln.Column})
	}
	d.frames = append(d.frames, fr)
	return uint32(len(d.frames) - 1)
}
