package main

import (
	"fmt"
	"strconv"
	"strings"
)

const width = 12

func line(s string) string {
	dashes := strings.Repeat("-", width) // cost: strings.Repeat; want
	return dashes + s + dashes
}

func header(s string) string {
	return strconv.FormatInt(width*100, 16) + s // cost: strconv.FormatInt; want
}

// indent depends on its argument.
func indent(n int, s string) string {
	return strings.Repeat(" ", n) + s // cost: strings.Repeat
}

type config struct {
	size  int
	names []string
}

func defaults() *config { return &config{size: width, names: []string{"a", "b"}} }

func run(s string) int {
	c := defaults() // cost: main.defaults runtime.newobject; want
	return len(s) + c.size + len(c.names)
}

// What is changed after it was made has to be made anew each time: by a method, by a function, in a field, in an element.
func (c *config) add(name string) { c.names = append(c.names, name) }

func (c *config) has(name string) bool { return len(c.names) > 0 && c.names[0] == name }

func match(s string, given ...*config) int {
	var c *config
	if len(given) == 0 {
		c = defaults() // cost: main.defaults runtime.newobject
	} else {
		c = given[0]
	}
	c.add(s)
	return len(c.names)
}

func grow(c *config, by int) { c.size += by }

func grown() int {
	c := defaults() // cost: main.defaults runtime.newobject
	grow(c, 2)
	return c.size
}

func sized(n int) int {
	c := defaults() // cost: main.defaults runtime.newobject
	c.size = n
	return c.size + len(c.names)
}

func renamed(s string) string {
	c := defaults() // cost: main.defaults runtime.newobject
	c.names[1] = s
	return c.names[0] + c.names[1]
}

// fresh gives it to whoever asks, who may change it.
func fresh() *config {
	c := defaults() // cost: main.defaults runtime.newobject
	return c
}

// same tells one from another.
func same() bool {
	c := defaults() // cost: main.defaults runtime.newobject
	return c == latest
}

var latest = fresh()

func check(s string) bool {
	return defaults().has(s) // cost: main.defaults runtime.newobject; want
}

func levels() []level { return []level{{"low", 1}, {"high", 2}} }

type level struct {
	name string
	n    int
}

func raised(by int) (sum int) {
	list := levels() // cost: main.levels runtime.newobject
	list[0].n += by
	for _, l := range list {
		sum += l.n
	}
	return sum
}

func highest() (most int) {
	for _, l := range levels() { // cost: main.levels runtime.newobject; want
		most = max(most, l.n)
	}
	return most
}

var counted int

func count() string { counted++; return strings.Repeat("x", 3) } // cost: strings.Repeat; want

var title = strings.ToUpper("title") // cost: strings.ToUpper

const sizes = "a,b"

// The constant is not the one of the package that has the same name.
func shadowed() string {
	const sizes = "c,d"
	s := strings.ToUpper(sizes) // cost: strings.ToUpper; want
	return s
}

// What is counted up is not the same in the next call.
func columns() int {
	n := strings.Count(sizes, ",") // cost: strings.Count; want
	n++
	return n
}

func countdown() (n int) {
	for k := strings.Count(sizes, ","); k > 0; k-- { // cost: strings.Count; want
		n++
	}
	return n
}

func resized() string {
	c := defaults() // cost: main.defaults runtime.newobject
	c.size++
	return c.names[0] + strconv.Itoa(c.size)
}

// fails is not called in this program.
func fails() string {
	return strings.Repeat("=", -1) // cost: strings.Repeat
}

// picked may be out of range for somebody else's limits.
func picked() byte {
	return letterAt(40) // cost: main.letterAt; want
}

func letterAt(i int) byte {
	const letters = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"
	return letters[i]
}

// large would stay in memory.
func large() byte {
	return strings.Repeat("=", 1<<20)[0] // cost: strings.Repeat; want
}

func bar() string {
	s := strings.Repeat("|", 3) // cost: strings.Repeat; want
	return s
}

// A shown value is shown before the program starts.
type shown struct{ n int }

var early = fmt.Sprint(shown{1})

func (s shown) String() string {
	return strings.Repeat("=", 4) + strconv.Itoa(s.n) // cost: strings.Repeat; want
}

func main() {
	fmt.Println(len(early) > 0, ruledEarly, needed)
	if len(title) > 1000 {
		fails()
	}
	fmt.Println(picked(), large(), bar())
	fmt.Println(halved(), doubled(), negative(), letter())
	fmt.Println(shadowed(), columns(), columns(), countdown(), countdown(), resized(), resized())
	fmt.Println(line("a"), header("b"), indent(2, "c"), run("d"), run("e"), match("x"), match("x"), grown(), grown(), sized(7), sized(8), renamed("n"), renamed("m"), same(), check("a"), check("b"), raised(1), raised(1), highest(), count(), title, counted)
}

// A constant of the function keeps its type where its value is written out.
func halved() string {
	const two float64 = 2
	return strconv.FormatFloat(1/two, 'g', -1, 64) // cost: strconv.FormatFloat; want
}

func doubled() string {
	const one = 1.0
	return strconv.FormatFloat(one/2, 'g', -1, 64) // cost: strconv.FormatFloat; want
}

func negative() string {
	const less = -2
	return strconv.Itoa(3 - less) // cost: strconv.Itoa; want
}

func letter() string {
	const a, b = 'a', 'a' + 1
	return strings.Repeat(string(a)+string(b), 3) // cost: strings.Repeat; want
}

// What a method calls may be called as early as the method is.
type ruled struct{}

var ruledEarly = fmt.Sprintln(&ruled{})

func (*ruled) Error() string { return rule() }

func rule() string {
	return strings.Repeat("-", 5) // cost: strings.Repeat; want
}

// A variable that needs a function by its name comes behind what the function needs.
var needed = fmt.Sprintln(frame())

func frame() string {
	return strings.Repeat("#", 5) // cost: strings.Repeat; want
}
