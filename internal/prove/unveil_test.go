package prove

import (
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/testrun"
)

// A package with an ID that varies, and that is read from texts as well.
const idOld = `package one

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"sort"
	"time"
	mrand "math/rand"
)

type ID [4]byte

func New() ID {
	var id ID
	rand.Read(id[:])
	return id
}

func NewString() string { return New().String() }

func Parse(s string) (ID, error) {
	var id ID
	if len(s) != 8 {
		return id, errors.New("length")
	}
	if _, err := hex.Decode(id[:], []byte(s)); err != nil {
		return id, err
	}
	return id, nil
}

func (id ID) String() string { return hex.EncodeToString(id[:]) }

func (id ID) Version() int { return int(id[2]>>4) }

// Draw takes what is random where it is not told what to take.
func Draw(r io.Reader, n uint8) (sum int, err error) {
	if r == nil {
		r = rand.Reader
	}
	b := make([]byte, 1+n%4)
	if _, err := io.ReadFull(r, b); err != nil {
		return 0, err
	}
	for _, c := range b {
		sum = sum*10 + int(c)
	}
	return sum, nil
}

func Keys(m map[int8]bool, sorted bool) (keys []int) {
	for k := range m {
		keys = append(keys, int(k))
	}
	if sorted {
		sort.Ints(keys)
	}
	return keys
}

var (
	drawn int
	dice  = mrand.New(mrand.NewSource(time.Now().UnixNano()))
	fixed = mrand.New(mrand.NewSource(7))
)

func Next(step uint8) int {
	drawn += int(step%3) + 1
	return drawn
}

func Roll(sides uint8) int { return dice.Intn(int(sides)+1) + Bonus(sides) }

func Fixed(sides uint8) int { return fixed.Intn(int(sides)+1) }

func Bonus(n uint8) int { return int(n) / 2 }
`

// What varies in some calls does not hide a difference in others.
func TestWhatVariesHidesNoDifference(t *testing.T) {
	testrun.Live(t, "builds and calls pairs of versions")
	tests := []struct {
		name, was, is string
		in            string // the function that differs
	}{
		{"a parser of what a constructor makes", "	return id, nil\n}\n\nfunc (id ID) String", "	id[3] &^= 1\n\treturn id, nil\n}\n\nfunc (id ID) String", "Parse"},
		{"a method on what a constructor makes", "return hex.EncodeToString(id[:]) }", `s := []byte(hex.EncodeToString(id[:])); if s[0] == '1' { s[0] = '2' }; return string(s) }`, "ID.String"},
		{"a method that gives a number", "int(id[2]>>4) }", "int(id[2]>>4)|1 }", "ID.Version"},
		{"a function that draws by itself only where it is told to", "sum*10", "sum*11", "Draw"},
		{"a list that is in order only where it is told to", "sort.Ints(keys)", "sort.Sort(sort.Reverse(sort.IntSlice(keys)))", "Keys"},
		{"a count that the package holds", "drawn += int(step%3) + 1", "drawn += int(step%3) + 2", "Next"},
		{"numbers that are the same in each process", "fixed.Intn(int(sides)+1)", "fixed.Intn(int(sides)+2)", "Fixed"},
		{"what is added to what varies", "int(n) / 2", "int(n+1) / 2", "Bonus"},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if i > 0 {
				testrun.Nightly(t, "another way to vary, in another pair of versions")
			}
			if strings.Count(idOld, tt.was) != 1 {
				t.Fatalf("%q is not there once", tt.was)
			}
			p, grave := alarmsOf(t, idOld, strings.Replace(idOld, tt.was, tt.is, 1), Options{Executions: 3000})
			if p.Verdict != report.Different || !slices.ContainsFunc(grave, func(d report.Difference) bool { return d.Function == tt.in || slices.Contains(d.Also, tt.in) }) {
				t.Errorf("it is %s: %q, %+v; want a difference in %s", p.Verdict, p.Reasons, grave, tt.in)
			}
			for _, d := range grave {
				t.Logf("%s: %s: %s → %s", d.Call, d.What, d.Old, d.New)
			}
		})
	}
}

// What does the same is proven, however much varies beside it; what varies by itself is not.
func TestWhatVariesIsNoDifference(t *testing.T) {
	testrun.Live(t, "builds and calls pairs of versions")
	tests := []struct {
		name    string
		replace []string
		doubt   string // a part of it; "" is that it is proven
	}{
		{"a parser, and methods on what a constructor makes", []string{
			"	if _, err := hex.Decode(id[:], []byte(s)); err != nil {\n		return id, err\n	}\n	return id, nil",
			"	_, err := hex.Decode(id[:], []byte(s))\n	return id, err",
			"return hex.EncodeToString(id[:]) }", "return string(hex.AppendEncode(make([]byte, 0, 8), id[:])) }",
			"int(id[2]>>4) }", "int(id[2]/16) }",
		}, ""},
		{"a count that the package holds, and numbers that are the same in each process", []string{
			"drawn += int(step%3) + 1\n	return drawn", "drawn = drawn + 1 + int(step%3)\n	return drawn",
			"fixed.Intn(int(sides)+1)", "fixed.Intn(1+int(sides))",
		}, ""},
		{"a function that draws by itself where it is told to", []string{"sum*10 + int(c)", "int(c) + 10*sum"}, "result of Draw"},
		{"the constructor", []string{"	rand.Read(id[:])\n	return id", "	io.ReadFull(rand.Reader, id[:])\n	return id"}, "of New"},
		{"numbers that are others in each process", []string{"dice.Intn(int(sides)+1)", "dice.Intn(1+int(sides))"}, "of Roll"},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			seeds := uint64(1)
			if i > 0 {
				testrun.Nightly(t, "another way to vary, in another pair of versions")
			}
			if testrun.InNightly() {
				seeds = 3
			}
			for seed := range seeds {
				p, grave := alarmsOf(t, idOld, strings.NewReplacer(tt.replace...).Replace(idOld), Options{Executions: 6000, Seed: seed})
				switch {
				case len(grave) > 0:
					t.Errorf("seed %d: there are differences: %+v", seed, grave)
				case tt.doubt == "" && p.Verdict != report.Proven:
					t.Errorf("seed %d: it is %s: %q, %q; want it proven", seed, p.Verdict, p.Reasons, p.Notes)
				case tt.doubt != "" && (p.Verdict != report.NotProven || !slices.ContainsFunc(p.Doubts, func(d report.Doubt) bool {
					return strings.HasPrefix(d.Text, "not compared, ") && strings.Contains(d.Text, tt.doubt)
				})):
					t.Errorf("seed %d: it is %s: %q; want it not proven, for %s", seed, p.Verdict, p.Doubts, tt.doubt)
				}
			}
		})
	}
}

// A version that varies where the old one does not is not proven, however seldom that shows.
func TestWhatVariesInTheNewVersionAlone(t *testing.T) {
	testrun.Nightly(t, "calls a pair of versions thousands of times, and what varies in many processes")
	const old = `package one

import "math/rand"

var none = rand.Intn(1)

func Double(n int) int { return n + n + none }
`
	p, _ := alarmsOf(t, old, strings.Replace(old, "return n + n + none", "if rand.Intn(12) == 0 { return n + n + 1 }; return n + n + none", 1), Options{Executions: 3000})
	const want = "results vary from call to call of the new version alone: Double"
	if p.Verdict == report.Proven || p.Verdict == report.NotProven && !slices.ContainsFunc(p.Doubts, func(d report.Doubt) bool { return d.Text == want }) {
		t.Errorf("it is %s: %q; want a doubt: %s", p.Verdict, p.Doubts, want)
	}
}
