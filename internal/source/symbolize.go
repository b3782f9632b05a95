package source

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/filename"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/source/objfile"
	"github.com/ianlancetaylor/demangle"
)

// Finish names what the gathered profile leaves unnamed and cuts off the frames that it calls uninteresting, unless
// all are asked for.
func (o *Options) Finish(ctx context.Context, g *Gathered) (*profile.Profile, error) {
	p, err := o.symbolize(ctx, g.Profile, g.servers)
	if err != nil {
		return nil, err
	}
	if o.AllFrames {
		h := p.Header
		h.DropFrames, h.KeepFrames = "", ""
		p = p.WithHeader(h)
	}
	// A profile whose own regexp is broken is shown whole.
	if q, err := p.DropUninteresting(); err == nil {
		p = q
	}
	return o.forgetServers(p), nil
}

// symbolize gives names to addresses, as the mode in o says.
func (o *Options) symbolize(ctx context.Context, p *profile.Profile, known servers) (*profile.Profile, error) {
	local, remote, force, style := true, true, false, "default"
	for word := range strings.SplitSeq(strings.ToLower(o.Symbolize), ":") {
		switch word {
		case "", "demangle=default":
		case "none", "no":
			return p, nil
		case "local", "fastlocal":
			local, remote = true, false
		case "remote":
			local, remote = false, true
		case "force":
			force = true
		case "demangle=full", "demangle=none", "demangle=templates", "full", "templates":
			style = strings.TrimPrefix(word, "demangle=")
			force = true
		case "default":
		default:
			o.say("ignoring unrecognized symbolization option: %s", o.Symbolize)
			o.say("expecting -symbolize=[local|fastlocal|remote|none][:force][:demangle=[none|full|templates|default]")
		}
	}
	n := &namer{p: p, t: p.Tables, functions: make(map[profile.Function]uint32)}
	if local {
		o.nameLocally(n, force)
	}
	if remote {
		if err := o.nameRemotely(ctx, n, known, force); err != nil {
			return nil, err
		}
	}
	n.demangle(force, style)
	if !n.changed {
		return p, nil
	}
	return p.WithTables(n.t), nil
}

// A namer adds names to the tables of a profile, which it copies when it first changes them.
type namer struct {
	p         *profile.Profile
	t         profile.Tables
	changed   bool // functions are copied
	moved     bool // locations and mappings are, too
	functions map[profile.Function]uint32
}

// change makes all tables ones that may be changed.
func (n *namer) change() {
	n.rename()
	if !n.moved {
		n.moved = true
		n.t.Mappings = slices.Clone(n.t.Mappings)
		n.t.Locations = slices.Clone(n.t.Locations)
	}
}

// rename makes the functions ones that may be changed.
func (n *namer) rename() {
	if !n.changed {
		n.changed = true
		n.t.Functions = slices.Clone(n.t.Functions)
	}
}

func (n *namer) function(f profile.Function) uint32 {
	i, ok := n.functions[f]
	if !ok {
		i = uint32(len(n.t.Functions))
		n.functions[f] = i
		f.ID = uint64(i) + 1
		n.t.Functions = append(n.t.Functions, f)
	}
	return i
}

// nameLocally names addresses from programs on this machine.
func (o *Options) nameLocally(n *namer, force bool) {
	named := func(m *profile.Mapping) bool {
		return !force && (m.HasFunctions || m.HasFilenames || m.HasLineNumbers)
	}
	of := make([][]int, len(n.t.Mappings))
	for i := range n.t.Locations {
		if m := n.t.Locations[i].Mapping; m != profile.NoMapping && !named(&n.t.Mappings[m]) {
			of[m] = append(of[m], i)
		}
	}
	// A profile may have names without saying so of its programs, as go tool trace writes it. Then nothing is missing.
	unnamed := func(l int) bool {
		lines := n.t.Locations[l].Lines
		return len(lines) == 0 || n.t.Functions[lines[0].Function].Name == ""
	}
	missing := false
	var absent []string // what a profile calls them; "" for a program without a name
	for i := range n.t.Mappings {
		m := n.t.Mappings[i]
		switch {
		case len(of[i]) == 0: // named, or not met
			continue
		case m.File == "" && !o.PProf:
			if n.p.Damage == nil && slices.ContainsFunc(of[i], unnamed) { // a note says what damage took
				absent = append(absent, "")
			}
			continue
		case m.File == "" && i == 0:
			o.say("Main binary filename not available.")
			continue
		case m.File == "":
			missing = true
			continue
		case nameless(m.File):
			continue
		}
		if u, err := url.Parse(m.File); m.BuildID == "" && err == nil && u.IsAbs() && strings.Contains(strings.ToLower(u.Scheme), "http") {
			continue
		}
		f, err := objfile.Open(m.File)
		if err != nil {
			name, id := filename.Base(m.File), m.Build()
			if !o.PProf && errors.Is(err, fs.ErrNotExist) {
				if slices.ContainsFunc(of[i], unnamed) {
					absent = append(absent, name)
				}
				continue
			}
			if o.PProf {
				name, id = filepath.Base(m.File), m.BuildID
			}
			if id != "" {
				name += fmt.Sprintf(" (build ID %s)", id)
			}
			o.say("Local symbolization failed for %s: %v", name, err)
			missing = true
			continue
		}
		n.nameMapping(i, of[i], f)
		f.Close()
	}
	if len(absent) > 0 && o.Absent != nil {
		o.Absent(absent)
	}
	if missing {
		o.say("Some binary filenames not available. Symbolization may be incomplete.\n" +
			"Try setting PPROF_BINARY_PATH to the search path for local binaries.")
	}
}

// nameless reports whether a mapping is of a kind that no file has names for.
func nameless(file string) bool {
	base := filename.Base(file)
	return strings.HasPrefix(base, "[") || strings.HasPrefix(base, "linux-vdso") || file == "//anon" ||
		strings.HasPrefix(file, "/dev/dri/") || strings.HasPrefix(file, "/memfd:")
}

// nameMapping names the locations of mapping m from f.
func (n *namer) nameMapping(m int, locations []int, f *objfile.File) {
	var shift uint64
	if start := n.t.Mappings[m].Start; start != 0 {
		if load, err := f.LoadAddress(); err == nil {
			shift = start - load
		}
	}
	for _, i := range locations {
		frame, ok := f.SourceLine(n.t.Locations[i].Address - shift)
		if !ok {
			continue
		}
		n.change()
		mm := &n.t.Mappings[m]
		mm.HasFunctions = mm.HasFunctions || frame.Func != ""
		mm.HasFilenames = mm.HasFilenames || frame.File != ""
		mm.HasLineNumbers = mm.HasLineNumbers || frame.Line != 0
		mm.HasInlineFrames = true
		fn := n.function(profile.Function{Name: frame.Func, SystemName: frame.Func, File: frame.File})
		l := &n.t.Locations[i]
		l.Folded = false
		l.Lines = []profile.Line{{Function: fn, Line: int64(frame.Line)}}
	}
}

var symbolLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(0x[[:xdigit:]]+)\s+(.*)`) })

// nameRemotely asks the servers that profiles came from for the names of addresses.
func (o *Options) nameRemotely(ctx context.Context, n *namer, known servers, force bool) error {
	for i := range n.t.Mappings {
		m := n.t.Mappings[i]
		if !force && m.HasFunctions {
			continue
		}
		from := known[m.File]
		if m.BuildID != "" {
			from = append(slices.Clone(from), known[m.BuildID]...)
		}
		for _, s := range from {
			u := symbolURL(s.url)
			if u == nil {
				continue
			}
			if err := o.askNames(ctx, n, i, u, s.start-m.Start); err != nil {
				return err
			}
			n.change()
			n.t.Mappings[i].HasFunctions = true
			break
		}
	}
	return nil
}

// symbolURL returns where a server that gave a profile names addresses.
func symbolURL(from string) *url.URL {
	u, err := url.Parse(from)
	if err != nil || u.Host == "" {
		return nil
	}
	last := "symbolz"
	if strings.Contains(u.Path, "/debug/pprof/") || slices.ContainsFunc(
		[]string{"heap", "growth", "profile", "pmuprofile", "contention"},
		func(kind string) bool { return strings.HasSuffix(u.Path, "/pprof/"+kind) }) {
		last = "symbol"
	}
	u.Path = path.Clean(u.Path + "/../" + last)
	u.RawQuery = ""
	return u
}

// askNames names the addresses of mapping m that have no name. shift is what to add for the server.
func (o *Options) askNames(ctx context.Context, n *namer, m int, u *url.URL, shift uint64) error {
	var wanted []string
	for i := range n.t.Locations {
		l := &n.t.Locations[i]
		if l.Mapping == int32(m) && l.Address != 0 && len(l.Lines) == 0 {
			wanted = append(wanted, fmt.Sprintf("%#x", l.Address+shift))
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	resp, err := o.do(ctx, http.MethodPost, u, []byte(strings.Join(wanted, "+")), time.Minute)
	if err != nil {
		return fmt.Errorf("http post %s: %v", u, err)
	}
	defer resp.Body.Close()
	names := make(map[uint64]uint32)
	n.change()
	lines := bufio.NewScanner(io.LimitReader(resp.Body, 256<<20))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		part := symbolLine().FindStringSubmatch(lines.Text())
		if part == nil {
			continue
		}
		at, err := strconv.ParseUint(part[1], 0, 64)
		if err != nil {
			return fmt.Errorf("unexpected parse failure %s: %v", part[1], err)
		}
		names[at-shift] = n.function(profile.Function{Name: part[2], SystemName: part[2]})
	}
	for i := range n.t.Locations {
		l := &n.t.Locations[i]
		if fn, ok := names[l.Address]; ok && l.Mapping == int32(m) {
			l.Lines = []profile.Line{{Function: fn}}
		}
	}
	return lines.Err()
}

// demangle turns linker names of C++ and Rust into readable ones.
func (n *namer) demangle(force bool, style string) {
	var opts []demangle.Option
	switch style {
	case "none":
	case "templates":
		opts = []demangle.Option{demangle.NoParams, demangle.NoEnclosingParams}
	case "full":
		opts = []demangle.Option{demangle.NoClones}
	default:
		opts = []demangle.Option{demangle.NoParams, demangle.NoEnclosingParams, demangle.NoTemplateParams}
	}
	for i := range n.t.Functions {
		f := n.t.Functions[i]
		if force && f.Name != "" && f.SystemName != "" {
			f.Name = f.SystemName
		}
		if len(opts) > 0 && (f.Name == "" || f.Name == f.SystemName) {
			f.Name = readable(f.SystemName, opts)
		}
		if f.Name != n.t.Functions[i].Name {
			n.rename()
			n.t.Functions[i] = f
		}
	}
}

func readable(name string, opts []demangle.Option) string {
	if s := demangle.Filter(name, opts...); s != name {
		return s
	}
	// macOS puts one more underscore in front.
	if rest, ok := strings.CutPrefix(name, "_"); ok {
		if s := demangle.Filter(rest, opts...); s != rest {
			return s
		}
	}
	// The name may be readable already, but with arguments. Java's .<init> and Go's [...]) are no C++.
	if !bracketed(name) && !strings.Contains(name, "::") || strings.Contains(name, ".<") || strings.Contains(name, "]).") {
		return name
	}
	for _, o := range opts {
		switch o {
		case demangle.NoParams:
			name = without(name, '(', ')')
		case demangle.NoTemplateParams:
			name = without(name, '<', '>')
		}
	}
	return name
}

// bracketed reports whether a name has brackets other than round ones. Few have; strings.ContainsAny takes three times as long.
func bracketed(name string) bool {
	for _, b := range []byte("<>[]") {
		if strings.IndexByte(name, b) >= 0 {
			return true
		}
	}
	return false
}

// without returns name without what is between outermost pairs of brackets. A name whose brackets do not match is
// left alone from there on.
func without(name string, open, end byte) string {
	depth, start := 0, 0
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case open:
			if depth == 0 {
				start = i
			}
			depth++
		case end:
			depth--
			if depth < 0 {
				return name
			}
			if depth == 0 {
				name = name[:start] + name[i+1:]
				i = start - 1
			}
		}
	}
	return name
}
