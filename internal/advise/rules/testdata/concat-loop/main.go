package main

import "fmt"

func join(list []string) string {
	s := ""
	for i, x := range list {
		if i > 0 {
			s += ", "
		}
		s += x // cost: runtime.concatstring2 runtime.mallocgc, [alloc_objects@64], [alloc_objects*2@128]; want
	}
	return s
}

func more(list []string) (out string) {
	line := "> "
	for _, x := range list {
		line = line + x + string('!') // cost: runtime.concatstring3 runtime.mallocgc; want
		if len(line) > 20 {
			break
		}
	}
	return line
}

func leftpad(s string, n int, chr rune) string {
	n = min(n, 100)
	for len(s) < n {
		s = string(chr) + s // cost: runtime.concatstring2 runtime.mallocgc; want
	}
	return s
}

const width = 9

func zeros(s string) string {
	for len(s) < width {
		s = "0" + s // cost: runtime.concatstring2 runtime.mallocgc; want
	}
	return s
}

// The last one may go past the width.
func dashes(text string, size int) string {
	for len(text) < size {
		text = "-%-" + text // cost: runtime.concatstring2 runtime.mallocgc; want
	}
	return text
}

// It is looked at in each round.
func seen(list []string) string {
	s := ""
	for _, x := range list {
		s += x // cost: runtime.concatstring2 runtime.mallocgc; want
		fmt.Println(s)
	}
	return s
}

// A result can be seen by what is deferred.
func result(list []string) (s string) {
	for _, x := range list {
		s += x // cost: runtime.concatstring2 runtime.mallocgc; want
	}
	return
}

// The text becomes another one on the way.
func prefixed(runes []rune, other string) string {
	mask := ""
	for _, c := range runes {
		if c == '!' {
			if mask == "" {
				mask = other
			}
			continue
		}
		mask += string(c) // cost: runtime.concatstring2 runtime.mallocgc; want
	}
	return mask
}

func formatted(list []string) string {
	s := ""
	for i, x := range list {
		s += fmt.Sprintf("%d=%s;", i, x) // cost: runtime.concatstring2 runtime.mallocgc; want
	}
	return s
}

func explained(list []string) string {
	s := ""
	for _, x := range list {
		s += x + // cost: runtime.concatstring2 runtime.mallocgc; want
			"," // as it is
	}
	return s
}

func filled(s string) string {
	for len(s) < 4 {
		// In front.
		s = "0" + s // cost: runtime.concatstring2 runtime.mallocgc; want
	}
	return s
}

func main() {
	fmt.Println(explained([]string{"a", "b"}), filled("1"))
	fmt.Println(restarted([]rune("ab!c"), "x"))
	fmt.Println(prefixed([]rune("a!b"), "x"), prefixed([]rune("!b!"), "x"))
	for _, list := range [][]string{nil, {"a"}, {"a", "ä", ""}, {"0123456789", "0123456789", "never"}} {
		fmt.Printf("%q\n", formatted(list))
		fmt.Printf("%q %q %q %q\n", join(list), more(list), seen(list), result(list))
	}
	for _, n := range []int{-1, 0, 3, 4, 7, 8} {
		for _, chr := range []rune{'*', 'é', '→', -1} {
			fmt.Printf("%q\n", leftpad("foo", n, chr))
		}
		fmt.Printf("%q %q %q %q\n", leftpad("", n, 'é'), zeros("12345678"[:max(n, 0)]), dashes("", n), dashes("é", n))
	}
}

// Each round has a text of its own.
func each(list []string) (out []string) {
	for _, x := range list {
		s := ""
		s += x + "!" // cost: [cpu] runtime.concatstring2 runtime.mallocgc
		out = append(out, s)
	}
	return out
}

// The text becomes another one, whatever it was.
func restarted(runes []rune, other string) string {
	mask := ""
	for _, c := range runes {
		if c == '!' && mask != "" {
			mask = other
			continue
		}
		mask += string(c) // cost: runtime.concatstring2 runtime.mallocgc; want
	}
	return mask
}
