package duel

import (
	"errors"
	"strings"
	"testing"
)

// TestSecretsAreNotShown holds that values that look like secrets stay out of what is passed on, and that others are shown.
func TestSecretsAreNotShown(t *testing.T) {
	for _, tt := range []struct{ kind, text, want string }{
		{EnvSetting, "GOGC=200", "GOGC=200"},
		{EnvSetting, "GOMEMLIMIT=2GiB", "GOMEMLIMIT=2GiB"},
		{EnvSetting, "GODEBUG=", "GODEBUG="},
		{EnvSetting, "MODE=fast", "MODE=fast"},
		{EnvSetting, "PATH=/usr/local/go/bin", "PATH=/usr/local/go/bin"},
		{EnvSetting, "API_TOKEN=x9f2", "API_TOKEN=…"},
		{EnvSetting, "DB_PASSWORD=hunter2", "DB_PASSWORD=…"},
		{EnvSetting, "DATABASE=postgres://me:pw@host/db", "DATABASE=postgres://me:…@host/db"},
		{EnvSetting, "GOPROXY=https://me:pw@host,direct", "GOPROXY=https://me:…@host,direct"},
		{EnvSetting, "GOPROXY=off", "GOPROXY=off"},
		{EnvSetting, "GOAUTH=netrc", "GOAUTH=…"},
		{EnvSetting, "X=0123456789abcdef0123456789abcdef", "X=0123456789abcdef0123456789abcdef"},
		{EnvSetting, "X=ghp_0123456789abcdefghijABCDEFGHIJ012345", "X=…"},
		{EnvSetting, "GOFLAGS=-tags=a '-ldflags=-X main.key=abc'", "GOFLAGS=-tags=a '-ldflags=-X main.key=…"},
		{FlagSetting, "-pgo=off", "-pgo=off"},
		{FlagSetting, "-ldflags=-s -X main.a=b -w", "-ldflags=-s -X main.a=… -w"},
		{FlagSetting, "-ldflags=-X 'main.a=b c' -w", "-ldflags=-X 'main.a=…' -w"},
		{FlagSetting, `-ldflags=-X "main.a=b c"`, `-ldflags=-X "main.a=…"`},
		{FlagSetting, "-ldflags=-X=main.a=b", "-ldflags=-X=main.a=…"},
		{GoSetting, "go1.27.3", "go1.27.3"},
	} {
		if got := Shown(tt.kind, tt.text); got != tt.want {
			t.Errorf("Shown(%s, %q) = %q; want %q", tt.kind, tt.text, got, tt.want)
		}
	}
}

// TestSettingsThatGoIgnoresAreRefused holds that a value is refused which Go would take for another one without a word, or end for.
func TestSettingsThatGoIgnoresAreRefused(t *testing.T) {
	for _, env := range []string{
		"GOGC=2OO", "GOGC=-x", "GOGC=1e3", "GOMEMLIMIT=1GB", "GOMEMLIMIT=1.5GiB", "GOMEMLIMIT=9223372036854775808", "GOMEMLIMIT=9007199254740992KiB",
		"GOMEMLIMIT=-1", "GOMAXPROCS=0", "GOMAXPROCS=two", "GOAMD64=v5", "GOAMD64=3", "GOARM64=v7.0", "GO386=sse", "CGO_ENABLED=yes", "GODEBUG=gctrace",
		"GODEBUG=gctrace=1,", "GOGC", "=1", "A B=1",
	} {
		err := Settings{Env: []string{env}}.Check(1)
		var wrong *SettingError
		if !errors.As(err, &wrong) || !wrong.Misuse || wrong.Side != 1 || wrong.Kind != EnvSetting || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", env, err)
		}
	}
	for _, env := range []string{
		"GOGC=200", "GOGC=off", "GOGC=", "GOMEMLIMIT=off", "GOMEMLIMIT=9223372036854775807", "GOMEMLIMIT=1TiB", "GOMEMLIMIT=100B", "GOMAXPROCS=2", "GOAMD64=v3",
		"GOARM64=v9.0,lse", "GODEBUG=gctrace=1,cpu.avx2=off", "GODEBUG=", "MODE=", "MODE=a=b",
	} {
		if err := (Settings{Env: []string{env}}).Check(0); err != nil {
			t.Errorf("%s: %v", env, err)
		}
	}
}

// TestWordsOfSettings holds that sides of one source are named by what differs, and others by all that was set.
func TestWordsOfSettings(t *testing.T) {
	t.Setenv("GOGC", "50")
	t.Setenv("HONE_TEST_MODE", "a")
	vars := [2]map[string]string{
		{"GOVERSION": "go1.26.5", "GOROOT": "/go1", "GOAMD64": "v1", "GOFLAGS": "-tags=x"},
		{"GOVERSION": "go1.27.3", "GOROOT": "/go2", "GOAMD64": "v3", "GOFLAGS": "-tags=x"},
	}
	same := [2]map[string]string{vars[0], vars[0]}
	elsewhere := [2]map[string]string{vars[0], {"GOVERSION": "go1.26.5", "GOROOT": "/mine"}}
	for _, tt := range []struct {
		old, new       Settings
		vars           [2]map[string]string
		all            bool
		wantOld, wantN string
	}{
		{Settings{}, Settings{Go: "1.27"}, vars, false, "go1.26.5", "go1.27.3"},
		{Settings{Go: "1.26.5"}, Settings{}, same, false, "", ""},
		{Settings{}, Settings{Go: "/mine/bin/go"}, elsewhere, false, "go1.26.5 in /go1", "go1.26.5 in /mine"},
		{Settings{}, Settings{Env: []string{"GOGC=200"}}, same, false, "GOGC=50", "GOGC=200"},
		{Settings{}, Settings{Env: []string{"GOGC=50"}}, same, false, "", ""},
		{Settings{Env: []string{"GOGC="}}, Settings{Env: []string{"GOGC=1", "GOGC=2"}}, same, false, "GOGC not set", "GOGC=2"},
		{Settings{}, Settings{Env: []string{"GOAMD64=v3"}}, vars, false, "GOAMD64=v1", "GOAMD64=v3"},
		{Settings{}, Settings{Env: []string{"HONE_TEST_MODE=b"}}, same, false, "HONE_TEST_MODE=a", "HONE_TEST_MODE=b"},
		{Settings{}, Settings{Env: []string{"HONE_TEST_NONE="}}, same, false, "HONE_TEST_NONE not set", "HONE_TEST_NONE="},
		{Settings{}, Settings{Flags: []string{"-pgo=off", "-tags=x"}}, same, false, "no -pgo", "-pgo=off"},
		{Settings{Env: []string{"GOGC=9"}}, Settings{Env: []string{"GOGC=9"}, Flags: []string{"-race"}}, same, false, "no -race", "-race"},
		{Settings{Env: []string{"GOGC=9"}}, Settings{Env: []string{"GOGC=9"}}, same, true, "GOGC=9", "GOGC=9"},
	} {
		words := wordsOf([2]Settings{tt.old, tt.new}, tt.vars, nil, tt.all)
		if old, new := strings.Join(words[0], ", "), strings.Join(words[1], ", "); old != tt.wantOld || new != tt.wantN {
			t.Errorf("%+v and %+v are called %q and %q; want %q and %q", tt.old, tt.new, old, new, tt.wantOld, tt.wantN)
		}
	}
}

// TestMixedPairsTakeNoTurns holds that both sides are timed in the same way when one of them has a package testing that takes no turns.
func TestMixedPairsTakeNoTurns(t *testing.T) {
	old, new := &builder{clocked: true, turns: true}, &builder{clocked: false}
	alike(old, new)
	if old.clocked || old.turns {
		t.Error("one side has a clock and the other has none")
	}
	old, new = &builder{clocked: true, turns: false}, &builder{clocked: true, turns: true}
	alike(old, new)
	if !old.clocked || !new.clocked || old.turns || new.turns {
		t.Error("one side takes turns with another one that takes none")
	}
}
