package disk

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/store"
)

// A Problem is damage in a store.
type Problem struct {
	File   string // relative to the folder of the store
	Err    error
	Mended bool
}

// damagedDir is the folder to which Check moves damaged files.
const damagedDir = "damaged"

// A Checked is the result of Check.
type Checked struct {
	Segments int
	Profiles int
	Bytes    int64
	Problems []Problem
}

// Check reads everything in a store that is not in use. With mend, it moves damaged files to the folder damaged, removes files that nothing refers
// to, and rebuilds a lost catalog.
func Check(dir string, mend bool) (*Checked, error) {
	if _, err := os.Stat(filepath.Join(dir, dataDir)); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no store in %s", dir)
	} else if err != nil {
		return nil, fmt.Errorf("checking the store %s: %w", dir, err)
	}
	c := &checker{dir: dir, mend: mend}
	name := filepath.Join(dir, "catalog")
	_, err := os.Stat(name)
	lost := errors.Is(err, fs.ErrNotExist)
	if !lost {
		if c.catalog, err = openCatalogSafely(name, false); err != nil {
			if !errors.Is(err, errCatalog) {
				return nil, fmt.Errorf("checking the store %s: %w", dir, err)
			}
			lost = true
			c.problem("catalog", err, c.aside(name))
		}
	} else {
		c.problem("catalog", err, mend)
	}
	if lost {
		if !mend {
			return &c.Checked, nil
		}
		if err := c.rebuild(name); err != nil {
			return nil, fmt.Errorf("making the catalog of %s again: %w", dir, err)
		}
	}
	err = c.all()
	return &c.Checked, errors.Join(err, c.catalog.db.Close())
}

type checker struct {
	Checked
	dir     string
	mend    bool
	catalog *catalog
}

func (c *checker) problem(file string, err error, mended bool) {
	c.Problems = append(c.Problems, Problem{file, err, mended && c.mend})
}

// aside moves a file to the folder of damaged files, and reports whether that succeeded.
func (c *checker) aside(name string) bool {
	if !c.mend {
		return false
	}
	to := filepath.Join(c.dir, damagedDir)
	if os.MkdirAll(to, 0o700) != nil {
		return false
	}
	rel := c.rel(name)
	return os.Rename(name, filepath.Join(to, strings.ReplaceAll(rel, "/", "_"))) == nil
}

func (c *checker) rel(name string) string {
	rel, err := filepath.Rel(c.dir, name)
	if err != nil {
		return name
	}
	return filepath.ToSlash(rel)
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
			c.problem(c.rel(names), err, c.forget(b, b.segments))
			continue
		}
		o := &opened{block: b, dict: d}
		slices.SortFunc(b.segments, func(a, b *segment) int { return cmp.Compare(b.seq, a.seq) })
		seen := map[store.ID]bool{} // profiles in newer segments
		for _, g := range b.segments {
			file := filepath.Join(b.dir, g.file)
			known[file] = true
			if err := o.checkSegment(g, seen); err != nil {
				c.problem(c.rel(file), err, c.forget(b, []*segment{g}))
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
		c.problem(c.rel(name), errors.New("no index refers to it: a write did not finish"), c.mend && os.Remove(name) == nil)
		return nil
	})
	return errors.Join(err, c.log())
}

// forget removes segments from the catalog and moves their files aside.
func (c *checker) forget(b *block, list []*segment) bool {
	if !c.mend || c.catalog.apply(change{noSegments: list}) != nil {
		return false
	}
	for _, g := range list {
		c.aside(filepath.Join(b.dir, g.file))
	}
	return true
}

// checkSegment reads all of a segment. seen has the profiles of other segments; it adds those of this one.
func (o *opened) checkSegment(g *segment, seen map[store.ID]bool) error {
	in, err := os.ReadFile(filepath.Join(o.dir, g.file))
	if err != nil {
		return err
	}
	at, err := readContents(in)
	if err != nil {
		return err
	}
	if int64(len(in)) != g.size || len(at.sections) != len(g.sections) {
		return fmt.Errorf("%w: it is another one than the catalog names", errDamaged)
	}
	sections, err := o.load(g)
	if err != nil {
		return err
	}
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
			err = addSums(plain, sums, len(o.dict.entries))
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
		f, err := os.OpenFile(w.name(n), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		good, err := eachRecord(f, func(int64, string, *store.Upload) error { return nil })
		if err == nil {
			var info fs.FileInfo
			if info, err = f.Stat(); err == nil && good < info.Size() {
				torn := fmt.Errorf("the last %d bytes are not a complete profile: a write did not finish, and was not acknowledged", info.Size()-good)
				c.problem(c.rel(w.name(n)), torn, c.mend && f.Truncate(good) == nil)
			}
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// rebuild makes a catalog from the segments.
func (c *checker) rebuild(name string) error {
	var err error
	if c.catalog, err = openCatalog(name, false); err != nil {
		return err
	}
	var ch change
	var files []string
	err = filepath.WalkDir(filepath.Join(c.dir, dataDir), func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.HasSuffix(name, segmentSuffix) {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		return err
	}
	slices.SortFunc(files, func(a, b string) int { return strings.Compare(filepath.Base(a), filepath.Base(b)) })
	folders := map[string]string{} // of blocks
	for _, name := range files {
		in, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		g, err := readContents(in)
		if err != nil {
			c.problem(c.rel(name), err, c.aside(name))
			continue
		}
		g.file, g.size = filepath.Base(name), int64(len(in))
		if g.seq, err = strconv.ParseUint(strings.TrimSuffix(g.file, segmentSuffix), 10, 64); err != nil {
			continue
		}
		if folder, ok := folders[g.block]; ok && folder != filepath.Dir(name) {
			continue // the block has been rewritten in this folder, and nothing refers to the older one
		} else if !ok {
			r, err := recordOf(g.block, c.rel(filepath.Dir(name)))
			if err != nil {
				c.problem(c.rel(name), err, c.aside(name))
				continue
			}
			folders[g.block] = filepath.Dir(name)
			r.Names = goodNames(filepath.Join(filepath.Dir(name), namesFile))
			ch.blocks = append(ch.blocks, r)
		}
		ch.segments = append(ch.segments, g)
	}
	return c.catalog.apply(ch)
}

// recordOf returns the record of a block from its key and folder.
func recordOf(key, rel string) (*blockRecord, error) {
	parts := strings.SplitN(key, "\x00", 3)
	folder, ok := strings.CutPrefix(rel, dataDir+"/")
	if len(parts) != 3 || !ok {
		return nil, errDamaged
	}
	return &blockRecord{Tenant: parts[0], Day: parts[1], Service: parts[2], Folder: folder}, nil
}

// goodNames returns the number of valid bytes of a file of names.
func goodNames(name string) int64 {
	in, err := os.ReadFile(name)
	if err != nil {
		return 0
	}
	rest := in
	for len(rest) > 0 {
		_, next, err := cutPiece(rest)
		if err != nil {
			break
		}
		rest = next
	}
	return int64(len(in) - len(rest))
}
