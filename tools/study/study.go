// Package study holds what the programs have in common that measure hone on public code, such as tools/provestudy: their flags, their
// lists of cases, the log of what was measured, and modules from the Go module proxy.
package study

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
)

// Main runs a study as a program.
func Main(run func(ctx context.Context, args []string, stdout, stderr io.Writer) int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop() // explicitly: os.Exit skips deferred calls
	os.Exit(code)
}

// Options are what the flags of all studies say.
type Options struct {
	Name  string // of the study
	Only  *regexp.Regexp
	List  string // "" is the list that comes with the study
	Keep  string
	Hone  string
	Log   string
	Table bool     // measure nothing
	Files []string // with Table: what was measured before

	Dir    string // where modules are looked at; from Prepare
	Stderr io.Writer
}

// Parse adds the flags that all studies have to those of one, and reads them. Where that ends the program, done is true.
func (o *Options) Parse(flags *flag.FlagSet, args []string, stderr io.Writer) (code int, done bool) {
	o.Name, o.Stderr = flags.Name(), stderr
	flags.SetOutput(stderr)
	only := flags.String("only", "", "the cases whose name this `regexp` matches")
	flags.StringVar(&o.List, "list", "", "a `file` with other cases")
	flags.StringVar(&o.Keep, "keep", "", "a `folder` for what was made; thrown away when not given")
	flags.StringVar(&o.Hone, "hone", "", "a `file` with another hone; that of this repository is built when not given")
	flags.StringVar(&o.Log, "log", "", "add what was measured to `file`")
	flags.BoolVar(&o.Table, "table", false, "measure nothing: make the tables of the files that are named")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0, true
		}
		return 2, true
	}
	rx, err := regexp.Compile(*only)
	if err != nil {
		fmt.Fprintf(stderr, "%s: -only: %v\n", o.Name, err)
		return 2, true
	}
	if o.Table == (flags.NArg() == 0) {
		fmt.Fprintf(stderr, "%s: files are named with -table, and only with it\n", o.Name)
		return 2, true
	}
	o.Only, o.Files = rx, flags.Args()
	return 0, false
}

// Fail says why there is no answer, and returns the exit code.
func (o *Options) Fail(err error) int {
	fmt.Fprintf(o.Stderr, "%s: %v\n", o.Name, err)
	return 1
}

// Missed says which goals are missed, and returns the exit code of the study, which is code where none is.
func (o *Options) Missed(goals []string, code int) int {
	for _, m := range goals {
		fmt.Fprintf(o.Stderr, "%s: missed: %s\n", o.Name, m)
		code = 1
	}
	return code
}

// Prepare makes a folder to work in and, when asked to, hone.
func (o *Options) Prepare(ctx context.Context, build bool) (cleanUp func(), err error) {
	cleanUp = func() {}
	if o.Dir = o.Keep; o.Keep == "" {
		if o.Dir, err = os.MkdirTemp("", o.Name+"-"); err != nil {
			return nil, err
		}
		dir := o.Dir
		cleanUp = func() { os.RemoveAll(dir) }
	} else if o.Dir, err = filepath.Abs(o.Keep); err != nil {
		return nil, err
	} else if err = os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, err
	}
	if o.Hone != "" {
		o.Hone, err = filepath.Abs(o.Hone)
		return cleanUp, err
	}
	if !build {
		return cleanUp, nil
	}
	o.Hone = filepath.Join(o.Dir, "hone")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", o.Hone, ".").CombinedOutput(); err != nil {
		cleanUp()
		return nil, fmt.Errorf("building hone: %w\n%s", err, out)
	}
	return cleanUp, nil
}

// A Case is one entry of a list.
type Case interface {
	Called() string // its name, which is like no other
	Wrong() string  // what is wrong with it, or ""
	Left() bool     // it is not looked at
}

// ReadCases reads a list of cases: that of a file where one is named, and else the text, which is called name.
func ReadCases[C Case](file string, text []byte, name string) (all []C, err error) {
	if file != "" {
		name = file
		if text, err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&all); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	seen := map[string]bool{}
	for _, c := range all {
		switch wrong := c.Wrong(); {
		case c.Called() == "":
			return nil, fmt.Errorf("%s: a case has no name", name)
		case seen[c.Called()]:
			return nil, fmt.Errorf("%s: two cases are called %q", name, c.Called())
		case wrong != "":
			return nil, fmt.Errorf("%s: %s: %s", name, c.Called(), wrong)
		}
		seen[c.Called()] = true
	}
	return all, nil
}

// A Result is what was measured of a case.
type Result interface{ Of() string }

// Results are those of the cases that are asked for: measured by look, or read from files. A look that returns neither a result nor an
// error leaves nothing behind. The exit code is 1 if something could not be measured.
func Results[C Case, R any, P interface {
	*R
	Result
}](ctx context.Context, o *Options, all []C, look func(context.Context, C) (P, error)) (results []P, code int) {
	if o.Table {
		results, err := ReadResults[R, P](o.Files)
		if err != nil {
			return nil, o.Fail(err)
		}
		return results, 0
	}
	for _, c := range all {
		if c.Left() || !o.Only.MatchString(c.Called()) {
			continue
		}
		fmt.Fprintf(o.Stderr, "%s: %s\n", o.Name, c.Called())
		r, err := look(ctx, c)
		if r != nil && err == nil && o.Log != "" {
			err = WriteResult(o.Log, r)
		}
		if err != nil {
			code = o.Fail(fmt.Errorf("%s: %w", c.Called(), err))
			if ctx.Err() != nil {
				break
			}
		} else if r != nil {
			results = append(results, r)
		}
	}
	return results, code
}

// WriteResult adds a result to a file.
func WriteResult(file string, r Result) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(f).Encode(r), f.Close())
}

// ReadResults reads files that WriteResult wrote. Of a case that was measured again, the last counts.
func ReadResults[R any, P interface {
	*R
	Result
}](files []string) (all []P, err error) {
	at := map[string]int{}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		for d := json.NewDecoder(f); ; {
			r := P(new(R))
			if err := d.Decode(r); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if i, ok := at[r.Of()]; ok {
				all[i] = r
				continue
			}
			at[r.Of()] = len(all)
			all = append(all, r)
		}
	}
	return all, nil
}
