package capture

import (
	"context"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// psPatience is how long ps may take.
const psPatience = 2 * time.Second

// askPS asks ps about a process: how much memory is resident, in bytes, the CPU time so far, in seconds, and how many threads there are.
// What is not known is 0.
func askPS(pid int) (rss int64, cpu float64, threads int) {
	ctx, stop := context.WithTimeout(context.Background(), psPatience)
	defer stop()
	ps := func(args ...string) string {
		cmd := exec.CommandContext(ctx, "ps", append(args, "-p", strconv.Itoa(pid))...)
		cmd.Env = append(cmd.Environ(), "LC_ALL=C")
		text, err := cmd.Output()
		if err != nil {
			return "" // it has ended
		}
		return string(text)
	}
	rss, cpu, ok := parsePS(ps("-o", "rss=", "-o", "time="))
	if ok && runtime.GOOS == "darwin" {
		threads = parseThreads(ps("-M"))
	}
	return rss, cpu, threads
}

// parsePS reads a line of ps -o rss= -o time=: kilobytes, and a time as 0:01.25 or 02:03:04 or 1-02:03:04.
func parsePS(text string) (rss int64, cpu float64, ok bool) {
	words := strings.Fields(text)
	if len(words) != 2 {
		return 0, 0, false
	}
	kb, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil || kb < 0 || kb > 1<<40 {
		return 0, 0, false
	}
	days, rest, some := strings.Cut(words[1], "-")
	if !some {
		days, rest = "0", words[1]
	}
	if cpu, err = strconv.ParseFloat(days, 64); err != nil {
		return 0, 0, false
	}
	parts := strings.Split(rest, ":")
	for len(parts) < 3 {
		parts = append([]string{"0"}, parts...)
	}
	for i, unit := range []float64{24, 60, 60} {
		n, err := strconv.ParseFloat(parts[i], 64)
		if err != nil || n < 0 {
			return 0, 0, false
		}
		cpu = cpu*unit + n
	}
	return kb << 10, cpu, len(parts) == 3
}

// parseThreads counts the threads that ps -M lists, a line each below one of titles.
func parseThreads(text string) int {
	return max(0, strings.Count(strings.TrimRight(text, "\n"), "\n"))
}
