package main

import (
	"bytes"
	"errors"
	"io"
	"net"

	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/load/loadtest"
	"github.com/hone-perf/hone/internal/testrun"
)

// abDifferences are the deliberate differences. docs/compat-ab.md has them under the same numbers.
var abDifferences = map[string]string{
	"D1": "an invalid HTTP answer is a failure",
	"D2": "an answer that ends early is a failure",
	"D3": "a failure counts once",
	"D4": "chunked answers are decoded",
	"D5": "missing options",
	"D6": "numbers that make no sense",
	"D7": "other people's hosts",
	"D8": "no list of all requests",
	"D9": "the length of the first answer over TLS",

	"D10": "answers are read as HTTP/1.1 says",
}

// TestABDifferences holds that the differences and the page about them agree.
func TestABDifferences(t *testing.T) {
	const page = "docs/compat-ab.md"
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, m := range regexp.MustCompile(`(?m)^### (D\d+) `).FindAllSubmatch(b, -1) {
		told = append(told, string(m[1]))
	}
	slices.Sort(told) // D10 comes before D2
	if known := sortedNames(abDifferences); !slices.Equal(told, known) {
		t.Errorf("%s tells of the differences %q, the test knows %q", page, told, known)
	}
}

// abProgram returns the original. In CI, and with -tags live, it has to be there.
func abProgram(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("ab")
	if err != nil {
		testrun.Missing(t, "NOT COMPARED: the ab of Apache is not installed; apt-get install apache2-utils")
	}
	return path
}

// An abRun is what one of both programs did.
type abRun struct {
	code           int
	stdout, stderr string
	files          map[string]string
	requests       string // the last one, as it came
	did            map[string]int64
}

// runAB runs ours or theirs against a server of its own. URL, HOST and PORT in args are where that is.
func runAB(t *testing.T, program string, ours bool, opt loadtest.Options, args []string) abRun {
	t.Helper()
	s, err := loadtest.Listen(opt)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "body"), []byte("hello\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	var line []string
	for _, a := range args {
		line = append(line, strings.NewReplacer("URL", s.URL, "HOST", u.Host, "PORT", u.Port(), "EMPTY", "").Replace(a))
	}
	if ours {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		program, line = self, append([]string{"ab"}, line...)
	}
	cmd := exec.Command(program, line...)
	cmd.Args[0] = "ab" // which it calls itself
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HONE_TEST_EXEC=1", "TZ=UTC", "LC_ALL=C")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	anon := func(text string) string { return strings.ReplaceAll(text, u.Port(), "PORT") }
	out := abRun{code: cmd.ProcessState.ExitCode(), stdout: anon(stdout.String()), stderr: anon(stderr.String()), requests: anon(s.Last()), did: s.Did(), files: map[string]string{}}
	for _, name := range []string{"out.csv", "out.tsv"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			out.files[name] = string(b)
		}
	}
	return out
}

var (
	abFloat   = regexp.MustCompile(`[0-9]+\.[0-9]+`)
	abTimes   = regexp.MustCompile(`(?m)^(Connect|Processing|Waiting|Total):  [ 0-9.F]+$`)
	abPercent = regexp.MustCompile(`(?m)^( +[0-9]+%) +[0-9]+`)
	abDoubt   = regexp.MustCompile(`(?m)^(ERROR|WARNING): The median and mean .*\n .*\n`)
)

// blurTimes takes away what differs from run to run. Columns stay: what has another width than theirs differs.
func blurTimes(text string) string {
	text = abFloat.ReplaceAllString(text, "F")
	text = abTimes.ReplaceAllStringFunc(text, func(line string) string {
		return strings.Fields(line)[0] + " " + strconv.Itoa(len(strings.Fields(line))) + " columns"
	})
	text = abDoubt.ReplaceAllString(text, "")
	text = abPercent.ReplaceAllString(text, "$1 N")
	if strings.Contains(text, "<table") {
		text = regexp.MustCompile(`(<td [^>]*>) +[0-9]+(</td>)`).ReplaceAllString(text, "${1}N$2")
	}
	return text
}

// TestABOracle runs hone ab and the ab of Apache with the same arguments against servers that do the same: they send the
// same, say the same but for times, end with the same code, and write files of the same form.
func TestABOracle(t *testing.T) {
	program := abProgram(t)
	tests := []struct {
		name string
		args string
		opt  loadtest.Options
	}{
		{name: "plain", args: "-n 20 -c 3 URL/200"},
		{name: "one", args: "URL/200"},
		{name: "two", args: "-n 2 URL/200"},
		{name: "letters together", args: "-kqn20 -c3 URL/200"},
		{name: "end of options", args: "-n 3 -- URL/200"},
		{name: "progress", args: "-n 250 -c 5 URL/200"},
		{name: "more progress", args: "-n 1500 -c 5 -k URL/200"},
		{name: "quiet", args: "-n 250 -q URL/200"},
		{name: "keep-alive", args: "-n 60 -c 4 -k URL/200"},
		{name: "statuses", args: "-n 200 -c 3 -k URL/mix", opt: loadtest.Options{Mix: []string{"200", "404", "503", "302", "204"}}},
		{name: "lengths", args: "-n 40 URL/sizes"},
		{name: "any length", args: "-n 40 -l URL/sizes"},
		{name: "short", args: "-n 20 -S -d URL/200"},
		{name: "through a proxy", args: "-n 20 -c 2 -X HOST -P me:secret -A u:p http://127.0.0.1:81/200"},
		{name: "through a proxy, keep-alive", args: "-n 20 -c 2 -k -X HOST URL/200"},
		{name: "from an address", args: "-n 20 -B 127.0.0.9 URL/200"},
		{name: "from an address of others", args: "-n 20 -B 192.0.2.7 URL/200"},
		{name: "from a name that is none", args: "-n 20 -B nosuch.invalid URL/200"},
		{name: "from a short address", args: "-n 20 -B 127.9 URL/200"},
		{name: "from a short address of others", args: "-n 20 -B 192.0.519 URL/200"},
		{name: "short address", args: "-n 20 http://127.1:PORT/200"},
		{name: "short address, through a proxy", args: "-n 20 -X 0x7f.1:PORT http://127.2:81/200"},
		{name: "one octal number", args: "-n 20 -k http://017700000001:PORT/200"},
		{name: "too large for a byte", args: "-n 20 http://256.1:PORT/200"},
		{name: "five numbers", args: "-n 20 http://127.0.0.0.1:PORT/200"},
		{name: "small buffers", args: "-n 20 -c 2 -b 4096 URL/size/100000"},
		{name: "without percentages", args: "-n 20 -d URL/200"},
		{name: "HEAD", args: "-n 10 -i -k URL/size/100"},
		{name: "POST", args: "-n 7 -p body -T text/x -C a=b -C c=d -A user:secret -H X:y -k URL/echo"},
		{name: "PUT", args: "-n 7 -u body URL/echo"},
		{name: "method", args: "-n 7 -m DELETE -k URL/echo"},
		{name: "own fields", args: "-n 3 -H Host:example.com -H user-agent:me -H Accept:text/html URL/echo?a=b"},
		{name: "large", args: "-n 10 -c 2 -k URL/size/300000"},
		{name: "old", args: "-n 10 -c 2 URL/old"},
		{name: "until closed", args: "-n 10 -c 2 -k URL/until-close"},
		{name: "closed without a word", args: "-n 50 -c 4 -k URL/unsaid"},
		{name: "interrupted bytes", args: "-n 10 URL/split"},
		{name: "HTML", args: "-n 20 -w URL/200"},
		{name: "HTML attributes", args: "-n 20 -x border=1 -y align=left -z bgcolor=white -k URL/404"},
		{name: "HTML failures", args: "-n 20 -w URL/sizes"},
		{name: "HTML without colors", args: "-n 3 -z= -w URL/200"},
		{name: "HTML without a color", args: "-n 3 -z EMPTY URL/200"},
		{name: "HTML and the version", args: "-w -V"},
		{name: "HTML and a body", args: "-n 3 -w -p body -l URL/200"},
		{name: "HTML in capitals", args: "-n 160 -w -i -S -d URL/200"},
		{name: "no method, but HEAD", args: "-m EMPTY -i URL/200"},
		{name: "no method, but a body", args: "-m EMPTY -p body URL/200"},
		{name: "talk 1", args: "-n 3 -v 1 URL/200"},
		{name: "talk 2", args: "-n 3 -v 2 URL/200"},
		{name: "talk 3", args: "-n 3 -v 3 -k URL/200"},
		{name: "talk 4", args: "-n 3 -v4 -c 1 URL/404"},
		{name: "talk of nothing", args: "-n 3 -v x URL/200"},
		{name: "talk of a body", args: "-n 3 -v 3 -p body -C a=b URL/echo"},
		{name: "talk of a method", args: "-n 3 -v 2 -m DELETE URL/echo"},
		{name: "talk of HEAD", args: "-n 3 -v 3 -i -k URL/size/100"},
		{name: "talk of much", args: "-n 3 -v 3 URL/size/100000"},
		{name: "talk in HTML", args: "-n 3 -v 3 -w URL/200"},
		{name: "talk of nobody", args: "-v 2 http://nohost.invalid/"},
		{name: "talk of a failure", args: "-v 3 -n 2 http://" + closed + "/"},
		{name: "talk of statuses", args: "-n 20 -q -v 3 -k URL/mix", opt: loadtest.Options{Mix: []string{"200", "404", "503", "302", "204"}}},
		{name: "files", args: "-n 200 -c 3 -e out.csv -g out.tsv URL/200"},
		{name: "a file that cannot be written", args: "-n 3 -e none/out.csv URL/200"},
		{name: "another file that cannot be written", args: "-n 3 -g none/out.tsv URL/200"},
		{name: "HTML and no file", args: "-n 3 -w -e none/out.csv -g out.tsv URL/200"},
		{name: "no name of a file", args: "-n 3 -e= -g= URL/200"},
		{name: "slow, but it flows", args: "-n 2 -s 1 URL/trickle/75"},
		{name: "slow, and others go on", args: "-n 60 -c 2 -s 1 URL/mix", opt: loadtest.Options{Mix: append([]string{"sleep/40", "sleep/1600"}, slices.Repeat([]string{"sleep/40"}, 58)...)}},
		{name: "silent", args: "-n 3 -s 1 URL/hang"},
		{name: "header that goes on", args: "-n 3 URL/folded"},
		{name: "no scheme, through a proxy", args: "-n 3 -X HOST example.com/200"},
		{name: "user in the address", args: "-n 3 http://me:secret@HOST/200"},
		{name: "scheme in capitals", args: "-n 3 HTTP://HOST/200"},
		{name: "question without a path", args: "-n 3 http://HOST?a=b/"},
		{name: "letters for a port", args: "-n 3 http://127.0.0.1:abc/"},
		{name: "no port", args: "-n 3 http://127.0.0.1:/"},
		{name: "port with zeros", args: "-n 3 http://127.0.0.1:01/"},
		{name: "large port", args: "-n 3 http://127.0.0.1:99999/"},
		{name: "no host but a port", args: "-n 3 http://:81/"},
		{name: "brackets", args: "-n 3 http://[::1/"},
		{name: "scheme alone", args: "-n 3 http://"},
		{name: "unknown protocol", args: "-n 3 -f SSL2 URL/200"},
		{name: "a folder to send", args: "-p . URL/200"},
		{name: "reset", args: "-n 20 URL/reset"},
		{name: "reset later", args: "-n 20 -k URL/mix", opt: loadtest.Options{Mix: []string{"200", "200", "200", "reset"}}},
		{name: "-t", args: "-t 1 -c 2 -n 100 URL/200"},
		{name: "usage", args: "-h"},
		{name: "version", args: "-V"},
		{name: "nothing", args: ""},
		{name: "two addresses", args: "URL/ URL/"},
		{name: "no path", args: "-n 5 URL"},
		{name: "too many at once", args: "-n 5 -c 10 URL/"},
		{name: "no number", args: "-n x URL/"},
		{name: "number 0", args: "-n 0 URL/"},
		{name: "unknown", args: "-n 5 -5 URL/"},
		{name: "no argument", args: "-n"},
		{name: "no argument behind letters", args: "-kn"},
		{name: "no file", args: "-p nothing URL/"},
		{name: "two methods", args: "-p body -u body URL/"},
		{name: "HEAD and POST", args: "-p body -i URL/"},
		{name: "HEAD and another", args: "-m FOO -i URL/"},
		{name: "no host", args: "-n 5 http://nohost.invalid/"},
		{name: "refused", args: "-n 5 http://" + closed + "/"},
	}
	for i, test := range tests {
		if testing.Short() && i%4 != 0 {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			if strings.HasPrefix(test.name, "slow, ") {
				testrun.Live(t, "answers take seconds")
				t.Parallel()
			}
			args := strings.Fields(test.args)
			theirs, ours := runAB(t, program, false, test.opt, args), runAB(t, program, true, test.opt, args)
			if want, got := blurTimes(theirs.stdout), blurTimes(ours.stdout); got != want {
				t.Errorf("ab %s prints\n%s\nhone ab\n%s", test.args, want, got)
			}
			if ours.stderr != theirs.stderr {
				t.Errorf("ab %s says %q, hone ab %q", test.args, theirs.stderr, ours.stderr)
			}
			if ours.code != theirs.code {
				t.Errorf("ab %s ends with %d, hone ab with %d", test.args, theirs.code, ours.code)
			}
			if ours.requests != theirs.requests {
				t.Errorf("ab %s sends %q, hone ab %q", test.args, theirs.requests, ours.requests)
			}
			if len(ours.files) != len(theirs.files) {
				t.Errorf("ab %s writes %d files, hone ab %d", test.args, len(theirs.files), len(ours.files))
			}
			for name, want := range theirs.files {
				if want, got := formOf(want), formOf(ours.files[name]); got != want {
					t.Errorf("ab %s writes %s like\n%.300s\nhone ab\n%.300s", test.args, name, want, got)
				}
			}
		})
	}
}

// closed is an address that nobody listens at. A port that was just closed may be that of another test a moment later.
const closed = "127.0.0.1:1"

var (
	abDate   = regexp.MustCompile(`(?m)^(Mon|Tue|Wed|Thu|Fri|Sat|Sun) (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2} [0-9]{4}`)
	abMillis = regexp.MustCompile(`\t[0-9]+`)
	abServed = regexp.MustCompile(`(?m)^([0-9]+),[0-9]+\.[0-9]{3}$`)
)

// formOf returns a file of -e or -g without its numbers.
func formOf(text string) string {
	text = abDate.ReplaceAllString(text, "DATE")
	text = abServed.ReplaceAllString(text, "$1,MS")
	return abMillis.ReplaceAllString(text, "\tN")
}

// The TLS of both is described alike.
func TestABOracleTLS(t *testing.T) {
	program := abProgram(t)
	h := httptest.NewUnstartedServer(nil)
	h.StartTLS()
	defer h.Close()
	opt := loadtest.Options{Cert: &h.TLS.Certificates[0]}
	for _, args := range []string{"-n 10 -c 2 -l URL/200", "-n 10 -k -f TLS1.2 URL/200", "-n 10 -k -f TLS1.2 URL/sizes", "-n 10 -l -I URL/200",
		"-n 10 -k -f TLS1.2 -Z ECDHE-RSA-AES256-GCM-SHA384 URL/200", "-n 10 -k -f TLS1.2 -Z ECDHE-RSA-AES128-SHA:nothing URL/200"} {
		theirs, ours := runAB(t, program, false, opt, strings.Fields(args)), runAB(t, program, true, opt, strings.Fields(args))
		if want, got := blurTimes(theirs.stdout), blurTimes(ours.stdout); got != want || ours.code != theirs.code {
			t.Errorf("ab %s prints\n%s\nand ends with %d; hone ab\n%s\nwith %d", args, want, theirs.code, got, ours.code)
		}
	}
	args := strings.Fields("-n 10 -c 2 URL/200")
	if ours := runAB(t, program, true, opt, args); !strings.Contains(ours.stdout, "Document Length:        2 bytes\n") || !strings.Contains(ours.stdout, "Failed requests:        0\n") {
		t.Errorf("D9: hone ab prints\n%s", ours.stdout)
	}
	if theirs := runAB(t, program, false, opt, args); !strings.Contains(theirs.stdout, "Document Length:        0 bytes\n") {
		t.Errorf("D9 is no difference any more: ab prints\n%s", theirs.stdout)
	}
}

// A request without a method, which -m "" makes, is no HTTP: a server that answers all the same gets the same from both, and is counted
// alike.
func TestABOracleNoMethod(t *testing.T) {
	program := abProgram(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	asked := make(chan string, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b := make([]byte, 4096)
			n, _ := c.Read(b)
			asked <- string(b[:n])
			io.WriteString(c, "HTTP/1.0 200 OK\r\nServer: none\r\nContent-Length: 2\r\n\r\nok")
			c.Close()
		}
	}()
	for _, args := range []string{"-n 3 -m EMPTY URL/200", "-n 3 -v 2 -i -m EMPTY URL/200", "-n 3 -p body -m EMPTY URL/200", "-n 2 -m EMPTY -H X:y -w URL/200"} {
		args = strings.ReplaceAll(args, "URL", "http://"+l.Addr().String())
		var runs [2]abRun
		var sent [2][]string
		for i, ours := range []bool{false, true} {
			runs[i] = runAB(t, program, ours, loadtest.Options{}, strings.Fields(args))
			for len(asked) > 0 {
				sent[i] = append(sent[i], <-asked)
			}
		}
		theirs, ours := runs[0], runs[1]
		if want, got := blurTimes(theirs.stdout), blurTimes(ours.stdout); got != want || ours.code != theirs.code || ours.stderr != theirs.stderr {
			t.Errorf("ab %s prints\n%s\nand ends with %d; hone ab\n%s\nwith %d", args, want, theirs.code, got, ours.code)
		}
		if !slices.Equal(sent[0], sent[1]) || len(sent[0]) < 2 || !strings.HasPrefix(sent[0][0], " /200 HTTP/1.0\r\n") {
			t.Errorf("ab %s sends %q, hone ab %q", args, sent[0], sent[1])
		}
	}
}

// A server without TLS is no failure, nor is one whose handshake fails in the midst of others: it is an answer of no bytes. Why it failed is
// told in the words of Go.
func TestABOracleNoTLS(t *testing.T) {
	program := abProgram(t)
	reason := regexp.MustCompile(`(?m)^SSL handshake failed \([0-9]+\)\.\n.*$`)
	for _, args := range []string{"-n 5 https://HOST/200", "-n 5 -w https://HOST/200", "-n 5 -l -k https://HOST/200", "-n 3 -v 1 https://HOST/200"} {
		theirs, ours := runAB(t, program, false, loadtest.Options{}, strings.Fields(args)), runAB(t, program, true, loadtest.Options{}, strings.Fields(args))
		want, got := blurTimes(theirs.stdout), blurTimes(ours.stdout)
		if got != want || ours.code != theirs.code || !strings.Contains(got, "Failed requests:") {
			t.Errorf("ab %s prints\n%s\nand ends with %d; hone ab\n%s\nwith %d", args, want, theirs.code, got, ours.code)
		}
		if want, got := reason.ReplaceAllString(theirs.stderr, "failed"), reason.ReplaceAllString(ours.stderr, "failed"); got != want {
			t.Errorf("ab %s says %q, hone ab %q", args, theirs.stderr, ours.stderr)
		}
	}
}

// What is meant to differ does, and as docs/compat-ab.md says.
func TestABIntendedDifferences(t *testing.T) {
	program := abProgram(t)
	for _, test := range []struct {
		id, args     string
		theirs, ours string // that is printed
		code         int    // of ours
	}{
		{"D1", "-n 10 URL/garbage", "Failed requests:        0\n", "Failed requests:        10\n   (Connect: 0, Receive: 0, Length: 0, Exceptions: 10)\n", 0},
		{"D1", "-n 10 URL/bad-length", "Failed requests:        0\n", "Exceptions: 10)", 0},
		{"D1", "-n 10 URL/two-lengths", "Failed requests:        0\n", "Exceptions: 10)", 0},
		{"D1", "-n 10 URL/bad-chunk", "Failed requests:        0\n", "Exceptions: 10)", 0},
		{"D2", "-n 10 URL/cut-body", "Failed requests:        0\n", "(Connect: 0, Receive: 0, Length: 10, Exceptions: 0)\n", 0},
		{"D2", "-n 10 URL/close", "Failed requests:        0\n", "(Connect: 0, Receive: 0, Length: 0, Exceptions: 10)\n", 0},
		{"D3", "-n 10 -r URL/reset", "Failed requests:        20\n", "Failed requests:        10\n   (Connect: 0, Receive: 10, Length: 0, Exceptions: 0)\n", 0},
		{"D3", "-n 10 -r http://127.0.0.1:1/", "(Connect: 0, Receive: 10, Length: 0, Exceptions: 5)", "(Connect: 10, Receive: 0, Length: 0, Exceptions: 0)", 0},
		{"D4", "-n 10 URL/chunked", "Document Length:        ", "Document Length:        2 bytes\n", 0},
		{"D5", "-n 10 -Z HIGH https://127.0.0.1:1/", "", "error setting ciphersuite list [HIGH]: the TLS of Go has ECDHE-", 1},
		{"D5", "-n 1 -v 3 https://HOST/200", "SSL/TLS State [connect]", "SSL handshake failed (1).\n", 0},
		{"D6", "-c 0 URL/200", "", "Invalid Concurrency [Range 1..20000]", 22},
		{"D10", "-n 10 URL/interim", "Non-2xx responses:      10\n", "Document Length:        2 bytes\n", 0},
		{"D10", "-n 10 URL/spaces", "Server Software:        \n", "Server Software:        spaces/1.0\n", 0},
		{"D10", "-n 2 -s 1 -k URL/folded", "apr_pollset_poll: The timeout specified has expired (70007)", "Complete requests:      2\n", 0},
		{"D7", "-n 1 http://192.0.2.1/", "", "is outside this machine and private networks", 1},
	} {
		ours := runAB(t, program, true, loadtest.Options{}, strings.Fields(test.args))
		if !strings.Contains(ours.stdout+ours.stderr, test.ours) || ours.code != test.code {
			t.Errorf("%s: hone ab %s ends with %d and prints\n%s%s\nwant %d and %q", test.id, test.args, ours.code, ours.stdout, ours.stderr, test.code, test.ours)
		}
		if test.theirs == "" {
			continue // it would hang, or leave this machine
		}
		theirs := runAB(t, program, false, loadtest.Options{}, strings.Fields(test.args))
		if !strings.Contains(theirs.stdout+theirs.stderr, test.theirs) {
			t.Errorf("%s is no difference any more: ab %s prints\n%s%s\nwant %q", test.id, test.args, theirs.stdout, theirs.stderr, test.theirs)
		}
	}
}
