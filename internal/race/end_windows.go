package race

import "os"

// askToEnd ends a program: there is no way to ask.
func askToEnd(p *os.Process) error { return p.Kill() }
