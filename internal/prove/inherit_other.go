//go:build !windows

package prove

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// inherit has a process that is about to start get files beside the usual three, and returns their handles in it, with commas.
func inherit(cmd *exec.Cmd, files ...*os.File) (string, error) {
	const first = 3 // behind standard input, output and error
	var handles []string
	for i := range files {
		handles = append(handles, strconv.Itoa(first+i))
	}
	cmd.ExtraFiles = files
	return strings.Join(handles, ","), nil
}
