//go:build !unix

package duel

import "os"

// maxRSS returns 0: it is not known here.
func maxRSS(*os.ProcessState) int64 { return 0 }
