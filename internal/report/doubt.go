package report

// A Doubt is something that keeps a change from being proven, though no difference was found.
type Doubt struct {
	Fact DoubtFact `json:"fact"`
	Text string    `json:"text"`
}

// A DoubtFact is the kind of a Doubt.
type DoubtFact string

// The doubts.
const (
	DoubtOtherFolder    DoubtFact = "other-folder"    // packages differ elsewhere, whose functions are not called
	DoubtNotReached     DoubtFact = "not-reached"     // no call reached a function that changed
	DoubtReachedInPart  DoubtFact = "reached-in-part" // nor some blocks of one
	DoubtAlwaysTrue     DoubtFact = "always-true"     // a condition was true in every call
	DoubtFewCalls       DoubtFact = "few-calls"
	DoubtOpenDifference DoubtFact = "open-difference" // a call differed, and there was no time to confirm that
	DoubtStaleState     DoubtFact = "stale-state"     // what is newly kept between calls may have to change when other state does
	DoubtReadsOutside   DoubtFact = "reads-outside"   // only one version reads what may change between calls
	DoubtVaries         DoubtFact = "varies"          // a result is not the same from call to call
	DoubtNotCompared    DoubtFact = "not-compared"    // a result of a kind that is not compared
	DoubtGoroutines     DoubtFact = "goroutines"      // new ones may not end
	DoubtRaces          DoubtFact = "races"           // could not be looked for
	DoubtRacesBefore    DoubtFact = "races-before"    // both versions have data races
	DoubtTests          DoubtFact = "tests"           // there was no time for some
	DoubtFlaky          DoubtFact = "flaky-tests"
	DoubtOtherFiles     DoubtFact = "other-files" // a file changed that is not Go
	DoubtCosts          DoubtFact = "costs"       // something got a little worse for what is won
)

// OfBefore reports whether a doubt is about the code as it was, and not about the change.
func (d Doubt) OfBefore() bool { return d.Fact == DoubtRacesBefore || d.Fact == DoubtFlaky }
