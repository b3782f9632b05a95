package capture

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/recording"
)

// agentFiles are the sources of the recorder, without its tests: those end in t.go.
//
//go:embed agent/*[^t].go agent/agent.go agent/flight.go agent/*.go.txt
var agentFiles embed.FS

// agentPackage is the package of the standard library that the files of the recorder are added to: one that next to no
// program has in it, that needs nothing itself, and comes early among those of its kind, since packages initialize in the
// order of their names, as far as their imports allow. A package that is only in the overlay would be more honest, but the
// go command takes none for one of the standard library before Go 1.26.8.
const (
	agentPackage = "container/ring"
	agentClause  = "package ring"
)

// addedFile is the name of the file that imports the recorder. It exists only in the overlay.
const addedFile = "zz_hone_recorder"

// coverPackage is what a program imports whose coverage is measured. There, the file that imports the recorder goes into this package: the
// tool that rewrites the files of the program knows of no overlay.
const coverPackage = "runtime/coverage"

// requestsFile is the file of net/http that says which requests it answered, in GOROOT/src.
const requestsFile = "net/http/zz_hone.go"

// elsewhere are the files that do not simply go into the package of the recorder.
var elsewhere = []string{"pprof.go", "rate.go", "pack.go", "open.go", "signal.go", "host_cpu.go", "host_nocpu.go", "host_heap.go", "host_noheap.go", "http.go"}

// addAgent adds the recorder to an overlay, and returns the folder that its files are in. The go command goes by what is
// in them, not by where they are, so it builds them once. With requests, net/http says what it answered. The compiler takes
// the files to be in the folder named: it would keep where GOROOT is in what it builds, which may be a link that is gone when the next program is
// built from that. "" leaves that to the compiler.
func addAgent(about gocmd.About, named, work string, requests bool, replace gocmd.Overlay) (string, error) {
	files, err := fs.Glob(agentFiles, "agent/*")
	if err != nil {
		return "", err
	}
	add := map[string][]byte{} // by name in GOROOT/src
	for _, f := range files {
		text, err := agentFiles.ReadFile(f)
		if err != nil {
			return "", err
		}
		name := strings.TrimSuffix(path.Base(f), ".txt")
		switch {
		case strings.HasSuffix(name, "_test.go"):
		case slices.Contains(elsewhere, name):
		default:
			add[agentFile(name)] = ofPackage(text)
		}
	}
	read := func(name string) []byte {
		text, _ := agentFiles.ReadFile("agent/" + name)
		return text
	}
	add["os/signal/zz_hone.go"] = read("signal.go.txt")
	given := func(name string) ([]byte, error) {
		text, err := os.ReadFile(filepath.Join(about.GOROOT, "src", filepath.FromSlash(name)))
		if err != nil {
			return nil, fmt.Errorf("reading the standard library: %w", err)
		}
		return text, nil
	}
	const pprof, proto = "runtime/pprof/pprof.go", "runtime/pprof/proto.go"
	text, err := given(pprof)
	if err != nil {
		return "", err
	}
	if text, ok := rewrite(text, shareChanges); ok {
		if all, ok := rewrite(text, allChanges); ok {
			text = all
		}
		add["runtime/pprof/zz_hone.go"] = read("pprof.go.txt")
		add[agentFile("host_cpu.go")] = ofPackage(read("host_cpu.go.txt"))
		rate, err := given("runtime/cpuprof.go")
		if err != nil {
			return "", err
		}
		if _, ok := rewrite(rate, rateAsIs); ok && !strings.Contains(about.GOEXPERIMENT, "staticlockranking") {
			if own, ok := rewrite(text, rateChanges); ok {
				text = own
				add["runtime/pprof/zz_honerate.go"] = read("rate.go.txt")
			}
		}
		add[pprof] = text
	} else {
		add[agentFile("host_cpu.go")] = ofPackage(read("host_nocpu.go.txt"))
	}
	if text, err = given(proto); err != nil {
		return "", err
	}
	if text, ok := rewrite(text, packChanges); ok {
		add[proto] = text
		add["runtime/pprof/zz_honepack.go"] = read("pack.go.txt")
	}
	const maps, elf = "runtime/pprof/proto_other.go", "runtime/pprof/elf.go"
	if about.GOOS == "linux" {
		text, _ := given(maps) // a file that is missing has nothing to change
		own, _ := given(elf)
		text, readsMaps := rewrite(text, mapsChanges)
		own, readsELF := rewrite(own, elfChanges)
		if readsMaps && readsELF {
			add[maps], add[elf] = text, own
			add["runtime/pprof/zz_honeopen.go"] = read("open.go.txt")
			if text, ok := rewrite(add[pprof], sleepChanges); ok {
				add[pprof] = text
			}
		}
	}
	if text, err = given("runtime/mprof.go"); err != nil {
		return "", err
	}
	heap := "host_heap.go"
	if _, ok := rewrite(text, heapAsIs); !ok {
		heap = "host_noheap.go"
	}
	add[agentFile(heap)] = ofPackage(read(heap + ".txt"))
	const server, request = "net/http/server.go", "net/http/request.go"
	if _, ok := replace[filepath.Join(about.GOROOT, "src", filepath.FromSlash(server))]; requests && !ok {
		if text, err = given(request); err != nil {
			return "", err
		}
		_, named := rewrite(text, requestAsIs)
		if text, err = given(server); err != nil {
			return "", err
		}
		if text, ok := rewrite(text, serverChanges); ok && named {
			add[server] = text
			add[requestsFile] = read("http.go.txt")
		}
	}
	dir := filepath.Join(work, "agent")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for name, text := range add {
		file := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if named != "" {
			text = slices.Concat(fmt.Appendf(nil, "//line %s:1\n", filepath.Join(named, filepath.FromSlash(name))), text)
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(about.GOROOT, "src", filepath.FromSlash(name))] = file
	}
	return dir, nil
}

// agentFile returns where a file of the recorder goes, in GOROOT/src. Readers know the recorder by it, so files that other
// packages get, and of which the program calls some, have other names.
func agentFile(name string) string { return agentPackage + "/" + recording.RecorderFiles + name }

// ofPackage makes a file of the recorder one of the package that it goes to.
func ofPackage(text []byte) []byte {
	return bytes.TrimPrefix(bytes.Replace(append([]byte("\n"), text...), []byte("\npackage agent\n"), []byte("\n"+agentClause+"\n"), 1), []byte("\n"))
}

// What is changed in runtime/pprof. Lines stay where they are. Where a version of Go has other lines, what would be changed
// together is left alone.
var (
	// shareChanges let the recorder and the program both have CPU profiles.
	shareChanges = [][2]string{
		{"\nfunc StartCPUProfile(w io.Writer) error {\n", "\nfunc honeStartCPUProfile(w io.Writer) error {\n"},
		{"\nfunc StopCPUProfile() {\n", "\nfunc honeStopCPUProfile() {\n"},
		{"\tgo profileWriter(w)\n", "\thoneGo(w)\n"},
		{"\tb.build()\n\tcpu.done <- true\n", "\thoneDone(b, w)\n\n"},
		same("\nfunc profileWriter(w io.Writer) {\n")[0],
	}
	// allChanges keep profiles of goroutines from missing one of the program's.
	allChanges = [][2]string{
		{"n, ok = fetch(p, labels)\n\t\tif ok {\n\t\t\tp = p[0:n]\n", "n, ok = fetch(p, labels)\n\t\tif ok {\n\t\t\tp = honeAll(p, n)\n"},
	}
	// rateChanges keep samples outside of the heap. That is done in place of the runtime, so it has to be as it was.
	rateChanges = [][2]string{
		{"\truntime.SetCPUProfileRate(hz)\n", "\thoneRate(hz)\n"},
	}
	rateAsIs = same(
		"type cpuProfile struct {\n\tlock mutex\n\ton   bool     // profiling is on\n\tlog  *profBuf // profile events written here\n",
		"\textra      [1000]uintptr\n\tnumExtra   int\n\tlostExtra  uint64 // count of frames lost because extra is full\n\tlostAtomic uint64 ",
		"\t\tcpuprof.on = true\n\t\tcpuprof.log = newProfBuf(1, profBufWordCount, profBufTagCount)\n\t\thdr := [1]uint64{uint64(hz)}\n"+
			"\t\tcpuprof.log.write(nil, nanotime(), hdr[:], nil)\n\t\tsetcpuprofilerate(int32(hz))\n\t} else if cpuprof.on {\n",
	)
	// heapAsIs is what ends a cycle of the heap profile.
	heapAsIs = same("\nfunc mProf_NextCycle() {\n\tmProfCycle.increment()\n}\n", "\nfunc mProf_Flush() {\n\tcycle, alreadyFlushed := mProfCycle.setFlushed()\n")
	// serverChanges have an execution trace say which pattern of a ServeMux a request was for, since most handlers leave nothing else in one,
	// and the recorder know how long it took.
	serverChanges = [][2]string{
		{"\n\thandler.ServeHTTP(rw, req)\n}\n", "\n\tdefer honeServed(req, honeBegan(req)); handler.ServeHTTP(rw, req)\n}\n"},
		{"r.matches = mux.findHandler(r)\n\t}\n\th.ServeHTTP(w, r)\n}\n", "r.matches = mux.findHandler(r)\n\t}\n\thoneMatched(r); h.ServeHTTP(w, r)\n}\n"},
	}
	requestAsIs = same("\n\tPattern string\n") // not before Go 1.23
	// mapsChanges and elfChanges keep profiles from starting the runtime's poller.
	mapsChanges = [][2]string{
		{"\tdata, _ := os.ReadFile(\"/proc/self/maps\")\n", "\tdata, _ := honeRead(\"/proc/self/maps\", os.O_RDONLY)\n"},
	}
	elfChanges = [][2]string{
		{"\tf, err := os.Open(file)\n", "\tf, err := honeOpen(file, os.O_RDONLY)\n"},
	}
	// sleepChanges do so up to Go 1.25, where who writes a CPU profile looks for samples now and then: a timer needs the poller, too.
	sleepChanges = [][2]string{
		{"\n\t\ttime.Sleep(100 * time.Millisecond)\n", "\n\t\thoneSleep(100 * time.Millisecond)\n"},
	}
	// packChanges keep the recorder from packing what it writes.
	packChanges = [][2]string{
		{"\t\"compress/gzip\"\n", "\n"},
		{"\tzw        *gzip.Writer\n", "\tzw        honePacker\n"},
		{"\tzw, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)\n", "\tzw := honePack(w)\n"},
	}
)

// same are changes that change nothing: the texts have to be there.
func same(texts ...string) [][2]string {
	var out [][2]string
	for _, t := range texts {
		out = append(out, [2]string{t, t})
	}
	return out
}

// rewrite makes changes in a text, each in its only place; or none of them.
func rewrite(text []byte, changes [][2]string) ([]byte, bool) {
	for _, c := range changes {
		if bytes.Count(text, []byte(c[0])) != 1 {
			return nil, false
		}
		text = bytes.Replace(text, []byte(c[0]), []byte(c[1]), 1)
	}
	return text, true
}
