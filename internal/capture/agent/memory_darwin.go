package agent

import "syscall"

// Memory returns how much memory there is, in bytes; 0 when that is not known.
func (*Process) Memory() int64 {
	text, err := syscall.Sysctl("hw.memsize")
	if err != nil {
		return 0
	}
	// It is a number in 8 bytes, the lowest first, of which Sysctl takes the last off for the end of a text.
	var n int64
	for i := len(text) - 1; i >= 0; i-- {
		n = n<<8 | int64(text[i])
	}
	return n
}
