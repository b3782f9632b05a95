package benchstat

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/hone-perf/hone/internal/bench"
	"github.com/hone-perf/hone/internal/recording"
)

// maxInput bounds a file.
const maxInput = 1 << 30

// A file is one argument.
type file struct {
	path, label string

	notes   []bench.Note
	native  bool // read as hone does, since the original finds nothing in it
	results int
}

// labeled takes arguments apart: label=path, or a path, which is its own label unless it comes more than once.
func labeled(args []string) []file {
	count := make(map[string]int)
	for _, a := range args {
		if !strings.Contains(a, "=") {
			count[a]++
		}
	}
	seen := make(map[string]int)
	var out []file
	for _, a := range args {
		label, path, ok := strings.Cut(a, "=")
		switch {
		case ok:
		case count[a] == 1:
			path = a
		default:
			path, label = a, fmt.Sprintf("%s#%d", a, seen[a])
			seen[a]++
		}
		out = append(out, file{path: path, label: label})
	}
	return out
}

// An input is the files of a command line, read one after the other.
type input struct {
	files  []file
	stdin  io.Reader
	reader benchfmt.Reader // of all files: what is known about units goes for all
}

// each yields the records of all files.
func (in *input) each(yield func(benchfmt.Record)) error {
	for i := range in.files {
		f := &in.files[i]
		read, err := in.open(f.path)
		if read == nil {
			return err
		}
		var text io.Reader = bytes.NewReader(read.Bytes)
		if lines := look(f, read); f.native {
			text = rewritten(lines)
		}
		if err != nil {
			text = io.MultiReader(text, failing{err}) // the reader says where
		}
		in.reader.Reset(text, f.path, ".file", f.label)
		for in.reader.Scan() {
			rec := in.reader.Result()
			if _, ok := rec.(*benchfmt.Result); ok {
				f.results++
			}
			yield(rec)
		}
		if err := in.reader.Err(); err != nil {
			return err
		}
	}
	return nil
}

// open reads a file. When reading fails, what was read until then is not nil.
func (in *input) open(path string) (*bench.Text, error) {
	r := in.stdin
	switch {
	case path == "-":
	case recording.IsRecording(path): // which the original could not read
		rec, err := recording.Open(path)
		if err != nil {
			return nil, err
		}
		defer rec.Close()
		f, err := rec.OpenFile(recording.BenchFile)
		if err != nil {
			return nil, fmt.Errorf("%s has no benchmark lines; hone bench -o FILE.hone keeps some", path)
		}
		defer f.Close()
		r = f
	default:
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	}
	t, err := bench.ReadText(r, maxInput)
	if err == nil && t.Lost != "" {
		err = fmt.Errorf("%s is left out", t.Lost) // of a line that is too long, the reader says so first
	}
	return t, err
}

// look reads a file as hone does, for what there is to say about it. Where the original finds nothing at all, what hone
// finds is used.
func look(f *file, t *bench.Text) *bench.File {
	read := t.File(f.path)
	f.notes = read.Notes
	f.native = len(read.Results) > 0 && !benchfmt.NewReader(bytes.NewReader(t.Bytes), f.path).Scan()
	return read
}

// rewritten returns the benchmark lines that hone found.
func rewritten(read *bench.File) io.Reader {
	var out bytes.Buffer
	if err := bench.Write(&out, read); err != nil {
		return failing{err} // writing bytes does not fail
	}
	return &out
}

// failing is what is behind the last byte that could be read.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
