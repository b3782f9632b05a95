package web

// SetFirstFrom sets how many samples a profile has whose first picture has only the wide calls, and returns what it was.
func SetFirstFrom(samples int) (was int) {
	was, firstFrom = firstFrom, samples
	return was
}
