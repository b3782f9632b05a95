package cli

import (
	"net/netip"
	"strings"

	"github.com/spf13/pflag"
)

// hostFlag adds the flag for the names of a server.
func hostFlag(flags *pflag.FlagSet, usage string) *[]string {
	return flags.StringSlice("host", nil, usage)
}

// checkHosts returns an error about the first of names that is not the name of a host.
func checkHosts(names []string) error {
	for _, name := range names {
		if !isHostName(name) {
			return usagef("give the name without a scheme and a port, as in --host hone.example.com", "--host %s is not the name of a host", quoted(name))
		}
	}
	return nil
}

// isHostName reports whether s is a host name or address without a port, as in a Host header.
func isHostName(s string) bool {
	if _, err := netip.ParseAddr(s); err == nil {
		return true
	}
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r == '-' || r == '.' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
	})
}
