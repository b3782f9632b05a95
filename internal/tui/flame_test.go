package tui

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/render"
)

const flameStacks = `main.main;main.serve;json.Decode;json.read 300
main.main;main.serve;json.Decode 120
main.main;main.serve;main.encode;os.Write 250
main.main;main.serve;main.encode 80
main.main;runtime.gc;runtime.mark 249
main.main;runtime.gc;runtime.rare 1
`

func newTestUI(t *testing.T, o render.Options) *Flame {
	t.Helper()
	p, err := profile.Parse(strings.NewReader(flameStacks))
	if err != nil {
		t.Fatal(err)
	}
	u, err := NewFlame([]*recording.Recording{{Ref: "app.folded", Profile: p}}, query.Query{View: "flame"}, o)
	if err != nil {
		t.Fatal(err)
	}
	u.view(100, 20)
	return u
}

// press presses keys that are written as one text: names between < and >, everything else letter by letter.
func press(u *Flame, keys string) (quit bool) {
	for _, m := range regexp.MustCompile(`<[^>]*>|.`).FindAllString(keys, -1) {
		if quit {
			break
		}
		if len(m) > 2 {
			quit = u.update(key{name: m[1 : len(m)-1]})
		} else {
			quit = u.update(key{char: []rune(m)[0]})
		}
		u.view(u.width, u.height)
	}
	return quit
}

func TestFlameKeys(t *testing.T) {
	tests := []struct {
		keys     string
		root     string // of the query
		selected string
		status   string // part of it
	}{
		{"", "", "all", "1000  100% of view  100% of all"},
		{"j", "", "main.main", ""},
		{"<down><down>", "", "main.serve", "750  75.00% of view  75.00% of all  flat 0"},
		{"jjj", "", "json.Decode", "flat 120"},
		{"jjjk", "", "main.serve", ""},
		{"jjjl", "", "main.encode", ""},
		{"jjj<right><right>", "", "runtime.mark", ""},
		{"jjj<right><right><right>", "", "runtime.mark", ""}, // the next one is too narrow
		{"jjjlh", "", "json.Decode", ""},
		{"jjjh", "", "json.Decode", ""},
		{"jjjjjj", "", "json.read", "the stack ends here"},
		{"jjjk<home>", "", "all", ""},
		{"kkk", "", "all", ""},

		{"jjj<enter>", "main.main;main.serve;json.Decode", "json.Decode", "100% of view  42.00% of all"},
		{"jjj<enter>j", "main.main;main.serve;json.Decode", "json.read", "71.43% of view  30.00% of all"},
		{"jj<enter>jl<enter>", "main.main;main.serve;main.encode", "main.encode", ""},
		{"jj<enter>jl<enter><esc>", "main.main;main.serve", "main.encode", ""},
		{"jj<enter>jl<enter><esc><backspace>", "", "main.serve", ""},
		{"jj<enter>jl<enter><esc><esc><esc><esc>", "", "main.serve", ""},
		{"jj<enter>jl<enter>k", "main.main;main.serve;main.encode", "main.serve", "227.27% of view"},
		{"jj<enter>jl<enter>kk<enter>", "main.main", "main.main", ""},
		{"jj<enter>kk<enter>", "", "all", ""},
		{"jj<enter>kkj", "main.main;main.serve", "main.main", ""},
		{"jj<enter>r", "", "main.serve", ""},
		{"<enter>", "", "all", ""},

		{"/json", "", "all", "/json_  2 frames here"},
		{"/JSON", "", "all", "/JSON_  0 frames here"},
		{"/json<enter>", "", "json.Decode", "/json  1/2  420, 42.00% of all matched"},
		{"/json|read<enter>n", "", "json.read", "42.00% of all matched"},
		{"/json<enter>n", "", "json.read", "/json  2/2  "},
		{"/json<enter>nn", "", "json.Decode", ""},
		{"/json<enter>N", "", "json.read", ""},
		{"/jsox<backspace>n<enter>", "", "json.Decode", ""},
		{"/json<enter>k", "", "main.serve", "/json  –/2  "},
		{"/rare<enter>", "", "runtime.rare", "/rare  1/1  1, 0.1% of all matched"},
		{"/rare<enter>n", "", "runtime.rare", "1/1  too narrow for a box: Enter zooms in"},
		{"/rare<enter>k", "", "runtime.gc", "/rare  –/1  "},
		{"/rare<enter>h", "", "main.serve", ""}, // beside its caller, which has a box
		{"/rare<enter><enter>", "main.main;runtime.gc;runtime.rare", "runtime.rare", "1/1  "},
		{"/nothing<enter>n", "", "all", "nothing matches here"},
		{"n", "", "all", "/ searches"},
		{"/js(", "", "all", "no regexp yet: js("},
		{"/(*T).x|json.Decode<enter>", "", "json.Decode", "/(*T).x|json.Decode  1/1  420, 42.00% of all matched"}, // a name as Go prints it
		{"/json<esc>", "", "all", "? keys"},
		{"/json<enter><esc>", "", "json.Decode", "? keys"},
		{"/<backspace>j", "", "main.main", ""},
		{"/json<enter>r", "", "json.Decode", "? keys"},
		{"jj<enter>/json<enter>", "main.main;main.serve", "json.Decode", "42.00% of all matched"},

		{"i", "", "all", ""},
		{"ij", "", "json.read", "flat 300"},
		{"ijj", "", "json.Decode", ""},
		{"ijjjjj", "", "main.main", "the stack ends here"},
		{"ij<enter>", "json.read", "json.read", "30.00% of all"},
		{"ii", "", "all", ""},
		{"?", "", "all", ""},
		{"?jj", "", "main.main", ""}, // the first closes the help
	}
	for _, tt := range tests {
		u := newTestUI(t, render.Options{})
		if press(u, tt.keys) {
			t.Errorf("%s: quit", tt.keys)
		}
		name := u.painter.Name(u.selected)
		lines := u.view(u.width, u.height)
		status := strings.Join(lines[len(lines)-2:], "\n")
		if u.query.Root != tt.root || name != tt.selected || !strings.Contains(status, tt.status) {
			t.Errorf("%s: root %q, selected %s, status\n%s\nwant root %q, selected %s, status with %q",
				tt.keys, u.query.Root, name, status, tt.root, tt.selected, tt.status)
		}
	}
	for _, keys := range []string{"q", "?q", "<ctrl-c>", "/<ctrl-c>", "jjq"} {
		if !press(newTestUI(t, render.Options{}), keys) {
			t.Errorf("%s does not quit", keys)
		}
	}
	if press(newTestUI(t, render.Options{}), "/q") {
		t.Error("q quits though it is searched for")
	}
}

// TestFlameScreen holds what a screen looks like.
func TestFlameScreen(t *testing.T) {
	u := newTestUI(t, render.Options{ASCII: true})
	press(u, "jj<enter>j")
	want := `
samples 1000
|all  100%                                                 |
|main.main  100%                                           |
|main.serve  75.00%                                        |
` + "\x1b[7m" + `|json.Decode  42.00%             ` + "\x1b[0m" + `|main.encode  33.00%      |
|json.read  30.00%      |        |os.Write  25.00%   |





` + "\x1b[1m" + `json.Decode                                                 ` + "\x1b[0m" + `
420  56.00% of view  42.00% of all  flat 120  ? keys  q quit
`
	var got strings.Builder
	got.WriteString("\n")
	for _, l := range u.view(60, 13) {
		got.WriteString(strings.TrimRight(l, " ") + "\n")
	}
	if got.String() != want {
		t.Errorf("%s\nwant%s", got.String(), want)
	}
}

// TestFlameStatus holds that the status of a terminal of 80 columns has what a frame costs by itself, whatever else there is to say.
func TestFlameStatus(t *testing.T) {
	for _, tt := range []struct {
		keys string
		want []string
	}{
		{"jjj", []string{"420  42.00% of view  42.00% of all  flat 120", "q quit"}},
		{"/encode|json<enter>", []string{"420  42.00%  flat 120", "/encode|json  1/3  750, 75.00% of all matched"}},
		{"/encode|json|xxxxxxxxxxxxxxxxxxxx<enter>n", []string{"flat 300", "2/3"}},
		{"/rare<enter>n", []string{"flat 1", "1/1  too narrow for a box: Enter zooms in"}},
	} {
		u := newTestUI(t, render.Options{})
		u.view(80, 24)
		press(u, tt.keys)
		lines := u.view(80, 24)
		status := lines[len(lines)-1]
		for _, w := range tt.want {
			if !strings.Contains(status, w) {
				t.Errorf("%s: the status is %q, want %q in it", tt.keys, status, w)
			}
		}
	}
}

// TestFlameClicks clicks at places of the screen.
func TestFlameClicks(t *testing.T) {
	u := newTestUI(t, render.Options{})
	click := func(x, y int, root, selected string) {
		t.Helper()
		u.update(key{name: "click", x: x, y: y})
		u.view(u.width, u.height)
		if name := u.painter.Name(u.selected); name != selected || u.query.Root != root {
			t.Errorf("click at %d, %d: root %q, selected %s, want %q, %s", x, y, u.query.Root, name, root, selected)
		}
	}
	const serve = "main.main;main.serve"
	click(5, 0, "", "all")  // the title
	click(5, 18, "", "all") // the status
	click(95, 8, "", "all") // nothing
	click(5, 3, "", "main.serve")
	click(80, 3, "", "runtime.gc")
	click(5, 3, "", "main.serve")
	click(5, 3, serve, "main.serve")
	click(5, 3, serve, "main.serve")  // it is shown already
	click(5, 4, serve, "json.Decode") // below it
	click(5, 1, serve, "all")
	click(5, 1, "", "all")
}

// TestFlameSizes presses keys in all sizes a terminal may have.
func TestFlameSizes(t *testing.T) {
	for _, o := range []render.Options{{}, {Color: true}, {ASCII: true}} {
		for _, width := range []int{1, 19, 20, 30, 80, 300} {
			for _, height := range []int{1, 5, 6, 8, 50} {
				u := newTestUI(t, o)
				u.view(width, height)
				for _, keys := range []string{"jjjl", "<enter>", "/json<enter>n", "?", "<esc><esc>", "<pagedown><wheelup><wheeldown><pageup>i"} {
					press(u, keys)
					lines := u.view(width, height)
					if len(lines) > height {
						t.Errorf("%d lines in a terminal of %d", len(lines), height)
					}
					for _, l := range lines {
						l = regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(l, "")
						if n := len([]rune(l)); n > width && width >= 20 {
							t.Errorf("%+v, %dx%d, %s: a line of %d columns: %q", o, width, height, keys, n, l)
						}
					}
				}
			}
		}
	}
}

func TestDecodeKeys(t *testing.T) {
	tests := []struct {
		in   string
		last bool
		want []key
		rest string
	}{
		{"jq", false, []key{{char: 'j'}, {char: 'q'}}, ""},
		{"\r\n\x7f\x08\x03", false, []key{{name: "enter"}, {name: "enter"}, {name: "backspace"}, {name: "backspace"}, {name: "ctrl-c"}}, ""},
		{"\x1b[A\x1bOB\x1b[5~", false, []key{{name: "up"}, {name: "down"}, {name: "pageup"}}, ""},
		{"\x1b", false, nil, "\x1b"}, // a key, or the start of one
		{"\x1b", true, []key{{name: "esc"}}, ""},
		{"\x1b[", false, nil, "\x1b["},
		{"\x1b[1;5", false, nil, "\x1b[1;5"},
		{"\x1b[1;5", true, []key{{name: "esc"}}, ""},
		{"\x1b[1;5Cx", false, []key{{char: 'x'}}, ""}, // means nothing
		{"\x1bj", false, []key{{name: "esc"}, {char: 'j'}}, ""},
		{"\x1b\x1b[A", false, []key{{name: "esc"}, {name: "up"}}, ""},
		{"\x1b[<0;12;3M", false, []key{{name: "click", x: 11, y: 2}}, ""},
		{"\x1b[<0;12;3m", false, nil, ""}, // released
		{"\x1b[<64;1;1M\x1b[<65;1;1M", false, []key{{name: "wheelup"}, {name: "wheeldown", x: 0}}, ""},
		{"\x1b[<32;5;5M", false, nil, ""}, // moved
		{"\x1b[<0;3M\x1b[<-1;1;1M\x1b[<0;99999999999999999999;1M", false, nil, ""},
		{"é", false, []key{{char: 'é'}}, ""},
		{"\xc3", false, nil, "\xc3"},
		{"\xc3", true, nil, ""},
		{"\x00\x01\xff\xfe", false, nil, ""},
		{"\x1b[" + strings.Repeat("1", 100) + "~a", false, []key{{char: 'a'}}, ""},
	}
	for _, tt := range tests {
		got, rest := decodeKeys([]byte(tt.in), tt.last)
		if !slices.Equal(got, tt.want) || string(rest) != tt.rest {
			t.Errorf("decodeKeys(%q, %v) = %v, %q, want %v, %q", tt.in, tt.last, got, rest, tt.want, tt.rest)
		}
	}
}

// FuzzDecodeKeys holds that nothing is left over in the end, and that little waits for more.
func FuzzDecodeKeys(f *testing.F) {
	f.Add([]byte("\x1b[<0;1;2Mj\x1b"))
	f.Fuzz(func(t *testing.T, in []byte) {
		_, rest := decodeKeys(in, false)
		if len(rest) > 40 {
			t.Errorf("decodeKeys(%q) leaves %d bytes", in, len(rest))
		}
		if _, rest = decodeKeys(in, true); len(rest) > 0 {
			t.Errorf("decodeKeys(%q) leaves %q in the end", in, rest)
		}
	})
}
