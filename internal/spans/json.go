package spans

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/requests"
	"github.com/hone-perf/hone/internal/waits"
)

// JSON writes the spans of goroutines of the program in a window of a trace as a JSON array with an object on each line.
func JSON(out io.Writer, t *exectrace.Trace, w waits.Window, found []requests.Request) error {
	return writeJSON(out, t, w, found, "[\n", ",\n", "\n]\n")
}

// JSONLines writes the same as lines of JSON.
func JSONLines(out io.Writer, t *exectrace.Trace, w waits.Window, found []requests.Request) error {
	return writeJSON(out, t, w, found, "", "\n", "\n")
}

func writeJSON(out io.Writer, t *exectrace.Trace, w waits.Window, found []requests.Request, begin, between, end string) error {
	r := newReader(t, w, found, nil)
	j := &jsonTable{out: bufio.NewWriter(out), text: r.text, row: []byte(begin), between: between, texts: map[Text][]byte{}}
	r.on = r.fill(j)
	if err := r.run(); err != nil {
		return err
	}
	if !j.some {
		j.out.WriteString(begin)
		end = end[1:]
	}
	j.out.WriteString(end)
	return j.out.Flush()
}

// A jsonTable writes rows as objects, without what a row has no value for.
type jsonTable struct {
	out     *bufio.Writer
	text    func(Text) string
	between string
	row     []byte
	inside  bool            // an object was begun
	some    bool            // a row was written
	texts   map[Text][]byte // in quotes, of the last rows
}

func (j *jsonTable) key(col int) {
	if j.inside {
		j.row = append(j.row, ',')
	} else {
		j.row = append(j.row, '{')
	}
	j.inside = true
	j.row = append(append(append(j.row, '"'), columns[col].Name...), '"', ':')
}

func (j *jsonTable) Int(col int, v int64) {
	j.key(col)
	j.row = strconv.AppendInt(j.row, v, 10)
}

func (j *jsonTable) Bool(col int, v bool) {
	j.key(col)
	j.row = strconv.AppendBool(j.row, v)
}

func (j *jsonTable) Text(col int, id Text) {
	b, ok := j.texts[id]
	if !ok {
		if len(j.texts) >= mostStacks {
			clear(j.texts)
		}
		b, _ = json.Marshal(j.text(id)) // no text is an error
		j.texts[id] = b
	}
	j.key(col)
	j.row = append(j.row, b...)
}

func (j *jsonTable) End() error {
	_, err := j.out.Write(append(j.row, '}'))
	j.row, j.inside, j.some = append(j.row[:0], j.between...), false, true
	return err
}
