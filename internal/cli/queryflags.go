package cli

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/hone-perf/hone/internal/query"
)

// queryFlags adds a flag to fs for each of the named keys, except ref, which is an argument. Flags set fields of q in the order of the command line,
// so filters apply in that order.
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

// A flagValue is a key of a query as a flag.
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

// Type returns the name of the value in help.
func (f *flagValue) Type() string {
	if f.key.Switch() {
		return "bool"
	}
	return f.key.Value
}

// A cumFlag is the flag --cum, short for --sort=cum.
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
