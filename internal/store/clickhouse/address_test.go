package clickhouse

import (
	"strings"
	"testing"
	"time"
)

func TestParseAddress(t *testing.T) {
	const day = 24 * time.Hour
	tests := []struct {
		in   string
		want string // host, user, database as they are shown
		keep [3]time.Duration
		err  string
	}{
		{in: "clickhouse://ch", want: "clickhouse://default@ch:8123/hone", keep: [3]time.Duration{7 * day, 30 * day, 400 * day}},
		{in: "clickhouse://me:hunter2@ch:9/db?secure=true&keep=3d&hours=0&days=50d", want: "clickhouse://me@ch:9/db", keep: [3]time.Duration{3 * day, 0, 50 * day}},
		{in: "clickhouse://me:hunter2@a,b:1,[::1]/db?secure=true", want: "clickhouse://me@a:8443,b:1,[::1]:8443/db", keep: [3]time.Duration{7 * day, 30 * day, 400 * day}},
		{in: "clickhouse://me:hunter2@ch:port/db", err: "a port is not a number"},
		{in: "clickhouse://me:hunter2@ch/d b", err: "is not a name of a database"},
		{in: "clickhouse://me:hunter2@ch/db;DROP", err: "is not a name of a database"},
		{in: "clickhouse://me:hunter2@/db", err: "a host is missing"},
		{in: "clickhouse://me:hunter2%zz@ch/db", err: "does not stand for a byte"},
		{in: "clickhouse://me:hunter2@ch/db\x00", err: "is not a name of a database"},
		{in: "clickhouse://me:hunter2@ch/db?kept=3d", err: `unknown option "kept"`},
		{in: "clickhouse://me:hunter2@ch/db?keep=3h", err: "keep: \"3h\" is not a number of days"},
		{in: "clickhouse://me:hunter2@ch/db?secure=yes", err: "neither true nor false"},
		{in: "clickhouse://me:hunter2@ch/db?cluster=a'b", err: "is not a name of a cluster"},
		{in: "postgres://me:hunter2@ch/db", err: "it does not begin with"},
	}
	for _, tt := range tests {
		a, err := ParseAddress(tt.in)
		if err != nil {
			if tt.err == "" || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("ParseAddress(%q): %v, want an error with %q", tt.in, err, tt.err)
			}
			continue
		}
		if tt.err != "" {
			t.Errorf("ParseAddress(%q) = %v, want an error with %q", tt.in, a, tt.err)
			continue
		}
		if got := [3]time.Duration{a.Keep, a.Hours, a.Days}; a.String() != tt.want || got != tt.keep {
			t.Errorf("ParseAddress(%q) = %v, %v, want %s, %v", tt.in, a, got, tt.want, tt.keep)
		}
	}
}
