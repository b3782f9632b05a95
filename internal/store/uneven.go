package store

// Uneven says that processes were profiled for clearly different parts of the time that they ran. In a sum of their profiles, a process that was profiled
// more has a larger share than its CPU time.
type Uneven struct {
	Most  Profiled `json:"most"`
	Least Profiled `json:"least"`
	Text  string   `json:"text"` // for people
}

// Profiled is the part of its time for which a process was profiled.
type Profiled struct {
	Service string  `json:"service"`
	Process string  `json:"process,omitempty"` // "" if no label names it
	Share   float64 `json:"share"`
}
