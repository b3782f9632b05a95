package worker

import (
	"os"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"unsafe"
)

// Two versions of a package lie at other addresses, their functions on other lines, and what only they can name has other names.
// Where a value says such a thing, places take it out: it is how the code is written down, and not what it does.

// A Source is what a version of a package looks like from inside.
type Source struct {
	Path  string            // import path, as function names have it
	Name  string            // as type names have it
	Names map[string]bool   // what it declares at its top; those that are not exported are true
	Files map[string]bool   // names of its files
	Moved map[string]string // import paths and names of packages → what the other version calls them
}

// places finds what says where something is.
type places struct {
	*Source
	names bool   // short names of files count as places: no argument speaks of a file
	home  string // the folder that this process was given
}

const (
	anAddress = "(an address)"
	aLine     = "(a line)"
	aFile     = "(a file of the package)"
	aFolder   = "(the folder it runs in)"
	frames    = "(frames)\n"
	hidden    = "(unexported)"
)

// mapped is where the program and what it allocates lie.
var mapped struct{ image, heap [2]uintptr }

// Objects of all parts of the image.
var (
	inData = 1
	inBSS  int
)

// heapWindow is more than a worker may have. What it allocates is from where the first object is upwards.
const (
	heapWindow = 16 << 30
	heapArena  = 64 << 20
	bssRoom    = 48 << 20
)

// findMemory finds out where the program lies.
func findMemory() {
	size := uintptr(32 << 20)
	if name, err := os.Executable(); err == nil {
		if st, err := os.Stat(name); err == nil {
			size = uintptr(st.Size())
		}
	}
	lo, hi := ^uintptr(0), uintptr(0)
	for _, p := range []uintptr{reflect.ValueOf(findMemory).Pointer(), uintptr(unsafe.Pointer(&inData)), uintptr(unsafe.Pointer(&inBSS)), uintptr(unsafe.Pointer(unsafe.StringData(anAddress)))} {
		lo, hi = min(lo, p), max(hi, p)
	}
	mapped.image = [2]uintptr{lo - min(lo, size), hi + size + bssRoom}
	first := uintptr(unsafe.Pointer(heapObject()))
	last := min(uint64(first)+heapWindow, uint64(^uintptr(0))) // of 32 bits there may be fewer
	mapped.heap = [2]uintptr{first - min(first, heapArena), uintptr(last)}
}

//go:noinline
func heapObject() *[64]int { return new([64]int) }

// isAddress reports whether n is where something of the program is.
func isAddress(n uint64) bool {
	p := uintptr(n)
	return uint64(p) == n && (p >= mapped.image[0] && p < mapped.image[1] || p >= mapped.heap[0] && p < mapped.heap[1])
}

// isCode reports whether n is in a function.
func isCode(n uint64) bool {
	p := uintptr(n)
	return uint64(p) == n && p >= mapped.image[0] && p < mapped.image[1] && runtime.FuncForPC(p) != nil
}

// leastNumber is the least number without 0x that is taken for an address. Smaller ones are too likely to be something else, and
// programs are linked to higher ones.
const leastNumber = 1 << 28

// stack is what traces have for each frame: the function, and the line below it.
var (
	stack     = lazily(`(?:[^\n]+\n\t[^\n\t]+\.(?:go|s):\d+(?: \+0x[0-9a-f]+)?\n?)+`)
	goroutine = lazily(`\bgoroutine \d+\b`)
	closure   = lazily(`^(func|gowrap|deferwrap)\d+$`)
)

// lazily returns a function that compiles a regular expression when it is first called. hone itself has this package linked in, and calls
// nothing here.
func lazily(rx string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(rx) })
}

// text takes places out of a text.
func (p *places) text(s string) string {
	if len(s) < 4 {
		return s
	}
	if p.home != "" && strings.Contains(s, p.home) {
		s = strings.ReplaceAll(s, p.home, aFolder)
	}
	if strings.Contains(s, ".go:") {
		s = stack().ReplaceAllString(s, frames)
	}
	if strings.Contains(s, "goroutine ") {
		s = goroutine().ReplaceAllString(s, "goroutine #")
	}
	if p.Source != nil {
		for from, to := range p.Moved {
			s = p.replaceName(s, from, to)
		}
		if strings.Contains(s, ".go") {
			s = p.files(s)
		}
		for _, name := range []string{p.moved(p.Name), p.moved(p.Path)} {
			if name != "" && strings.Contains(s, name+".") {
				s = p.declared(s, name)
			}
		}
	}
	return withoutAddresses(s)
}

// replaceName replaces the name of a package where it stands before a name in it, or before a file.
func (p *places) replaceName(s, from, to string) string {
	if !strings.Contains(s, from) {
		return s
	}
	var b strings.Builder
	for {
		i := strings.Index(s, from)
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		end := i + len(from)
		whole := i == 0 || !isWord(s[i-1]) && s[i-1] != '.' && s[i-1] != '/'
		if strings.Contains(from, "/") {
			whole = whole && (end == len(s) || !isWord(s[end]))
		} else {
			rest, dot := strings.CutPrefix(s[end:], ".")
			part, _ := namePart(rest)
			_, known := p.Names[strings.Trim(part, "(*)")]
			whole = whole && dot && known
		}
		b.WriteString(s[:i])
		if whole {
			b.WriteString(to)
		} else {
			b.WriteString(from)
		}
		s = s[end:]
	}
}

// moved returns what the other version calls a package.
func (p *places) moved(name string) string {
	for from, to := range p.Moved {
		rest, ok := strings.CutPrefix(name, from)
		if ok && (rest == "" || rest[0] == '/') && strings.Contains(from, "/") == strings.Contains(name, "/") {
			return to + rest
		}
	}
	return name
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// files takes out the files of the package, and their lines.
func (p *places) files(s string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, ".go")
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		end := i + len(".go")
		from := i
		for from > 0 && (isWord(s[from-1]) || strings.IndexByte("-./+~@", s[from-1]) >= 0) {
			from--
		}
		name := s[from:end]
		base := name[strings.LastIndexByte(name, '/')+1:]
		line := end
		if line < len(s) && s[line] == ':' {
			for line++; line < len(s) && s[line] >= '0' && s[line] <= '9'; line++ {
			}
		}
		long := p.isFile(name)
		short := p.names && line > end+1 && base == name && p.Files[base]
		b.WriteString(s[:from])
		switch {
		case (long || short) && line > end+1:
			b.WriteString(aLine)
			end = line
		case long && (end == len(s) || !isWord(s[end])):
			b.WriteString(aFile)
		default:
			b.WriteString(name)
		}
		s = s[end:]
	}
}

// isFile reports whether a name is one that the runtime has for a file of the package.
func (p *places) isFile(name string) bool {
	if p.Source == nil {
		return false
	}
	for _, path := range []string{p.Path, p.moved(p.Path)} {
		if rest, ok := strings.CutPrefix(name, path+"/"); ok && p.Files[rest] {
			return true
		}
	}
	return false
}

// declared takes out what the package does not export, behind its name or its path: types that are printed, and functions of frames.
func (p *places) declared(s, name string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, name+".")
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		before, whole := s[:i], i == 0 || !isWord(s[i-1]) && s[i-1] != '.'
		s = s[i+len(name)+1:]
		if !whole {
			b.WriteString(before + name + ".")
			continue
		}
		// A function within an exported one, or a method of a type that is not, is no more known outside than what is around it.
		chain, known := 0, true
		for {
			part, rest := namePart(s[chain:])
			if part == "" {
				break
			}
			word := strings.Trim(part, "(*)")
			known = known && !p.Names[word] && !closure().MatchString(word)
			chain = len(s) - len(rest)
			if next, _ := namePart(strings.TrimPrefix(rest, ".")); next == "" || rest[0] != '.' {
				break
			}
			chain++
		}
		if known {
			b.WriteString(before + name + "." + s[:chain])
		} else { // nobody else can name it, and tell it from a pointer to it
			b.WriteString(strings.TrimRight(before, "*") + name + "." + hidden)
		}
		s = s[chain:]
	}
}

// namePart cuts an identifier, or one in brackets with a star, from the front of s.
func namePart(s string) (part, rest string) {
	i := 0
	if strings.HasPrefix(s, "(*") {
		i = 2
	}
	first := i
	for i < len(s) && isWord(s[i]) {
		i++
	}
	if i == first {
		return "", s
	}
	if first > 0 {
		if i == len(s) || s[i] != ')' {
			return "", s
		}
		i++
	}
	return s[:i], s[i:]
}

// withoutAddresses takes out numbers that are addresses of the program, however they are written.
func withoutAddresses(s string) string {
	var b strings.Builder
	done := 0
	for i := 0; i < len(s); {
		if !isWord(s[i]) {
			i++
			continue
		}
		from := i
		for i < len(s) && isWord(s[i]) {
			i++
		}
		if i-from < 7 || !isAddressText(s[from:i]) {
			continue
		}
		b.WriteString(s[done:from])
		b.WriteString(anAddress)
		done = i
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

func isAddressText(s string) bool {
	if hex, ok := strings.CutPrefix(s, "0x"); ok {
		n, err := strconv.ParseUint(hex, 16, 64)
		return err == nil && isAddress(n)
	}
	for _, base := range []int{10, 16} {
		if n, err := strconv.ParseUint(s, base, 64); err == nil && n >= leastNumber && isAddress(n) {
			return true
		}
	}
	return false
}

// inSource reports whether values that belong together tell a place in the source: then the numbers among them are lines.
func (p *places) inSource(values []reflect.Value) bool {
	for _, v := range values {
		for v.Kind() == reflect.Interface && !v.IsNil() {
			v = v.Elem()
		}
		switch v.Kind() {
		case reflect.Uintptr:
			if isCode(v.Uint()) {
				return true
			}
		case reflect.String:
			if strings.HasSuffix(v.String(), ".go") && (p.isFile(v.String()) || p.names && p.Source != nil && p.Files[v.String()]) {
				return true
			}
		}
	}
	return false
}

// speaksOfFiles reports whether a program has arguments in which there are names of files.
func (p *Program) speaksOfFiles() bool {
	for i := range p.Steps {
		if anySpeaks(p.Steps[i].Args) {
			return true
		}
	}
	return false
}

func anySpeaks(list []Value) bool {
	for i := range list {
		if strings.Contains(list[i].Text, ".go") || anySpeaks(list[i].Elems) {
			return true
		}
	}
	return false
}
