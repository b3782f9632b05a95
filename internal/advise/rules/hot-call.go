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
	"github.com/hone-perf/hone/internal/report/missing"
)

var hotCall = &advise.Rule{
	Name: "hot-call", Rank: 0, Vague: true,
	Doc: "a library call makes a large share of the program's allocations",

	NoFix: missing.CanBeKept,
	Find: func(p *advise.Pass) {
		hotLines(p, func(n ast.Node, l *cost.Line) {
			all := pool.InNew(p.Func, n) != nil || p.Startup(n) // the whole call can be saved
			by := map[string]*cost.Cost{}
			for _, c := range l.Chains {
				if slices.ContainsFunc(c.Below, func(b string) bool { return symbol.IsLoopBody(b, p.Name) }) {
					continue // an iterator calls the body of the loop, whose lines have the cost
				}
				if toldWhereMade(p, c) {
					continue
				}
				if fn := c.First(); fn != "" && !symbol.IsRuntime(fn) && !p.Mine(fn) && !talks(fn) && (all || fn == poolGet || !callsBack(p, c)) {
					if by[fn] == nil {
						by[fn] = new(cost.Cost)
					}
					one := c.Cost
					if !all && knownCallee(fn) == nil && !allocatesBelow(c) {
						one[cost.CPU] = 0 // what else it does may be needed
					}
					by[fn].Add(&one)
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
			if !shows(p, n, &c) {
				return
			}
			if pool.InNew(p.Func, n) != nil && getters(p, l) != nil {
				return // who calls Get is told
			}
			name := symbol.Short(most)
			what, risk := unknownCallee(p.Func, most, n), "code that keeps a reused value sees its later content"
			if k := knownCallee(most); k != nil {
				what = *k
				if first, larger := l.Sum(firstArray), l.Sum(growingBuffer); strings.HasPrefix(most, "bytes.(*Buffer).Write") && p.Costs.Weight(&first) > p.Costs.Weight(&larger) {
					what = newArray
				}
				grows := slices.Contains(grownBuffers, k.prefix)
				if grows && givenBuffer(p.Func, n) {
					what.claim = "what it writes to grows step by step, and is not made here"
					what.advice = "whoever makes it can give it room for the usual size (Grow), or use it again"
				}
				if grows && hasGrown(p.Func, n) {
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
	{"strings.(*Builder).Grow", "Builder grown in one step", "Grow allocates the array that the string then keeps", "where the string is only written or read, use a reused buffer instead"},
	{"bytes.(*Buffer).Grow", "room made for a buffer", "Grow allocates a new array when the buffer is too small, and the array becomes garbage with the buffer", "reuse one buffer, after Reset"},
	{"slices.Grow", "room made for a slice", "slices.Grow allocates a larger array when the slice is too small, and copies the elements", "start with a slice that was used before, cut to [:0]"},
	{"bytes.(*Buffer).String", "string copied out of a Buffer", "String copies the bytes into a new string", "use Bytes where nobody keeps the result, or a strings.Builder, which does not copy"},
	{"bytes.(*Buffer).ReadFrom", "buffer grown on every call", "a new buffer grows step by step on each call", "start with room for the usual size (Grow), or reuse a buffer"},
	{"bytes.(*Buffer).Read", "bytes copied out of a buffer", "the result is a copy", "Next returns the bytes without a copy; they are valid until the next write to the buffer"},
	{"strings.SplitSeq", "iterator over the parts of a string", "the iterator function is allocated where the compiler does not inline it", "take the parts off one by one with Cut"},
	{"strings.SplitAfterSeq", "iterator over the parts of a string", "the iterator function is allocated where the compiler does not inline it", "take the parts off one by one with Index"},
	{"strings.FieldsSeq", "iterator over the parts of a string", "the iterator function is allocated where the compiler does not inline it", "find the parts by their index"},
	{"strings.FieldsFuncSeq", "iterator over the parts of a string", "the iterator function is allocated where the compiler does not inline it", "find the parts by their index"},
	{"strconv.Append", "bytes appended to a slice that grows", "when the slice is full, a larger array is allocated and the bytes are copied", "start with a slice that has room, such as make([]byte, 0, 32), or reuse one"},
	{"fmt.Sscan", "input parsed by fmt", "fmt reads rune by rune, through an interface, and inspects the types of its arguments on each call", "split the string with Cut and Index, and parse numbers with strconv"},
	{"fmt.Fscan", "input parsed by fmt", "fmt reads rune by rune, through an interface, and inspects the types of its arguments on each call", "read a line with a bufio.Scanner, and split it with bytes.Cut and strconv"},
	{"encoding/xml.(*Decoder).RawToken", "XML token by token", "each token is allocated as an interface value, with a copy of its text", "where the format is fixed, search the bytes for the few names that matter"},
	{"encoding/xml.(*Decoder).Token", "XML token by token", "each token is allocated as an interface value, with a copy of its text, and Token looks up name spaces and checks that elements end",
		"RawToken does neither, where the input is known to be well-formed; where the format is fixed, search the bytes for the few names that matter"},
	{poolGet, "sync.Pool that is often empty", "Get calls New when the pool is empty", "make sure that everything from Get goes back with Put, on every return path"},
	{"regexp.(*Regexp).Match", "regular expression on a hot path", "the regexp engine is general and slow",
		"parse a simple format by hand: with HasPrefix, IndexByte or a loop over its bytes"},
	{"regexp.(*Regexp).ReplaceAll", "regular expression on a hot path", "the regexp engine is general and slow, and what it replaces is copied",
		"check first whether there is anything to replace, or write a loop over the bytes"},
	{"regexp.(*Regexp).", "regular expression on a hot path", "the regexp engine is general and slow, and its matches are returned in a new slice",
		"parse a simple format by hand: with Cut, IndexByte or a loop over its bytes; or check first whether it can match at all"},
	{"math/big.(*Int).String", "number formatted on every call", "each result is a new string", "append it to its destination, with Append"},
	{"math/big.(*Int).Text", "number formatted on every call", "each result is a new string", "append it to its destination, with Append"},
	{"math/big.", "big numbers allocated in every step", "each call allocates a new number and its array, unless the result goes into a reused one",
		"store the result in a number that is kept (z.Add(z, x)), create constants once; where 128 bits are enough, use two uint64 and math/bits"},
	{"strings.ToLower", "string lower-cased or upper-cased on every call", "a new string is allocated for each one that has a letter of the other case", "compare with EqualFold, cache repeated results, or change the case of bytes in place"},
	{"strings.ToUpper", "string lower-cased or upper-cased on every call", "a new string is allocated for each one that has a letter of the other case", "compare with EqualFold, cache repeated results, or change the case of bytes in place"},
	{"strings.Split", "string split on every call", "the parts are returned in a new slice", "take the parts off one by one with Cut, or range over SplitSeq"},
	{"strings.Fields", "string split on every call", "the parts are returned in a new slice", "range over FieldsSeq, or find the parts by their index"},
	{"strings.Join", "strings joined on every call", "all of them are copied to a new string", "append them to their final destination"},
	{"strings.Repeat", "string repeated on every call", "a new string is allocated on each call", "keep a long one and slice it as needed; or write to a buffer"},
	{"strings.Replace", "string replacement on every call", "each replacement allocates a new string", "go through the string once and write to a buffer; or skip it when there is nothing to replace"},
	{"fmt.", "fmt on a hot path", "fmt parses its format and inspects the types of its arguments on each call, and arguments move to the heap", "use strconv and append, or +"},
	{"strconv.Quote", "string quoted on every call", "each result is a new string", "append it to its destination, with strconv.AppendQuote"},
	{"strconv.Unquote", "quoted string parsed on every call", "a string with escapes is copied, in part or whole", "strip the quotes when nothing is escaped"},
	{"strconv.Parse", "number parsed on a hot path", "if it is not a number, the error is allocated with a copy of the string", "check first whether it can be a number, or parse digits by hand"},
	{"strconv.Atoi", "number parsed on a hot path", "if it is not a number, the error is allocated with a copy of the string", "check first whether it can be a number, or parse digits by hand"},
	{"strconv.(*NumError).", "error message built on every call", "the message of the error is built on each call", "compare errors with errors.Is, and build their messages only where somebody reads them"},
	{"strconv.", "number formatted on every call", "each result is a new string", "append it to its destination, with strconv.Append…"},
	{"encoding/json.Marshal", "JSON through reflection on a hot path", "package json looks up types by reflection, and returns a new slice", "let an Encoder write to a reused buffer, or write the frequent types by hand"},
	{"encoding/json.(*Encoder).", "JSON through reflection on a hot path", "package json looks up types by reflection on each call", "write the frequent types by hand"},
	{"encoding/json.", "JSON through reflection on a hot path", "package json looks up types by reflection, and allocates what it decodes", "decode into a reused struct, or write a decoder for the frequent types"},
	{"sort.Search", "binary search by a function", "the function is called for each step, and allocated where it is not inlined", "use slices.BinarySearch or slices.BinarySearchFunc"},
	{"sort.", "sorted through an interface", "Less and Swap are called through an interface, and its value moves to the heap", "package slices sorts with generics instead"},
	{"errors.New", "errors created on every call", "each error is allocated, even if the caller drops it", "return an error that is created once, or a bool"},
	{"bytes.(*Buffer).", "buffer grown on every call", "a new buffer grows step by step on each call", "start with room for the usual size (Grow), or reuse a buffer"},
	{"strings.(*Builder).", "Builder grown on every call", "a new Builder grows step by step on each call", "start with room for the usual size (Grow)"},
	{"time.Time.Format", "time formatted on every call", "the layout is parsed on each call, and the result is a new string", "AppendFormat appends it to its destination"},
	{"time.Time.String", "time formatted on every call, by String", "the layout is parsed on each call, and the result is a new string", "AppendFormat appends it to its destination"},
	{"time.Duration.String", "duration formatted on every call", "each result is a new string", "append its number of seconds with strconv, or cache frequent strings"},
	{"time.ParseDuration", "duration parsed on every call", "its numbers and units are parsed one by one", "cache the result where the strings repeat"},
	{"time.Parse", "time parsed on every call", "the layout is parsed on each call, and a named zone may be allocated", "cache the result where many strings repeat, or parse a fixed format digit by digit"},
	{"time.LoadLocation", "time zone loaded on every call", "its file is read and parsed on each call", "load it once and keep it"},
	{"net/url.(*URL).Query", "query parsed on every call", "a map is allocated, and a slice for each key", "parse it once per request, or find the one key with Cut"},
	{"net/url.ParseQuery", "query parsed on every call", "a map is allocated, and a slice for each key", "parse it once per request, or find the one key with Cut"},
	{"net/url.Values.Encode", "query encoded on every call", "the keys are sorted, and each one is escaped into a new string", "cache the string where the values repeat, or write them in a fixed order"},
	{"net/url.Parse", "URL parsed on every call", "each URL is allocated, with new strings for escaped parts", "keep the parsed URL, or find the part that is needed with Cut"},
	{"net.ParseIP", "IP address as a list of bytes", "each address is a new slice of 16 bytes", "netip.Addr is a value and needs no allocation"},
	{"net.IP.", "IP address as a list of bytes", "each address, and each string of one, is allocated", "netip.Addr is a value, and AppendTo appends it to its destination"},
	{"net.ParseCIDR", "network as lists of bytes", "each network is allocated, with slices for its address and its mask", "netip.Prefix is a value and needs no allocation"},
	{"strings.Map", "string mapped rune by rune on every call", "a function is called for each rune, and the string is copied from the first changed rune on", "look first whether anything has to change, and go over bytes where that is enough"},
	{"strings.NewReader", "reader allocated on every call", "each one is allocated as soon as it is passed as an interface", "keep one and Reset it"},
	{"bytes.NewReader", "reader allocated on every call", "each one is allocated as soon as it is passed as an interface", "keep one and Reset it"},
	{"bytes.NewBuffer", "buffer object allocated on every call", "each one is allocated as soon as it is passed as an interface", "keep one and Reset it, or take it from a pool"},
	{"bufio.New", "bufio reader or writer allocated on every call", "each one allocates a buffer of 4 kB, or of the given size", "keep one and Reset it, or take it from a pool"},
	{"bufio.(*Scanner).Text", "line copied to a string on every call", "each line is copied into a new string", "Bytes returns the same without a copy, where nothing keeps it"},
	{"encoding/hex.EncodeToString", "bytes encoded to a new string", "the result is a new string", "hex.AppendEncode appends it to its destination"},
	{"encoding/hex.DecodeString", "bytes decoded to a new slice", "the result is a new slice on each call", "hex.Decode writes to a reused slice"},
	{"encoding/base64.(*Encoding).EncodeToString", "bytes encoded to a new string", "the result is a new string", "AppendEncode appends it to its destination"},
	{"encoding/base64.(*Encoding).DecodeString", "bytes decoded to a new slice", "the result is a new slice on each call", "AppendDecode appends to a reused slice"},
	{"encoding/csv.(*Reader).", "record allocated for every line", "each record is a new slice, with one string for all its fields", "set ReuseRecord to reuse the slice"},
	{"encoding/xml.", "XML through reflection on a hot path", "package xml looks up types by reflection, and allocates what it decodes", "read tokens (RawToken), or write text where the format is fixed"},
	{"encoding/gob.", "gob through reflection on a hot path", "an Encoder or Decoder that is created for each value sends or reads all types again", "keep one for the whole stream, or write the fields by hand"},
	{"crypto/md5.New", "hash allocated on every call", "the state of the hash is allocated on each call", "md5.Sum takes bytes at once; or keep one, and Reset it"},
	{"crypto/sha1.New", "hash allocated on every call", "the state of the hash is allocated on each call", "sha1.Sum takes bytes at once; or keep one, and Reset it"},
	{"crypto/sha256.New", "hash allocated on every call", "the state of the hash is allocated on each call", "sha256.Sum256 takes bytes at once; or keep one, and Reset it"},
	{"crypto/sha512.New", "hash allocated on every call", "the state of the hash is allocated on each call", "sha512.Sum512 takes bytes at once; or keep one, and Reset it"},
	{"crypto/hmac.New", "HMAC allocated on every call", "two hash states are allocated, and both hash the key, on each call", "keep one for each key, and Reset it"},
	{"hash/fnv.New", "hash allocated on every call", "the hash is allocated, since it is passed as an interface", "keep one and Reset it, or write the two lines of FNV by hand"},
	{"hash/maphash.(*Hash)", "hash allocated on every call", "a Hash contains its own buffer", "maphash.String and maphash.Bytes need none"},
	{"crypto/rand.", "random bytes read piece by piece", "each call asks the operating system", "read many at once and take the bytes from there; or use math/rand/v2 where the numbers may be guessed"},
	{"container/heap.", "container/heap on a hot path", "Less, Swap, Push and Pop are called through an interface, and pushed values move to the heap", "a heap of your own type in a slice needs neither"},
	{"container/list.", "container/list on a hot path", "each element is allocated, with a value of type any", "a slice, or a ring in one, keeps them together"},
	{"sync.(*Map).", "sync.Map on a hot path", "keys and values are of type any, which moves them to the heap, and each new value is allocated", "where keys come and go, use a typed map with a mutex; where they stay, keep the loaded value"},
	{"context.With", "context created on every call", "each context is allocated, and one that can be canceled allocates more", "create one for everything that ends together, and pass values as arguments"},
	{"path/filepath.Join", "path joined or cleaned on every call", "the path is cleaned again, and copied if that changes it", "keep the result, or append a slash and the name where both parts are clean"},
	{"path/filepath.Clean", "path joined or cleaned on every call", "the path is cleaned again, and copied if that changes it", "keep the result, or append a slash and the name where both parts are clean"},
	{"path/filepath.Abs", "path joined or cleaned on every call", "the path is cleaned again, and copied if that changes it", "keep the result, or append a slash and the name where both parts are clean"},
	{"path/filepath.Rel", "path joined or cleaned on every call", "the path is cleaned again, and copied if that changes it", "keep the result, or append a slash and the name where both parts are clean"},
	{"path.Join", "path joined or cleaned on every call", "the path is cleaned again, and copied if that changes it", "keep the result, or append a slash and the name where both parts are clean"},
	{"path.Clean", "path joined or cleaned on every call", "the path is cleaned again, and copied if that changes it", "keep the result, or append a slash and the name where both parts are clean"},
	{"text/template.(*Template).Execute", "template executed on a hot path", "fields and methods are looked up by reflection on each call", "cache the output where the data repeats, or write frequent output by hand"},
	{"html/template.(*Template).Execute", "template executed on a hot path", "fields and methods are looked up by reflection, and strings are escaped, on each call", "cache the output where the data repeats, or write frequent output by hand"},
	{"slices.Clone", "slice copied on every call", "the copy is a new slice on each call", "return the slice itself where nobody changes it, or append to a reused one"},
	{"slices.Collect", "slice collected from an iterator", "the slice grows step by step on each call", "range over the iterator where no slice is needed, or use slices.AppendSeq with a slice that has room"},
	{"slices.Sorted", "sorted slice built on every call", "the slice grows step by step, and is sorted, on each call", "keep it sorted, or reuse one slice"},
	{"maps.Clone", "map copied on every call", "the copy is a new map on each call", "return the map itself where nobody changes it"},
}

// newArray is about a Buffer that mostly does not grow after its first write.
var newArray = callee{title: "buffer allocated on every call", claim: "a new buffer allocates an array on its first write, with room for 64 bytes or for what is written",
	advice: "reuse a buffer, after Reset, or append to a slice"}

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
		if k := find("strings." + rest); k != nil {
			return k.ofBytes()
		}
	}
	return nil
}

// ofBytes returns what is true of the function of package bytes that has the same name.
func (k *callee) ofBytes() *callee {
	words := strings.NewReplacer("strings", "byte slices", "string", "byte slice", "strings.Builder", "bytes.Buffer")
	return &callee{k.prefix, words.Replace(k.title), words.Replace(k.claim), words.Replace(k.advice)}
}

// allocatesBelow reports whether samples are of allocating, with what growing and copying takes.
func allocatesBelow(c *cost.Chain) bool {
	return slices.ContainsFunc(c.Below, func(fn string) bool {
		name, ok := strings.CutPrefix(fn, "runtime.")
		return ok && slices.ContainsFunc([]string{"mallocgc", "newobject", "newarray", "growslice", "makeslice", "makemap", "makechan", "mapassign", "concatstring", "slicebytetostring", "stringtoslice", "rawstring",
			"rawbyteslice", "convT", "gcAssist"}, func(leaf string) bool { return strings.HasPrefix(name, leaf) })
	})
}

const poolGet = "sync.(*Pool).Get" // which calls New when the pool is empty: that is what is told of it

// callsBack reports whether the function that a line calls has called one of the module again, which costs as much whoever calls it.
func callsBack(p *advise.Pass, c *cost.Chain) bool { return slices.ContainsFunc(c.Below, p.Mine) }

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
	out := callee{title: name + " allocates on every call", claim: name + " allocates on each call",
		advice: "check whether it is always needed, and whether a variant takes a buffer or a value to reuse"}
	sig := signatureOf(f, fn, n)
	if sig == nil {
		return out
	}
	fails := false
	for v := range sig.Results().Variables() {
		if kind.IsString(v.Type()) || kind.Refers(v.Type()) {
			out.claim = name + " allocates its result or temporary memory on each call"
			out.advice = "check whether the result can be kept, whether it is always needed, and whether a variant takes a buffer or a value to reuse"
			return out
		}
		fails = fails || types.IsInterface(v.Type())
	}
	if !fails && !takesMemory(sig) {
		out.claim = name + " allocates temporary memory on each call"
	}
	return out
}

// takesMemory reports whether a function may leave what it allocates in something that it is given.
func takesMemory(sig *types.Signature) bool {
	if recv := sig.Recv(); recv != nil && kind.Refers(recv.Type()) {
		return true
	}
	for v := range sig.Params().Variables() {
		if kind.Refers(v.Type()) {
			return true
		}
	}
	return false
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

// grownBuffers are the callees that write to a buffer, which grows for it.
var grownBuffers = []string{"bytes.(*Buffer).ReadFrom", "bytes.(*Buffer).", "strings.(*Builder)."}

// givenBuffer reports whether a statement calls a method of something that the function was given, or finds in a field or behind an interface.
func givenBuffer(f *code.Func, n ast.Node) bool {
	given := false
	ast.Inspect(n, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
		if s := f.Info().Selections[sel]; !ok || s == nil || s.Kind() != types.MethodVal {
			return true
		}
		v := f.Local(sel.X)
		if v == nil || f.IsParam(v) {
			given = true
			return true
		}
		_, value := f.Declared(v)
		from := f.Local(value)
		given = given || from != nil && f.IsParam(from)
		return true
	})
	return given
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
