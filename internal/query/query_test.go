package query

import (
	"errors"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var parseTests = []struct {
	in   string
	want Query
	out  string // what String returns; "" is in
	url  string
}{
	{in: "", want: Query{}, url: "/"},
	{in: "top", want: Query{View: "top"}, url: "/top"},
	{
		in:   "top limit=20 focus=json by=line",
		want: Query{View: "top", Limit: 20, Steps: []Step{{Focus, "json"}}, By: "line"},
		out:  "top focus=json by=line limit=20",
		url:  "/top?focus=json&by=line&limit=20",
	},
	{
		in:   "list 'json.Unmarshal' metric=alloc_space",
		want: Query{View: "list", Arg: "json.Unmarshal", Metric: "alloc_space"},
		out:  "list json.Unmarshal metric=alloc_space",
		url:  "/list?arg=json.Unmarshal&metric=alloc_space",
	},
	{
		in:   `peek main focus="a b"`,
		want: Query{View: "peek", Arg: "main", Steps: []Step{{Focus, "a b"}}},
		out:  "peek main focus='a b'",
		url:  "/peek?arg=main&focus=a+b",
	},
	{
		in:   `list (*Decoder).Decode$ read`,
		want: Query{View: "list", Arg: `\(\*Decoder\).Decode$|read`},
		out:  `list '\(\*Decoder\).Decode$|read'`,
		url:  "/list?arg=%5C(%5C*Decoder%5C).Decode$%7Cread",
	},
	{
		in:   `top ignore=a focus=b tag=k=v ignore=c tag-root=x,y`,
		want: Query{View: "top", Steps: []Step{{Ignore, "a"}, {Focus, "b"}, {TagFocus, "k=v"}, {Ignore, "c"}, {TagRoot, "x,y"}}},
		url:  "/top?ignore=a&focus=b&tag=k=v&ignore=c&tag-root=x,y",
	},
	{in: "top cum", want: Query{View: "top", Sort: "cum"}, url: "/top?sort=cum"},
	{in: "top sort=flat", want: Query{View: "top", Sort: "flat"}, url: "/top?sort=flat"},
	{in: "top noinlines relative", want: Query{View: "top", NoInlines: true, Relative: true}, url: "/top?noinlines=true&relative=true"},
	{in: "top noinlines=true noinlines=false", want: Query{View: "top"}, out: "top", url: "/top"},
	{in: "top cum sort=flat", want: Query{View: "top", Sort: "flat"}, out: "top sort=flat", url: "/top?sort=flat"},
	{in: "focus=x limit=3", want: Query{Steps: []Step{{Focus, "x"}}, Limit: 3}, url: "/?focus=x&limit=3"},
	{in: "cum", want: Query{Sort: "cum"}, url: "/?sort=cum"},
	{in: "'' x", want: Query{Arg: "x"}, url: "/?arg=x"},
	{in: "list 'cum'", want: Query{View: "list", Arg: "cum"}, url: "/list?arg=cum"},
	{in: "list 'noinlines'", want: Query{View: "list", Arg: "noinlines"}, url: "/list?arg=noinlines"},
	{in: "list focus", want: Query{View: "list", Arg: "focus"}, url: "/list?arg=focus"},
	{in: "list 'a=b'", want: Query{View: "list", Arg: "a=b"}, url: "/list?arg=a=b"},
	{in: `list a"=b"`, want: Query{View: "list", Arg: "a=b"}, out: "list 'a=b'", url: "/list?arg=a=b"},
	{in: "list ''", want: Query{View: "list"}, out: "list", url: "/list"},
	{
		in:   `top focus="it's \"a\" \\ b\.c"`,
		want: Query{View: "top", Steps: []Step{{Focus, `it's "a" \ b\.c`}}},
		out:  `top focus='it'"'"'s "a" \ b\.c'`,
		url:  "/top?focus=it%27s+%22a%22+%5C+b%5C.c",
	},
	{
		in:   `top focus=it"'"s`,
		want: Query{View: "top", Steps: []Step{{Focus, "it's"}}},
		out:  `top focus="it's"`,
		url:  "/top?focus=it%27s",
	},
	{
		in:   `top focus=json\.Un`,
		want: Query{View: "top", Steps: []Step{{Focus, `json\.Un`}}},
		out:  `top focus='json\.Un'`,
		url:  "/top?focus=json%5C.Un",
	},
	{in: "top min=0.5%", want: Query{View: "top", Min: 0.005}, out: "top min=0.005", url: "/top?min=0.005"},
	{in: "top min=0 min-edge=0 limit=all", want: Query{View: "top", Min: -1, MinEdge: -1, Limit: -1}, out: "top limit=all min=0 min-edge=0", url: "/top?limit=all&min=0&min-edge=0"},
	{in: "top limit=-1", want: Query{View: "top", Limit: -1}, out: "top limit=all", url: "/top?limit=all"},
	{in: "top divide=2.5 unit=ms", want: Query{View: "top", Divide: 2.5, Unit: "ms"}, url: "/top?divide=2.5&unit=ms"},
	{in: "top by=label:endpoint", want: Query{View: "top", By: "label:endpoint"}, url: "/top?by=label:endpoint"},
	{
		in:   "diff ref=a.pprof ref='b c' base=http://h:6060/x?y=1",
		want: Query{View: "diff", Refs: []string{"a.pprof", "b c"}, Base: []string{"http://h:6060/x?y=1"}},
		out:  "diff ref=a.pprof ref='b c' base='http://h:6060/x?y=1'",
		url:  "/diff?ref=a.pprof&ref=b+c&base=http://h:6060/x%3Fy=1",
	},
	{in: "top tag=bytes=1kb:64mb tag-ignore=+5kb tag=a,b", want: Query{View: "top", Steps: []Step{{TagFocus, "bytes=1kb:64mb"}, {TagIgnore, "+5kb"}, {TagFocus, "a,b"}}}, url: "/top?tag=bytes=1kb:64mb&tag-ignore=%2B5kb&tag=a,b"},
	{in: "top\tunit=μs\n", want: Query{View: "top", Unit: "μs"}, out: "top unit=μs", url: "/top?unit=%CE%BCs"},
}

func TestParse(t *testing.T) {
	for _, tt := range parseTests {
		got, err := Parse(tt.in)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("Parse(%s) = %+v, %v, want %+v", tt.in, got, err, tt.want)
			continue
		}
		out := tt.out
		if out == "" {
			out = tt.in
		}
		if s := got.String(); s != out {
			t.Errorf("Parse(%s).String() = %s, want %s", tt.in, s, out)
		}
		if u := got.URL(); u != tt.url {
			t.Errorf("Parse(%s).URL() = %s, want %s", tt.in, u, tt.url)
		}
		roundTrip(t, got)
	}
}

// roundTrip checks that all spellings of q are read as q.
func roundTrip(t *testing.T, q Query) {
	t.Helper()
	if got, err := Parse(q.String()); err != nil || !reflect.DeepEqual(got, q) {
		t.Errorf("Parse(%q) = %#v, %v, want %#v", q.String(), got, err, q)
	}
	u, err := url.Parse(q.URL())
	if err != nil {
		t.Fatalf("URL() = %q: %v", q.URL(), err)
	}
	if got, err := Grammar(nil).FromURL(u); err != nil || !reflect.DeepEqual(got, q) {
		t.Errorf("FromURL(%s) = %#v, %v, want %#v", u, got, err, q)
	}
}

func TestParseErrors(t *testing.T) {
	top := Grammar(func(view string) ([]string, error) {
		if view != "top" {
			return nil, errors.New("unknown view " + view)
		}
		return []string{"focus", "limit", "metric", "show-from", "sort"}, nil
	})
	tests := []struct{ in, err string }{
		{"top fcous=json", `unknown key "fcous"; did you mean focus?; the keys of top are focus, limit, metric, show-from, sort`},
		{"top zzz=json", `unknown key "zzz"; the keys of top are focus, limit, metric, show-from, sort`},
		{"top show_from=json", `unknown key "show_from"; did you mean show-from?; the keys of top are focus, limit, metric, show-from, sort`},
		{"top sample_index=1", `unknown key "sample_index"; did you mean metric?; the keys of top are focus, limit, metric, show-from, sort`},
		{"top by=line", `top has no key by; its keys are focus, limit, metric, show-from, sort`},
		{"tpo focus=json", `unknown view tpo`},
		{"top limit=many", `limit="many": want a number of rows, or all`},
		{"top limit=-2", `limit="-2": want a number of rows, or all`},
		{"top focus=", `focus="": want a regexp`},
		{"top sort=cmu", `sort="cmu": want flat or cum; did you mean cum?`},
		{"top focus=json.(Unm", `focus="json.(Unm": missing closing ) at character 6, "(Unm"`},
		{"top focus='a b", `top focus='a b: the quote at character 11 is not closed`},
		{`top focus="a\"`, `top focus="a\": the quote at character 11 is not closed`},
	}
	for _, tt := range tests {
		if q, err := top.Parse(tt.in); err == nil || err.Error() != tt.err {
			t.Errorf("Parse(%s) = %+v, %v, want error %s", tt.in, q, err, tt.err)
		}
	}
}

func TestValueErrors(t *testing.T) {
	tests := []struct{ in, err string }{
		{"fcous=json", `unknown key "fcous"; did you mean focus?; the keys are ref, base,`},
		{"by=fucntion", `by="fucntion": want function, filefunction, line, file, package, module, address or label:KEY; did you mean function?`},
		{"by=label:", `by="label:": want function,`},
		{"min=5", `min="5": want a share of the total such as 0.5% or 0.005`},
		{"min=NaN", `min="NaN": want a share`},
		{"min=-1", `min="-1": want a share`},
		{"divide=0", `divide="0": want a number above 0`},
		{"divide=Inf", `divide="Inf": want a number above 0`},
		{"noinlines=maybe", `noinlines="maybe": want true or false`},
		{"focus=a**", `focus="a**": invalid nested repetition operator at character 2, "**"`},
		{"focus=*a", `focus="*a": missing argument to repetition operator at character 1, "*a"`},
		{"focus=ab)c", `focus="ab)c": unexpected ) at character 3, ")c"`},
		{"focus=äb[z-a]", `focus="äb[z-a]": invalid character class range at character 4, "z-a]"`},
		{"focus=a|x{2,1}", `focus="a|x{2,1}": invalid repeat count at character 4, "{2,1}"`},
		{"focus=a\\8", `focus="a\8": invalid escape sequence at character 2, "\8"`},
		{"focus=((a)", `focus="((a)": missing closing ) at character 1, "((a)"`},
		{"focus=a\\", `focus="a\": trailing backslash at end of expression at character 2, "\"`},
		{"focus=a[", `focus="a[": missing closing ] at character 2, "["`},
		{"focus=a\xff", `focus="a\xff": invalid UTF-8 at character 2, "\xff"`},
		{"focus=" + strings.Repeat("a", 600) + "(", "missing closing )"},
		{"tag=k=a,b(", `tag="k=a,b(": missing closing ) at character 6, "("`},
		{"tag=", `tag="": want KEY=REGEXP`},
	}
	for _, tt := range tests {
		if q, err := Parse(tt.in); err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("Parse(%s) = %+v, %v, want error %s", tt.in, q, err, tt.err)
		}
	}
}

func TestFromURL(t *testing.T) {
	tests := []struct {
		in   string
		want Query
		err  string
	}{
		{in: "/top?focus=a&ignore=b&focus=c", want: Query{View: "top", Steps: []Step{{Focus, "a"}, {Ignore, "b"}, {Focus, "c"}}}},
		{in: "/top?noinlines&cum&&relative=", want: Query{View: "top", NoInlines: true, Sort: "cum", Relative: true}},
		{in: "/list?arg=a&arg=&arg=b", want: Query{View: "list", Arg: "a|b"}},
		{in: "/top?fcous=a", err: `unknown key "fcous"; did you mean focus?; the keys of top are`},
		{in: "/top?focus=%zz", err: `reading "focus=%zz" of a URL`},
		{in: "/top?limit=", err: `limit="": want a number of rows`},
	}
	for _, tt := range tests {
		u, err := url.Parse(tt.in)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Grammar(nil).FromURL(u)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("FromURL(%s) = %+v, %v, want error %s", tt.in, got, err, tt.err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("FromURL(%s) = %+v, %v, want %+v", tt.in, got, err, tt.want)
		}
	}
}

// TestKeys checks that the table keeps its own promises.
func TestKeys(t *testing.T) {
	shorts := map[string]string{}
	for i := range Keys {
		k := &Keys[i]
		if !isName(k.Name) || Find(k.Name) != k {
			t.Errorf("key %q: not a name, or not the only one", k.Name)
		}
		if k.Name == argument || k.Name == Cum {
			t.Errorf("key %q: the name means something else", k.Name)
		}
		if k.Short != "" && shorts[k.Short] != "" {
			t.Errorf("keys %s and %s have the same letter", k.Name, shorts[k.Short])
		}
		shorts[k.Short] = k.Name
		if k.Doc == "" || strings.HasSuffix(k.Doc, ".") || k.want == "" {
			t.Errorf("key %s: doc is %q and want %q", k.Name, k.Doc, k.want)
		}
		if k.op != "" && string(k.op) != k.Name {
			t.Errorf("key %s adds step %s", k.Name, k.op)
		}
		if k.Switch() {
			continue
		}
		values := append([]string{k.Example}, k.Choices...)
		for _, v := range values {
			if strings.HasSuffix(v, ":") {
				v += "x"
			}
			var q Query
			if err := k.Set(&q, v); err != nil || reflect.DeepEqual(q, Query{}) {
				t.Errorf("%s=%s: %+v, %v", k.Name, v, q, err)
			}
			if err := k.Set(&q, v); err != nil || k.Repeats != (len(q.Refs)+len(q.Base)+len(q.BaseTags)+len(q.Steps) == 2) {
				t.Errorf("%s=%s twice: %+v, %v; repeats is %v", k.Name, v, q, err, k.Repeats)
			}
			roundTrip(t, q)
		}
	}
	if fields := reflect.TypeFor[Query]().NumField(); fields != 3+len(Keys)-13 {
		t.Errorf("%d keys for %d fields; besides View, Arg and PProf each has one key, and Steps has 14", len(Keys), fields)
	}
}

func TestNearest(t *testing.T) {
	tests := []struct{ name, want string }{
		{"fcous", "focus"}, {"focu", "focus"}, {"foccuss", "focus"}, {"tpo", "top"}, {"to", "top"},
		{"", ""}, {"zebra", ""}, {"tops", "top"}, {"tpos", ""}, {"tip", "top"}, {"abc", ""}, {"limits", "limit"}, {"xlmt", ""},
		{strings.Repeat("focus", 1000), ""},
	}
	for _, tt := range tests {
		if got := Nearest(tt.name, []string{"focus", "limit", "top"}); got != tt.want {
			t.Errorf("Nearest(%.20q) = %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A drawer draws parts of a query from the bytes of a fuzzer.
type drawer struct{ data []byte }

func (d *drawer) below(n int) int {
	if len(d.data) == 0 {
		return 0
	}
	v := int(d.data[0]) % n
	d.data = d.data[1:]
	return v
}

func (d *drawer) text() string {
	n := min(d.below(20), len(d.data))
	s := string(d.data[:n])
	d.data = d.data[n:]
	return s
}

// value draws what k takes, or "".
func (d *drawer) value(k *Key) string {
	if k.Choices != nil {
		v := k.Choices[d.below(len(k.Choices))]
		if strings.HasSuffix(v, ":") {
			v += "x" + d.text()
		}
		return v
	}
	v := d.text()
	if k.op != "" && d.below(2) == 1 {
		v = regexp.QuoteMeta(v)
	}
	return v
}

func (d *drawer) query() Query {
	var q Query
	q.View, q.Arg = d.text(), d.text()
	for len(d.data) > 0 {
		k := &Keys[d.below(len(Keys))]
		if k.Set(&q, d.value(k)) != nil {
			continue // not valid
		}
	}
	return q
}

// FuzzString holds that all spellings of a query are read as that query.
func FuzzString(f *testing.F) {
	f.Add([]byte("\x03top\x02a b\x03\x05json x\x01\x04\x03a=b\x01"))
	f.Add([]byte("\x00\x01x\x00\x02'\"\x11\x02\x12\x0225"))
	f.Add([]byte("\x03cum\x09noinlines\x0f\x07\x7fab'cd\\"))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := drawer{data}
		roundTrip(t, d.query())
	})
}

// FuzzParse holds that what Parse reads it reads again from what String writes.
func FuzzParse(f *testing.F) {
	for _, tt := range parseTests {
		f.Add(tt.in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if q, err := Parse(in); err == nil {
			roundTrip(t, q)
		}
	})
}

// FuzzFromURL holds the same for URLs.
func FuzzFromURL(f *testing.F) {
	for _, tt := range parseTests {
		f.Add(tt.url)
	}
	f.Fuzz(func(t *testing.T, in string) {
		u, err := url.Parse(in)
		if err != nil {
			return
		}
		if q, err := Grammar(nil).FromURL(u); err == nil {
			roundTrip(t, q)
		}
	})
}

// TestOn holds that settings come on those of a base, and filters behind its own.
func TestOn(t *testing.T) {
	base, err := Parse("focus=a by=line limit=5 cum ignore=b unit=ms")
	if err != nil {
		t.Fatal(err)
	}
	q, err := Parse("top limit=7 hide=c")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := q.On(base, []string{"focus", "ignore", "limit", "sort", "by"}).String(), "top limit=7 by=line cum focus=a ignore=b hide=c"; !sameWords(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := q.On(base, nil).String(); got != q.String() {
		t.Errorf("without keys: got %s, want %s", got, q.String())
	}
}

// sameWords reports whether two texts have the same words, with steps in the same order.
func sameWords(a, b string) bool {
	steps := func(s string) (steps, rest []string) {
		for _, w := range strings.Fields(s) {
			if name, _, _ := strings.Cut(w, "="); Find(name) != nil && Find(name).op != "" {
				steps = append(steps, w)
			} else {
				rest = append(rest, w)
			}
		}
		slices.Sort(rest)
		return steps, rest
	}
	as, ar := steps(a)
	bs, br := steps(b)
	return slices.Equal(as, bs) && slices.Equal(ar, br)
}
