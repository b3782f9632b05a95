package report

// A Dimension is what a row of a comparison measures. Each unit that hone does not know is its own dimension.
type Dimension string

// The dimensions that hone knows, with their names in JSON and text.
const (
	CPUTime        Dimension = "CPU time"
	Time           Dimension = "time" // wall-clock time
	Throughput     Dimension = "throughput"
	Instructions   Dimension = "instructions"
	Memory         Dimension = "memory" // allocated memory
	Allocations    Dimension = "allocations"
	LiveHeap       Dimension = "live heap" // peak live heap
	ResidentMemory Dimension = "resident memory"
)

// dimensions is the order of tables.
var dimensions = []Dimension{CPUTime, Time, Throughput, Instructions, Memory, Allocations, LiveHeap, ResidentMemory}

// Rank orders tables: known dimensions come first.
func (d Dimension) Rank() int {
	for i, known := range dimensions {
		if d == known {
			return i
		}
	}
	return len(dimensions)
}

// IsTime reports whether d is a duration or a rate.
func (d Dimension) IsTime() bool { return d == CPUTime || d == Time || d == Throughput }

// IsMemory reports whether d is memory, allocated or in use.
func (d Dimension) IsMemory() bool { return d == Memory || d == Allocations || d == LiveHeap }
