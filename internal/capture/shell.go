package capture

import (
	"os/exec"
	"runtime"
	"strings"
)

// Shell returns what runs a line of the shell in a folder.
func Shell(line, dir string) *exec.Cmd {
	args := shellArgs(line)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	return cmd
}

func shellArgs(line string) []string {
	if runtime.GOOS == "windows" {
		return []string{"cmd", "/c", line}
	}
	return []string{"sh", "-c", line}
}

// ShellLine returns the line of the shell that runs a program with words behind it: arguments, or <FILE. The process is that of the
// program then, where there is a shell that can do that.
func ShellLine(program, words string) string {
	line := strings.TrimSpace(QuotedFile(program) + " " + words)
	if runtime.GOOS != "windows" {
		line = "exec " + line
	}
	return line
}

// QuotedFile writes the name of a file for the shell.
func QuotedFile(name string) string {
	if runtime.GOOS == "windows" {
		return `"` + name + `"`
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}
