package recording

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/hone-perf/hone/internal/unit"
)

// maxList bounds the list of files at the end of a packed recording. As many as are allowed, with long names, fit.
const maxList = 64 << 20

// ErrTooLarge says that what is packed in a recording is more than was allowed.
var ErrTooLarge = errors.New("the unpacked content of the recording is too large")

// Check reads what a packed recording of unknown origin says about itself. It takes only one that is whole, and of which no more than unpacked
// bytes come out, however its files are read.
func Check(in io.ReaderAt, size, unpacked int64) (*Manifest, error) {
	z, err := readZip(in, size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotRecording, err)
	}
	sum := uint64(0)
	for _, f := range z.File {
		// A file that unpacks to more than it says is an error when it is read.
		if sum += min(f.UncompressedSize64, math.MaxInt64); sum > uint64(unpacked) {
			return nil, fmt.Errorf("%w: it has more than %s", ErrTooLarge, unit.Size(unpacked))
		}
	}
	p, err := withoutMisfits(z, io.NopCloser(nil))
	if err != nil {
		return nil, err
	}
	r, err := openFS(p, p)
	if err != nil {
		return nil, err
	}
	return r.Manifest, nil
}

// readZip reads the list of files in a zip file. Package zip keeps as many as there are, whatever their number is said to be.
func readZip(in io.ReaderAt, size int64) (*zip.Reader, error) {
	b := &boundedReader{in: in, left: maxList}
	z, err := zip.NewReader(b, size)
	b.left = math.MaxInt64 // files are read through it, too
	return z, err
}

// A boundedReader reads so many bytes and no more.
type boundedReader struct {
	in   io.ReaderAt
	left int64
}

func (b *boundedReader) ReadAt(p []byte, at int64) (int, error) {
	if b.left == math.MaxInt64 {
		return b.in.ReadAt(p, at)
	}
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, errFiles
	}
	return b.in.ReadAt(p, at)
}
