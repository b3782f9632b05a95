package render

import (
	"regexp"
	"strings"
	"sync"
)

// Patterns for names that pictures show without package or namespace, in the order in which they are tried. The first group is kept.
var shortNames = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`^(?:[-.\w]+/)+([^.]+\..+)`),                                     // Go
		regexp.MustCompile(`^(?:[a-z]\w*\.)*([A-Z][$\w]*\.(?:<init>|[a-z][$\w]*))(?:\(|$)`), // Java
		regexp.MustCompile(`^(?:[A-Za-z_]\w*::)+(_*[A-Z]\w*::~?[A-Za-z_]\w*(?:<.*>)?)`),     // C++
	}
})

// majorVersion is the part of a Go import path that names a major version.
var majorVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.*?)/v(?:[2-9]|[1-9]\d+)([./].*)$`) })

// shortName shortens a function name for pictures, like pprof.
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
