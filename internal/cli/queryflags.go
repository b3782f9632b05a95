package cli

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/hone-perf/hone/internal/query"
)

// queryFlags gives fs a flag for each of the keys that are named, except ref: what to look at needs no flag. The flags set
// fields of q as they are met, so filters keep the order of the command line.
func queryFlags(fs *pflag.FlagSet, q *query.Query, names []string) {
	for i := range query.Keys {
		k := &query.Keys[i]
		if !slices.Contains(names, k.Name) || k.Name == "ref" {
			continue
		}
		f := fs.VarPF(&flagValue{k, q}, k.Name, k.Short, k.Doc)
		if k.Switch() {
			f.NoOptDefVal = "true"
		}
		if k.Name == "sort" {
			fs.VarPF(&cumFlag{flagValue{k, q}}, query.Cum, "", "short for --sort=cum").NoOptDefVal = "true"
		}
	}
}

// A flagValue is a key as a flag.
type flagValue struct {
	key *query.Key
	q   *query.Query
}

func (f *flagValue) Set(text string) error { return f.key.Set(f.q, text) }

func (f *flagValue) String() string {
	if f.q == nil {
		return ""
	}
	return strings.Join(f.key.Values(f.q), ",")
}

// Type returns what help calls the value.
func (f *flagValue) Type() string {
	if f.key.Switch() {
		return "bool"
	}
	return f.key.Value
}

// A cumFlag is short for a value of the key.
type cumFlag struct{ flagValue }

func (f *cumFlag) Set(text string) error {
	on, err := strconv.ParseBool(text)
	switch {
	case err != nil:
		return errors.New("want true or false")
	case on:
		return f.key.Set(f.q, query.Cum)
	}
	return f.key.Set(f.q, "flat")
}

func (f *cumFlag) String() string {
	if f.q != nil && f.q.Sort == query.Cum {
		return "true"
	}
	return "false"
}

func (f *cumFlag) Type() string { return "bool" }
