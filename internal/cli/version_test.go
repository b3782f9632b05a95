package cli

import (
	"runtime/debug"
	"testing"
)

// TestVersionOf has the build info that the go command writes for each way to install hone.
func TestVersionOf(t *testing.T) {
	const commit, day = "1a2b3c4d5e6f7a8b9c0d1a2b3c4d5e6f7a8b9c0d", "2026-11-25T20:11:03Z"
	checkout := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: commit}, {Key: "vcs.time", Value: day}, {Key: "vcs.modified", Value: "false"}}
	changed := append(checkout[:3:3], debug.BuildSetting{Key: "vcs.modified", Value: "true"})
	tests := []struct {
		name                    string
		main                    string
		settings                []debug.BuildSetting
		version, revision, date string
		modified                bool
	}{
		{"a release", "v0.1.0", checkout, "v0.1.0", commit, day, false},
		{"a checkout with changes", "v0.1.1-0.20261125201103-1a2b3c4d5e6f+dirty", changed, "v0.1.1-0.20261125201103-1a2b3c4d5e6f+dirty", commit, day, true},
		{"go install of a release", "v0.1.0", nil, "v0.1.0", "", "", false},
		{"go install of a commit", "v0.1.1-0.20261125201103-1a2b3c4d5e6f", nil, "v0.1.1-0.20261125201103-1a2b3c4d5e6f", "1a2b3c4d5e6f", day, false},
		{"go build -buildvcs=false", "(devel)", nil, "(devel)", "", "", false},
		{"no module", "", nil, "(unknown)", "", "", false},
	}
	for _, tt := range tests {
		v := versionOf(&debug.BuildInfo{Main: debug.Module{Version: tt.main}, Settings: tt.settings})
		date := ""
		if v.Date != nil {
			date = v.Date.UTC().Format("2006-01-02T15:04:05Z")
		}
		if v.Version != tt.version || v.Revision != tt.revision || date != tt.date || v.Modified != tt.modified {
			t.Errorf("%s: %+v of %s, want %s, %s of %s, modified %v", tt.name, *v, date, tt.version, tt.revision, tt.date, tt.modified)
		}
		if v.Go == "" || v.OS == "" || v.Arch == "" {
			t.Errorf("%s: %+v does not say how it was built", tt.name, *v)
		}
	}
}
