package spans

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/requests"
	"github.com/hone-perf/hone/internal/testrun"
	"github.com/hone-perf/hone/internal/waits"
)

// recorded returns traces by name: of each version of Go, of examples/shop, and a part of that.
func recorded(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("../exectrace/testdata/*.trace.gz")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d traces (%v), want one of each version of Go", len(files), err)
	}
	all := map[string][]byte{}
	for _, name := range files {
		f, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := gzip.NewReader(bytes.NewReader(f))
		if err != nil {
			t.Fatal(err)
		}
		if all[strings.TrimSuffix(filepath.Base(name), ".trace.gz")], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	if all["shop"], err = os.ReadFile("../../testdata/trace/shop.trace"); err != nil {
		t.Fatal(err)
	}
	all["cut"] = all["shop"][:60000]
	return all
}

var windows = []waits.Window{{}, {From: 2e6, To: 20e6}, {From: 5e6}}

func open(t *testing.T, b []byte) *exectrace.Trace {
	t.Helper()
	tr, err := exectrace.Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func find(t *testing.T, b []byte) []requests.Request {
	t.Helper()
	found, err := requests.Find(open(t, b))
	if err != nil {
		t.Fatal(err)
	}
	return found.Requests
}

// csvOf returns the rows of a trace as CSV has them, without the heading.
func csvOf(t *testing.T, b []byte, w waits.Window, found []requests.Request) [][]string {
	t.Helper()
	var out bytes.Buffer
	if err := CSV(&out, open(t, b), w, found); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[1:]
}

func col(name string) int {
	for i := range columns {
		if columns[i].Name == name {
			return i
		}
	}
	panic("no column " + name)
}

func number(t *testing.T, s string) int64 {
	t.Helper()
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestSums holds that the spans of each state add up to what the overview of a trace says, and those of a request to its time.
func TestSums(t *testing.T) {
	for name, b := range recorded(t) {
		found := find(t, b)
		for _, w := range windows {
			s, err := waits.Summarize(open(t, b), w, nil)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got, of := map[string]int64{}, map[int64]int64{}
			for _, row := range csvOf(t, b, w, found) {
				took := number(t, row[col("took_ns")])
				got[row[col("state")]] += took
				if r := row[col("request")]; r != "" {
					of[number(t, r)] += took
				}
				stack, started := row[col("stack")], row[col("started_as")]
				if fn := row[col("function")]; fn != "" && !strings.Contains(";"+stack+";", ";"+fn+";") {
					t.Errorf("%s: goroutine %s, started as %s, is at %s, which is not in %s", name, row[0], started, fn, stack)
				}
			}
			want := map[string]int64{"running": s.Running, "ready": s.Ready, "syscall": s.Syscall, "blocked": s.Blocked, "idle": s.Idle}
			for state, v := range want {
				if got[state] != v {
					t.Errorf("%s from %d to %d: %s for %d ns in all spans, %d in the overview", name, w.From, w.To, state, got[state], v)
				}
			}
			for i := range found {
				if r := &found[i]; w == (waits.Window{}) && of[int64(r.Number)] != r.Took() {
					t.Errorf("%s: the spans of request %d take %d ns, it took %d", name, r.Number, of[int64(r.Number)], r.Took())
				}
			}
		}
	}
}

// parquetSums are of the Parquet files of the traces, in all windows.
var parquetSums = map[string]string{
	"cut":       "0561b5579cd4d2da",
	"go1.22.12": "9a205b243ffbe838",
	"go1.23.9":  "b79172c89626e32d",
	"go1.24.11": "cec101b30c70500c",
	"go1.25.5":  "0005cec4e76450f5",
	"go1.26.8":  "43264405bd4366b8",
	"go1.27.3":  "e8926152fdaf0a56",
	"shop":      "34bc727617beaf24",
}

// TestParquetBytes holds that Parquet files are, byte for byte, those that a library has read: TestParquet is in a nightly run, because that library
// takes 14 s of CPU time to compile.
func TestParquetBytes(t *testing.T) {
	testrun.Left(t, "TestParquet of spans", "compiles a library that reads Parquet")
	for name, b := range recorded(t) {
		found := find(t, b)
		all := sha256.New()
		for _, w := range windows {
			if err := Parquet(all, open(t, b), w, found); err != nil {
				t.Fatal(err)
			}
		}
		if sum := fmt.Sprintf("%.8x", all.Sum(nil)); sum != parquetSums[name] {
			t.Errorf("%s: the file has changed, and its sum is now %s, not %s; go test -tags nightly -run TestParquet holds that it is right", name, sum, parquetSums[name])
		}
	}
}

// An event is one of a trace for Perfetto.
type event struct {
	at         int64
	typ, track uint64
	arrows     []uint64
}

// events takes a trace for Perfetto apart, and sorts its events as the page does.
func events(t *testing.T, b []byte) (list []event, tracks map[uint64]string) {
	t.Helper()
	tracks = map[uint64]string{}
	each(b, func(_ int, _ uint64, packet []byte) {
		var e event
		var track uint64
		each(packet, func(field int, v uint64, text []byte) {
			switch field {
			case 8:
				e.at = int64(v)
			case 11:
				each(text, func(field int, v uint64, _ []byte) {
					switch field {
					case 9:
						e.typ = v
					case 11:
						e.track = v
					case 47, 48:
						e.arrows = append(e.arrows, v)
					}
				})
			case 60:
				each(text, func(field int, v uint64, text []byte) {
					switch field {
					case 1:
						track = v
						tracks[v] = ""
					case 2:
						tracks[track] = string(text)
					case 5:
						if _, ok := tracks[v]; !ok {
							t.Errorf("track %d is within %d, which is not there yet", track, v)
						}
					}
				})
			}
		})
		if e.typ != 0 {
			if _, ok := tracks[e.track]; !ok {
				t.Fatalf("an event is on track %d, which is not there yet", e.track)
			}
			list = append(list, e)
		}
	})
	slices.SortStableFunc(list, func(a, b event) int { return int(a.at - b.at) })
	return list, tracks
}

// each takes a message apart.
func each(b []byte, f func(field int, v uint64, text []byte)) {
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		b = b[n:]
		if key&7 == 1 {
			f(int(key>>3), binary.LittleEndian.Uint64(b), nil)
			b = b[8:]
			continue
		}
		v, n := binary.Uvarint(b)
		b = b[n:]
		if key&7 == 0 {
			f(int(key>>3), v, nil)
			continue
		}
		f(int(key>>3), 0, b[:v])
		b = b[v:]
	}
}

// TestPerfetto holds that slices of a track come after each other, within what is asked for, that each arrow has one begin and a later end, and that
// the tracks of goroutines have the time that rows have.
func TestPerfetto(t *testing.T) {
	for name, b := range recorded(t) {
		found := find(t, b)
		for _, w := range windows {
			var out bytes.Buffer
			tr := open(t, b)
			if err := Perfetto(&out, tr, w, found, "shop"); err != nil {
				t.Fatal(err)
			}
			walk := waits.Walk{Window: w}
			if err := walk.Run(open(t, b)); err != nil {
				t.Fatal(err)
			}
			list, tracks := events(t, out.Bytes())
			began, sums := map[uint64]int64{}, map[uint64]int64{}
			from, to := map[uint64]int64{}, map[uint64]int64{}
			for _, e := range list {
				if e.at < walk.Begin || e.at > walk.End {
					t.Fatalf("%s: an event at %d, of %d to %d", name, e.at, walk.Begin, walk.End)
				}
				switch e.typ {
				case 1:
					if at, ok := began[e.track]; ok {
						t.Fatalf("%s: a slice on %s begins at %d, one from %d goes on", name, tracks[e.track], e.at, at)
					}
					began[e.track] = e.at
					for _, a := range e.arrows {
						to[a] = e.at
					}
				case 2:
					at, ok := began[e.track]
					if !ok {
						t.Fatalf("%s: on %s, nothing ends at %d", name, tracks[e.track], e.at)
					}
					sums[e.track] += e.at - at
					delete(began, e.track)
				case 3:
					for _, a := range e.arrows {
						from[a] = e.at
					}
				}
			}
			if len(began) > 0 {
				t.Errorf("%s: %d slices do not end", name, len(began))
			}
			for a, at := range to {
				if begin, ok := from[a]; !ok || begin > at {
					t.Errorf("%s: arrow %d begins at %d (%v) and ends at %d", name, a, begin, ok, at)
				}
			}
			if name == "shop" && (len(from) < 400 || len(to) < len(from)-100) {
				t.Errorf("%d arrows begin, %d end", len(from), len(to))
			}
			took := map[uint64]int64{}
			for _, row := range csvOf(t, b, w, found) {
				took[uint64(firstGoroutine)+uint64(number(t, row[0]))] += number(t, row[col("took_ns")])
			}
			for track, v := range took {
				if sums[track] != v {
					t.Errorf("%s: %s has %d ns, want %d", name, tracks[track], sums[track], v)
				}
			}
		}
	}
}

// TestLongest holds that the longest spans are those that CSV has.
func TestLongest(t *testing.T) {
	for name, b := range recorded(t) {
		for _, w := range windows {
			var all []int64
			for _, row := range csvOf(t, b, w, nil) {
				if row[col("state")] != waits.Idle {
					all = append(all, number(t, row[col("took_ns")]))
				}
			}
			slices.Sort(all)
			slices.Reverse(all)
			for _, n := range []int{1, 20, 3000, -1} {
				long, err := Longest(open(t, b), w, n)
				if err != nil {
					t.Fatal(err)
				}
				want := all
				if n > 0 {
					want = all[:min(n, len(all))]
				}
				var got []int64
				for _, s := range long.Spans {
					got = append(got, s.Took)
				}
				if long.Of != len(all) || !slices.Equal(got, want) {
					t.Errorf("%s: the longest %d of %d are %d, want %d of %d", name, n, long.Of, got, want, len(all))
				}
			}
		}
	}
}

// TestJSON holds that spans as JSON are those of CSV, as an array and as lines, and that no spans are an array, too.
func TestJSON(t *testing.T) {
	for name, b := range recorded(t) {
		found := find(t, b)
		for _, w := range append(windows, waits.Window{From: 1, To: 2}) {
			var array, lines bytes.Buffer
			if err := errors.Join(JSON(&array, open(t, b), w, found), JSONLines(&lines, open(t, b), w, found)); err != nil {
				t.Fatal(err)
			}
			var all []map[string]any
			if err := json.Unmarshal(array.Bytes(), &all); err != nil {
				t.Fatalf("%s %v: %v", name, w, err)
			}
			want := csvOf(t, b, w, found)
			if len(all) != len(want) || bytes.Count(lines.Bytes(), []byte("\n")) != len(want) {
				t.Fatalf("%s %v: %d objects, %d lines, want %d", name, w, len(all), bytes.Count(lines.Bytes(), []byte("\n")), len(want))
			}
			in := json.NewDecoder(&lines)
			for i, row := range want {
				var line map[string]any
				if err := in.Decode(&line); err != nil || !maps.Equal(line, all[i]) {
					t.Fatalf("%s %v: line %d is %v, %v, want %v", name, w, i, line, err, all[i])
				}
				for c, v := range row {
					got := ""
					switch x := line[columns[c].Name].(type) {
					case nil:
					case float64:
						got = strconv.FormatInt(int64(x), 10)
					default:
						got = fmt.Sprint(x)
					}
					if got != v {
						t.Fatalf("%s %v: row %d has %s %q, want %q", name, w, i, columns[c].Name, got, v)
					}
				}
			}
		}
	}
}

// TestFails holds that a file that cannot be written is an error, and that the trace is not read to its end for that.
func TestFails(t *testing.T) {
	b := recorded(t)["shop"]
	for name, write := range map[string]func(io.Writer) error{
		"parquet":  func(w io.Writer) error { return Parquet(w, open(t, b), waits.Window{}, nil) },
		"csv":      func(w io.Writer) error { return CSV(w, open(t, b), waits.Window{}, nil) },
		"json":     func(w io.Writer) error { return JSON(w, open(t, b), waits.Window{}, nil) },
		"perfetto": func(w io.Writer) error { return Perfetto(w, open(t, b), waits.Window{}, nil, "") },
	} {
		for _, room := range []int{0, 1000, 50000} {
			if err := write(&full{room}); err != io.ErrShortWrite {
				t.Errorf("%s with room for %d bytes: %v", name, room, err)
			}
		}
	}
}

// A full takes a few bytes.
type full struct{ room int }

func (f *full) Write(b []byte) (int, error) {
	if f.room -= len(b); f.room < 0 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}
