package cli

import (
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/hone-perf/hone/internal/query"
)

func TestQueryFlags(t *testing.T) {
	var all []string
	for i := range query.Keys {
		all = append(all, query.Keys[i].Name)
	}
	tests := []struct {
		names []string
		args  string
		want  query.Query
		rest  []string
		err   string
	}{
		{
			names: all,
			args:  "--focus a cpu.pprof --ignore b --focus=c -n5 --cum --noinlines --min 1% --base old --base older",
			want:  query.Query{Steps: []query.Step{{Op: query.Focus, Arg: "a"}, {Op: query.Ignore, Arg: "b"}, {Op: query.Focus, Arg: "c"}}, Limit: 5, Sort: "cum", NoInlines: true, Min: 0.01, Base: []string{"old", "older"}},
			rest:  []string{"cpu.pprof"},
		},
		{names: all, args: "--cum --cum=false", want: query.Query{Sort: "flat"}},
		{names: all, args: "--cum=x", err: "want true or false"},
		{names: all, args: "--by fucntion", err: `invalid argument "fucntion" for "--by" flag: want function, filefunction,`},
		{names: all, args: "--focus a(", err: "missing closing )"},
		{names: all, args: "--ref x", err: "unknown flag: --ref"},
		{names: []string{"focus"}, args: "--limit 5", err: "unknown flag: --limit"},
		{names: []string{"focus"}, args: "--cum", err: "unknown flag: --cum"},
	}
	for _, tt := range tests {
		var q query.Query
		fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
		fs.Usage = func() {}
		queryFlags(fs, &q, tt.names)
		err := fs.Parse(strings.Fields(tt.args))
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v, want error %s", tt.args, err, tt.err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(q, tt.want) || strings.Join(fs.Args(), " ") != strings.Join(tt.rest, " ") {
			t.Errorf("%s: %+v with %q left, %v, want %+v with %q", tt.args, q, fs.Args(), err, tt.want, tt.rest)
		}
	}
}

func TestQueryFlagUsage(t *testing.T) {
	var q query.Query
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	queryFlags(fs, &q, []string{"focus", "limit", "sort", "noinlines"})
	const want = `      --cum          short for --sort=cum
      --focus RX     keep samples with a matching frame
  -n, --limit N      how many rows to show, or all
      --noinlines    charge inlined calls to the function that they were inlined into
      --sort ORDER   rank by flat (the function itself) or cum (with its callees)
`
	if got := fs.FlagUsages(); got != want {
		t.Errorf("usage:\n%swant:\n%s", got, want)
	}
}
