package recording

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strings"
)

// A packed is a recording in one file. Close closes it.
type packed struct {
	*zip.Reader
	io.Closer
	lost []string // unusable parts of the file, as text
}

// openZip opens a packed recording. The list of what is in it is its end: of a file that lacks it, such as one whose copy
// was interrupted, it is made from the headers in front of each entry.
func openZip(name string) (*packed, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	var z *packed
	if err == nil {
		z, err = newPacked(f, st.Size(), f)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return z, nil
}

func newPacked(f io.ReaderAt, size int64, c io.Closer) (*packed, error) {
	z, err := readZip(f, size)
	var listed *packed
	if err == nil {
		if listed, err = withoutMisfits(z, c); err != nil {
			return nil, err
		}
		// The list may be there and wrong.
		if _, err = readFile(z, manifestFile, maxManifest); err == nil || errors.Is(err, fs.ErrNotExist) {
			return listed, nil
		}
	}
	z, note, recoverErr := recoverZip(f, size)
	switch {
	case recoverErr == nil && slices.ContainsFunc(z.File, func(f *zip.File) bool { return f.Name == manifestFile }):
		p, err := withoutMisfits(z, c)
		if err == nil {
			p.lost = append([]string{note}, p.lost...)
		}
		return p, err
	case listed != nil:
		return listed, nil // others say what is wrong with the manifest
	case recoverErr != nil:
		return nil, recoverErr
	}
	return nil, fmt.Errorf("%w, or only the beginning of one: %v", ErrNotRecording, err)
}

// LargestProfile returns the size of the largest profile in a packed recording, as it is there. Of one that has no list of its
// files, or is none, it is the size of all.
func LargestProfile(r io.ReaderAt, size int64) int64 {
	z, err := readZip(r, size)
	if err != nil {
		return size
	}
	most := uint64(0)
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, profileEnding) {
			most = max(most, f.CompressedSize64)
		}
	}
	return min(int64(min(most, math.MaxInt64)), size)
}

var errFiles = fmt.Errorf("recording has more than %d files", maxFiles)

// withoutMisfits drops entries of which package zip could not tell which one a name means. It refuses those, and with them the
// folder they are in.
func withoutMisfits(z *zip.Reader, f io.Closer) (*packed, error) {
	if len(z.File) > maxFiles {
		return nil, errFiles
	}
	p := &packed{Reader: z, Closer: f}
	var twice, bad []string
	seen := make(map[string]bool, len(p.File)) // false for folders
	for _, f := range p.File {
		for dir := path.Dir(f.Name); usable(f.Name) && dir != "."; dir = path.Dir(dir) {
			seen[dir] = false
		}
	}
	p.File = slices.DeleteFunc(p.File, func(f *zip.File) bool {
		isFile, known := seen[f.Name]
		switch {
		case strings.HasSuffix(f.Name, "/"):
			return true // folders follow from the files in them
		case !usable(f.Name), known && !isFile:
			bad = append(bad, f.Name)
		case known:
			twice = append(twice, f.Name)
		default:
			seen[f.Name] = true
			return false
		}
		return true
	})
	if len(twice) > 0 {
		p.lost = append(p.lost, fmt.Sprintf("the recording has several files with one name, and the first is used: %s", some(twice)))
	}
	if len(bad) > 0 {
		p.lost = append(p.lost, fmt.Sprintf("unknown files are left out: %s", some(bad)))
	}
	return p, nil
}

// usable reports whether an entry has a name that files of recordings may have.
func usable(name string) bool {
	const maxFolders = 8 // that a file is in
	return fs.ValidPath(name) && !strings.Contains(name, `\`) && strings.Count(name, "/") <= maxFolders
}

// some lists names, and how many more there are.
func some(names []string) string {
	const most, long = 3, 100
	var out []string
	for i, n := range names {
		if i == most {
			return fmt.Sprintf("%s and %d more", strings.Join(out, ", "), len(names)-most)
		}
		if clean := strings.ToValidUTF8(n, "?"); len(clean) > long || strings.ContainsFunc(clean, func(r rune) bool { return r < ' ' }) {
			n = fmt.Sprintf("%q", n[:min(len(n), long)])
		}
		out = append(out, n)
	}
	return strings.Join(out, ", ")
}

// Of the zip format.
const (
	localSig      = "PK\x03\x04" // before each entry
	descriptorSig = "PK\x07\x08" // behind an entry whose size was not known when it began
	centralSig    = "PK\x01\x02"
	endSig        = "PK\x05\x06"
	end64Sig      = "PK\x06\x06"
	locator64Sig  = "PK\x06\x07"

	localSize      = 30
	centralSize    = 46
	descriptorFlag = 1 << 3
	zip64Extra     = 1
	version45      = 45 // which knows files of more than 4 GB

	maxEntryName = 1 << 10
)

// An entry is a file in a zip file, as the header in front of it and the descriptor behind it say.
type entry struct {
	name                 string
	header               int64 // where it is
	start, end           int64 // of the packed bytes; end is 0 when that is not known
	flags, method        uint16
	crc                  uint32
	packed, size         uint64
	modifiedT, modifiedD uint16
}

// A descriptor says what the header did not know.
type descriptor struct {
	at           int64
	crc          uint32
	packed, size uint64
}

// recoverZip reads a zip file that has no list of its entries, or a damaged one. The note says what became of it.
func recoverZip(r io.ReaderAt, size int64) (*zip.Reader, string, error) {
	entries, behind, err := scanEntries(r, size)
	if err != nil {
		return nil, "", err
	}
	var whole []entry
	var cut []string
	at := int64(0) // the end of the last entry that is whole: what looks like a header inside one is none
	for _, e := range entries {
		if e.header < at {
			continue
		}
		if d, ok := behind[e.start]; ok && e.flags&descriptorFlag != 0 {
			e.crc, e.packed, e.size = d.crc, d.packed, d.size
			e.end = d.at
		}
		if e.end == 0 || e.end > size {
			cut = append(cut, e.name)
			continue
		}
		at = e.end
		whole = append(whole, e)
	}
	list := centralDirectory(whole, size)
	z, err := zip.NewReader(&joined{r, size, list}, size+int64(len(list)))
	if err != nil {
		return nil, "", err
	}
	note := fmt.Sprintf("the recording is cut short or damaged: %d of its files could be recovered", len(whole))
	if len(cut) > 0 {
		note += ", but not " + some(cut)
	}
	return z, note, nil
}

// scanEntries returns the headers of entries in their order, and the descriptors that fit some entry by where its bytes
// start. It reads the file once.
func scanEntries(r io.ReaderAt, size int64) ([]entry, map[int64]descriptor, error) {
	const chunk = 1 << 20
	const overlap = 24 // of the longest descriptor
	var entries []entry
	behind := make(map[int64]descriptor)
	buf := make([]byte, chunk+overlap)
	for from := int64(0); from < size; from += chunk {
		b := buf[:min(int64(len(buf)), size-from)]
		if n, err := r.ReadAt(b, from); n < len(b) {
			return nil, nil, err
		}
		for i := 0; i < min(len(b), chunk); i += 2 {
			next := bytes.Index(b[i:], []byte("PK"))
			if next < 0 {
				break
			}
			if i += next; i >= chunk {
				break // the next chunk begins with it
			}
			switch at := from + int64(i); {
			case bytes.HasPrefix(b[i:], []byte(localSig)):
				if e, ok := readLocal(r, at); ok {
					entries = append(entries, e)
				}
			case bytes.HasPrefix(b[i:], []byte(descriptorSig)):
				for _, d := range readDescriptor(b[i:], at) {
					start := at - int64(d.packed)
					if _, ok := behind[start]; !ok {
						behind[start] = d
					}
				}
			}
			if len(entries) > maxFiles || len(behind) > 2*maxFiles {
				return nil, nil, errFiles
			}
		}
	}
	return entries, behind, nil
}

// readDescriptor reads what is behind an entry. Sizes have four bytes there, or eight: it fits the entry that is so long.
func readDescriptor(b []byte, at int64) (out []descriptor) {
	le := binary.LittleEndian
	if len(b) >= 16 {
		out = append(out, descriptor{at, le.Uint32(b[4:]), uint64(le.Uint32(b[8:])), uint64(le.Uint32(b[12:]))})
	}
	if len(b) >= 24 {
		out = append(out, descriptor{at, le.Uint32(b[4:]), le.Uint64(b[8:]), le.Uint64(b[16:])})
	}
	return slices.DeleteFunc(out, func(d descriptor) bool { return d.packed > uint64(at) })
}

// readLocal reads the header in front of an entry.
func readLocal(r io.ReaderAt, at int64) (entry, bool) {
	le := binary.LittleEndian
	var b [localSize]byte
	if n, _ := r.ReadAt(b[:], at); n < len(b) {
		return entry{}, false
	}
	e := entry{
		header: at, flags: le.Uint16(b[6:]), method: le.Uint16(b[8:]), modifiedT: le.Uint16(b[10:]), modifiedD: le.Uint16(b[12:]),
		crc: le.Uint32(b[14:]), packed: uint64(le.Uint32(b[18:])), size: uint64(le.Uint32(b[22:])),
	}
	nameLen, extraLen := int(le.Uint16(b[26:])), int(le.Uint16(b[28:]))
	if nameLen == 0 || nameLen > maxEntryName || e.method != zip.Store && e.method != zip.Deflate {
		return entry{}, false
	}
	text := make([]byte, nameLen+extraLen)
	if n, _ := r.ReadAt(text, at+localSize); n < len(text) {
		return entry{}, false
	}
	e.name = string(text[:nameLen])
	e.start = at + localSize + int64(len(text))
	if e.packed == math.MaxUint32 || e.size == math.MaxUint32 {
		e.readZip64(text[nameLen:])
	}
	if e.flags&descriptorFlag == 0 && e.packed < math.MaxInt64/2 {
		e.end = e.start + int64(e.packed)
	}
	return e, true
}

// readZip64 takes sizes that do not fit four bytes.
func (e *entry) readZip64(extra []byte) {
	le := binary.LittleEndian
	for len(extra) >= 4 {
		tag, n := le.Uint16(extra), int(le.Uint16(extra[2:]))
		if extra = extra[4:]; n > len(extra) {
			return
		}
		if tag == zip64Extra && n >= 16 {
			e.size, e.packed = le.Uint64(extra), le.Uint64(extra[8:])
			return
		}
		extra = extra[n:]
	}
}

// centralDirectory returns the list of entries that a zip file ends in, as it is written behind size bytes. It has the form
// for large files, which all readers know.
func centralDirectory(entries []entry, size int64) []byte {
	le := binary.LittleEndian
	var b []byte
	for _, e := range entries {
		b = append(b, centralSig...)
		b = le.AppendUint16(b, version45) // of the writer
		b = le.AppendUint16(b, version45) // of readers
		b = le.AppendUint16(b, e.flags)
		b = le.AppendUint16(b, e.method)
		b = le.AppendUint16(b, e.modifiedT)
		b = le.AppendUint16(b, e.modifiedD)
		b = le.AppendUint32(b, e.crc)
		b = le.AppendUint32(b, math.MaxUint32) // sizes are in the extra field
		b = le.AppendUint32(b, math.MaxUint32)
		b = le.AppendUint16(b, uint16(len(e.name)))
		b = le.AppendUint16(b, 4+3*8)           // the extra field
		b = append(b, make([]byte, 2+2+2+4)...) // no comment, first disk, attributes
		b = le.AppendUint32(b, math.MaxUint32)
		b = append(b, e.name...)
		b = le.AppendUint16(b, zip64Extra)
		b = le.AppendUint16(b, 3*8)
		b = le.AppendUint64(b, e.size)
		b = le.AppendUint64(b, e.packed)
		b = le.AppendUint64(b, uint64(e.header))
	}
	length := len(b)
	b = append(b, end64Sig...)
	b = le.AppendUint64(b, 44) // of what follows in this record
	b = le.AppendUint16(b, version45)
	b = le.AppendUint16(b, version45)
	b = append(b, make([]byte, 4+4)...) // first disk
	b = le.AppendUint64(b, uint64(len(entries)))
	b = le.AppendUint64(b, uint64(len(entries)))
	b = le.AppendUint64(b, uint64(length))
	b = le.AppendUint64(b, uint64(size))
	b = append(b, locator64Sig...)
	b = append(b, make([]byte, 4)...) // first disk
	b = le.AppendUint64(b, uint64(size)+uint64(length))
	b = le.AppendUint32(b, 1) // disk
	b = append(b, endSig...)
	b = append(b, make([]byte, 4)...) // first disk
	b = append(b, bytes.Repeat([]byte{0xff}, 2+2+4+4)...)
	return append(b, 0, 0) // no comment
}

// A joined is a file with a text behind it.
type joined struct {
	r    io.ReaderAt
	size int64 // of r
	text []byte
}

func (j *joined) ReadAt(b []byte, at int64) (int, error) {
	n := 0
	if at < j.size {
		var err error
		if n, err = j.r.ReadAt(b[:min(int64(len(b)), j.size-at)], at); err != nil && !errors.Is(err, io.EOF) || n == len(b) {
			return n, err
		}
	}
	m, err := bytes.NewReader(j.text).ReadAt(b[n:], at+int64(n)-j.size)
	return n + m, err
}
