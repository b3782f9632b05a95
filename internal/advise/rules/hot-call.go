package rules

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/calls"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/advise/facts/once"
	"github.com/hone-perf/hone/internal/advise/facts/pool"
	"github.com/hone-perf/hone/internal/advise/facts/symbol"
)

var hotCall = &advise.Rule{
	Name: "hot-call", Rank: 0, Vague: true,
	Doc: "a call of a library allocates much of what the program does",

	NoFix: "the code does not say whether the result can be kept, or left out",
	Find: func(p *advise.Pass) {
		hotLines(p, func(n ast.Node, l *cost.Line) {
			by := map[string]*cost.Cost{}
			for _, c := range l.Chains {
				if fn := c.First(); fn != "" && !symbol.IsRuntime(fn) && !p.Mine(fn) && !talks(fn) {
					if by[fn] == nil {
						by[fn] = new(cost.Cost)
					}
					by[fn].Add(&c.Cost)
				}
			}
			most := ""
			for fn, c := range by {
				if most == "" || p.Costs.Weight(c) > p.Costs.Weight(by[most]) || p.Costs.Weight(c) == p.Costs.Weight(by[most]) && fn < most {
					most = fn
				}
			}
			if most == "" || p.Knows(p.Name, most) {
				return
			}
			c := *by[most]
			if !shows(p, &c, hotCPU) {
				return
			}
			if pool.InNew(p.Func, n) != nil && getters(p, l) != nil {
				return // who calls Get is told
			}
			name := symbol.Short(most)
			what, risk := unknownCallee(p.Func, most, n), "what is used again is seen by all who have it"
			if k := knownCallee(most); k != nil {
				what = *k
				if strings.Contains(k.advice, "(Grow)") && hasGrown(p.Func, n) {
					what.claim = "the room that Grow made is too small: " + what.claim
					what.advice = "make more room where it is known how much there will be, or use a buffer again"
				}
			}
			if pool.InNew(p.Func, n) != nil {
				what.title, what.claim, what.advice = emptyPool.title, emptyPool.claim, emptyPool.advice
			}
			switch {
			case p.Startup(n):
				what.title, what.claim, what.advice = "work done when the program starts", name+" is called here before main", laterAdvice
				risk = "who asks first has to wait for it"
			case p.Once(n) != once.Often:
				what.title = name + " allocates much in one call"
			}
			p.Report(n, c, advise.Finding{Title: what.title, Claim: what.claim, Advice: what.advice, Callee: most, Risk: risk})
		})
	},
}

// A callee is a function of another module, or some of them, that costs more than it looks.
type callee struct {
	prefix               string // of its name, as profiles have it
	title, claim, advice string
}

// Longer prefixes come before shorter ones, so that a function which an entry advises to call has an entry of its own.
var callees = []callee{
	{"strings.(*Builder).Grow", "Builder grown in one step", "Grow makes the array that the text is in, which is handed out with it", "where the text is only written or looked at, put it into a buffer that is used again"},
	{"bytes.(*Buffer).Grow", "room made for a buffer", "Grow makes a new array where there is too little room, which is garbage when nobody has the buffer any more", "use one buffer again, after Reset"},
	{"slices.Grow", "room made for a slice", "slices.Grow makes a larger array where there is too little room, and copies what is in the old one", "begin with a slice that was used before, cut to [:0]"},
	{"bytes.(*Buffer).String", "string copied out of a Buffer", "String copies the bytes into a text of its own", "use Bytes where nobody keeps it, or a strings.Builder, which hands out what it has"},
	{"bytes.(*Buffer).ReadFrom", "buffer grown on every call", "a new buffer grows step by step, each time", "begin with room for what is usual (Grow), or use a buffer again"},
	{"bytes.(*Buffer).Read", "bytes copied out of a buffer", "what is returned is a copy", "Next returns the bytes where they are, until something is written to the buffer"},
	{"strings.SplitSeq", "iterator over the parts of a string", "the function that walks over the parts is an object of its own where the compiler does not inline it", "take the parts off one by one with Cut"},
	{"strings.SplitAfterSeq", "iterator over the parts of a string", "the function that walks over the parts is an object of its own where the compiler does not inline it", "take the parts off one by one with Index"},
	{"strings.FieldsSeq", "iterator over the parts of a string", "the function that walks over the parts is an object of its own where the compiler does not inline it", "find the parts by their index"},
	{"strings.FieldsFuncSeq", "iterator over the parts of a string", "the function that walks over the parts is an object of its own where the compiler does not inline it", "find the parts by their index"},
	{"strconv.Append", "string appended to bytes that grow", "where the bytes have no room left, a larger array is made, and what is in the old one copied", "begin with bytes that have room, or that were used before"},
	{"fmt.Sscan", "input parsed by fmt", "fmt reads rune by rune, through an interface, and looks at the types of what it is to fill each time", "take the text apart with Cut and Index, and read numbers with strconv"},
	{"fmt.Fscan", "input parsed by fmt", "fmt reads rune by rune, through an interface, and looks at the types of what it is to fill each time", "read a line with a bufio.Scanner, and take it apart with bytes.Cut and strconv"},
	{"encoding/xml.(*Decoder).RawToken", "XML token by token", "each token is an object in an interface, with a copy of its text", "look for the few names that matter in the bytes themselves, where the form is fixed"},
	{"sync.(*Pool).Get", "sync.Pool that is often empty", "Get calls the New of the pool when there is nothing in it", "see that all that Get hands out comes back through Put, on every way out of the function"},
	{"regexp.(*Regexp).", "regular expression on a hot path", "a regular expression is matched step by step by a machine that was made for all of them, and what it finds is a new slice",
		"take a text of a simple form apart by hand: with Cut, IndexByte, a loop over its bytes; or look first whether it can match at all"},
	{"math/big.", "big numbers allocated in every step", "each call makes a new number with an array of its own, where the result does not go into one that was used before",
		"let the result go into a number that is kept (z.Add(z, x)), make constants once; where 128 bits do, use two uint64 and math/bits"},
	{"strings.ToLower", "string lower-cased or upper-cased on every call", "a new text is made for each one that has a letter of the other case", "compare with EqualFold, keep what is asked for again, or change the case of bytes where they are"},
	{"strings.ToUpper", "string lower-cased or upper-cased on every call", "a new text is made for each one that has a letter of the other case", "compare with EqualFold, keep what is asked for again, or change the case of bytes where they are"},
	{"strings.Split", "string split on every call", "the parts are put into a new slice", "take the parts off one by one with Cut, or range over SplitSeq"},
	{"strings.Fields", "string split on every call", "the parts are put into a new slice", "range over FieldsSeq, or find the parts by their index"},
	{"strings.Join", "strings joined on every call", "a new text is made of all of them", "append them to where the text belongs in the end"},
	{"strings.Repeat", "string repeated on every call", "a new text is made each time", "keep a long one, and take as much of it as is needed; or write to a buffer"},
	{"strings.Replace", "string replacement on every call", "each replacement makes a new text", "go through the text once, and write to a buffer; or do without where there is nothing to replace"},
	{"fmt.", "fmt on a hot path", "fmt looks at its format and at the types of its arguments each time, and what it is given is put on the heap", "write with strconv and append, or +"},
	{"strconv.Quote", "string quoted on every call", "each one is a text of its own", "append it to where it belongs, with strconv.AppendQuote"},
	{"strconv.Unquote", "quoted string parsed on every call", "what has escapes in it becomes a new text, or all of it", "take the quotes off where nothing is escaped"},
	{"strconv.Parse", "number parsed on a hot path", "where it is none, the error is a new object with a copy of the text", "look first whether it can be one, or read digits by hand"},
	{"strconv.Atoi", "number parsed on a hot path", "where it is none, the error is a new object with a copy of the text", "look first whether it can be one, or read digits by hand"},
	{"strconv.", "number formatted on every call", "each one is a text of its own", "append it to where it belongs, with strconv.Append…"},
	{"encoding/json.", "JSON through reflection on a hot path", "package json looks types up, and allocates what it reads", "decode into a struct that is used again, or write a decoder for what comes often"},
	{"sort.", "sorted through an interface", "Less and Swap are called through an interface, which is put on the heap", "package slices sorts by type"},
	{"errors.New", "errors created on every call", "each error is a new object, though it may be dropped by the caller", "return one that is made once, or a bool"},
	{"bytes.(*Buffer).", "buffer grown on every call", "a new buffer grows step by step, each time", "begin with room for what is usual (Grow), or use a buffer again"},
	{"strings.(*Builder).", "Builder grown on every call", "a new Builder grows step by step, each time", "begin with room for what is usual (Grow)"},
	{"time.Time.Format", "time formatted on every call", "the layout is read each time, and the text is a new one", "AppendFormat writes it to where it belongs"},
	{"time.Time.String", "time formatted on every call, by String", "the layout is read each time, and the text is a new one", "AppendFormat writes it to where it belongs"},
	{"time.Duration.String", "duration formatted on every call", "each one is a text of its own", "append its number of seconds with strconv, or keep the texts that come often"},
	{"time.ParseDuration", "duration parsed on every call", "its numbers and units are looked at one by one", "keep what was read where the texts are the same"},
	{"time.Parse", "time parsed on every call", "the layout is read each time, and a zone that is named may be a new object", "keep what was read where many texts are the same, or read a fixed form digit by digit"},
	{"time.LoadLocation", "time zone loaded on every call", "its file is read and taken apart each time", "load it once, and keep it"},
	{"net/url.(*URL).Query", "query parsed on every call", "a map is made, and a list for each key", "ask it once for each request, or look for the one key with Cut"},
	{"net/url.ParseQuery", "query parsed on every call", "a map is made, and a list for each key", "ask it once for each request, or look for the one key with Cut"},
	{"net/url.Values.Encode", "query encoded on every call", "the keys are sorted, and each one is escaped into a text of its own", "keep the text where the values are the same, or write them in a fixed order"},
	{"net/url.Parse", "URL parsed on every call", "each URL is a new object, with texts of what was escaped", "keep what was taken apart, or look for the part that is needed with Cut"},
	{"net.ParseIP", "IP address as a list of bytes", "each address is a new list of 16 bytes", "netip.Addr is a value, and needs no memory of its own"},
	{"net.IP.", "IP address as a list of bytes", "each address, and each text of one, is new", "netip.Addr is a value, and AppendTo writes its text to where it belongs"},
	{"net.ParseCIDR", "network as lists of bytes", "each network is a new object with lists for its address and its mask", "netip.Prefix is a value, and needs no memory of its own"},
	{"strings.Map", "string mapped rune by rune on every call", "a function is called for each rune, and from the first one that changes on the text is a new one", "look first whether anything has to change, and go over bytes where that is enough"},
	{"strings.NewReader", "reader allocated on every call", "each one is a new object as soon as it goes through an interface", "keep one, and Reset it"},
	{"bytes.NewReader", "reader allocated on every call", "each one is a new object as soon as it goes through an interface", "keep one, and Reset it"},
	{"bytes.NewBuffer", "buffer object allocated on every call", "each one is a new object as soon as it goes through an interface", "keep one and Reset it, or take it from a pool"},
	{"bufio.New", "bufio reader or writer allocated on every call", "each one has 4 kB of its own, or what it was told", "keep one and Reset it, or take it from a pool"},
	{"bufio.(*Scanner).Text", "line copied to a string on every call", "each line is copied into a text of its own", "Bytes is the same without a copy, where nothing keeps it"},
	{"encoding/hex.EncodeToString", "bytes encoded to a new string", "the text is a new one", "hex.AppendEncode writes it to where it belongs"},
	{"encoding/hex.DecodeString", "bytes decoded to a new slice", "the list is a new one each time", "hex.Decode reads into one that is used again"},
	{"encoding/base64.(*Encoding).EncodeToString", "bytes encoded to a new string", "the text is a new one", "AppendEncode writes it to where it belongs"},
	{"encoding/base64.(*Encoding).DecodeString", "bytes decoded to a new slice", "the list is a new one each time", "AppendDecode reads into one that is used again"},
	{"encoding/csv.(*Reader).", "record allocated for every line", "each record is a new list, with one text of all its fields", "ReuseRecord reads into the list that is there"},
	{"encoding/xml.", "XML through reflection on a hot path", "package xml looks types up, and makes objects of what it reads", "read tokens (RawToken), or write text where the form is fixed"},
	{"encoding/gob.", "gob through reflection on a hot path", "an Encoder or Decoder that is made for each value has its types to tell or to learn again", "keep one for the whole stream, or write the fields by hand"},
	{"crypto/md5.New", "hash allocated on every call", "the state of a hash is a new object each time", "md5.Sum takes bytes at once; or keep one, and Reset it"},
	{"crypto/sha1.New", "hash allocated on every call", "the state of a hash is a new object each time", "sha1.Sum takes bytes at once; or keep one, and Reset it"},
	{"crypto/sha256.New", "hash allocated on every call", "the state of a hash is a new object each time", "sha256.Sum256 takes bytes at once; or keep one, and Reset it"},
	{"crypto/sha512.New", "hash allocated on every call", "the state of a hash is a new object each time", "sha512.Sum512 takes bytes at once; or keep one, and Reset it"},
	{"crypto/hmac.New", "HMAC allocated on every call", "two states of the hash are new objects, and the key goes through both, each time", "keep one for each key, and Reset it"},
	{"hash/fnv.New", "hash allocated on every call", "the hash is a new object, since it goes through an interface", "keep one and Reset it, or add up the two lines of FNV by hand"},
	{"hash/maphash.(*Hash)", "hash allocated on every call", "a Hash has a buffer of its own", "maphash.String and maphash.Bytes need none"},
	{"crypto/rand.", "random bytes read piece by piece", "each call asks the system", "ask for many at once, and take the bytes from there; or math/rand/v2 where nobody must guess them"},
	{"container/heap.", "container/heap on a hot path", "Less, Swap, Push and Pop are called through an interface, and what is pushed is put on the heap", "a heap of the own type in a slice needs neither"},
	{"container/list.", "container/list on a hot path", "each element is an object of its own, with a value of any type", "a slice, or a ring in one, keeps them together"},
	{"sync.(*Map).", "sync.Map on a hot path", "keys and values are of any type, which puts them on the heap, and each new value is an object", "where keys come and go, a map of the own types with a mutex; where they stay, keep what was loaded"},
	{"context.With", "context created on every call", "each one is a new object, and one that can be ended has more of them", "make one for all that ends together, and hand values over as arguments"},
	{"path/filepath.Join", "path joined or cleaned on every call", "it is cleaned again, and is a text of its own where that changes something", "keep it, or add a slash and the name where both parts are clean"},
	{"path/filepath.Clean", "path joined or cleaned on every call", "it is cleaned again, and is a text of its own where that changes something", "keep it, or add a slash and the name where both parts are clean"},
	{"path/filepath.Abs", "path joined or cleaned on every call", "it is cleaned again, and is a text of its own where that changes something", "keep it, or add a slash and the name where both parts are clean"},
	{"path/filepath.Rel", "path joined or cleaned on every call", "it is cleaned again, and is a text of its own where that changes something", "keep it, or add a slash and the name where both parts are clean"},
	{"path.Join", "path joined or cleaned on every call", "it is cleaned again, and is a text of its own where that changes something", "keep it, or add a slash and the name where both parts are clean"},
	{"path.Clean", "path joined or cleaned on every call", "it is cleaned again, and is a text of its own where that changes something", "keep it, or add a slash and the name where both parts are clean"},
	{"text/template.(*Template).Execute", "template executed on a hot path", "fields and methods are looked up through reflection each time", "keep what it made where the data is the same, or write what comes often by hand"},
	{"html/template.(*Template).Execute", "template executed on a hot path", "fields and methods are looked up through reflection, and texts are escaped, each time", "keep what it made where the data is the same, or write what comes often by hand"},
	{"slices.Clone", "slice copied on every call", "the copy is a new list each time", "hand out the list itself where nobody changes it, or append to one that is used again"},
	{"slices.Collect", "slice collected from an iterator", "the list grows step by step, each time", "range over it where a list is not needed, or slices.AppendSeq to one with room"},
	{"slices.Sorted", "sorted slice built on every call", "the list grows step by step, and is sorted, each time", "keep it sorted, or use one list again"},
	{"maps.Clone", "map copied on every call", "the copy is a new map each time", "hand out the map itself where nobody changes it"},
}

// knownCallee returns what is known of a function, or nil. What holds for texts mostly does for lists of bytes.
func knownCallee(fn string) *callee {
	find := func(fn string) *callee {
		i := slices.IndexFunc(callees, func(k callee) bool { return strings.HasPrefix(fn, k.prefix) })
		if i < 0 {
			return nil
		}
		return &callees[i]
	}
	if k := find(fn); k != nil {
		return k
	}
	if rest, ok := strings.CutPrefix(fn, "bytes."); ok {
		return find("strings." + rest)
	}
	return nil
}

// talks reports whether a function is there to talk to somebody else, which costs what it costs.
func talks(fn string) bool {
	pkg := symbol.PackageOf(fn)
	if pkg == "net" && knownCallee(fn) != nil {
		return false // addresses are nobody to talk to
	}
	return pkg == "net" || strings.HasPrefix(pkg, "net/http") || pkg == "os" || pkg == "syscall" || pkg == "testing" || strings.HasPrefix(pkg, "database/")
}

// unknownCallee says of a function of another package what its results tell.
func unknownCallee(f *code.Func, fn string, n ast.Node) callee {
	name := symbol.Short(fn)
	out := callee{title: name + " allocates for every call", claim: name + " allocates each time",
		advice: "look whether it is needed in all cases, and whether there is a form that takes a buffer, or a value to use again"}
	sig := signatureOf(f, fn, n)
	if sig == nil {
		return out
	}
	fails := false
	for v := range sig.Results().Variables() {
		if kind.IsString(v.Type()) || kind.Refers(v.Type()) {
			out.claim = name + " allocates what it returns, or needs in between, each time"
			out.advice = "look whether the result can be kept, whether it is needed in all cases, and whether there is a form that takes a buffer, or a value to use again"
			return out
		}
		fails = fails || types.IsInterface(v.Type())
	}
	if !fails {
		out.claim = name + " allocates what it needs in between, each time"
	}
	return out
}

// signatureOf returns the signature of what a statement calls by a name that profiles have, or nil.
func signatureOf(of *code.Func, fn string, n ast.Node) (sig *types.Signature) {
	var in ast.Node = of.Statement(n)
	if of.Statement(n) == nil {
		in = n
	}
	ast.Inspect(in, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && sig == nil {
			if f := of.Callee(call); f != nil && calls.Calling(of, call)(&cost.Chain{Below: []string{fn}}) {
				sig = f.Signature()
			}
		}
		return sig == nil
	})
	return sig
}

// hasGrown reports whether the function makes room in the Builder or Buffer that a statement has a method called of.
func hasGrown(f *code.Func, n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || found {
			return !found
		}
		if b := f.Local(sel.X); b != nil {
			found = slices.ContainsFunc(f.Uses(b), func(id *ast.Ident) bool {
				up, ok := f.Parent(id).(*ast.SelectorExpr)
				return ok && up.Sel.Name == "Grow"
			})
		}
		return !found
	})
	return found
}
