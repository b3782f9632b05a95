package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

func decode(r io.Reader) (v any, err error) {
	b, err := io.ReadAll(r) // cost: io.ReadAll runtime.growslice; want
	if err != nil {
		return nil, err
	}
	return v, json.Unmarshal(b, &v)
}

func main() { fmt.Println(decode(strings.NewReader("{}"))) }
