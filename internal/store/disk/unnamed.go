package disk

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/safefile"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/unit"
)

// damagedDir is the folder for damaged files, and for those that the catalog does not name.
const damagedDir = "damaged"

var (
	errUnnamed = errors.New("the catalog does not name it, as after a write that did not finish")
	errMissing = errors.New("the catalog is missing, and with it the list of pins")
	errEmpty   = errors.New("the catalog is an empty file, and the list of pins is lost")
)

// mending is the command that mends the store in a folder.
func mending(dir string) hint.Command {
	return hint.Ask("serve check").With("data", dir).With("mend", "")
}

// lostCatalog says why there is no catalog to open.
func lostCatalog(name string) error {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errMissing
	case err == nil && info.Size() == 0:
		return errEmpty
	}
	return nil
}

func rel(dir, name string) string {
	rel, err := filepath.Rel(dir, name)
	if err != nil {
		return name
	}
	return filepath.ToSlash(rel)
}

// freeName returns a new name in the folder of damaged files for a file of a store.
func freeName(dir, name string) (string, error) {
	to := filepath.Join(dir, damagedDir)
	if err := os.MkdirAll(to, 0o700); err != nil {
		return "", err
	}
	base := filepath.Join(to, strings.ReplaceAll(rel(dir, name), "/", "_"))
	free := base
	for n := 2; ; n++ {
		if _, err := os.Lstat(free); errors.Is(err, fs.ErrNotExist) {
			return free, nil
		} else if err != nil {
			return "", err
		}
		free = fmt.Sprint(base, ".", n)
	}
}

// aside moves a file of a store to the folder of damaged files, and returns where it is then.
func aside(dir, name string) (string, error) {
	to, err := freeName(dir, name)
	if err == nil {
		err = os.Rename(name, to)
	}
	return to, err
}

// copyAside copies a file of a store to the folder of damaged files, and returns the name of the copy.
func copyAside(dir, name string) (string, error) {
	to, err := freeName(dir, name)
	if err != nil {
		return "", err
	}
	in, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer in.Close()
	return to, safefile.Write(to, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}

// An unnamed is what can be added to the catalog for folders that it does not name.
type unnamed struct {
	change
	profiles map[*blockRecord]int
	left     int // segments in these folders that cannot be read, or have no profile that the others do not have
}

// findUnnamed finds folders of blocks that the catalog does not name. These are there after a crash, in which case their profiles may be in the log, too, and when the
// catalog was lost or comes from a backup. It leaves out folders of blocks that the catalog has elsewhere.
func findUnnamed(dir string, c *catalog) (*unnamed, error) {
	folders, keys, taken := map[string]bool{}, map[string]bool{}, map[uint64]bool{}
	last := uint64(0)
	err := c.load(func(r *blockRecord) {
		folders[r.Folder], keys[string(r.key())] = true, true
	}, func(g *segment) {
		taken[g.seq] = true
		last = max(last, g.seq)
	})
	if err != nil {
		return nil, err
	}
	all, err := blockFolders(filepath.Join(dir, dataDir))
	if err != nil {
		return nil, err
	}
	out := &unnamed{profiles: map[*blockRecord]int{}}
	best := map[string]*block{}
	for _, folder := range all {
		if folders[folder] {
			continue
		}
		b, left, err := readBlock(dir, folder)
		if err != nil {
			return nil, err
		}
		if b != nil && keys[string(b.key())] {
			continue
		}
		if out.left += left; b == nil {
			continue
		}
		// A crash while a block moved to another folder may leave two, one of which is incomplete.
		if was := best[string(b.key())]; was == nil || b.profiles() > was.profiles() {
			best[string(b.key())] = b
		}
	}
	for _, b := range best {
		out.blocks = append(out.blocks, &b.blockRecord)
		out.profiles[&b.blockRecord] = b.profiles()
		out.segments = append(out.segments, b.segments...)
	}
	slices.SortFunc(out.blocks, func(a, b *blockRecord) int { return strings.Compare(a.Folder, b.Folder) })
	slices.SortFunc(out.segments, func(a, b *segment) int { return cmp.Or(cmp.Compare(a.seq, b.seq), strings.Compare(a.block, b.block)) })
	for _, g := range out.segments {
		last = max(last, g.seq)
	}
	for _, g := range out.segments {
		if taken[g.seq] { // blocks may have files of the same number, but not in the catalog
			last++
			g.seq = last
		}
		taken[g.seq] = true
	}
	return out, nil
}

// blockFolders returns the folders of blocks, relative to the folder of data.
func blockFolders(data string) ([]string, error) {
	out := []string{""}
	for range 3 { // tenant, day, service
		var next []string
		for _, in := range out {
			list, err := os.ReadDir(filepath.Join(data, filepath.FromSlash(in)))
			if err != nil {
				return nil, err
			}
			for _, e := range list {
				if e.IsDir() {
					next = append(next, strings.TrimPrefix(in+"/"+e.Name(), "/"))
				}
			}
		}
		out = next
	}
	return out, nil
}

// readBlock reads what the segments in a folder say about the block. It returns nil if the folder has no segment that can be read, and the number of those
// that it leaves out.
func readBlock(dir, folder string) (*block, int, error) {
	in := filepath.Join(dir, dataDir, filepath.FromSlash(folder))
	files, err := os.ReadDir(in)
	if err != nil {
		return nil, 0, err
	}
	var list []*segment
	left := 0
	for _, e := range files {
		number, ok := strings.CutSuffix(e.Name(), segmentSuffix)
		if !ok {
			continue
		}
		seq, err := strconv.ParseUint(number, 10, 64)
		if err != nil || seq > math.MaxInt64 {
			left++
			continue
		}
		g, err := readSegment(filepath.Join(in, e.Name()))
		if err != nil || len(list) > 0 && g.block != list[0].block {
			left++
			continue
		}
		g.seq = seq
		list = append(list, g)
	}
	if len(list) == 0 {
		return nil, left, nil
	}
	b, err := newBlockOf(dir, list[0].block, folder)
	if err != nil {
		return nil, left + len(list), nil
	}
	b.Names = goodNames(filepath.Join(b.dir, namesFile))
	d, err := b.names()
	if err != nil {
		return nil, left + len(list), nil
	}
	o := &opened{block: b, dict: d}
	seen := map[store.ID]bool{}
	slices.SortFunc(list, func(a, b *segment) int { return cmp.Compare(b.seq, a.seq) })
	for _, g := range list {
		// Reading the detail, too, would take ten times as long. Queries report it if it is damaged.
		if sections, err := o.heads(g); err != nil || o.checkSums(g, sections, seen) != nil {
			left++
			continue
		}
		b.segments = append(b.segments, g)
	}
	b.dict = nil
	if len(b.segments) == 0 {
		return nil, left, nil
	}
	return b, left, nil
}

// newBlockOf returns the block of a key and folder.
func newBlockOf(dir, key, folder string) (*block, error) {
	parts := strings.SplitN(key, "\x00", 3)
	if len(parts) != 3 {
		return nil, errDamaged
	}
	return newBlock(dir, blockRecord{Tenant: parts[0], Day: parts[1], Service: parts[2], Folder: folder})
}

// heads returns the sections of a segment without their samples.
func (o *opened) heads(g *segment) ([]*section, error) {
	r := segmentReader{segment: g, dir: o.dir}
	defer r.close()
	var out []*section
	for i := range g.sections {
		at := &g.sections[i]
		about, err := r.about(at, o.dict)
		if err != nil {
			return nil, err
		}
		sec := &section{kind: at.kind, labels: at.labels, shape: at.shape}
		for j := range about {
			sec.taken = append(sec.taken, &about[j])
		}
		out = append(out, sec)
	}
	return out, nil
}

func (b *block) profiles() (n int) {
	for _, g := range b.segments {
		n += g.profiles()
	}
	return n
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

// adopt adds blocks to the catalog that it does not name. lost says why there was no catalog, if there was none.
func (s *Store) adopt(lost error) error {
	found, err := findUnnamed(s.dir, s.catalog)
	if err != nil {
		return err
	}
	if len(found.segments)+found.left == 0 {
		return nil
	}
	if err := s.catalog.apply(found.change); err != nil {
		return err
	}
	if found.left > 0 {
		s.damage = append(s.damage, hint.Errorf(hint.Text{mending(s.dir), " moves them to the folder " + damagedDir},
			"the catalog does not name %s that can't be read, or whose profiles are all in others", unit.Counted(found.left, "segment")))
	}
	profiles := 0
	for _, n := range found.profiles {
		profiles += n
	}
	if n := len(found.segments); n > 0 && lost != nil {
		s.damage = append(s.damage, fmt.Errorf("%w: it was made again from %s with %s", lost, unit.Counted(n, "segment"), unit.Counted(profiles, "profile")))
	} else if n > 0 {
		s.damage = append(s.damage, fmt.Errorf("the catalog did not name %s with %s, which are in it now", unit.Counted(n, "segment"), unit.Counted(profiles, "profile")))
	}
	return nil
}

// keepUnnamed moves segments in the folder of a block that the catalog does not name to the folder of damaged files, with a copy of the names: these are about
// to be overwritten.
func (s *Store) keepUnnamed(b *block) error {
	files, err := os.ReadDir(b.dir)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, g := range b.segments {
		known[g.file] = true
	}
	copied := false
	for _, e := range files {
		if known[e.Name()] || !strings.HasSuffix(e.Name(), segmentSuffix) {
			continue
		}
		if !copied {
			if _, err := copyAside(s.dir, filepath.Join(b.dir, namesFile)); err != nil {
				return err
			}
			copied = true
		}
		if _, err := aside(s.dir, filepath.Join(b.dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
