package disk

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"strings"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/store"
)

// A catalog is the file that lists blocks, segments and pins. Files that it does not list do not exist for the store, so one write of the catalog
// changes several files atomically.
type catalog struct{ db *bbolt.DB }

var (
	blocksBucket   = []byte("blocks")
	segmentsBucket = []byte("segments")
	pinsBucket     = []byte("pins")
)

// A blockRecord is the entry of a block in the catalog.
type blockRecord struct {
	Tenant  string
	Service string
	Day     string // 2026-09-01
	Folder  string
	Names   int64 // valid bytes of the file of names
}

func (b *blockRecord) key() []byte { return []byte(b.Tenant + "\x00" + b.Day + "\x00" + b.Service) }

func openBolt(name string, o *bbolt.Options) (*bbolt.DB, error) {
	o.Timeout = time.Second
	db, err := bbolt.Open(name, 0o600, o)
	if err == nil {
		return db, nil
	}
	if err == bolterrors.ErrTimeout {
		return nil, hint.Errorf(hint.Text{"only one server can have it open: ask that one, or stop it first"}, "another hone has the store open")
	}
	var system *fs.PathError
	if !errors.As(err, &system) {
		err = fmt.Errorf("%w: %w", errCatalog, err)
	}
	return nil, err
}

func openCatalog(name string, unsynced bool) (*catalog, error) {
	db, err := openBolt(name, &bbolt.Options{NoFreelistSync: true, NoSync: unsynced, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return nil, err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, b := range [][]byte{blocksBucket, segmentsBucket, pinsBucket} {
			if _, err := tx.CreateBucketIfNotExists(b); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &catalog{db}, nil
}

// A change is applied atomically.
type change struct {
	blocks     []*blockRecord // new or changed
	noBlocks   []*blockRecord
	segments   []*segment
	noSegments []*segment
}

func segmentKey(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

func (c *catalog) apply(ch change) error {
	return c.db.Update(func(tx *bbolt.Tx) error {
		blocks, segments := tx.Bucket(blocksBucket), tx.Bucket(segmentsBucket)
		for _, b := range ch.blocks {
			v, err := json.Marshal(b)
			if err == nil {
				err = blocks.Put(b.key(), v)
			}
			if err != nil {
				return err
			}
		}
		for _, s := range ch.segments {
			if err := segments.Put(segmentKey(s.seq), s.encode()); err != nil {
				return err
			}
		}
		for _, s := range ch.noSegments {
			if err := segments.Delete(segmentKey(s.seq)); err != nil {
				return err
			}
		}
		for _, b := range ch.noBlocks {
			if err := blocks.Delete(b.key()); err != nil {
				return err
			}
		}
		return nil
	})
}

// load calls back for each entry.
func (c *catalog) load(block func(*blockRecord), segment func(*segment)) error {
	return c.db.View(func(tx *bbolt.Tx) error {
		err := tx.Bucket(blocksBucket).ForEach(func(k, v []byte) error {
			var b blockRecord
			if err := json.Unmarshal(v, &b); err != nil {
				return fmt.Errorf("the catalog, at block %q: %w", k, err)
			}
			block(&b)
			return nil
		})
		if err != nil {
			return err
		}
		return tx.Bucket(segmentsBucket).ForEach(func(k, v []byte) error {
			s, err := decodeSegment(v)
			if err != nil || len(k) != 8 {
				return fmt.Errorf("the catalog, at segment %x: %w", k, errDamaged)
			}
			s.seq = binary.BigEndian.Uint64(k)
			segment(s)
			return nil
		})
	})
}

func pinKey(tenant, name string) []byte { return []byte(tenant + "\x00" + name) }

func (c *catalog) pin(p *store.Pin) error {
	v, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return c.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(pinsBucket).Put(pinKey(p.Query.Tenant, p.Name), v) })
}

func (c *catalog) unpin(tenant, name string) error {
	return c.db.Update(func(tx *bbolt.Tx) error {
		b, key := tx.Bucket(pinsBucket), pinKey(tenant, name)
		if b.Get(key) == nil {
			return store.ErrNotFound
		}
		return b.Delete(key)
	})
}

// pins returns the pins of a tenant, or all pins.
func (c *catalog) pins(tenant string, all bool) (out []store.Pin, err error) {
	err = c.db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(pinsBucket).ForEach(func(k, v []byte) error {
			if !all && !strings.HasPrefix(string(k), tenant+"\x00") {
				return nil
			}
			var p store.Pin
			if err := json.Unmarshal(v, &p); err != nil {
				return fmt.Errorf("the catalog, at pin %q: %w", k, err)
			}
			out = append(out, p)
			return nil
		})
	})
	return out, err
}

// errCatalog means that the catalog cannot be read.
var errCatalog = errors.New("the catalog can't be read")

// openCatalogSafely reads a catalog and opens it.
func openCatalogSafely(name string, unsynced bool) (*catalog, error) {
	if lostCatalog(name) == nil {
		if err := readCatalog(name); err != nil {
			return nil, err
		}
	}
	return openCatalog(name, unsynced)
}

// readCatalog reads all of a catalog. The database panics about damaged pages and, opened for writing, in goroutines of its own; it reads a file that was
// cut off from memory that is not there.
func readCatalog(name string) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errCatalog, p)
		}
	}()
	db, err := openBolt(name, &bbolt.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer db.Close()
	c := &catalog{db}
	return db.View(func(tx *bbolt.Tx) error {
		for _, b := range [][]byte{blocksBucket, segmentsBucket, pinsBucket} {
			if tx.Bucket(b) == nil {
				return nil // a crash when it was made
			}
		}
		err := c.load(func(*blockRecord) {}, func(*segment) {})
		if err == nil {
			_, err = c.pins("", true)
		}
		if err != nil {
			err = fmt.Errorf("%w: %w", errCatalog, err)
		}
		return err
	})
}
