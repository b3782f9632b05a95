package prove

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// inherit has a process that is about to start get files beside the usual three, and returns their handles in it, with commas.
func inherit(cmd *exec.Cmd, files ...*os.File) (string, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	var handles []string
	for _, f := range files {
		h := syscall.Handle(f.Fd())
		if err := syscall.SetHandleInformation(h, syscall.HANDLE_FLAG_INHERIT, syscall.HANDLE_FLAG_INHERIT); err != nil {
			return "", fmt.Errorf("handing on a pipe: %w", err)
		}
		cmd.SysProcAttr.AdditionalInheritedHandles = append(cmd.SysProcAttr.AdditionalInheritedHandles, h)
		handles = append(handles, strconv.FormatUint(uint64(h), 10))
	}
	return strings.Join(handles, ","), nil
}
