package disk

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hone-perf/hone/internal/safefile"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/unit"
)

// A Problem is damage in a store.
type Problem struct {
	File   string // relative to the folder of the store
	Err    error
	Mended bool
	Moved  string // where mending has moved the file, relative to the folder of the store
}

// A Checked is the result of Check.
type Checked struct {
	Segments int
	Profiles int // in segments
	Logged   int // in the log, some of which may be in segments, too
	Bytes    int64
	Problems []Problem
}

// Check reads everything in a store that is not in use. With mend, it moves damaged files, and those that the catalog does not name, to the folder
// damaged, and adds blocks to the catalog that it does not name. It deletes nothing but incomplete records at the end of the log.
func Check(dir string, mend bool) (*Checked, error) {
	if _, err := os.Stat(filepath.Join(dir, dataDir)); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no store in %s", dir)
	} else if err != nil {
		return nil, fmt.Errorf("checking the store %s: %w", dir, err)
	}
	c := &checker{dir: dir, mend: mend}
	name := filepath.Join(dir, "catalog")
	lost := lostCatalog(name)
	var err error
	if lost != nil {
		c.problem("catalog", lost, mend)
	} else if c.catalog, err = openCatalogSafely(name, false); errors.Is(err, errCatalog) {
		lost = err
		c.aside(name, err)
	}
	if lost != nil {
		if !mend {
			return &c.Checked, nil
		}
		c.catalog, err = openCatalog(name, false)
	}
	if err != nil {
		return nil, fmt.Errorf("checking the store %s: %w", dir, err)
	}
	err = c.adopt(lost == nil)
	if err == nil {
		err = c.all()
	}
	return &c.Checked, errors.Join(err, c.catalog.db.Close())
}

type checker struct {
	Checked
	dir     string
	mend    bool
	catalog *catalog
	waiting map[string]bool // folders that adopt has reported
}

func (c *checker) problem(file string, err error, mended bool) {
	c.Problems = append(c.Problems, Problem{File: file, Err: err, Mended: mended && c.mend})
}

// aside reports a problem and, to mend it, moves the file to the folder of damaged files.
func (c *checker) aside(name string, err error) {
	p := Problem{File: c.rel(name), Err: err}
	if c.mend {
		to, merr := aside(c.dir, name)
		p.Mended = merr == nil
		if p.Mended {
			p.Moved = c.rel(to)
		}
	}
	c.Problems = append(c.Problems, p)
}

func (c *checker) rel(name string) string { return rel(c.dir, name) }

// adopt adds blocks to the catalog that it does not name, and reports them if it has to.
func (c *checker) adopt(report bool) error {
	found, err := findUnnamed(c.dir, c.catalog)
	if err != nil {
		return err
	}
	if report {
		for _, b := range found.blocks {
			c.problem(dataDir+"/"+b.Folder, fmt.Errorf("the catalog does not name this folder, which has %s", unit.Counted(found.profiles[b], "profile")), c.mend)
		}
	}
	if c.mend {
		return c.catalog.apply(found.change)
	}
	c.waiting = map[string]bool{}
	for _, b := range found.blocks {
		c.waiting[filepath.Join(c.dir, dataDir, filepath.FromSlash(b.Folder))] = true
	}
	return nil
}

// all checks the files in the catalog, and finds other files.
func (c *checker) all() error {
	blocks := map[string]*block{}
	var bad error
	err := c.catalog.load(func(r *blockRecord) {
		b, err := newBlock(c.dir, *r)
		bad = errors.Join(bad, err)
		blocks[string(r.key())] = b
	}, func(g *segment) {
		if b := blocks[g.block]; b != nil {
			b.segments = append(b.segments, g)
		}
	})
	if err = errors.Join(err, bad); err != nil {
		return err
	}
	known := map[string]bool{}
	for _, b := range blocks {
		names := filepath.Join(b.dir, namesFile)
		known[names], known[filepath.Join(b.dir, newestFile)] = true, true
		d, err := b.names()
		if err != nil {
			files := []string{filepath.Join(b.dir, newestFile)}
			for _, g := range b.segments {
				files = append(files, filepath.Join(b.dir, g.file))
				known[filepath.Join(b.dir, g.file)] = true
			}
			ch := change{noBlocks: []*blockRecord{&b.blockRecord}, noSegments: b.segments}
			c.forget(ch, names, err, append(files, names)...)
			continue
		}
		o := &opened{block: b, dict: d}
		slices.SortFunc(b.segments, func(a, b *segment) int { return cmp.Compare(b.seq, a.seq) })
		seen := map[store.ID]bool{} // profiles in newer segments
		for _, g := range b.segments {
			file := filepath.Join(b.dir, g.file)
			known[file] = true
			if err := o.checkSegment(g, seen); err != nil {
				c.forget(change{noSegments: []*segment{g}}, file, err, file)
				continue
			}
			c.Segments++
			c.Bytes += g.size
			for i := range g.sections {
				c.Profiles += g.sections[i].profiles
			}
		}
		c.Bytes += b.Names
	}
	err = filepath.WalkDir(filepath.Join(c.dir, dataDir), func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || known[name] {
			return err
		}
		if !c.waiting[filepath.Dir(name)] {
			c.aside(name, errUnnamed)
		}
		return nil
	})
	return errors.Join(err, c.log())
}

// forget removes segments, or a block with all of its segments, from the catalog, and moves their files aside. It reports why under the name of one of them.
func (c *checker) forget(ch change, name string, why error, files ...string) {
	p := Problem{File: c.rel(name), Err: why}
	if c.mend && c.catalog.apply(ch) == nil {
		p.Mended = true
		for _, file := range files {
			to, err := aside(c.dir, file)
			if err == nil && file == name {
				p.Moved = c.rel(to)
			}
			p.Mended = p.Mended && (err == nil || errors.Is(err, fs.ErrNotExist))
		}
	}
	c.Problems = append(c.Problems, p)
}

// checkSegment reads all of a segment. seen has the profiles of other segments; it adds those of this one.
func (o *opened) checkSegment(g *segment, seen map[store.ID]bool) error {
	at, err := readSegment(filepath.Join(o.dir, g.file))
	if err != nil {
		return err
	}
	if at.size != g.size || len(at.sections) != len(g.sections) {
		return fmt.Errorf("%w: it is another one than the catalog names", errDamaged)
	}
	sections, err := o.load(g)
	if err != nil {
		return err
	}
	return o.checkSums(g, sections, seen)
}

// checkSums checks sums of a segment against what its sections say.
func (o *opened) checkSums(g *segment, sections []*section, seen map[store.ID]bool) error {
	r := segmentReader{segment: g, dir: o.dir}
	defer r.close()
	for i, sec := range sections {
		types := len(o.dict.shapes[sec.shape].SampleTypes)
		sums, totals := make([][]int64, types), make([]int64, types)
		for k := range sums {
			sums[k] = make([]int64, len(o.dict.entries))
		}
		plain, err := r.piece(g.sections[i].sums)
		if err == nil {
			err = addSums(plain, sums, nil, len(o.dict.entries))
		}
		if err != nil {
			return err
		}
		for _, t := range sec.taken {
			for k, n := range t.totals {
				totals[k] += n
			}
		}
		for k := range sums {
			sum := int64(0)
			for _, v := range sums[k] {
				sum += v
			}
			if sum != totals[k] {
				return fmt.Errorf("%w: profiles of kind %s add up to %d, and their sums to %d", errDamaged, sec.kind, totals[k], sum)
			}
		}
	}
	if g.rolled() || g.hour == baselineHour {
		return nil
	}
	fresh := false
	for _, sec := range sections {
		for _, t := range sec.taken {
			fresh = fresh || !seen[t.id]
			seen[t.id] = true
		}
	}
	if !fresh {
		return errors.New("its profiles are all in newer segments")
	}
	return nil
}

// log checks the files of the log.
func (c *checker) log() error {
	w := wal{dir: filepath.Join(c.dir, "log")}
	files, err := w.files()
	if err != nil {
		return err
	}
	for _, n := range files {
		if err := c.logFile(w.name(n)); err != nil {
			return err
		}
	}
	return nil
}

// logFile checks a file of the log. To mend it, the records that can be read stay; a copy of the file goes to the folder of damaged files.
func (c *checker) logFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	var good []logged
	gaps, err := eachRecord(f, func(at int64, _ string, u *store.Upload) error {
		good = append(good, logged{file: name, at: at})
		return nil
	})
	c.Logged += len(good)
	if err = errors.Join(err, f.Close()); err != nil || len(gaps) == 0 {
		return err
	}
	moved, mended := "", false
	switch {
	case !c.mend:
	case gaps[0].torn: // there is no other gap
		mended = os.Truncate(name, gaps[0].at) == nil
	default:
		to, err := c.leave(name, good)
		if mended = err == nil; mended {
			moved = c.rel(to)
		}
	}
	for _, g := range gaps {
		c.Problems = append(c.Problems, Problem{File: c.rel(name), Err: g, Mended: mended, Moved: moved})
	}
	return nil
}

// leave leaves only some records in a file, after copying it to the folder of damaged files.
func (c *checker) leave(name string, good []logged) (string, error) {
	to, err := copyAside(c.dir, name)
	if err != nil {
		return "", err
	}
	return to, safefile.Write(name, func(w io.Writer) error {
		for _, l := range good {
			if err := copyRecord(w, l); err != nil {
				return err
			}
		}
		return nil
	})
}
