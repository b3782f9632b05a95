package main

import "fmt"

func index(list []string) map[string]int {
	m := make(map[string]int)
	for i, s := range list {
		m[s] = i // cost: runtime.mapassign_faststr internal/runtime/maps.(*Map).growToTable; want
	}
	return m
}

func literal(list []string) map[string]bool {
	m := map[string]bool{}
	for _, s := range list {
		m[s] = true // cost: runtime.mapassign_faststr internal/runtime/maps.(*table).rehash; want
	}
	return m
}

func roomy(list []string) map[string]int {
	m := make(map[string]int, len(list))
	for i, s := range list {
		m[s] = i // cost: runtime.mapassign_faststr internal/runtime/maps.(*Map).growToTable
	}
	return m
}

func main() {
	list := []string{"a", "b", "a"}
	fmt.Println(index(list), literal(list), roomy(list), index(nil))
}
