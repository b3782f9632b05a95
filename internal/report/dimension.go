package report

// A Dimension is what a row of a comparison is about. Units that hone does not know are dimensions of their own.
type Dimension string

// The dimensions that hone knows. They are also what JSON and people call them.
const (
	CPUTime        Dimension = "CPU time"
	Time           Dimension = "time" // by the clock
	Throughput     Dimension = "throughput"
	Instructions   Dimension = "instructions"
	Memory         Dimension = "memory" // allocated
	Allocations    Dimension = "allocations"
	LiveHeap       Dimension = "live heap" // at most
	ResidentMemory Dimension = "resident memory"
)

// dimensions is the order of tables.
var dimensions = []Dimension{CPUTime, Time, Throughput, Instructions, Memory, Allocations, LiveHeap, ResidentMemory}

// Rank orders tables: what hone knows comes first.
func (d Dimension) Rank() int {
	for i, known := range dimensions {
		if d == known {
			return i
		}
	}
	return len(dimensions)
}

// IsTime reports whether d is how long something takes, or its inverse.
func (d Dimension) IsTime() bool { return d == CPUTime || d == Time || d == Throughput }

// IsMemory reports whether d is what is allocated or held.
func (d Dimension) IsMemory() bool { return d == Memory || d == Allocations || d == LiveHeap }
