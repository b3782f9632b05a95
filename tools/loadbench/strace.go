package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// onSockets are the system calls that requests are made of.
var onSockets = []string{
	"read", "write", "sendto", "recvfrom", "sendmsg", "recvmsg", "epoll_wait", "epoll_pwait", "epoll_pwait2", "epoll_ctl",
	"connect", "socket", "close", "getsockopt", "setsockopt", "getsockname", "getpeername",
}

// callsIn reads what strace -c counted: all calls, and those on sockets and epoll.
func callsIn(file string) (all, ours int64, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) < 5 || words[0] == "%" || strings.HasPrefix(words[0], "-") {
			continue
		}
		name := words[len(words)-1]
		n, err := strconv.ParseInt(words[3], 10, 64)
		if err != nil || name == "total" {
			continue
		}
		all += n
		if slices.Contains(onSockets, name) {
			ours += n
		}
	}
	if all == 0 {
		return 0, 0, fmt.Errorf("%s holds no counts:\n%s", file, text)
	}
	return all, ours, nil
}
