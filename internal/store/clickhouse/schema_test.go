package clickhouse

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestStatements holds what tables are made with, on one node and in a cluster. No engine is here that makes the latter.
func TestStatements(t *testing.T) {
	one := DefaultLayout()
	cluster := one
	cluster.Cluster = "fleet"
	for name, l := range map[string]Layout{"node": one, "cluster": cluster, "forever": {}} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(l.Statements("hone"), ";\n\n") + ";\n"
			golden := filepath.Join("testdata", name+".sql")
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the statements are not those of %s any more; UPDATE=1 writes it again:\n%s", golden, got)
			}
			for _, statement := range l.Statements("hone") {
				if on := strings.Contains(statement, "ON CLUSTER"); on != (name == "cluster") {
					t.Errorf("ON CLUSTER is %v in:\n%s", on, statement)
				}
			}
			if m := regexp.MustCompile(`(?i)\bJSON\b|experimental|Object\(`).FindString(got); m != "" {
				t.Errorf("%q is not in all versions from 24 on", m)
			}
		})
	}
}

// TestAdditions holds what brings tables of an earlier version of hone up to date, in a cluster, too.
func TestAdditions(t *testing.T) {
	l := DefaultLayout()
	there := map[string][]string{}
	for _, table := range l.tables() {
		for _, c := range table.columns {
			name, _, _ := strings.Cut(c, " ")
			there[table.name] = append(there[table.name], name)
		}
	}
	if got := l.additions("hone", there); len(got) > 0 {
		t.Errorf("nothing is missing, but %q", got)
	}
	there["pinned_profiles"] = there["pinned_profiles"][:len(there["pinned_profiles"])-1]
	if got := strings.Join(l.additions("hone", there), "\n"); got != "ALTER TABLE hone.pinned_profiles ADD COLUMN IF NOT EXISTS baseline UInt8" {
		t.Error(got)
	}
	l.Cluster = "fleet"
	const want = "ALTER TABLE hone.pinned_profiles_local ON CLUSTER fleet ADD COLUMN IF NOT EXISTS baseline UInt8\n" +
		"ALTER TABLE hone.pinned_profiles ON CLUSTER fleet ADD COLUMN IF NOT EXISTS baseline UInt8"
	if got := strings.Join(l.additions("hone", there), "\n"); got != want {
		t.Error(got)
	}
}
