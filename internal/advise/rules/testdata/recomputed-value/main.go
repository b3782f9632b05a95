package main

import (
	"fmt"
	"strings"
)

type client struct {
	prefix string
	last   string
}

func newClient(prefix string) *client { return &client{prefix: prefix} }

func clean(s string) string { return strings.ToLower(s) }

func (c *client) send(name string) string {
	c.last = name
	s := clean(c.prefix) // cost: main.clean strings.ToLower; want
	t := clean(c.last)   // cost: main.clean strings.ToLower
	return s + t
}

func main() {
	hard()
	fmt.Println(newClient("A").send("B"))
}
