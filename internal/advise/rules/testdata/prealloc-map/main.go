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

func merged(all ...map[string]int) map[string]int {
	out := map[string]int{}

	for _, m := range all {
		for k, v := range m {
			out[k] = v // cost: runtime.mapassign_faststr internal/runtime/maps.(*Map).growToTable; want
		}
	}
	return out
}

// Not all of them are gone through.
func some(all [][]string) map[string]bool {
	out := map[string]bool{}
	for _, list := range all {
		if len(list) > 2 {
			break
		}
		for _, s := range list {
			out[s] = true // cost: runtime.mapassign_faststr internal/runtime/maps.(*Map).growToTable; want
		}
	}
	return out
}

type entry struct{ data map[string]int }

func (e *entry) copied() map[string]int {
	data := make(map[string]int)
	for k, v := range e.data {
		data[k] = -v // cost: runtime.mapassign_faststr internal/runtime/maps.(*Map).growToTable; want
	}
	return data
}

func squares(n int) map[int]int {
	m := map[int]int{}
	for i := 1; i <= n; i++ {
		m[i*i] = i // cost: runtime.mapassign_fast64 internal/runtime/maps.(*Map).growToTable; want
	}
	return m
}

// Each group is small, so to clear a map with room for all of them takes longer than to fill it.
func groups(list []string) (n int) {
	seen := map[string]bool{}
	for _, s := range list {
		seen[s] = true // cost: runtime.mapassign_faststr internal/runtime/maps.(*Map).growToTable; want
		if s == "" {
			n += len(seen)
			clear(seen)
		}
	}
	return n
}

func several(list []string) (out []map[string]int) {
	m := make(map[string]int)
	for i, s := range list {
		m[s] = i // cost: runtime.mapassign_faststr internal/runtime/maps.(*Map).growToTable; want
		if s == "" {
			out = append(out, m)
			m = make(map[string]int)
		}
	}
	return out
}

func walked(list []string) (n int) {
	m := make(map[string]int)
	for _, s := range list {
		m[s] = len(s) // cost: runtime.mapassign_faststr internal/runtime/maps.(*Map).growToTable; want
		for _, k := range m {
			n += k
		}
	}
	return n
}

// What these maps allocate is room for their first entries, which no size makes less.
func small(list []string) map[string]bool {
	out := map[string]bool{}
	for _, s := range list {
		out[s] = true // cost: runtime.mapassign_faststr internal/runtime/maps.(*Map).growToSmall internal/runtime/maps.newGroups internal/runtime/maps.newarray runtime.newarray
	}
	return out
}

type logged struct {
	names struct{ time, msg string }
	time  string
	ctx   []any
}

func (r *logged) String() string { return r.time }

func props(r *logged) map[string]any {
	m := make(map[string]any)
	m[r.names.time] = r.time
	m[r.names.msg] = r.String()
	for i := 0; i < len(r.ctx); i += 2 {
		m[r.ctx[i].(string)] = r.ctx[i+1] // cost: runtime.mapassign_faststr internal/runtime/maps.(*Map).growToTable; want
	}
	return m
}

// Whether there is a record is known only when it has been asked, which others see.
func asked(r *logged, log func(*logged)) map[string]any {
	m := make(map[string]any)
	log(r)
	m["x"] = r.time
	for i := 0; i < len(r.ctx); i += 2 {
		m[r.ctx[i].(string)] = r.ctx[i+1] // cost: runtime.mapassign_faststr internal/runtime/maps.(*Map).growToTable; want
	}
	return m
}

func evens(kv []any) map[string]any {
	m := make(map[string]any)
	m["time"] = 1
	for i := 0; i < len(kv); i += 2 {
		m[kv[i].(string)] = kv[i+1] // cost: runtime.mapassign_faststr internal/runtime/maps.(*Map).growToTable; want
	}
	return m
}

func noRecord() {
	defer func() { fmt.Println(recover()) }()
	asked(nil, func(r *logged) { fmt.Println(r == nil) })
}

func main() {
	noRecord()
	r := &logged{time: "t", ctx: []any{"a", 1, "b", 2}}
	r.names.time = "time"
	fmt.Println(props(r), asked(r, func(r *logged) { r.ctx = append(r.ctx, "c", 3) }), evens(nil), evens(r.ctx))
	fmt.Println(small([]string{"a"}))
	fmt.Println(groups([]string{"a", "", "b"}), several([]string{"a", "", "b"}), walked([]string{"a", "bc"}))
	fmt.Println((&entry{map[string]int{"a": 1}}).copied(), squares(3), squares(-1))
	fmt.Println(merged(), merged(map[string]int{"a": 1}, nil, map[string]int{"b": 2, "a": 3}), some([][]string{{"a"}, nil, {"b", "c"}}))
	list := []string{"a", "b", "a"}
	fmt.Println(index(list), literal(list), roomy(list), index(nil))
}
