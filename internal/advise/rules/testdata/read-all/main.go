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

// Not all is read before any of it is looked at.
func stream(r io.Reader) (v any, err error) {
	return v, json.NewDecoder(r).Decode(&v) // cost: [cpu] encoding/json.(*Decoder).Decode
}
