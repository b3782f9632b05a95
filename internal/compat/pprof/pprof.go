// Package pprof is hone pprof: the flags, reports and shell of go tool pprof, on top of hone's views. It prints the same output as the
// original, byte for byte, except for the intended differences in docs/compat-pprof.md.
package pprof

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/prompt"
	"github.com/hone-perf/hone/internal/source"
)

// A System is what the command may touch.
type System struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
	Env func(string) string
}

// Main runs the command and returns its exit code: 0, or 2 for any error, as the original does.
func Main(ctx context.Context, sys System, args []string) int {
	s := &session{sys: sys, cfg: defaultConfig(), ui: prompt.New(sys.In, sys.Out, sys.Err, sys.Env)}
	err := s.main(ctx, args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		if !errors.Is(err, errFlags) {
			fmt.Fprintf(sys.Err, "%v\n", err)
		}
		return 2
	}
	return 0
}

// errFlags says that something is wrong with the flags, and that it has been said.
var errFlags = errors.New("bad flags")

// A session is one run of the command: a profile and the settings for reports about it.
type session struct {
	sys     System
	ui      prompt.Prompt
	cfg     config
	profile *profile.Profile
	refs    []string // that it is of
	shell   bool     // whether commands are being typed
	ctx     context.Context
}

// complain talks to the user about something that went wrong.
func (s *session) complain(format string, args ...any) { s.ui.Complain(fmt.Sprintf(format, args...)) }

func (s *session) main(ctx context.Context, args []string) error {
	s.ctx = ctx
	f, err := s.parse(args)
	if err != nil {
		return err
	}
	var l net.Listener
	if f.http != "" {
		if l, err = listen(f.http); err != nil {
			return err
		}
		defer l.Close()
	}
	if s.profile, err = s.fetch(ctx, f); err != nil {
		return err
	}
	switch {
	case l != nil:
		return s.serve(l, !f.noBrowser)
	case f.cmd != nil:
		done := make(chan error, 1)
		go func() { done <- s.report(s.cfg, f.cmd, f.arg, nil) }()
		select {
		case err := <-done:
			return err
		case <-ctx.Done(): // what is not wanted any more goes on until the program ends, which is at once
			return ctx.Err()
		}
	}
	return s.interact()
}

// flags are what the command line says beyond settings.
type flags struct {
	options   source.Options
	refs      []string
	base      []string
	diffBase  bool
	comment   string
	http      string
	noBrowser bool
	cmd       *command
	arg       string
}

// Flags returns the flags of the command, described as in its help.
func Flags() *flag.FlagSet {
	s := &session{cfg: defaultConfig()}
	fs, _ := s.define(&flags{})
	fs.VisitAll(func(f *flag.Flag) {
		for _, kind := range []string{"option", "command"} {
			if text, ok := help(kind, f.Name); ok {
				f.Usage, _, _ = strings.Cut(text, "\n")
			}
		}
	})
	return fs
}

func (s *session) parse(args []string) (*flags, error) {
	f := &flags{}
	fs, read := s.define(f)
	fs.SetOutput(s.sys.Err)
	fs.Usage = func() { s.ui.Say(usageMessage()) }
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}
		return nil, errFlags
	}
	if err := read(); err != nil {
		return nil, err
	}
	return f, nil
}

// define returns the flags, and what reads them into f after they are parsed.
func (s *session) define(f *flags) (fs *flag.FlagSet, read func() error) {
	fs = flag.NewFlagSet("pprof", flag.ContinueOnError)
	o := &f.options
	diffBase := fs.String("diff_base", "", "")
	base := fs.String("base", "", "")
	fs.StringVar(&o.Symbolize, "symbolize", "", "")
	fs.StringVar(&o.BuildID, "buildid", "", "")
	timeout := fs.Int("timeout", -1, "")
	fs.StringVar(&f.comment, "add_comment", "", "")
	fs.BoolVar(&o.AllFrames, "all_frames", false, "")
	seconds := fs.Int("seconds", -1, "")
	fs.String("tools", "", "")
	fs.StringVar(&f.http, "http", "", "")
	fs.BoolVar(&f.noBrowser, "no_browser", false, "")
	fs.StringVar(&o.TLSCert, "tls_cert", "", "")
	fs.StringVar(&o.TLSKey, "tls_key", "", "")
	fs.StringVar(&o.TLSCA, "tls_ca", "", "")

	// These choose a sample type, in words from before profiles could hold several.
	aliases := []struct {
		flag, metric string
		on           *bool
	}{
		{flag: "total_delay", metric: "delay"},
		{flag: "mean_delay", metric: "delay"},
		{flag: "contentions", metric: "contentions"},
		{flag: "inuse_space", metric: "inuse_space"},
		{flag: "inuse_objects", metric: "inuse_objects"},
		{flag: "alloc_space", metric: "alloc_space"},
		{flag: "alloc_objects", metric: "alloc_objects"},
	}
	for i := range aliases {
		aliases[i].on = fs.Bool(aliases[i].flag, false, "")
	}

	choices := make(map[string]*bool)
	for _, opt := range options {
		switch p := opt.field(&s.cfg).(type) {
		case *bool:
			fs.BoolVar(p, opt.name, *p, "")
		case *int:
			fs.IntVar(p, opt.name, *p, "")
		case *float64:
			fs.Float64Var(p, opt.name, *p, "")
		case *string:
			if opt.choices == nil {
				fs.StringVar(p, opt.name, *p, "")
			}
			for _, c := range opt.choices {
				choices[c] = fs.Bool(c, false, "")
			}
		}
	}
	flagCommands := make([]*bool, len(commands))
	paramCommands := make([]*string, len(commands))
	for i, c := range commands {
		if c.param {
			paramCommands[i] = fs.String(c.name, "", "")
		} else {
			flagCommands[i] = fs.Bool(c.name, false, "")
		}
	}

	return fs, func() error {
		f.refs = fs.Args()
		if len(f.refs) == 0 {
			fs.Usage()
			return errors.New("no profile source specified")
		}
		if len(f.refs) > 1 && source.IsBinary(f.refs[0]) {
			o.Binary, f.refs = f.refs[0], f.refs[1:]
		}
		for _, opt := range options {
			var set []string
			for _, c := range opt.choices {
				if *choices[c] {
					set = append(set, c)
				}
			}
			if len(set) > 1 {
				return fmt.Errorf("conflicting options set: %v", set)
			}
			if len(set) == 1 {
				*opt.field(&s.cfg).(*string) = set[0]
			}
		}
		for i := range commands {
			arg := ""
			if p := paramCommands[i]; p != nil {
				arg = *p
			}
			if arg == "" && (flagCommands[i] == nil || !*flagCommands[i]) {
				continue
			}
			if f.cmd != nil {
				return errors.New("must set at most one output format")
			}
			f.cmd, f.arg = &commands[i], arg
		}
		if f.cmd != nil && f.http != "" {
			return errors.New("-http is not compatible with an output format on the command line")
		}
		if f.noBrowser && f.http == "" {
			return errors.New("-no_browser only makes sense with -http")
		}
		for _, a := range aliases {
			switch {
			case !*a.on:
			case s.cfg.sampleIndex == "":
				s.cfg.sampleIndex = a.metric
			default:
				s.complain("Multiple value selections, ignoring -%s", a.flag)
			}
			if *a.on && a.flag == "mean_delay" {
				s.cfg.mean = true
			}
		}
		if *base != "" {
			f.base = []string{*base}
		}
		if *diffBase != "" {
			if *base != "" {
				return errors.New("-base and -diff_base flags cannot both be specified")
			}
			f.base, f.diffBase = []string{*diffBase}, true
		}
		if s.cfg.normalize && f.base == nil {
			return errors.New("must have base profile to normalize by")
		}
		o.Duration = time.Duration(max(*seconds, 0)) * time.Second
		o.Timeout = time.Duration(max(*timeout, 0)) * time.Second
		o.PProf = true
		o.Stdin = s.sys.In
		o.Say = func(msg string) { s.ui.Complain(msg) }
		o.BinaryPath = filepath.SplitList(s.sys.Env("PPROF_BINARY_PATH"))
		if len(o.BinaryPath) == 0 {
			o.BinaryPath = []string{filepath.Join(s.sys.Env(homeVariable()), "pprof", "binaries")}
		}
		return nil
	}
}

func homeVariable() string {
	if runtime.GOOS == "windows" {
		return "USERPROFILE"
	}
	return "HOME"
}

// fetch gets the profile that reports are about: the sum of the sources, less the base.
func (s *session) fetch(ctx context.Context, f *flags) (*profile.Profile, error) {
	o := &f.options
	o.Metric = s.cfg.sampleIndex
	s.refs = f.refs
	g, err := o.Gather(ctx, f.refs)
	if err != nil {
		return nil, fmt.Errorf("problem fetching source profiles: %v", asPprofSays(err))
	}
	base, err := o.Gather(ctx, f.base)
	if err != nil {
		return nil, fmt.Errorf("problem fetching base profiles: %v,", asPprofSays(err))
	}
	if g.N == 0 {
		return nil, errors.New("failed to fetch any source profiles")
	}
	if base.N == 0 && len(f.base) > 0 {
		return nil, errors.New("failed to fetch any base profiles")
	}
	if g.N < len(f.refs) {
		s.complain("Fetched %d source profiles out of %d", g.N, len(f.refs))
	}
	if base.N > 0 {
		if err := s.subtract(g, base, f.diffBase); err != nil {
			return nil, asPprofSays(err)
		}
	}
	p, err := o.Finish(ctx, g)
	if err != nil {
		return nil, err
	}
	for _, n := range p.Notes {
		s.complain("%s", n)
	}
	if f.comment != "" {
		h := p.Header
		h.Comments = append(slices.Clone(h.Comments), f.comment)
		p = p.WithHeader(h)
	}
	if g.Remote || base.Remote {
		s.save(p)
	}
	return p, nil
}

// asPprofSays returns an error in the words of pprof, where hone has others for it.
func asPprofSays(err error) error {
	if errors.Is(err, profile.ErrNothingCommon) {
		return errors.New("profiles have empty common sample type list")
	}
	var none *profile.NoMetricError
	if errors.As(err, &none) {
		if _, isNumber := strconv.Atoi(none.Name); isNumber == nil {
			return fmt.Errorf("sample_index %s is outside the range [0..%d]", none.Name, len(none.Have)-1)
		}
		return fmt.Errorf("sample_index %q must be one of: %v", none.Name, none.Have)
	}
	return err
}

// subtract takes base off the profile that was gathered.
func (s *session) subtract(g, base *source.Gathered, diff bool) error {
	b := base.Profile
	if diff {
		b = b.WithLabel(calls.BaseLabel, "true")
	}
	if s.cfg.normalize {
		p, err := g.Profile.Normalize(b)
		if err != nil {
			return err
		}
		g.Profile = p
	}
	p, err := profile.Merge(g.Profile, b.Negate())
	if err != nil {
		return err
	}
	g.Profile = p
	return nil
}

// save keeps a copy of a profile that came from a server, which may not be had again.
func (s *session) save(p *profile.Profile) {
	name := "pprof."
	if len(p.Mappings) > 0 && p.Mappings[0].File != "" {
		name += filepath.Base(p.Mappings[0].File) + "."
	}
	for _, t := range p.SampleTypes {
		name += t.Type + "."
	}
	f, err := s.numbered(name, ".pb.gz")
	if err == nil {
		err = p.Write(f)
		if e := f.Close(); err == nil {
			err = e
		}
	}
	if err != nil {
		s.complain("Could not save profile: %v", err)
		return
	}
	s.complain("Saved profile in %s", f.Name())
}

// numbered makes a new file with a number in its name where profiles are kept.
func (s *session) numbered(prefix, suffix string) (*os.File, error) {
	var dirs []string
	if dir := s.sys.Env("PPROF_TMPDIR"); dir != "" {
		dirs = append(dirs, dir)
	}
	if home := s.sys.Env(homeVariable()); home != "" {
		dirs = append(dirs, filepath.Join(home, "pprof"))
	}
	for _, dir := range append(dirs, os.TempDir()) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			s.complain("Could not use temp dir %s: %v", dir, err)
			continue
		}
		return newFile(dir, prefix, suffix)
	}
	return nil, errors.New("failed to identify temp dir")
}

// newFile makes the file with the lowest number that is free.
func newFile(dir, prefix, suffix string) (*os.File, error) {
	for i := 1; i < 10000; i++ {
		f, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf("%s%03d%s", prefix, i, suffix)), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil || !os.IsExist(err) {
			return f, err
		}
	}
	return nil, fmt.Errorf("could not create file of the form %s%03d%s", prefix, 1, suffix)
}

// sampleTypes returns the names of the values of samples.
func (s *session) sampleTypes() []string {
	var names []string
	for _, t := range s.profile.SampleTypes {
		names = append(names, t.Type)
	}
	return names
}

// words joins what fmt.Sprint would leave a space between.
func words(list []string) string { return "[" + strings.Join(list, " ") + "]" }
