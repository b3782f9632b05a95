package cli

import (
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/hone-perf/hone/internal/store/disk"
)

// A limit that is not given is never less than the one before it, so that profiles are kept for as long as --keep says.
func TestKeptAsLongAsGiven(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		args              []string
		keep, hours, days time.Duration // in days
	}{
		{nil, 7, 30, 400},
		{[]string{"--keep", "4000d"}, 4000, 4000, 4000},
		{[]string{"--keep", "60d"}, 60, 60, 400},
		{[]string{"--keep-hours", "500d"}, 7, 500, 500},
		{[]string{"--keep", "1d", "--keep-hours", "1d", "--keep-days", "1d"}, 1, 1, 1},
	} {
		o := disk.Defaults
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		for name, d := range map[string]*time.Duration{"keep": &o.Detail, "keep-hours": &o.Hours, "keep-days": &o.Days} {
			flags.Var(&ageFlag{d}, name, "")
		}
		flags.Var(&sizeFlag{&o.Bytes}, "max-size", "")
		if err := flags.Parse(c.args); err != nil {
			t.Fatal(err)
		}
		if err := checkKept(flags, &o, ""); err != nil || o.Detail != c.keep*day || o.Hours != c.hours*day || o.Days != c.days*day {
			t.Errorf("%q: %v, %v and %v, %v", c.args, o.Detail, o.Hours, o.Days, err)
		}
	}
}
