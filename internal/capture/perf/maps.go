package perf

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A mapping is a piece of a file, or of nothing, that a program can run as code.
type mapping struct {
	start, end, offset uint64
	file               string // as the program sees it; "" or in brackets when it is none, such as [vdso]
	deleted            bool   // the file is no longer there, or another one is there by this name
}

// Limits on what is read of a process.
const (
	maxMapLine = 64 << 10
	maxMaps    = 1 << 16
)

// parseMaps reads the code among the lines of /proc/PID/maps, which are in the order of addresses.
func parseMaps(r io.Reader) ([]mapping, error) {
	var out []mapping
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxMapLine)
	for lines.Scan() {
		m, code, ok := parseMapping(lines.Text())
		if !ok {
			return nil, fmt.Errorf("%q is not a line of a map of memory", lines.Text())
		}
		if !code {
			continue
		}
		if n := len(out); n > 0 && m.start < out[n-1].end {
			return nil, fmt.Errorf("%q overlaps the line before", lines.Text())
		}
		if out = append(out, m); len(out) > maxMaps {
			return nil, fmt.Errorf("there are more than %d pieces of code", maxMaps)
		}
	}
	return out, lines.Err()
}

// parseMapping reads a line such as
//
//	00400000-0049e000 r-xp 00000000 fd:00 1234    /usr/bin/app
func parseMapping(line string) (m mapping, code, ok bool) {
	field := func() string {
		f, rest, _ := strings.Cut(strings.TrimLeft(line, " "), " ")
		line = rest
		return f
	}
	start, end, dash := strings.Cut(field(), "-")
	perms := field()
	offset := field()
	_, inode := field(), field()
	var errs [3]error
	m.start, errs[0] = strconv.ParseUint(start, 16, 64)
	m.end, errs[1] = strconv.ParseUint(end, 16, 64)
	m.offset, errs[2] = strconv.ParseUint(offset, 16, 64)
	if !dash || errs != [3]error{} || m.start >= m.end || len(perms) < 4 || inode == "" {
		return m, false, false
	}
	m.file = strings.TrimLeft(line, " ")
	// The kernel writes a newline in a name so, and nothing else.
	m.file = strings.ReplaceAll(m.file, `\012`, "\n")
	m.file, m.deleted = strings.CutSuffix(m.file, " (deleted)")
	return m, perms[2] == 'x', true
}

// inFile reports whether the code is in a file.
func (m *mapping) inFile() bool {
	return strings.HasPrefix(m.file, "/") && !strings.HasPrefix(m.file, "//anon") && !strings.HasPrefix(m.file, "/memfd:")
}
