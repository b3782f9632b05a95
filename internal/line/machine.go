package line

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/escape"
	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/scratch"
	"github.com/hone-perf/hone/internal/source/objfile"
)

// maxCode is how many instructions of a line are shown.
const maxCode = 400

// machineCode builds what holds the line, and takes that apart.
func machineCode(ctx context.Context, p *place, opt Options, l *report.LineStory) error {
	work, err := scratch.Dir("work-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	file := filepath.Join(work, "program")
	if runtime.GOOS == "windows" {
		file += ".exe"
	}
	dir := filepath.Dir(p.file)
	args := []string{"test", "-c", "-vet=off"}
	l.CodeFrom = "the test program of the package"
	if p.pkg == "main" && !p.test {
		args, l.CodeFrom = []string{"build"}, "the program"
	} else if overlay, err := keep(p, work); err != nil {
		return err
	} else if overlay != "" {
		args = append(args, "-overlay="+overlay)
	}
	args = append(args, "-trimpath=false", "-o", file)
	if _, err := (gocmd.Command{Dir: dir}).Run(ctx, append(append(args, opt.Flags...), ".")...); err != nil {
		return err
	}
	o, err := objfile.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return errors.New("the go command built nothing")
	}
	if err != nil {
		return err
	}
	defer o.Close()
	if err := instructions(o, p, l); err != nil {
		return err
	}
	if len(l.Code) == 0 {
		return fmt.Errorf("no instruction in %s comes from this line: the compiler or the linker removed it, or it has no code", l.CodeFrom)
	}
	return nil
}

// keep writes a test that names the function, since the linker leaves out what nobody calls. It returns the overlay that adds it.
func keep(p *place, work string) (string, error) {
	if p.fn == nil || p.fn.expr == "" || p.external {
		return "", nil
	}
	text := fmt.Sprintf("package %s\n\nimport \"testing\"\n\nfunc TestHoneKeeps(t *testing.T) { t.Log(%s) }\n", p.pkg, p.fn.expr)
	file := filepath.Join(work, "keep_test.go")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", err
	}
	overlay := filepath.Join(work, "overlay.json")
	return overlay, gocmd.Overlay{filepath.Join(filepath.Dir(p.file), "zz_hone_keep_test.go"): file}.Write(overlay)
}

// instructions collects the machine code of the line: in the function itself, and where it was inlined in the same package.
func instructions(o *objfile.File, p *place, l *report.LineStory) error {
	want := ""
	if p.fn != nil {
		want = p.fn.name
	}
	fns, err := o.Functions(func(f *recording.Function) bool {
		name := f.Name[strings.LastIndexByte(f.Name, '/')+1:]
		_, name, _ = strings.Cut(name, ".")
		return want == "" || name == want || strings.HasPrefix(name, want+".") || strings.HasPrefix(name, want+"[")
	})
	if err != nil {
		return err
	}
	calls := make(map[string]bool)
	for _, f := range fns {
		const most = 1 << 20
		list, err := o.Instructions(f.Start, min(f.End, f.Start+most), true)
		if err != nil {
			return err
		}
		for _, in := range list {
			depth := slices.IndexFunc(in.Frames, func(fr recording.Frame) bool { return fr.Line == p.line && escape.SameFile(fr.File, p.file) })
			if depth < 0 {
				continue
			}
			if name, does := runtimeCall(in.Text); does != "" && !calls[name] {
				calls[name] = true
				l.Runtime = append(l.Runtime, report.RuntimeCall{Function: name, Does: does})
			}
			if len(l.Code) == maxCode {
				continue
			}
			one := report.Instruction{Address: in.Address, Text: in.Text, Depth: depth}
			for j, fr := range in.Frames {
				at := report.Place{Function: fr.Func, File: fr.File, Line: fr.Line}
				if j == 0 {
					one.Place = at
				} else {
					one.InlinedInto = append(one.InlinedInto, at)
				}
			}
			l.Code = append(l.Code, one)
		}
	}
	order.Stable(l.Runtime, func(a, b report.RuntimeCall) int { return strings.Compare(a.Function, b.Function) })
	return nil
}

// runtimeCall returns the function of the runtime that an instruction calls, and what that does, when it is one that matters.
func runtimeCall(text string) (name, does string) {
	i := strings.Index(text, "runtime.")
	if i < 0 || !strings.Contains(text[:i], "CALL") && !strings.Contains(text[:i], "BL") {
		return "", ""
	}
	name = text[i:]
	if i := strings.IndexAny(name, "( \t"); i >= 0 {
		name = name[:i]
	}
	if class, ok := strings.CutPrefix(name, "runtime.mallocgcSmallNoScanSC"); ok {
		return name, allocatesClass(class)
	}
	if class, ok := strings.CutPrefix(name, "runtime.mallocgcSmallScanNoHeaderSC"); ok {
		return name, allocatesClass(class)
	}
	for _, c := range runtimeCalls {
		if strings.HasPrefix(name, "runtime."+c.begins) {
			return name, c.does
		}
	}
	return "", ""
}

// runtimeCalls are functions of the runtime that allocate or copy, by how their names begin: the longer beginning comes first.
var runtimeCalls = []struct{ begins, does string }{
	{"newobject", "allocates a value"},
	{"makeslicecopy", "allocates a copy of a slice"},
	{"makeslice", "allocates a slice; if its size is not constant, only when it does not fit the buffer on the stack"},
	{"growslice", "allocates a larger slice when there is no room"},
	{"moveSlice", "moves a slice to the heap"},
	{"makechan", "allocates a channel"},
	{"makemap", "allocates a map"},
	{"mapassign", "allocates when the map grows"},
	{"mapclone", "copies a map"},
	{"concatstring", "allocates a string for the result"},
	{"concatbyte", "allocates a slice for the result"},
	{"slicebytetostringtmp", "uses bytes as a string for a moment, without a copy"},
	{"slicebytetostring", "copies bytes into a string"},
	{"stringtoslicebyte", "copies a string into bytes"},
	{"stringtoslicerune", "copies a string into runes"},
	{"slicerunetostring", "copies runes into a string"},
	{"intstring", "makes a string of a number"},
	{"convT", "allocates a copy of a value for an interface"},
	{"newproc", "starts a goroutine"},
	{"deferproc", "keeps a record of a deferred call"},
	{"duffcopy", "copies a value"},
	{"typedmemmove", "copies a value with pointers"},
	{"memmove", "copies memory"},
	{"mallocgcTinySC", "allocates a value of less than 16 bytes without pointers"},
	{"mallocgc", "allocates"},
}

// sizeClasses are how many bytes the smallest classes of the allocator hold, see runtime/sizeclasses.go.
var sizeClasses = []int{0, 8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256, 288, 320, 352, 384, 416, 448, 480, 512}

// allocatesClass says what the allocator for one class does, which the compiler calls since Go 1.27 in place of runtime.newobject.
func allocatesClass(class string) string {
	if n, err := strconv.Atoi(class); err == nil && n > 0 && n < len(sizeClasses) {
		return fmt.Sprintf("allocates a value of up to %d bytes", sizeClasses[n])
	}
	return "allocates a value"
}
