package render

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCutLeft(t *testing.T) {
	const method = "github.com/acme/shop/internal/cart.(*Store).Total"
	tests := []struct {
		in   string
		room int
		want string
	}{
		{method, 49, method},
		{method, 48, "…/acme/shop/internal/cart.(*Store).Total"},
		{method, 30, "…/internal/cart.(*Store).Total"},
		{method, 29, "…/cart.(*Store).Total"},
		{method, 15, "…(*Store).Total"},
		{"a/b.Map[github.com/x/y.Z].Get", 20, "…thub.com/x/y.Z].Get"},
		{"/usr/local/go/src/runtime/proc.go", 20, "…/runtime/proc.go"},
		{"全角の名前", 10, "全角の名前"},
		{"全角の名前", 9, "…角の名前"},
		{"全角の名前", 8, "…の名前"},
		{"全角の名前", 1, "…"},
		{"", 0, ""},
	}
	for _, tt := range tests {
		if got := cutLeft(tt.in, tt.room, "…"); got != tt.want {
			t.Errorf("cutLeft(%q, %d) = %q, want %q", tt.in, tt.room, got, tt.want)
		}
	}
}

// TestWidth compares what is measured here with the library that knows all characters.
func TestWidth(t *testing.T) {
	for r := rune(' '); r < 0x30000; r++ {
		// Whatever stands beside it.
		for _, s := range []string{string(r), "a" + string(r), string(r) + "·", "…" + string(r) + "b"} {
			if got, want := width(s), columns.StringWidth(s); got != want && r != 0x7f {
				t.Errorf("width(%q) = %d, want %d", s, got, want)
			}
		}
		if got, want := runeWidth(r), columns.RuneWidth(r); got != want && r != 0x7f {
			t.Errorf("runeWidth(%q) = %d, want %d", r, got, want)
		}
	}
	for _, s := range []string{"plain text", "a·b→c", "µs … ▲", "全角の名前", "e\u0301x", "🇩🇪🇩🇪", ""} {
		for room := range 14 {
			if got, want := cutRight(s, room, "…"), columns.Truncate(s, max(room, 1), "…"); got != want {
				t.Errorf("cutRight(%q, %d) = %q, want %q", s, room, got, want)
			}
		}
	}
}

func FuzzCut(f *testing.F) {
	f.Add("github.com/acme/shop/internal/cart.(*Store).Total", 20)
	f.Add("全角/の名前.関数", 7)
	f.Add("e\u0301\u200d🇩🇪", 2)
	f.Fuzz(func(t *testing.T, s string, room int) {
		s = clean(s)
		if !utf8.ValidString(s) || strings.ContainsAny(s, "\n\r\t\x1b") {
			t.Fatalf("clean left %q", s)
		}
		room = max(room%200, 3)
		for name, cut := range map[string]func(string, int, string) string{"left": cutLeft, "right": cutRight} {
			if got := cut(s, room, "..."); width(got) > room {
				t.Errorf("cut on the %s of %q to %d = %q, which takes %d", name, s, room, got, width(got))
			}
		}
	})
}

func TestClean(t *testing.T) {
	tests := []struct{ in, want string }{
		{"plain text", "plain text"},
		{"日本", "日本"},
		{"\x1b[31m", `\x1b[31m`},
		{"a\nb\r", `a\nb\r`},
		{"\u202eevil", `\u202eevil`},
		{"bad \xff utf8", "bad \ufffd utf8"},
		{"\u00a0", "\u00a0"},
	}
	for _, tt := range tests {
		if got := clean(tt.in); got != tt.want {
			t.Errorf("clean(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestCutTypes(t *testing.T) {
	tests := []struct{ in, want string }{
		{"main.main", "main.main"},
		{"a.Map[int,string].Load", "a.Map[int,string].Load"},
		{"a.(*Map[go.shape.int,go.shape.struct { A int; B []byte }]).Load", "a.(*Map[…]).Load"},
		{"a.F[go.shape.struct { A int; B int }].G[go.shape.struct { A int; B int }]", "a.F[…].G[…]"},
		{"a.F[unclosed and long enough to be cut", "a.F[unclosed and long enough to be cut"},
		{"[a-library-with-a-long-name.so]", "[a-library-with-a-long-name.so]"},
	}
	for _, tt := range tests {
		if got := cutTypes(tt.in, "…"); got != tt.want {
			t.Errorf("cutTypes(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}
