package main

import (
	"fmt"
	"reflect"
)

type place struct{ x, y int }

func places(p, q *place) bool {
	reflect.DeepEqual(*p, *q)                // cost: reflect.DeepEqual; want
	if !reflect.DeepEqual(*p, place{1, 2}) { // cost: reflect.DeepEqual; want
		return false
	}
	return reflect.DeepEqual(*p, *q) // cost: reflect.DeepEqual; want
}

func hard() { fmt.Println(places(&place{}, &place{}), places(&place{1, 2}, &place{1, 2})) }
