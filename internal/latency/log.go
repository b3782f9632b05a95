// Package latency holds the results of the requests of a load run: histograms of how long they took, counts of how they ended,
// and both for each second. Its size does not depend on the number of requests.
//
// A run adds its results to a Log and writes it as JSON. Read checks all that it reads, because a file may be damaged or hostile.
package latency

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// Format is the version of the form in which a Log is written.
const Format = 1

// Limits of what is read.
const (
	maxLog   = 64 << 20 // bytes
	MaxRows  = 100_000  // seconds: a day and a bit
	maxNames = 1000     // statuses, causes
)

// A Log is what came of a load run.
type Log struct {
	Format  int    `json:"format"`
	Target  string `json:"target"`
	Targets int    `json:"targets,omitempty"` // how many different requests, when more than one
	Method  string `json:"method,omitempty"`
	Engine  string `json:"engine"`
	TLS     string `json:"tls,omitempty"` // version and cipher

	Rate     float64       `json:"rate,omitempty"`   // requests a second that were asked for; 0 is a closed loop
	Stages   []Stage       `json:"stages,omitempty"` // when the rate changed with time
	Conns    int           `json:"conns"`
	Number   int64         `json:"number,omitempty"`      // requests that were asked for, 0 is as many as there is time for
	Duration time.Duration `json:"duration_ns,omitempty"` // that was asked for
	Warmup   time.Duration `json:"warmup_ns,omitempty"`
	Timeout  time.Duration `json:"timeout_ns"`
	Took     time.Duration `json:"took_ns"` // from the first request that counts to the last answer
	Stopped  string        `json:"stopped,omitempty"`

	Counts
	Warm Counts `json:"warm"` // of the time before, which does not count

	// Service is from when a request was sent, Response from when it was to be sent: only an open loop has it. Both are
	// of whole answers, whatever their status. Cut is how long those at least took that timed out or were not waited
	// for, from when they were to be sent.
	Service  Histogram `json:"service"`
	Response Histogram `json:"response"`
	Cut      Histogram `json:"cut"`
	Connect  Histogram `json:"connect"` // until a connection could be used, TLS included

	Slowest []Answer `json:"slowest,omitempty"` // the slowest first

	Rows   []Row  `json:"rows,omitempty"`
	Health Health `json:"health"`

	// Of a run that is part of a recording of the server: when it began, warm-up included, on the clock of the recording,
	// and how many requests had been answered by when.
	Offset time.Duration `json:"offset_ns,omitempty"`
	Marks  []Mark        `json:"marks,omitempty"`

	Began time.Time `json:"began,omitzero"` // warm-up included
	Notes []string  `json:"notes,omitempty"`
}

// MaxSlowest is how many of the slowest answers a Log has.
const MaxSlowest = 10

// An Answer is one answer, as the client saw it.
type Answer struct {
	At     time.Duration `json:"at_ns"`   // when the request began to be sent, since the begin of the run, warm-up included
	Took   time.Duration `json:"took_ns"` // until the whole answer was there
	Status int           `json:"status"`
}

// AddSlow adds an answer to those that are slowest, of which there are at most MaxSlowest, the slowest first.
func AddSlow(list []Answer, a Answer) []Answer {
	if len(list) == MaxSlowest && a.Took <= list[MaxSlowest-1].Took {
		return list
	}
	i := len(list)
	for i > 0 && list[i-1].Took < a.Took {
		i--
	}
	if len(list) == MaxSlowest {
		list = list[:MaxSlowest-1]
	}
	return slices.Insert(list, i, a)
}

// A Stage is a part of a run in which the rate goes from one value to another.
type Stage struct {
	From float64       `json:"from"` // requests a second
	To   float64       `json:"to"`
	For  time.Duration `json:"for_ns"`
}

// Counts are how many requests there were and how they ended. Asked is Sent and Unsent and those among Errors that kept
// requests from being sent. Sent is Answered and Unfinished and the other Errors.
type Counts struct {
	Asked      int64            `json:"asked"`            // that the loop or the schedule wanted
	Unsent     int64            `json:"unsent,omitempty"` // of these, for which there was no connection in time
	Sent       int64            `json:"sent"`             // at least in part
	Answered   int64            `json:"answered"`         // with a whole and well-formed answer
	Good       int64            `json:"good"`             // with one that was expected
	Unfinished int64            `json:"unfinished,omitempty"`
	Status     map[int]int64    `json:"status,omitempty"` // of answers
	Errors     map[Cause]int64  `json:"errors,omitempty"`
	Unexpected map[string]int64 `json:"unexpected,omitempty"` // answers that were not good, by what was not: status, length, body

	Opened   int64 `json:"connections"` // that were opened
	Received int64 `json:"received_bytes"`
	Body     int64 `json:"body_bytes"` // of Received
	Wrote    int64 `json:"sent_bytes"`
}

// What about an answer can be unexpected.
const (
	OtherStatus = "status"
	OtherLength = "length"
	OtherBody   = "body"
)

// A Cause is why a request has no answer.
type Cause string

// The causes, in the order of what happens to a request.
const (
	Resolve        Cause = "name not found"
	NoPorts        Cause = "no local port left"
	NoFiles        Cause = "too many open files"
	Refused        Cause = "connection refused"
	Dial           Cause = "cannot connect"
	ConnectTimeout Cause = "timeout connecting"
	TLS            Cause = "TLS"
	Reset          Cause = "connection reset"
	ClosedBefore   Cause = "closed before an answer"
	ClosedInside   Cause = "closed inside an answer"
	WaitTimeout    Cause = "timeout waiting"
	ReadTimeout    Cause = "timeout reading"
	Malformed      Cause = "malformed answer"
	TooLarge       Cause = "answer too large"
	Other          Cause = "other"
)

// Causes are all of them in that order.
var Causes = []Cause{
	Resolve, NoPorts, NoFiles, Refused, Dial, ConnectTimeout, TLS, Reset, ClosedBefore, ClosedInside, WaitTimeout,
	ReadTimeout, Malformed, TooLarge, Other,
}

// beforeSending reports whether what went wrong did so before anything was sent.
func (c Cause) beforeSending() bool {
	switch c {
	case Resolve, NoPorts, NoFiles, Refused, Dial, ConnectTimeout, TLS:
		return true
	}
	return false
}

// A Row is a part of the run, about a second long.
type Row struct {
	From time.Duration `json:"from_ns"` // since the first request that counts
	For  time.Duration `json:"for_ns"`

	Sent     int64 `json:"sent"`
	Answered int64 `json:"answered"`
	Good     int64 `json:"good"`
	Errors   int64 `json:"errors"`
	Received int64 `json:"received_bytes"`
	InFlight int64 `json:"in_flight"` // sent and not answered, at its end
	Backlog  int64 `json:"backlog"`   // due and not sent, at its end

	// Of the answers in it: from when requests were to be sent, in an open loop, else from when they were sent.
	Mean time.Duration `json:"mean_ns"`
	P50  time.Duration `json:"p50_ns"`
	P90  time.Duration `json:"p90_ns"`
	P99  time.Duration `json:"p99_ns"`
	Max  time.Duration `json:"max_ns"`
}

// Health is what the generator says about itself: whether it may have been what was slow.
type Health struct {
	CPU      time.Duration `json:"cpu_ns"`  // of this process while it counted
	Procs    float64       `json:"procs"`   // GOMAXPROCS
	Threads  int           `json:"threads"` // that send
	GCs      int           `json:"gcs"`
	Pause    time.Duration `json:"gc_pause_ns"`
	Late     Histogram     `json:"late"`      // how much later than planned a request was sent though a connection was free
	InFlight float64       `json:"in_flight"` // mean of requests that were sent and not answered
	Backlog  int64         `json:"backlog"`   // the most requests that were due and not sent
	Idle     int64         `json:"idle"`      // connections that were free at that time
}

// Add adds what others counted.
func (c *Counts) Add(o *Counts) {
	c.Asked += o.Asked
	c.Unsent += o.Unsent
	c.Sent += o.Sent
	c.Answered += o.Answered
	c.Good += o.Good
	c.Unfinished += o.Unfinished
	c.Opened += o.Opened
	c.Received += o.Received
	c.Body += o.Body
	c.Wrote += o.Wrote
	addTo(&c.Status, o.Status)
	addTo(&c.Errors, o.Errors)
	addTo(&c.Unexpected, o.Unexpected)
}

func addTo[K comparable](to *map[K]int64, from map[K]int64) {
	if *to == nil {
		*to = maps.Clone(from)
		return
	}
	for k, n := range from {
		(*to)[k] += n
	}
}

// Failed returns how many requests have no answer because something went wrong.
func (c *Counts) Failed() int64 {
	sum := int64(0)
	for _, n := range c.Errors {
		sum += n
	}
	return sum
}

// FailedBefore returns how many requests were not sent because something went wrong.
func (c *Counts) FailedBefore() int64 {
	sum := int64(0)
	for cause, n := range c.Errors {
		if cause.beforeSending() {
			sum += n
		}
	}
	return sum
}

// Times returns the latencies that a user of the server would see: from when requests were to be sent, where there was a plan.
func (l *Log) Times() *Histogram {
	if l.Open() {
		return &l.Response
	}
	return &l.Service
}

// Open reports whether requests were sent by a plan, rather than when answers came.
func (l *Log) Open() bool { return l.Rate > 0 || len(l.Stages) > 0 }

// Write writes a log.
func (l *Log) Write(w io.Writer) error {
	l.Format = Format
	return json.NewEncoder(w).Encode(l)
}

// Read reads a log.
func Read(r io.Reader) (*Log, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxLog+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxLog {
		return nil, fmt.Errorf("the log is longer than %d bytes", maxLog)
	}
	l := &Log{}
	if err := json.Unmarshal(text, l); err != nil {
		return nil, err
	}
	return l, l.check()
}

// check refuses numbers that cannot be, so that nobody has to look again.
func (l *Log) check() error {
	switch {
	case l.Format <= 0:
		return errors.New("it names no format")
	case l.Format > Format:
		return fmt.Errorf("it is in format %d; this hone reads formats up to %d: install a newer one", l.Format, Format)
	case len(l.Rows) > MaxRows:
		return fmt.Errorf("it has %d seconds; there can be %d", len(l.Rows), MaxRows)
	case l.Took < 0 || l.Conns < 0 || !(l.Rate >= 0) || l.Duration < 0 || l.Warmup < 0 || l.Timeout < 0:
		return errors.New("a time, a rate or a number in it is negative")
	}
	for _, c := range []*Counts{&l.Counts, &l.Warm} {
		if err := c.check(); err != nil {
			return err
		}
	}
	if err := checkMarks(l.Marks); err != nil {
		return err
	}
	last := time.Duration(0)
	for i := range l.Rows {
		r := &l.Rows[i]
		if r.From < last || r.For < 0 || r.Sent < 0 || r.Answered < 0 || r.Good < 0 || r.Errors < 0 || r.Mean < 0 ||
			r.P50 < 0 || r.P90 < r.P50 || r.P99 < r.P90 || r.Max < r.P99 || r.InFlight < 0 || r.Backlog < 0 {
			return fmt.Errorf("row %d cannot be", i+1)
		}
		last = r.From
	}
	for i, s := range l.Stages {
		if !(s.From >= 0) || !(s.To >= 0) || s.For < 0 {
			return fmt.Errorf("stage %d cannot be", i+1)
		}
	}
	if h := &l.Health; h.CPU < 0 || !(h.Procs >= 0) || h.Threads < 0 || h.GCs < 0 || h.Pause < 0 || !(h.InFlight >= 0) || h.Backlog < 0 || h.Idle < 0 {
		return errors.New("what it says about the generator cannot be")
	}
	return nil
}

func (c *Counts) check() error {
	for _, n := range []int64{c.Asked, c.Unsent, c.Sent, c.Answered, c.Good, c.Unfinished, c.Opened, c.Received, c.Body, c.Wrote} {
		if n < 0 {
			return errors.New("a count is negative")
		}
	}
	return errors.Join(checkMap(c.Status), checkMap(c.Errors), checkMap(c.Unexpected))
}

func checkMap[K comparable](m map[K]int64) error {
	if len(m) > maxNames {
		return fmt.Errorf("%d different statuses or errors", len(m))
	}
	for k, n := range m {
		if n < 0 {
			return fmt.Errorf("%v happened %d times", k, n)
		}
	}
	return nil
}
