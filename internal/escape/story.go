package escape

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/hone-perf/hone/internal/filename"
)

// A Cause is why a value is on the heap: the step on its way that the compiler cannot see behind.
type Cause string

// The causes.
const (
	Passed    Cause = "passed"     // to a function that keeps it, or that the compiler does not know
	Converted Cause = "interface"  // put into an interface, which then is passed on
	Started   Cause = "goroutine"  // the function of a go statement, or of a defer in a loop
	Returned  Cause = "returned"   // its address is
	Captured  Cause = "captured"   // by a function that outlives the call
	Stored    Cause = "stored"     // in what outlives the call: a global variable, behind a pointer, in a map or slice on the heap
	Sent      Cause = "sent"       // on a channel
	TooLarge  Cause = "too large"  // for the stack
	Unsized   Cause = "size"       // is not known when the program is built
	Unsafe    Cause = "unsafe"     // converted to unsafe.Pointer
	Unknown   Cause = "not stated" // by the compiler
)

// A Story is why a value is on the heap, for people.
type Story struct {
	What  string   `json:"what"`            // goes to the heap
	Cause Cause    `json:"cause"`           //
	Steps []Step   `json:"steps,omitempty"` // of its way, in order
	Why   string   `json:"why"`             // what the compiler has to assume
	Break []string `json:"break,omitempty"` // what would end the way
}

// A Step is one thing that happens to a value.
type Step struct {
	Text string `json:"text"`
	Place
	Through []Place `json:"through,omitempty"`
}

// asWritten returns r with the names that stand in the source. Of code that was inlined from another package, the compiler writes each variable
// with the package in front of it: strings.b.buf for b.buf in package strings.
func (r *Remark) asWritten() *Remark {
	out := *r
	out.What = local(r.What, r.Through)
	out.Flow = slices.Clone(r.Flow)
	for i := range out.Flow {
		f := &out.Flow[i]
		f.How = slices.Clone(f.How)
		for k := range f.How {
			f.How[k].Expr = local(f.How[k].Expr, f.How[k].Through)
		}
	}
	return &out
}

// local returns an expression that was written at the last of some places without the name of its package in front of variables, which other
// packages could not name.
func local(expr string, through []Place) string {
	if len(through) == 0 {
		return expr
	}
	pkg := path.Base(path.Dir(filepath.ToSlash(through[len(through)-1].File))) + "."
	var out strings.Builder
	for rest := expr; ; {
		before, after, ok := strings.Cut(rest, pkg)
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		first, _ := utf8.DecodeRuneInString(after)
		last, _ := utf8.DecodeLastRuneInString(before)
		if !unicode.IsLower(first) && first != '_' || unicode.IsLetter(last) || unicode.IsDigit(last) || strings.ContainsRune("_./", last) {
			out.WriteString(pkg)
		}
		rest = after
	}
}

// Story tells why the value is on the heap. The story of other remarks is empty.
func (r *Remark) Story() Story {
	if !r.OnHeap() {
		return Story{}
	}
	r = r.asWritten()
	s := Story{What: what(r), Cause: Unknown}
	last := Note{}
	boxed := r.boxed()
	converted := boxed
	if boxed {
		s.What = "a copy of " + plain(r.What)
	} else {
		s.What = inlinedResult().ReplaceAllString(s.What, "the result of an inlined call")
	}
	if text := r.makesHow(boxed); text != "" {
		n := r.Flow[0].How[0]
		s.Steps = append(s.Steps, Step{text, n.Place, n.Through})
	}
	for i := range r.Flow {
		f := &r.Flow[i]
		for _, n := range f.How {
			if n.Why == "interface-converted" {
				converted = true
			}
			text := step(f, &n)
			if text == "" {
				continue
			}
			last = n
			if k := len(s.Steps); k > 0 && s.Steps[k-1].Text == text {
				continue
			}
			s.Steps = append(s.Steps, Step{text, n.Place, n.Through})
		}
	}
	to := ""
	if n := len(r.Flow); n > 0 {
		to = r.Flow[n-1].To
	}
	s.Cause = causeOf(r, to, &last, converted)
	s.Why, s.Break = s.reasons(to, &last, boxed)
	switch {
	case s.Cause == Converted && r.intoInterface() && len(r.Flow) == 1:
		s.Why, s.Break = "the interface that holds it also escapes to the heap", []string{"call a function that takes the concrete type"}
	case s.Cause == TooLarge || s.Cause == Unsized:
	case s.Cause == Sent && !r.ofAddress():
		s.Break = []string{"reuse what the receiver is done with"}
	case s.Cause == Sent:
	case s.Cause == Returned && boxed:
		s.Break = []string{"return the value by its own type instead of an interface"}
	case s.Cause == Stored && boxed: // the memory of an interface value is never written to again
		s.Break = []string{"store it by its own type instead of an interface", "convert it once and store that interface value each time"}
	case r.Makes == Text:
		s.Break = []string{"use the value without the conversion", "append to a reused buffer"}
	case r.Makes == Sum:
		s.Break = []string{"append the parts to a reused buffer"}
	case r.What == "func literal" && (s.Cause == Returned || s.Cause == Stored):
		s.Break = []string{"make it once and use it again", "use a function that captures nothing"}
	case !r.ofAddress() && s.Cause == Returned:
		s.Break = append([]string{"let the caller pass the memory to fill"}, s.Break[2:]...)
	case !r.ofAddress() && s.Cause == Stored:
		s.Break = []string{"reuse the memory of what is stored there now", "store it only where it is needed"}
	}
	return s
}

// ofAddress reports whether it is the address of a value that leaves the function, so that the value could do so in its place. A slice or a map
// refers to its memory itself.
func (r *Remark) ofAddress() bool {
	return r.Kind == Moved || strings.HasPrefix(r.What, "&") || strings.HasPrefix(r.What, "new(")
}

// inlinedResult is what the compiler calls the result of a call that it inlined.
var inlinedResult = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`~r[0-9]+\b`) })

// boxed reports whether the value is one that an interface needs a copy of.
func (r *Remark) boxed() bool {
	switch {
	case !r.spilled():
		return false
	case r.Makes != Unclear:
		return r.Makes == Box
	case r.intoInterface() || made(r.What):
		return false
	}
	return !mayConvert(r.What)
}

// mayConvert reports whether an expression may make a string, or bytes of one, for all that its text says: string(b), Name(b), a + b.
func mayConvert(w string) bool {
	return strings.Contains(w, " + ") || strings.HasSuffix(w, ")") && !strings.HasPrefix(w, "len(") && !strings.HasPrefix(w, "cap(")
}

// makesHow says how an expression makes the value that goes to the heap, where that does not go without saying.
func (r *Remark) makesHow(boxed bool) string {
	if boxed {
		return plain(r.What) + " is converted to an interface"
	}
	switch r.Makes {
	case Text:
		return r.What + " copies what it converts"
	case Sum:
		return inlinedResult().ReplaceAllString(r.What, "the result") + " makes a new string"
	case Bound:
		return r.What + " creates a function value that holds its receiver"
	}
	return ""
}

// made reports whether an expression makes a value by itself.
func made(w string) bool {
	if strings.Contains(w, `" + `) || strings.Contains(w, ` + "`) {
		return true // a text that is put together
	}
	for _, p := range []string{"&", "make(", "new(", "func literal", "... argument", "append"} {
		if strings.HasPrefix(w, p) {
			return true
		}
	}
	return strings.HasSuffix(w, "}") // a literal
}

// what names a value the way people speak of it.
func what(r *Remark) string {
	w := r.What
	switch {
	case r.Kind == Moved:
		return "the variable " + w
	case w == "... argument":
		return "the slice of the variadic arguments"
	case strings.HasPrefix(w, "func literal"):
		return "the function literal"
	case made(w), r.Makes == Text, r.Makes == Sum, r.Makes == Bound, r.Makes == Value:
		return w
	case strings.HasPrefix(w, "~r"):
		return "a result of an inlined call"
	case w == "":
		return "a value"
	}
	if _, err := strconv.Unquote(w); err == nil || strings.HasPrefix(w, `"`) {
		return "the constant " + w
	}
	return "the value of " + w
}

// step says what an expression does to the value, or nothing where that goes without saying.
func step(f *Flow, n *Note) string {
	to := name(f.To)
	switch n.Why {
	case "spill", "dot", "slice", "indirection", "dot of pointer", "fixed-array-index-of":
		return ""
	case "address-of":
		return "its address is taken: " + n.Expr
	case "reference":
		return ""
	case "captured by a closure":
		return fmt.Sprintf("%s is captured by a function literal", n.Expr)
	case "interface-converted": // of a value that is in the flow; that of a copy comes first
		return fmt.Sprintf("%s is converted to an interface", plain(n.Expr))
	case "slice-literal-element":
		if strings.Contains(n.Expr, "... argument") {
			return "it is put into the slice of the variadic arguments"
		}
		return "it is put into a slice"
	case "array literal element":
		return "it is put into an array"
	case "struct literal element":
		return "it is put into a struct: " + n.Expr
	case "call parameter":
		return "it is passed to " + callee(n.Expr)
	case "callee operand":
		return "it is called: " + n.Expr
	case "return":
		return "it is returned"
	case "send":
		return "it is sent on a channel: " + n.Expr
	case "key of map put", "map literal key":
		return "it becomes the key of a map: " + n.Expr
	case "map literal value":
		return "it becomes the value of a map"
	case "append", "appended slice...", "appendee slice", "copied slice":
		return "it is in a slice that is appended or copied: " + n.Expr
	case "conversion to unsafe.Pointer":
		return "it is converted to unsafe.Pointer"
	case "too large for stack", "too aligned for stack", "zero-sized element", "non-constant size":
		return ""
	case "range", "range-deref":
		return "it is ranged over: " + n.Expr
	case "switch case":
		return "it passes a type switch"
	}
	if strings.HasPrefix(n.Why, "assign") {
		if strings.HasPrefix(f.To, "~r") {
			return "it is the result of an inlined call"
		}
		if f.To == "{heap}" || to == "" {
			if left, right, ok := strings.Cut(n.Expr, " = "); ok && strings.HasPrefix(right, "~r") {
				return "it is stored in " + left
			}
			return "it is stored: " + n.Expr
		}
		if n.Why == "assign-pair" && strings.Contains(to, ".") {
			return "" // a parameter of what was inlined
		}
		return "it is assigned to " + to
	}
	return strings.TrimSpace(n.Why + ": " + n.Expr)
}

// name returns a location as people call it, or "".
func name(loc string) string {
	if strings.HasPrefix(loc, "{") {
		return ""
	}
	return loc
}

func plain(expr string) string {
	if strings.HasPrefix(expr, "~r") {
		return "the result"
	}
	return expr
}

// callee returns what is called in an expression such as fmt.Fprintf(w, "%d", ... argument...).
func callee(expr string) string {
	depth := 0
	for i := len(expr) - 1; i >= 0; i-- {
		switch expr[i] {
		case ')', ']', '}':
			depth++
		case '(', '[', '{':
			if depth--; depth == 0 && expr[i] == '(' && i > 0 {
				return expr[:i]
			}
		}
	}
	return expr
}

func causeOf(r *Remark, to string, last *Note, converted bool) Cause {
	for i := range r.Flow {
		for _, n := range r.Flow[i].How {
			switch n.Why {
			case "too large for stack", "too aligned for stack":
				return TooLarge
			case "non-constant size", "zero-sized element":
				return Unsized
			case "conversion to unsafe.Pointer":
				return Unsafe
			}
		}
	}
	switch {
	case len(r.Flow) == 0:
		return Unknown
	case r.What == "func literal" && len(r.Flow) == 1 && len(r.Flow[0].How) == 1 && to == "{heap}":
		return Started
	case last.Why == "send":
		return Sent
	case last.Why == "captured by a closure":
		return Captured
	case len(r.Flow) == 1 && r.intoInterface():
		return Converted
	case to != "{heap}" || last.Why == "return":
		if last.Why == "return" || strings.HasPrefix(to, "~r") || !strings.HasPrefix(to, "{") {
			return Returned
		}
		if strings.HasPrefix(to, "{storage for func literal") {
			return Captured
		}
		return Stored
	case last.Why == "call parameter" && callee(last.Expr) == "append":
		return Stored
	case last.Why == "call parameter" && converted:
		return Converted
	case last.Why == "call parameter", last.Why == "callee operand":
		return Passed
	case last.Why == "", last.Why == "interface-converted":
		if converted {
			return Converted
		}
		return Unknown
	}
	return Stored
}

// reasons says what the compiler has to assume, and what would make it assume something else.
func (s *Story) reasons(to string, last *Note, boxed bool) (why string, end []string) {
	fn := callee(last.Expr)
	switch s.Cause {
	case Passed:
		return fmt.Sprintf("%s may keep it: either it does, or it is an interface method or a function value, whose body the compiler does not know", fn),
			[]string{"call a function that the compiler can see and that does not keep it", "reuse one value from call to call"}
	case Converted:
		why = fmt.Sprintf("it is passed as an interface, and %s may keep it", fn)
		if boxed {
			why = fmt.Sprintf("an interface holds a pointer, so the value needs memory; %s may keep the pointer", fn)
		}
		return why,
			[]string{"call a function that takes the concrete type, such as strconv.AppendInt instead of fmt"}
	case Started:
		return "a goroutine, or a call deferred in a loop, outlives the statement",
			[]string{"use one goroutine for many work items", "call it in a function of its own instead of deferring it in a loop"}
	case Returned:
		return "it has to outlive the function that returns it",
			[]string{"return the value instead of its address", "let the caller pass the destination", "keep the function small enough to be inlined, so that the caller's stack can hold it"}
	case Captured:
		return "the function literal may be called after this function has returned",
			[]string{"pass it as an argument to the function literal", "avoid the function literal"}
	case Stored:
		where := "something that"
		if n := name(to); n != "" {
			where = n + ", which"
		} else if left, _, ok := strings.Cut(last.Expr, " = "); ok && strings.HasPrefix(last.Why, "assign") {
			where = left + ", which"
		}
		return "it is stored in " + where + " outlives the function", []string{"store the value instead of its address", "copy it only where it is kept"}
	case Sent:
		return "whoever receives it may keep it", []string{"send the value instead of its address"}
	case TooLarge:
		return "it is larger than the compiler allows on the stack", []string{"make it smaller", "allocate it once and reuse it"}
	case Unsized:
		return "its size is unknown at compile time", []string{"give it a constant size, or use a reused buffer"}
	case Unsafe:
		return "the compiler cannot track what an unsafe.Pointer points to", nil
	}
	return "the compiler does not say why", nil
}

// At returns a place as people write it, without folders.
func (p Place) At() string {
	if p.File == "" {
		return ""
	}
	return filename.Base(p.File) + ":" + strconv.Itoa(p.Line)
}

// Told tells the story of a remark where its place is read. Of code that was inlined there, it says where that is written.
func (r *Remark) Told() string {
	s := r.Story()
	if len(r.Through) > 0 && s.What != "" {
		s.What += " (written at " + r.Written().At() + ", inlined here)"
	}
	return s.String()
}

// String tells the story in sentences.
func (s *Story) String() string {
	var b strings.Builder
	b.WriteString(s.What + " is on the heap: " + s.Why + ".")
	for i, st := range s.Steps {
		if i == 0 {
			b.WriteString(" The way there: ")
		} else {
			b.WriteString("; ")
		}
		b.WriteString(st.Text)
		if at := st.At(); at != "" {
			b.WriteString(" (" + at + ")")
		}
	}
	if len(s.Steps) > 0 {
		b.WriteString(".")
	}
	return b.String()
}

// String is a remark in the words of the compiler.
func (r *Remark) String() string {
	switch r.Kind {
	case Heap:
		return r.What + " escapes to heap"
	case Moved:
		return "moved to heap: " + r.What
	case Stack:
		return r.What + " does not escape"
	case Leak:
		return strings.TrimSpace("parameter " + r.What + " " + r.Reason)
	case Inlined:
		return "inlining call to " + r.What
	case Inlinable:
		s := strings.TrimSpace("can be inlined " + r.What)
		if r.Cost > 0 {
			s += fmt.Sprintf(", cost %d", r.Cost)
		}
		return s
	case TooBig:
		return strings.TrimSpace("cannot be inlined "+r.What) + ": " + r.Reason
	case CallKept:
		return "call is not inlined: " + r.Reason
	case Bounds:
		return "index is checked"
	case SliceBound:
		return "slice bounds are checked"
	case NilCheck:
		return "pointer is checked"
	case Copied:
		return strings.TrimSpace("copy of " + r.What)
	}
	return strings.TrimSpace(r.What + " " + r.Reason)
}
