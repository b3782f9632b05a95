package bench

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/order"
	"golang.org/x/perf/benchfmt"
)

// Read reads benchmark lines to the end of r. It fails only when reading does, and returns what it has even then. That
// there are no results is no error. The name stands for the file in messages.
func Read(r io.Reader, name string) (*File, error) {
	t, err := ReadText(r, maxFile)
	if err != nil {
		err = fmt.Errorf("reading %s: %w", name, err)
	}
	return t.File(name), err
}

// File returns what the benchmark lines in t say.
func (t *Text) File(name string) *File {
	var say notes
	var list []*mender
	t.scan(&say, func() func(line) {
		m := &mender{say: &say}
		list = append(list, m)
		return m.line
	})
	f := &File{Name: name}
	rd := reader{file: f, say: &say}
	for _, m := range list {
		m.giveUp()
		rd.stream(m.out)
	}
	f.Units = rd.r.Units()
	rd.dropCut()
	settleProcs(f.Results)
	order.Stable(say, func(a, b Note) int { return int(b.Grade) - int(a.Grade) })
	f.Notes = say
	return f
}

// Open reads benchmark lines, or where there are none, tables of benchcmp.
func Open(r io.Reader, name string) (*File, error) {
	t, err := ReadText(r, maxFile)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	f := t.File(name)
	if len(f.Results) > 0 {
		return f, nil
	}
	if table := t.Table(name); len(table.Old.Results) > 0 {
		return table.File(), nil
	}
	return f, nil
}

// Is reports whether text has benchmark lines or tables of benchcmp. The beginning of a file is enough to tell.
func Is(text []byte) bool {
	if !bytes.Contains(text, []byte("enchmark")) && wide(text) == nil && !bytes.HasPrefix(text, []byte("\xff\xfe")) && !bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return false // to tell so of a large file that is something else takes no time
	}
	f, err := Open(bytes.NewReader(text), "")
	return err == nil && len(f.Results) > 0
}

// A reader makes results of lines.
type reader struct {
	r    benchfmt.Reader
	file *File
	say  *notes
	cut  int // the result that the file ends in, from 1; 0 is none

	changes int // facts that are not shared, see maxChanges
}

// stream reads lines that were mended.
func (rd *reader) stream(lines []line) {
	var text strings.Builder
	for _, l := range lines {
		text.WriteString(l.text)
		text.WriteByte('\n')
	}
	rd.r.Reset(strings.NewReader(text.String()), rd.file.Name)
	var config []Config
	for rd.r.Scan() {
		_, at := rd.r.Result().Pos()
		l := lines[at-1]
		switch rec := rd.r.Result().(type) {
		case *benchfmt.SyntaxError:
			msg := "malformed line: " + rec.Msg
			if strings.HasPrefix(rec.Msg, "metadata ") {
				msg = "unit that was described otherwise before"
			}
			rd.say.add(Dropped, l.no, msg)
		case *benchfmt.Result:
			if len(rd.file.Results) == maxResults {
				rd.say.add(Dropped, l.no, fmt.Sprintf("results beyond %d", maxResults))
				continue
			}
			facts := rec.Config[:min(len(rec.Config), maxFacts)]
			if len(facts) < len(rec.Config) {
				rd.say.add(Dropped, l.no, fmt.Sprintf("configuration beyond %d keys", maxFacts))
			}
			if !slices.EqualFunc(config, facts, sameConfig) {
				if rd.changes += len(facts); rd.changes > maxChanges {
					rd.say.add(Dropped, l.no, "results beyond a limit for how often configuration changes")
					continue
				}
				config = nil // results that were read share the old one
				for _, c := range facts {
					config = append(config, Config{c.Key, string(c.Value)})
				}
			}
			rd.result(rec, l, config)
		}
	}
	if err := rd.r.Err(); err != nil {
		panic(err) // no line is too long, and reading a string does not fail
	}
}

func sameConfig(a Config, b benchfmt.Config) bool {
	return a.Key == b.Key && a.Value == string(b.Value)
}

// result keeps what of a line can be true.
func (rd *reader) result(rec *benchfmt.Result, l line, config []Config) {
	full := rec.Name.String()
	r := Result{Iters: rec.Iters, Config: config, Line: l.no}
	r.Name, r.Procs = splitProcs(full)
	if r.Iters < 0 {
		rd.say.add(Dropped, l.no, "negative number of iterations")
		return
	}
	if r.Iters == 0 {
		rd.say.add(Odd, l.no, "benchmark that ran 0 times")
	}
	if full == "" {
		rd.say.add(Odd, l.no, "benchmark without a name")
	} else if lowercase(full) {
		rd.say.add(Odd, l.no, "name that goes on in lower case behind Benchmark")
	}
	for _, v := range rec.Values {
		val := Value{v.Value, v.Unit}
		if v.OrigUnit != "" {
			val = Value{v.OrigValue, v.OrigUnit}
		}
		switch _, twice := r.Value(val.Unit); {
		case len(r.Values) == maxValues:
			rd.say.add(Dropped, l.no, fmt.Sprintf("measurements beyond %d on one line", maxValues))
		case math.IsNaN(val.Value) || math.IsInf(val.Value, 0):
			rd.say.add(Dropped, l.no, "measurement that is not a number: NaN or infinite")
		case val.Value < 0 && known(val.Unit):
			rd.say.add(Dropped, l.no, "negative "+val.Unit)
		case twice:
			rd.say.add(Dropped, l.no, "second measurement in the same unit on one line")
		default:
			r.Values = append(r.Values, val)
		}
	}
	if len(r.Values) == 0 {
		return // and what was left out was said
	}
	rd.file.Results = append(rd.file.Results, r)
	if l.cut {
		rd.cut = len(rd.file.Results)
	}
}

// known reports whether a unit is one of package testing, which are never negative.
func known(unit string) bool {
	return slices.Contains([]string{"ns/op", "MB/s", "B/op", "allocs/op"}, unit)
}

// dropCut looks at the result that the file ends in. Its last unit may be the beginning of a longer one, and then its
// number is whole, but not what it seems to be.
func (rd *reader) dropCut() {
	if rd.cut == 0 {
		return
	}
	r := &rd.file.Results[rd.cut-1]
	last := r.Values[len(r.Values)-1].Unit
	if known(last) {
		return
	}
	longer := false
	for i := range rd.file.Results {
		for _, v := range rd.file.Results[i].Values {
			if i != rd.cut-1 && v.Unit == last {
				return
			}
			longer = longer || len(v.Unit) > len(last) && strings.HasPrefix(v.Unit, last)
		}
	}
	for _, unit := range []string{"ns/op", "MB/s", "B/op", "allocs/op"} {
		longer = longer || strings.HasPrefix(unit, last)
	}
	if !longer {
		return
	}
	rd.say.add(Dropped, r.Line, "measurement in whose unit the file ends")
	r.Values = r.Values[:len(r.Values)-1]
	if len(r.Values) == 0 {
		rd.file.Results = slices.Delete(rd.file.Results, rd.cut-1, rd.cut)
	}
}
