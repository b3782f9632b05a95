package main

import (
	"fmt"
	"reflect"
)

func length(v any) int {
	return reflect.ValueOf(v).Len() // cost: reflect.Value.Len; want
}

func main() { fmt.Println(length("abc")) }
