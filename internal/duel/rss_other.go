//go:build !unix

package duel

import "os"

// maxRSS returns 0: it is not known here.
func maxRSS(*os.ProcessState) int64 { return 0 }

// ownPeak returns 0: it is not known here.
func ownPeak() int64 { return 0 }
