package main

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// learn asks pprof for the profile as it sees it, symbols and all, and fills in what stands for
// the placeholders. Where pprof cannot read the profile, nothing stands for anything.
func (l *lab) learn(t *testing.T, s *subject) {
	t.Helper()
	o := l.ask(t, &l.pprof, check{inv: invocation{dir: ".", args: []string{"-proto", s.path}}})
	if !o.OK {
		return
	}
	p, err := profile.Parse(bytes.NewReader(o.Stdout))
	if err != nil {
		return
	}
	for _, st := range p.SampleType {
		s.types = append(s.types, st.Type)
	}
	s.facts = map[string]string{}
	frameFacts(s.facts, p)
	labelFacts(s.facts, p)
	s.words = wordsOf(p)
	for _, m := range p.Mapping {
		if _, ok := s.facts["file"]; !ok && m.File != "" {
			s.facts["file"] = pattern(path.Base(m.File))
		}
	}

	s.facts["other"] = s.path + ".other"
	var b bytes.Buffer
	if err := vary(p).Write(&b); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(l.dir, s.facts["other"]), b.Bytes())
}

// frameFacts finds a function with much flat weight (fn), one that is mostly in the middle of
// stacks (caller), one that is seldom seen (rare), and where fn is defined (file, dir).
func frameFacts(facts map[string]string, p *profile.Profile) {
	leaf, middle := map[string]int64{}, map[string]int64{}
	file := map[string]string{}
	name := func(l *profile.Location) string {
		if len(l.Line) == 0 || l.Line[0].Function == nil || l.Line[0].Function.Name == "" {
			return fmt.Sprintf("%x", l.Address)
		}
		fn := l.Line[0].Function
		file[fn.Name] = fn.Filename
		return fn.Name
	}
	for _, s := range p.Sample {
		if len(s.Location) == 0 {
			continue
		}
		// A sample of value 0 still counts for something, so that a profile of zeros has a name.
		w := s.Value[len(s.Value)-1]
		leaf[name(s.Location[0])] += max(w, -w, 1)
		middle[name(s.Location[len(s.Location)/2])] += max(w, -w, 1)
	}
	if len(leaf) == 0 {
		return
	}
	fn := heaviest(leaf)
	facts["fn"] = pattern(lastWord(fn))
	if f := file[fn]; f != "" {
		f = filepath.ToSlash(f)
		facts["file"] = pattern(path.Base(f))
		facts["dir"] = path.Dir(f)
	}
	delete(middle, fn)
	if len(middle) == 0 {
		middle = leaf
	}
	facts["caller"] = pattern(lastWord(heaviest(middle)))
	for name := range leaf {
		leaf[name] = -leaf[name]
	}
	facts["rare"] = pattern(lastWord(heaviest(leaf)))
}

// labelFacts finds a label with a string (key, val) and one with a number (nkey, num, big, unit).
func labelFacts(facts map[string]string, p *profile.Profile) {
	texts, numbers := map[string]int64{}, map[string]int64{}
	units, _ := p.NumLabelUnits()
	var top int64
	for _, s := range p.Sample {
		for k, vs := range s.Label {
			for _, v := range vs {
				texts[k+"\x00"+v]++
			}
		}
		for k, vs := range s.NumLabel {
			for _, v := range vs {
				numbers[k+"\x00"+strconv.FormatInt(v, 10)]++
				top = max(top, v)
			}
		}
	}
	if len(texts) > 0 {
		key, val, _ := strings.Cut(heaviest(texts), "\x00")
		facts["key"], facts["val"] = key, pattern(val)
	}
	if len(numbers) > 0 {
		key, val, _ := strings.Cut(heaviest(numbers), "\x00")
		facts["nkey"], facts["num"], facts["big"] = key, val, strconv.FormatInt(top, 10)
		facts["unit"] = units[key]
	}
}

// wordsOf lists what there is in p to ask for. Of each there are a few hundred at most.
func wordsOf(p *profile.Profile) vocabulary {
	functions, files := map[string]bool{}, map[string]bool{}
	for _, s := range p.Sample {
		for _, l := range s.Location {
			for _, ln := range l.Line {
				if ln.Function != nil && ln.Function.Name != "" {
					functions[ln.Function.Name] = true
				}
				if ln.Function != nil && ln.Function.Filename != "" {
					files[ln.Function.Filename] = true
				}
			}
		}
	}
	keys, values, nkeys, numbers := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	units, _ := p.NumLabelUnits()
	for _, s := range p.Sample {
		for k, vs := range s.Label {
			keys[k] = true
			for _, v := range vs {
				values[v] = true
			}
		}
		for k, vs := range s.NumLabel {
			nkeys[k] = true
			for _, v := range vs {
				unit := units[k]
				if strings.ContainsFunc(unit, func(r rune) bool { return (r|0x20) < 'a' || (r|0x20) > 'z' }) {
					unit = ""
				}
				numbers[strconv.FormatInt(v, 10)+unit] = true
			}
		}
	}
	some := func(set map[string]bool) []string {
		all := slices.Sorted(maps.Keys(set))
		step := len(all)/300 + 1
		var out []string
		for i := 0; i < len(all); i += step {
			out = append(out, all[i])
		}
		return out
	}
	return vocabulary{some(functions), some(files), some(keys), some(values), some(nkeys), some(numbers)}
}

// heaviest returns the key with the largest value, the first by name among equals.
func heaviest(m map[string]int64) string {
	best := ""
	for i, k := range slices.Sorted(maps.Keys(m)) {
		if i == 0 || m[k] > m[best] {
			best = k
		}
	}
	return best
}

// lastWord cuts the package, the receiver and the like from the name of a function.
func lastWord(name string) string {
	if i := strings.LastIndexAny(name, "./:"); i >= 0 && i < len(name)-1 {
		return name[i+1:]
	}
	return name
}

// pattern quotes s for a regexp that is also one word to the shell of pprof, and one item of a
// list of labels.
func pattern(s string) string {
	return strings.NewReplacer(" ", ".", "\t", ".", "\n", ".", ",", ".").Replace(regexp.QuoteMeta(s))
}

// vary returns a profile of the kind of p, as a run a day later could have left it: some stacks
// are gone, the others cost more or less.
func vary(p *profile.Profile) *profile.Profile {
	p = p.Copy()
	p.TimeNanos += 86400e9
	kept := p.Sample[:0]
	for i, s := range p.Sample {
		if i%5 == 4 {
			continue
		}
		for k := range s.Value {
			s.Value[k] = s.Value[k] / 4 * int64(2+i%4)
		}
		kept = append(kept, s)
	}
	p.Sample = kept
	return p
}
