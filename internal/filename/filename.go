// Package filename splits and compares file names that profiles and recordings contain.
//
// Such a name follows the rules of the system on which the program was built. Package path/filepath knows only the rules of the system that
// reads it: on Linux it takes C:\app\main.go for a single element, and on Windows it turns /home/me/main.go into \home\me\main.go. The
// functions of this package tell from the name which rules apply, and give the same answer on all systems. For files on this machine,
// use path/filepath; Local converts a name for it.
//
// Go writes names of source files with slashes, on Windows too: C:/app/main.go. Names of programs, and those that C compilers write,
// have backslashes there.
package filename

import (
	"path"
	"strings"
)

// Windows reports whether a name follows the rules of Windows, where backslashes separate: it has a drive, begins with a
// backslash, as \ and .\ and ..\ do, or has backslashes only. Elsewhere a backslash is a letter like others.
func Windows(name string) bool {
	i := strings.IndexByte(name, '\\')
	return hasDrive(name) || i >= 0 && (i < 3 && strings.Trim(name[:i], ".") == "" || !strings.Contains(name, "/"))
}

func hasDrive(name string) bool {
	return len(name) > 2 && isLetter(name[0]) && name[1] == ':' && isSeparator(name[2])
}

func isLetter(c byte) bool    { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isSeparator(c byte) bool { return c == '/' || c == '\\' }

// Slashed returns a name with slashes between its elements.
func Slashed(name string) string {
	if Windows(name) {
		return strings.ReplaceAll(name, `\`, "/")
	}
	return name
}

// Clean returns the shortest name of the same file, with the separators that it had; "" stays empty. Two slashes at the beginning
// stay: they may be of //server/share, which is how Go writes \\server\share.
func Clean(name string) string {
	if name == "" {
		return ""
	}
	slashed := Slashed(name)
	volume := Volume(slashed)
	rest := slashed[len(volume):]
	switch {
	case rest == "" && volume != "":
	case volume == "" && isShare(slashed): // of a server alone
		if rest = path.Clean(rest); rest != "/" {
			rest = "/" + rest
		}
	default:
		rest = path.Clean(rest)
	}
	if Windows(name) && !strings.Contains(name, "/") {
		return strings.ReplaceAll(volume+rest, "/", `\`)
	}
	return volume + rest
}

// Key returns a name in the one form that names of the same file have, whatever separates their elements.
func Key(name string) string { return Slashed(Clean(name)) }

// isShare reports whether a name with slashes begins as that of a file on a server does.
func isShare(slashed string) bool {
	return len(slashed) > 2 && slashed[:2] == "//" && slashed[2] != '/'
}

// Volume returns what stands before the path in a name of Windows: C: or \\server\share. It is "" for other names.
func Volume(name string) string {
	if hasDrive(name) {
		return name[:2]
	}
	slashed := name
	if strings.HasPrefix(name, `\`) {
		slashed = strings.ReplaceAll(name, `\`, "/")
	}
	if !isShare(slashed) {
		return ""
	}
	server := strings.IndexByte(slashed[2:], '/')
	if server < 0 || 2+server+1 == len(slashed) {
		return ""
	}
	share := 2 + server + 1
	if slashed[share] == '/' {
		return ""
	}
	if end := strings.IndexByte(slashed[share:], '/'); end >= 0 {
		return name[:share+end]
	}
	return name
}

// IsAbs reports whether a name is that of a file wherever one is, on the machine that it comes from.
func IsAbs(name string) bool {
	return strings.HasPrefix(name, "/") || strings.HasPrefix(name, `\`) || hasDrive(name)
}

// Base returns the last element of a name; "" has none.
func Base(name string) string {
	if name == "" {
		return ""
	}
	return path.Base(Slashed(name))
}

// Local returns how a system, such as "linux" or "windows", calls the file with an absolute name that comes from another machine, when
// it is one that the system can have: there is no C:\app on Linux, and no /home/me on Windows, where that would be a folder of
// whichever drive is the current one.
func Local(name, goos string) (local string, ok bool) {
	switch {
	case goos != "windows":
		return path.Clean(name), strings.HasPrefix(name, "/")
	case hasDrive(name), Volume(name) != "":
		return strings.ReplaceAll(Clean(name), "/", `\`), true
	}
	return "", false
}

// SplitList splits a list of names that come from other machines, written as a system writes lists of folders. Where a colon
// separates them, that of a drive does not.
func SplitList(list, goos string) []string {
	if list == "" {
		return nil
	}
	if goos == "windows" {
		return strings.Split(list, ";")
	}
	var out []string
	for _, part := range strings.Split(list, ":") {
		if n := len(out); n > 0 && len(out[n-1]) == 1 && isLetter(out[n-1][0]) && part != "" && isSeparator(part[0]) {
			out[n-1] += ":" + part
			continue
		}
		out = append(out, part)
	}
	return out
}
