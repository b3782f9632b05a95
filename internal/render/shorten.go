package render

import (
	"regexp"
	"strings"
	"sync"
)

// These are the shapes of names that a picture shows without their package or namespace, tried in this order. Each
// keeps its first group.
var shortNames = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`^(?:[-.\w]+/)+([^.]+\..+)`),                                     // Go
		regexp.MustCompile(`^(?:[a-z]\w*\.)*([A-Z][$\w]*\.(?:<init>|[a-z][$\w]*))(?:\(|$)`), // Java
		regexp.MustCompile(`^(?:[A-Za-z_]\w*::)+(_*[A-Z]\w*::~?[A-Za-z_]\w*(?:<.*>)?)`),     // C++
	}
})

// majorVersion is the part of a Go import path that names a major version.
var majorVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.*?)/v(?:[2-9]|[1-9]\d+)([./].*)$`) })

// shortName returns a function name as a picture shows it, the way pprof shortens it.
func shortName(name string) string {
	name = strings.TrimPrefix(name, "(anonymous namespace)::")
	name = majorVersion().ReplaceAllString(name, "$1$2")
	for _, rx := range shortNames() {
		if m := rx.FindStringSubmatch(name); m != nil {
			return m[1]
		}
	}
	return name
}
