package unit

import (
	"strconv"
	"strings"
)

// ParseSize reads a number of bytes as people write it, such as 500MB or 1.5 GB, in the units in which Size writes it.
func ParseSize(text string) (bytes int64, ok bool) {
	upper := strings.ToUpper(strings.TrimSpace(text))
	for i, suffix := range []string{"TB", "GB", "MB", "KB"} {
		number, found := strings.CutSuffix(upper, suffix)
		if !found {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(n > 0) || n > 1<<20 {
			return 0, false
		}
		return int64(n * float64(int64(1)<<(40-10*i))), true
	}
	return 0, false
}
