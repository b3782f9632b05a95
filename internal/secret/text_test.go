package secret

import (
	"strconv"
	"strings"
	"testing"
)

// FuzzUserEnd holds that a URL of a host and a port has no password, whatever its path is, and that all of a password is found where there is one.
func FuzzUserEnd(f *testing.F) {
	for _, s := range []string{"path@x", "pa/ss7Wq", "a:b@c", "?x=a@b", "80/x", "", "/", "p#?/w", "1,2:3"} {
		f.Add(s, uint16(80))
	}
	f.Fuzz(func(t *testing.T, s string, port uint16) {
		if strings.Contains(s, "://") {
			return // of another URL
		}
		for _, host := range []string{"host", "a.b-c.example", "10.0.0.1", "[::1]"} {
			for _, start := range []string{"/", "?", "#", ":" + strconv.Itoa(int(port)) + "/", ":" + strconv.Itoa(int(port)) + "?"} {
				if at := userEnd(host + start + s); at >= 0 {
					t.Errorf("%s has a password before the @ at %d", host+start+s, at)
				}
			}
		}
		if first := s[:until(s, pathStarts+",@")]; first == "" || isPort(first) || strings.Contains(s, "@") {
			return
		}
		whole := "user:" + s + "@host:" + strconv.Itoa(int(port)) + "/x"
		if at, want := userEnd(whole), len("user:")+len(s); at != want {
			t.Errorf("the password of %s ends at %d, want %d", whole, at, want)
		}
	})
}
