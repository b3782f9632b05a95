package main

import "fmt"

type list []string

func withName(args []string) []string {
	return append([]string{"go", "build"}, args...) // cost: [alloc_space@32], [alloc_objects@32]; want
}

func line(ctx []any) []any {
	common := []any{"t", 1, "lvl"} // cost: [alloc_space@48], [alloc_objects@48]; want
	return append(common, ctx...)
}

func command(args []string) []string {
	all := []string{ // cost: [alloc_space@32], [alloc_objects@32]; want
		"go",
		"test", // always
	}
	all = append(all, args...)
	all[0] = "GO"
	return all
}

// What is appended may be nothing, and the result is the literal then.
func shared(args []string) ([]string, []string) {
	all := []string{"go", "test"} // cost: [alloc_space@32], [alloc_objects@32]; want
	more := append(all, args...)
	all[0] = "GO"
	return all, more
}

// The list has been used before.
func before(args []string) []string {
	all := []string{"go", "test"} // cost: [alloc_space@32], [alloc_objects@32]
	first := all[:1]
	all = append(all, args...)
	first[0] = "x"
	return all
}

func itself() []string {
	all := []string{"go", "test"} // cost: [alloc_space@32], [alloc_objects@32]; want
	all = append(all, all...)
	return all
}

// The result would be of another type.
func otherType(args list) any {
	return append([]string{"go", "test"}, args...) // cost: [alloc_space@32], [alloc_objects@32]; want
}

func sometimes(args []string, verbose bool) []string {
	all := []string{"go", "test"} // cost: [alloc_space@32], [alloc_objects@32]; want
	if verbose {
		all = append(all, args...)
	}
	return all
}

func each(rows [][]string) (out [][]string) {
	head := []string{"a", "b"} // cost: [alloc_space@32], [alloc_objects@32]; want
	for _, row := range rows {
		out = append(out, append(head, row...))
	}
	return out
}

func bytes(s string) []byte {
	return append([]byte{'a', 'b'}, s...) // cost: [alloc_space@2], [alloc_objects@2]; want
}

// What the line makes is larger than the literal.
func large(args []string) []string {
	return append([]string{"go", "build"}, args...) // cost: [alloc_space@512], [alloc_objects@512]
}

// rounds changes what it has appended nothing to.
func rounds(args []string) (seen []string) {
	head := []string{"a", "b"} // cost: [alloc_space@32], [alloc_objects@32]; want
	for range 2 {
		all := append(head, args...)
		seen = append(seen, all[0])
		all[0] = "changed"
	}
	return seen
}

// forked has the room that append leaves in both results.
func forked(args []string) (a, b []string) {
	all := append([]string{"go", "build"}, args...) // cost: [alloc_space@32], [alloc_objects@32]; want
	a = append(all, "1")
	b = append(all, "2")
	return a, b
}

func jumping(args []string) (n int) {
	head := []string{"a", "b"} // cost: [alloc_space@32], [alloc_objects@32]; want
again:
	all := append(head, args...)
	all[0] += "!"
	if n++; len(all[0]) < 4 && n < 5 {
		goto again
	}
	return n
}

func main() {
	fmt.Println(forked([]string{"-x"}))
	fmt.Println(jumping(nil))
	fmt.Println(rounds(nil), rounds([]string{"c"}))
	for _, args := range [][]string{nil, {}, {"-x"}, {"-x", "-y", "-z"}} {
		a := withName(args)
		b := append(a[:len(a):len(a)], "end")
		fmt.Println(a, b, withName(args) == nil, command(args), itself(), sometimes(args, true), sometimes(args, false), before(args), large(args))
		fmt.Println(shared(args))
		fmt.Printf("%T %v\n", otherType(args), each([][]string{args, args}))
	}
	fmt.Println(line(nil), line([]any{1, "x"}), string(bytes("")), string(bytes("c")))
}
