package main

// A work is what a program does with and without being recorded.
type work struct {
	name     string
	dir      string   // of the module
	pkg      string   // in it
	test     []string // flags of go test, for a benchmark of the package; nil runs the program
	args     []string // of the program
	requests int      // that it is sent when it serves; 0 means it ends by itself
	target   float64  // ratio of CPU time
}

// works run for five seconds and longer: what is only done at the start and the end would weigh too much otherwise.
var works = []work{
	{
		name: "hi, stage 0, its handler", dir: "examples/hi", pkg: "./stage0", target: 1.05,
		test: []string{"-run", "XXX", "-bench", "Hi$", "-benchtime", "2000000x"},
	},
	{
		name: "hi, stage 0, as a server", dir: "examples/hi", pkg: "./stage0", target: 1.05,
		args: []string{"-addr", "127.0.0.1:0"}, requests: 200_000,
	},
	{
		name: "havlak, stage 1", dir: "examples/havlak", pkg: "./stage1", target: 1.05,
		args: []string{"-n", "14"},
	},
	{
		name: "havlak, stage 4", dir: "examples/havlak", pkg: "./stage4", target: 1.05,
		args: []string{"-n", "45"},
	},
	{
		name: "channel ping-pong", dir: "examples/contended", pkg: ".", target: 1.15,
		args: []string{"-mode", "channel", "-n", "20000000", "-for", "10m"},
	},
}

// commands returns how to build the program as it is, how to run that, and how to record it.
func (w work) commands(file, recorded string) (build, plain, record []string) {
	record = []string{"record", "-o", recorded}
	if w.test == nil {
		return []string{"build", "-o", file, w.pkg}, append([]string{file}, w.args...),
			append(append(record, w.pkg, "--"), w.args...)
	}
	plain = []string{file}
	for i, f := range w.test {
		if i%2 == 0 {
			f = "-test." + f[1:]
		}
		plain = append(plain, f)
	}
	return []string{"test", "-c", "-o", file, w.pkg}, plain, append(append(record, "--test", w.pkg), w.test...)
}
