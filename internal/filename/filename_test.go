package filename

import (
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestNamesOfBothKinds holds what names of Windows and of other systems are taken for. No answer depends on the system that asks,
// but for that of Local, which takes it as a parameter.
func TestNamesOfBothKinds(t *testing.T) {
	tests := []struct {
		name, clean, key, base, volume string
		abs, windows                   bool
		onLinux, onWindows             string // how the file is called there; "" is that there can be none
	}{
		{name: `C:\x\y.go`, clean: `C:\x\y.go`, key: "C:/x/y.go", base: "y.go", volume: "C:", abs: true, windows: true, onWindows: `C:\x\y.go`},
		{name: "C:/x/y.go", clean: "C:/x/y.go", key: "C:/x/y.go", base: "y.go", volume: "C:", abs: true, windows: true, onWindows: `C:\x\y.go`},
		{name: `c:\a\..\x\.\y.go`, clean: `c:\x\y.go`, key: "c:/x/y.go", base: "y.go", volume: "c:", abs: true, windows: true, onWindows: `c:\x\y.go`},
		{name: `C:\a/../x.c`, clean: "C:/x.c", key: "C:/x.c", base: "x.c", volume: "C:", abs: true, windows: true, onWindows: `C:\x.c`},
		{name: `C:\..\x.go`, clean: `C:\x.go`, key: "C:/x.go", base: "x.go", volume: "C:", abs: true, windows: true, onWindows: `C:\x.go`},
		{name: `C:\`, clean: `C:\`, key: "C:/", base: "C:", volume: "C:", abs: true, windows: true, onWindows: `C:\`},
		{name: `\\server\share\x\y.go`, clean: `\\server\share\x\y.go`, key: "//server/share/x/y.go", base: "y.go", volume: `\\server\share`, abs: true, windows: true, onWindows: `\\server\share\x\y.go`},
		{name: "//server/share/x/../y.go", clean: "//server/share/y.go", key: "//server/share/y.go", base: "y.go", volume: "//server/share", abs: true, onLinux: "/server/share/y.go", onWindows: `\\server\share\y.go`},
		{name: `\\server\share`, clean: `\\server\share`, key: "//server/share", base: "share", volume: `\\server\share`, abs: true, windows: true, onWindows: `\\server\share`},
		{name: "//anon", clean: "//anon", key: "//anon", base: "anon", abs: true, onLinux: "/anon"},
		{name: `\x\y.go`, clean: `\x\y.go`, key: "/x/y.go", base: "y.go", abs: true, windows: true},
		{name: `pkg\y.go`, clean: `pkg\y.go`, key: "pkg/y.go", base: "y.go", windows: true},
		{name: `..\pkg/y.go`, clean: "../pkg/y.go", key: "../pkg/y.go", base: "y.go", windows: true},
		{name: "/home/me/y.go", clean: "/home/me/y.go", key: "/home/me/y.go", base: "y.go", abs: true, onLinux: "/home/me/y.go"},
		{name: "/home/me/../y.go", clean: "/home/y.go", key: "/home/y.go", base: "y.go", abs: true, onLinux: "/home/y.go"},
		{name: `/home/me/a\b.go`, clean: `/home/me/a\b.go`, key: `/home/me/a\b.go`, base: `a\b.go`, abs: true, onLinux: `/home/me/a\b.go`},
		{name: "example.com/m/y.go", clean: "example.com/m/y.go", key: "example.com/m/y.go", base: "y.go"},
		{name: "./y.go", clean: "y.go", key: "y.go", base: "y.go"},
		{name: "C:", clean: "C:", key: "C:", base: "C:"},
		{name: "a:b.go", clean: "a:b.go", key: "a:b.go", base: "a:b.go"},
		{name: "[vdso]", clean: "[vdso]", key: "[vdso]", base: "[vdso]"},
		{name: "/", clean: "/", key: "/", base: "/", abs: true, onLinux: "/"},
		{name: ""},
	}
	for _, tt := range tests {
		check := func(what, got, want string) {
			t.Helper()
			if got != want {
				t.Errorf("%s of %q is %q, want %q", what, tt.name, got, want)
			}
		}
		check("Clean", Clean(tt.name), tt.clean)
		check("Clean of Clean", Clean(Clean(tt.name)), tt.clean)
		check("Key", Key(tt.name), tt.key)
		check("Base", Base(tt.name), tt.base)
		check("Volume", Volume(tt.name), tt.volume)
		if got := IsAbs(tt.name); got != tt.abs {
			t.Errorf("IsAbs(%q) = %v", tt.name, got)
		}
		if got := Windows(tt.name); got != tt.windows {
			t.Errorf("Windows(%q) = %v", tt.name, got)
		}
		for goos, want := range map[string]string{"linux": tt.onLinux, "darwin": tt.onLinux, "windows": tt.onWindows} {
			got, ok := Local(tt.name, goos)
			if ok != (want != "") || ok && got != want {
				t.Errorf("Local(%q, %q) = %q, %v, want %q", tt.name, goos, got, ok, want)
			}
		}
	}
}

func TestSplitList(t *testing.T) {
	tests := []struct {
		list, goos string
		want       []string
	}{
		{"", "linux", nil},
		{"/a:/b", "linux", []string{"/a", "/b"}},
		{`C:/a:/b:D:\c`, "linux", []string{"C:/a", "/b", `D:\c`}},
		{"ab:/c", "linux", []string{"ab", "/c"}},
		{`C:\a;/b`, "windows", []string{`C:\a`, "/b"}},
	}
	for _, tt := range tests {
		if got := SplitList(tt.list, tt.goos); !slices.Equal(got, tt.want) {
			t.Errorf("SplitList(%q, %q) = %q, want %q", tt.list, tt.goos, got, tt.want)
		}
	}
}

// FuzzLocal holds Local against the rules of the system that the test runs on, and that cleaning twice is cleaning once.
func FuzzLocal(f *testing.F) {
	for _, s := range []string{`C:\x\..\y.go`, "//server/share/../x", `\\s\s\..`, "/a//b/../c", `a\b`, "//a", "///a/b/c", `//a\b/c`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		clean := Clean(name)
		// Of ./a\ only a\ is left, which nothing tells from a name of Windows.
		if again := Clean(clean); again != clean && Windows(clean) == Windows(name) {
			t.Errorf("Clean(%q) = %q, and of that %q", name, clean, again)
		}
		if !strings.HasPrefix(name, Volume(name)) {
			t.Errorf("Volume(%q) = %q", name, Volume(name))
		}
		if !Windows(name) && !strings.HasPrefix(name, "//") && name != "" && clean != path.Clean(name) {
			t.Errorf("Clean(%q) = %q, want %q", name, clean, path.Clean(name))
		}
		if local, ok := Local(name, runtime.GOOS); ok && (!filepath.IsAbs(local) || filepath.Clean(local) != local) {
			t.Errorf("Local(%q) = %q, which is not as this system writes it", name, local)
		}
	})
}
