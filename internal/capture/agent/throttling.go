package agent

// A Throttling counts how often the kernel has throttled a control group: it lets its threads run until they have used the CPU time of a period, of 100
// ms as a rule, and then not until the next one.
type Throttling struct {
	Periods   int64   // in which a thread wanted to run
	Throttled int64   // of these
	Seconds   float64 // that threads were kept from running, added up over the cores on which some wanted to
}
