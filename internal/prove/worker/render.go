package worker

import (
	"cmp"
	"compress/gzip"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
	"unsafe"
)

// A Layer is a kind of behavior, the gravest first.
type Layer byte

// Layers of what can be observed.
const (
	LayerPanic  Layer = 'A' // whether it panics, or returns at all
	LayerError  Layer = 'B' // whether there is an error
	LayerResult Layer = 'C' // results, what is written and answered
	LayerShared Layer = 'D' // arguments that change, and memory that is shared
	LayerEmpty  Layer = 'E' // nil or empty, and what was written before an error
	LayerText   Layer = 'F' // text of errors, and values beside them
	LayerInside Layer = 'G' // what only the package itself can see
	layers            = 7

	LayerWhole Layer = 'Z' // a value as a whole, for people; it is not compared
)

// A Line is one thing that was observed.
type Line struct {
	Step  int
	Layer Layer
	Path  string
	Text  string
}

// How the paths of lines begin that are about memory which values share.
const (
	changeOf = "a change of "
	resultOf = "result of call "
)

// Shares reports whether a line is about memory that values share.
func (l *Line) Shares() bool {
	return strings.HasPrefix(l.Path, changeOf) || strings.HasPrefix(l.Path, resultOf)
}

// How a line is masked, because the old version does not say the same each time.
const (
	MaskDigits = 1 + iota // numbers, times and addresses in it do not count
	MaskHex               // nor do words of the digits of hexadecimal numbers
	MaskOrder             // nor does its order
	MaskAll               // nor does anything in it
)

// A FieldRule says whether a field of a struct can be compared, and what a difference in it is.
type FieldRule struct {
	Name  string
	Layer Layer
}

// A Show renders values of types that this package does not know. It calls emit for each thing that can be observed, and
// returns false when it does not know the type either.
type Show func(v reflect.Value, emit func(layer Layer, name, text string)) bool

// A rendering is what can be seen of values: lines in full, or a hash for each layer.
type rendering struct {
	run   *Run
	full  bool
	fn    string // whose masks apply
	step  int
	least Layer // nothing in it is graver than that
	lines []Line
	hash  [layers]uint64 // of what masks left
	all   [layers]uint64 // of all, but for the order of lists that is masked; kept where there are masks
	order [layers]uint64 // of lists whose order is masked, in order
	seen  map[unsafe.Pointer]int
	nodes int
	key   bool // it is of a key of a map, or of a value beside it

	source bool // what is rendered tells a place in the source
}

const (
	maxNodes  = 20_000
	maxText   = 64 << 10
	maxLevels = 24

	// Of a key of a map: where it is a pointer into a graph, each of many keys would be all of that. Keys of maps in it share what is left.
	keyNodes   = 100
	leastNodes = 4
)

func (r *rendering) line(layer Layer, path, text string) {
	layer = max(layer, r.least)
	if masks := r.run.table.masks; len(masks) > 0 && r.fn != "" {
		mask := masks[MaskKey(r.fn, path)]
		switch all := &r.all[layer-LayerPanic]; {
		case r.full:
		case mask == 0: // both are the same
			sum := hashOf(path, text)
			add(all, sum)
			add(&r.hash[layer-LayerPanic], sum)
			return
		case !(&Line{Path: path}).Shares(): // whether memory is shared cannot be said of what varies by itself
			add(all, hashOf(path, text))
		}
		switch mask {
		case MaskAll:
			return
		case MaskDigits:
			text = withoutDigits(text)
		case MaskHex:
			text = withoutDigits(withoutHex(text))
		case MaskOrder:
			if text = withoutDigits(text); strings.ContainsAny(text, `"[{`) { // and not a word such as nil, which is shown
				text = sorted(text)
			}
		}
	}
	if r.full {
		r.lines = append(r.lines, Line{r.step, layer, path, text})
	}
	add(&r.hash[layer-LayerPanic], hashOf(path, text))
}

// add adds the hash of a line to that of those before.
func add(hash *uint64, line uint64) { *hash = *hash*fnvPrime + line }

const (
	fnvStart = 14695981039346656037
	fnvPrime = 1099511628211
)

// hashOf returns the hash of a line, as package hash/fnv does, which would copy both texts.
func hashOf(path, text string) uint64 {
	h := uint64(fnvStart)
	for i := range len(path) {
		h = (h ^ uint64(path[i])) * fnvPrime
	}
	h *= fnvPrime // a zero byte
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * fnvPrime
	}
	return h
}

// linesText is all that was rendered, in full.
func linesText(lines []Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Path + "=" + l.Text + "\n")
	}
	return b.String()
}

// MaskKey is what a mask is found by: indexes do not count.
func MaskKey(fn, path string) string {
	var b strings.Builder
	b.WriteString(fn)
	b.WriteByte(' ')
	in := false
	for i := 0; i < len(path); i++ {
		c := path[i]
		switch {
		case c == '[':
			in = true
			b.WriteByte('[')
		case c == ']':
			in = false
			b.WriteByte(']')
		case !in:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// withoutDigits replaces numbers with their units, and names of months and days, by signs.
func withoutDigits(s string) string {
	s = strings.ReplaceAll(s, anAddress, "0") // or a number that could be one, by chance
	var b strings.Builder
	for i := 0; i < len(s); {
		c := s[i]
		if c < '0' || c > '9' {
			b.WriteByte(c)
			i++
			continue
		}
		for i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] == '.' || s[i] >= 'a' && s[i] <= 'f' || s[i] == 'x') {
			i++
		}
		for _, u := range []string{"ns", "µs", "us", "ms", "s", "m", "h"} {
			if strings.HasPrefix(s[i:], u) {
				i += len(u)
				break
			}
		}
		b.WriteByte('#')
	}
	out := b.String()
	for _, w := range [...]string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
		"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"} {
		out = strings.ReplaceAll(out, w, "#")
	}
	return out
}

// withoutHex replaces words that are all hexadecimal digits, such as those of an identifier, by signs.
func withoutHex(s string) string { return hexWord.ReplaceAllString(s, "#") }

var hexWord = regexp.MustCompile(`\b[0-9a-fA-F]+\b`)

// sorted returns the characters of s in order.
func sorted(s string) string {
	b := []byte(s)
	slices.Sort(b)
	return string(b)
}

// value renders v.
func (r *rendering) value(path string, layer Layer, v reflect.Value, depth int) {
	r.nodes++
	if r.nodes > maxNodes || depth > maxLevels {
		return
	}
	if !v.IsValid() {
		r.line(layer, path, "nil")
		return
	}
	if r.special(path, layer, v) {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		r.line(layer, path, strconv.FormatBool(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		switch n := v.Int(); {
		case r.source:
			r.line(layer, path, aLine)
		case n >= leastNumber && isAddress(uint64(n)):
			r.line(layer, path, anAddress)
		default:
			r.line(layer, path, strconv.FormatInt(n, 10))
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		text := strconv.FormatUint(v.Uint(), 10)
		if (v.Uint() >= leastNumber || v.Kind() == reflect.Uintptr) && isAddress(v.Uint()) {
			text = anAddress
		}
		r.line(layer, path, text)
	case reflect.Float32, reflect.Float64:
		r.line(layer, path, float(v.Float()))
	case reflect.Complex64, reflect.Complex128:
		c := v.Complex()
		r.line(layer, path, "("+float(real(c))+", "+float(imag(c))+"i)")
	case reflect.String:
		r.bytes(path, layer, v.String())
	case reflect.Slice:
		if v.Len() == 0 {
			r.line(max(layer, LayerEmpty), path, nilOrEmpty(v))
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			r.bytes(path, layer, string(v.Bytes()))
			return
		}
		if v.Len() > 0 && r.again(path, layer, v.UnsafePointer(), v.Len()) {
			return
		}
		r.list(path, layer, v, depth)
	case reflect.Array:
		r.list(path, layer, v, depth)
	case reflect.Map:
		if v.Len() == 0 {
			r.line(max(layer, LayerEmpty), path, nilOrEmpty(v))
		} else if r.again(path, layer, v.UnsafePointer(), -1) {
			return
		}
		r.mapOf(path, layer, v, depth)
	case reflect.Pointer:
		switch {
		case v.IsNil():
			r.line(layer, path, "nil")
		case !r.again(path, layer, v.UnsafePointer(), -2):
			r.value(path, layer, v.Elem(), depth+1)
		}
	case reflect.Interface:
		switch {
		case v.IsNil():
			r.line(layer, path, "nil")
		case v.Type().Implements(errorType):
			r.err(path, v)
		default:
			of := v.Elem().Type()
			r.line(max(layer, r.typeLayer(v.Type(), of)), path+" type", r.typeName(of))
			if r.onlyHere(of) {
				layer = LayerInside // the other version holds it in another way
			}
			r.value(path, layer, v.Elem(), depth+1)
		}
	case reflect.Struct:
		r.structOf(path, layer, v, depth)
	case reflect.Func:
		r.function(path, layer, v, depth)
	default:
		text := "not nil"
		if k := v.Kind(); (k == reflect.Chan || k == reflect.UnsafePointer) && v.IsNil() {
			text = "nil"
		}
		r.line(layer, path, text)
	}
}

func nilOrEmpty(v reflect.Value) string {
	if v.IsNil() {
		return "nil"
	}
	return "empty"
}

func float(f float64) string {
	if math.IsNaN(f) {
		return "NaN"
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// bytes renders text. What is compressed is compared by what is in it.
func (r *rendering) bytes(path string, layer Layer, s string) {
	if strings.HasPrefix(s, "\x1f\x8b") {
		if z, err := gzip.NewReader(strings.NewReader(s)); err == nil {
			if plain, err := io.ReadAll(io.LimitReader(z, maxWritten)); err == nil {
				r.line(LayerInside, path+" compressed", strconv.Itoa(len(s)))
				path, s = path+" when decompressed", string(plain)
			}
		}
	}
	if len(s) > maxText {
		h := fnv.New64a()
		io.WriteString(h, s)
		s = fmt.Sprintf("%s… (%d bytes, hash %x)", s[:256], len(s), h.Sum64())
	}
	r.quoted(layer, path, s)
}

// quoted renders a text without what says where something is.
func (r *rendering) quoted(layer Layer, path, s string) {
	r.line(layer, path, strconv.Quote(r.run.places.text(s)))
}

// again reports whether p was rendered before, and says so.
func (r *rendering) again(path string, layer Layer, p unsafe.Pointer, part int) bool {
	if part != -2 && part != -1 {
		return false // parts of a slice are seen more than once; depth ends circles
	}
	if r.seen == nil {
		r.seen = make(map[unsafe.Pointer]int)
	}
	if n, ok := r.seen[p]; ok {
		r.line(layer, path, "the same as number "+strconv.Itoa(n))
		return true
	}
	r.seen[p] = len(r.seen)
	return false
}

// InOrder ends the path of a list whose order varies: its elements are compared as a set.
const InOrder = " in order"

func (r *rendering) list(path string, layer Layer, v reflect.Value, depth int) {
	if isStack(v) {
		r.line(layer, path, "a stack")
		return
	}
	if v.Kind() == reflect.Slice {
		r.line(layer, path+" length", strconv.Itoa(v.Len()))
	}
	if r.run.table.masks[MaskKey(r.fn, path)] == MaskOrder {
		texts := make([]string, v.Len())
		for i := range texts {
			texts[i] = r.apart(v.Index(i), depth)
		}
		if !r.full {
			// The texts say where a value is that was seen before by a number, which goes by the order.
			add(&r.order[max(layer, r.least)-LayerPanic], hashOf(path, strings.Join(texts, ", ")))
		}
		slices.Sort(texts)
		r.line(layer, path+InOrder, "["+strings.Join(texts, ", ")+"]")
		return
	}
	for i := 0; i < v.Len() && r.nodes < maxNodes; i++ {
		r.value(path+"["+strconv.Itoa(i)+"]", layer, v.Index(i), depth+1)
	}
}

// apart renders a part to text of its own.
func (r *rendering) apart(v reflect.Value, depth int) string {
	in := &rendering{run: r.run, full: true, seen: r.seen, nodes: r.nodes}
	in.value("", LayerResult, v, depth+1)
	r.nodes, r.seen = in.nodes, in.seen
	if len(in.lines) == 1 && in.lines[0].Path == "" {
		return in.lines[0].Text
	}
	return "{" + strings.ReplaceAll(strings.TrimSuffix(linesText(in.lines), "\n"), "\n", " ") + "}"
}

func (r *rendering) mapOf(path string, layer Layer, v reflect.Value, depth int) {
	r.line(layer, path+" length", strconv.Itoa(v.Len()))
	entries := make([]entry, 0, v.Len())
	room := keyNodes
	if r.key {
		room = max((maxNodes-r.nodes)/max(2*v.Len(), 1), leastNodes) // the other half is for what the map has at these keys
	}
	for it := v.MapRange(); it.Next() && len(entries) < maxNodes; {
		entries = append(entries, entry{text: keyText(r.alone(it.Key(), depth, room)), key: it.Key(), value: it.Value()})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.text, b.text) })
	for i := 0; i < len(entries); {
		n := i + 1
		for n < len(entries) && entries[n].text == entries[i].text {
			n++
		}
		if n > i+1 {
			r.arrange(entries[i:n], depth, room)
		}
		i = n
	}
	for _, e := range entries {
		r.value(path+"["+e.text+"]", layer, e.value, depth+1)
	}
}

// An entry is one of a map.
type entry struct {
	text       string // of the key
	key, value reflect.Value
	of         tied
}

// A tied tells entries apart whose keys have the same text.
type tied struct {
	key, value int // their numbers, of those that were seen before
	text       string
}

// arrange orders entries whose keys have the same text, such as pointers to equal structs, by what else can be said of them: the order of the
// map is another one each time.
func (r *rendering) arrange(entries []entry, depth, room int) {
	for i, e := range entries {
		entries[i].of = tied{r.number(e.key), r.number(e.value), linesText(r.alone(e.value, depth, room))}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.of.key, b.of.key), strings.Compare(a.of.text, b.of.text), cmp.Compare(a.of.value, b.of.value))
	})
}

// alone renders a part of a map as if nothing had been seen before: which of its entries comes first is nobody's business.
func (r *rendering) alone(v reflect.Value, depth, room int) []Line {
	in := &rendering{run: r.run, full: true, key: true, nodes: maxNodes - room}
	in.value("", LayerResult, v, depth+1)
	if r.key { // each key has the same room, whatever those before it took: so much is left for what comes after all of them
		r.nodes += min(in.nodes-(maxNodes-room), room)
	}
	return in.lines
}

// number returns that of a pointer that was rendered before, or -1.
func (r *rendering) number(v reflect.Value) int {
	for v.Kind() == reflect.Interface && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() == reflect.Pointer || v.Kind() == reflect.Map {
		if n, ok := r.seen[v.UnsafePointer()]; ok {
			return n
		}
	}
	return -1
}

// keyText writes a key of a map in one line, much as Go does, but without brackets, which end the index in a path.
func keyText(lines []Line) string {
	name := ""
	if len(lines) > 0 && lines[0].Path == " type" {
		name, lines = lines[0].Text, lines[1:]
	}
	if len(lines) == 1 && lines[0].Path == "" {
		if name == "" {
			return lines[0].Text
		}
		return name + "(" + lines[0].Text + ")"
	}
	parts := make([]string, len(lines))
	for i, l := range lines {
		parts[i] = withoutBrackets.Replace(strings.TrimPrefix(l.Path, ".")) + ": " + l.Text
	}
	return name + "{" + strings.Join(parts, ", ") + "}"
}

var withoutBrackets = strings.NewReplacer("[", "", "]", "")

func (r *rendering) structOf(path string, layer Layer, v reflect.Value, depth int) {
	t := v.Type()
	before := r.source
	defer func() { r.source = before }()
	fields := make([]reflect.Value, 0, 8)
	for i := 0; i < t.NumField(); i++ {
		fields = append(fields, v.Field(i))
	}
	r.source = r.run.places.inSource(fields)
	if rules, ok := r.run.table.rules(t); ok {
		for _, rule := range rules {
			if f := v.FieldByName(rule.Name); f.IsValid() {
				r.value(path+"."+rule.Name, max(layer, rule.Layer), f, depth+1)
			}
		}
		return
	}
	if t == frameType {
		r.line(layer, path, "a frame")
		return
	}
	exported := false
	for i := 0; i < t.NumField(); i++ {
		if t.Field(i).IsExported() {
			exported = true
			r.value(path+"."+t.Field(i).Name, layer, v.Field(i), depth+1)
		}
	}
	if exported || t.NumField() == 0 {
		return
	}
	if text, ok := stringOf(v); ok {
		r.quoted(layer, path, text)
		return
	}
	if t.PkgPath() == "sync" || t.PkgPath() == "sync/atomic" {
		return
	}
	if t.Name() != "" {
		layer = LayerInside
	}
	for i := 0; i < t.NumField(); i++ {
		r.value(path+"."+t.Field(i).Name, layer, v.Field(i), depth+1)
	}
}

// typeName names a type the same in both versions. Types that nobody outside of their package can name are one like the other.
func (r *rendering) typeName(t reflect.Type) string {
	of := t
	for of.Kind() == reflect.Pointer && of.Name() == "" {
		of = of.Elem()
	}
	if name := of.Name(); name != "" && of.PkgPath() != "" && !isExported(name) {
		return "a type that is not exported"
	}
	if name, ok := r.run.table.names[t]; ok {
		return name
	}
	if t.Kind() == reflect.Pointer {
		return "*" + r.typeName(t.Elem())
	}
	if t.Name() == "" {
		return t.Kind().String()
	}
	return t.String()
}

// typeLayer returns what it means that an interface holds another type. One with methods is there so that it does not matter, unless it
// is one of the types that the package shows.
func (r *rendering) typeLayer(face, of reflect.Type) Layer {
	for of.Kind() == reflect.Pointer && of.Name() == "" {
		of = of.Elem()
	}
	src := r.run.table.Source
	if face.NumMethod() == 0 || src == nil || of.PkgPath() == src.Path && isExported(of.Name()) {
		return LayerResult
	}
	return LayerEmpty
}

func isExported(name string) bool {
	c, _ := utf8.DecodeRuneInString(name)
	return unicode.IsUpper(c)
}

// onlyHere reports whether t is a type of the package that is not exported, and that the other version does not have.
func (r *rendering) onlyHere(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer && t.Name() == "" {
		t = t.Elem()
	}
	src := r.run.table.Source
	if src == nil || t.Name() == "" || t.PkgPath() != src.Path || isExported(t.Name()) {
		return false
	}
	_, both := r.run.table.names[t]
	return !both
}

var frameType = reflect.TypeOf(runtime.Frame{})

// isStack reports whether a list has the frames of a stack: how many there are goes by how the code is cut into functions.
func isStack(v reflect.Value) bool {
	if v.Len() == 0 {
		return false
	}
	switch t := v.Type().Elem(); {
	case t == frameType:
		return true
	case t.Kind() == reflect.Uintptr:
		return isCode(uint64(v.Index(0).Uint()))
	}
	return false
}
