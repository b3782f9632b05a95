package patch

import (
	"bytes"
	"go/format"
	"strings"
	"testing"
)

func TestFormat(t *testing.T) {
	tests := []struct{ name, was, is, want string }{
		{
			"a file as gofmt has it stays so",
			"package p\n\nvar (\n\ta = 1\n\tb = 2\n)\n",
			"package p\n\nvar (\n\ta = 1\nlong=3\n\tb = 2\n)\n",
			"package p\n\nvar (\n\ta    = 1\n\tlong = 3\n\tb    = 2\n)\n",
		}, {
			"lines that were touched alone",
			"package p\nfunc f() int{\n    x:=1\n    y := 2\n  return x+y\n}\n",
			"package p\nfunc f() int{\n    x:=1\nfor i:=range 3{\ny+=i\n}\n  return x+y\n}\n",
			"package p\nfunc f() int{\n    x:=1\n\tfor i := range 3 {\n\t\ty += i\n\t}\n  return x+y\n}\n",
		}, {
			"what gofmt splits",
			"package p\nfunc f(){\n  g( 1 )\n  g( 2 )\n}\n",
			"package p\nfunc f(){\n  g( 1 )\nif true{ g( 3 );g(4) }\n  g( 2 )\n}\n",
			"package p\nfunc f(){\n  g( 1 )\n\tif true {\n\t\tg(3)\n\t\tg(4)\n\t}\n  g( 2 )\n}\n",
		}, {
			"neighbors that were aligned are aligned again",
			"package p\n\nvar  z int\n\ntype t struct {\n\ta int    // one\n\tb string // two\n}\n",
			"package p\n\nvar  z int\n\ntype t struct {\n\ta int    // one\n\tlonger int // more\n\tb string // two\n}\n",
			"package p\n\nvar  z int\n\ntype t struct {\n\ta      int    // one\n\tlonger int    // more\n\tb      string // two\n}\n",
		}, {
			"lines of texts, and imports in no order",
			"package p\n\nimport (\n  \"os\"\n  \"fmt\"\n)\n\nvar s = `\n  x:=1\n`\nfunc f(){ fmt.Println(os.Args) }\n",
			"package p\n\nimport (\n  \"os\"\n  \"fmt\"\n\"strings\"\n)\n\nvar s = `\n  x:=1\n  y:=2\n`\nfunc f(){ fmt.Println(os.Args) }\n",
			"package p\n\nimport (\n  \"os\"\n  \"fmt\"\n\t\"strings\"\n)\n\nvar s = `\n  x:=1\n  y:=2\n`\nfunc f(){ fmt.Println(os.Args) }\n",
		}, {
			"lines end as they did",
			"package p\r\n\r\nfunc f() {\r\n\tg()\r\n}\r\n",
			"package p\r\n\r\nfunc f() {\r\n\tg()\r\nh( 1 )\n}\r\n",
			"package p\r\n\r\nfunc f() {\r\n\tg()\r\n\th(1)\r\n}\r\n",
		}, {
			"lines end as those beside them do",
			"package p\r\n\nfunc f() {\r\n\tg()\r\n\tk()\n}\n",
			"package p\r\n\nfunc f() {\r\n\tg()\r\nh( 1 )\n\tk(2)\n}\n",
			"package p\r\n\nfunc f() {\r\n\tg()\r\n\th(1)\n\tk(2)\n}\n",
		}, {
			"what is inserted ends as the line before",
			"package p\n\nfunc f() {\r\n\tg()\r\n\tk()\n}\n",
			"package p\n\nfunc f() {\r\n\tg()\r\n\th()\n\tk()\n}\n",
			"package p\n\nfunc f() {\r\n\tg()\r\n\th()\r\n\tk()\n}\n",
		}, {
			"no newline at the end",
			"package p\n\nvar x  = 1\nvar y = 2",
			"package p\n\nvar x  = 1\nvar y   =3",
			"package p\n\nvar x  = 1\nvar y = 3\n",
		}, {
			"an empty line too much where something was taken away",
			"package p\n\nvar x  = 1\n\nvar y = 2\n\nvar z = 3\n",
			"package p\n\nvar x  = 1\n\n\nvar z = 3\n",
			"package p\n\nvar x  = 1\n\nvar z = 3\n",
		}, {
			"a comment of a function",
			"package p\nvar  a=1\n",
			"package p\nvar  a=1\n//F does:\n//  - one\n//  * two\nfunc F(){}\n",
			"package p\nvar  a=1\n\n// F does:\n//   - one\n//   - two\nfunc F() {}\n",
		},
	}
	for _, tt := range tests {
		got, err := Format([]byte(tt.was), []byte(tt.is))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %v\ngot\n%s\nwant\n%s", tt.name, err, got, tt.want)
		}
	}
	if out, err := Format([]byte("package p\n"), []byte("package p\nfunc {")); err == nil {
		t.Errorf("what is no Go becomes %q", out)
	}
}

// FuzzFormat holds that formatting changes no more than white space, which gofmt sees to as well, and leaves nothing to do in lines
// of a file that had nothing to do.
func FuzzFormat(f *testing.F) {
	f.Add("package p\nfunc f(){\n  g( 1 )\n}\n", 2, "if x{ g(3);g(4) }")
	f.Add("package p\n\nimport (\n\"b\"\n \"a\"\n)\n", 3, "\"c\"")
	f.Add("package p\n\nvar a = 1\r\n", 2, "var bb=2")
	f.Fuzz(func(t *testing.T, was string, at int, add string) {
		lines := strings.SplitAfter(was, "\n")
		if at < 0 || at >= len(lines) {
			return
		}
		is := strings.Join(lines[:at], "") + add + "\n" + strings.Join(lines[at:], "")
		got, err := Format([]byte(was), []byte(is))
		if err != nil {
			return
		}
		want, err := format.Source([]byte(is))
		if err != nil {
			t.Fatalf("a text that was formatted is no Go: %v", err)
		}
		again, err := format.Source(got)
		if err != nil || !bytes.Equal(withoutCR(again), withoutCR(want)) {
			t.Errorf("Format makes\n%q\nof\n%q: %v", got, is, err)
		}
	})
}
