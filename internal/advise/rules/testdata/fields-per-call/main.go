package main

import (
	"fmt"
	"reflect"
	"strings"
)

type inner struct{ B, C int }

type outer struct {
	inner
	A int `name:"a,omitempty"`
	d int
}

// fieldsOf returns the fields of a struct, with those of structs that it has inside.
func fieldsOf(t reflect.Type) []reflect.StructField {
	if t = pointed(t); t.Kind() != reflect.Struct {
		return nil
	}
	var out []reflect.StructField
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i) // cost: reflect.(*rtype).Field; want
		if f.Anonymous {
			out = append(out, fieldsOf(f.Type)...)
		} else if f.PkgPath == "" {
			out = append(out, f) // cost: runtime.growslice
		}
	}
	return out
}

func pointed(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

func copied(v any) (n int) {
	fields := fieldsOf(reflect.TypeOf(v))
	for _, f := range fields {
		n += f.Index[0] + len(f.Name)
	}
	return n + len(fields)
}

// names may be changed by who gets them.
func names(t reflect.Type) []string {
	var out []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("name"), ",") // cost: reflect.(*rtype).Field; want
		out = append(out, name)
	}
	return out
}

func named(v any) []string {
	return names(reflect.TypeOf(v))
}

// renamed are changed by who gets them: one for all would be wrong.
func renamed(t reflect.Type) []string {
	return make([]string, t.NumField()) // cost: runtime.makeslice
}

func first(v any) []string {
	list := renamed(reflect.TypeOf(v))
	list[0] = "first"
	return list
}

type point struct{ X, Y int }

// newPoint makes a value that others fill, and tags are looked up where more can be added.
func newPoint(t reflect.Type) *reflect.Value {
	v := reflect.New(t).Elem() // cost: reflect.New
	return &v
}

var tags = map[string]string{"B": "b"}

func setTag(field, tag string) { tags[field] = tag }

func tagged(t reflect.Type) []string {
	var out []string
	for i := range t.NumField() {
		out = append(out, tags[t.Field(i).Name]) // cost: reflect.(*rtype).Field
	}
	return out
}

var made int

// values counts its calls.
func values(t reflect.Type) []int {
	made++
	return make([]int, t.NumField()) // cost: runtime.makeslice
}

// kindOf may return nil, which has no type to assert.
func kindOf(t reflect.Type) fmt.Stringer {
	if t.NumField() > 0 { // cost: reflect.(*rtype).NumField
		return t.Kind()
	}
	return nil
}

func main() {
	setTag("C", "c")
	for range 2 {
		fmt.Println(copied(outer{}), copied(&outer{}), copied(1), named(outer{}), first(outer{}), newPoint(reflect.TypeOf(point{})), tagged(reflect.TypeOf(inner{})), len(values(reflect.TypeOf(inner{}))), made, kindOf(reflect.TypeOf(inner{})), kindOf(reflect.TypeOf(struct{}{})))
	}
}
