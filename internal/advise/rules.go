package advise

// Rules are all rules. Where two have something to say about a line, the first has the word.
var Rules = []*Rule{
	regexpPerCall,
	replacerPerCall,
	templatePerCall,
	writeJoined,
	headerSet,
	invariantText,
}
