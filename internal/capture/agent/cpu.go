package agent

import (
	"bytes"
	"errors"
	"io"
	"runtime/pprof"
	"time"
)

// A profiler takes CPU profiles, one at a time.
type profiler struct {
	start func(io.Writer) error
	stop  func()

	// split starts one whose stop does not wait until it is written; that is told to built. It may be nil.
	split func(w io.Writer, built chan bool) error
}

var usual = profiler{start: pprof.StartCPUProfile, stop: pprof.StopCPUProfile}

// A segment is a CPU profile of a part of the time.
type segment struct {
	buf      bytes.Buffer
	from, to time.Duration
	built    chan bool // is told when it is written; nil when it is as soon as it has ended
}

// segments are CPU profiles that follow each other.
type segments struct {
	now     *segment      // nil when none is being taken
	own     bool          // the program takes it, and we get a copy
	stopped time.Time     // when the one before ended
	pauses  time.Duration // without a profile
}

// begin starts the next one. The program's own goes to w, too.
func (s *segments) begin(r *recorder, w io.Writer) error {
	next := &segment{from: r.since()}
	var err error
	switch {
	case w != nil:
		err = r.profiler.start(io.MultiWriter(&next.buf, w))
	case r.profiler.split != nil:
		next.built = make(chan bool, 1)
		err = r.profiler.split(&next.buf, next.built)
	default:
		err = r.profiler.start(&next.buf)
	}
	if err != nil {
		r.write.say("the program took its own CPU profiles, so the recording has none of that time")
		return err
	}
	s.now = next
	if !s.stopped.IsZero() {
		s.pauses += time.Since(s.stopped)
	}
	return nil
}

// finish ends the one that is being taken, and returns it; nil when there is none.
func (s *segments) finish(r *recorder) *segment {
	done := s.now
	s.now = nil
	s.stopped = time.Now()
	if done != nil {
		done.to = r.since()
		r.profiler.stop()
	}
	return done
}

// keep writes one that has ended.
func (r *recorder) keep(s *segment) {
	if s == nil {
		return
	}
	if s.built != nil {
		<-s.built
	}
	if s.buf.Len() > 0 && s.to.Milliseconds() > s.from.Milliseconds() {
		r.write.part("cpu", s.from, s.to, number(s.from)+"-"+number(s.to)+".pb.gz", s.buf.Bytes())
	}
}

// rotate ends one and starts the next. In between it looks whether the program can ever go on, since a profile that is
// being taken keeps that from being seen.
func (s *segments) rotate(r *recorder) (dead bool) {
	if s.own {
		return false // the program says when it ends
	}
	done := s.finish(r)
	dead = r.quiet.forever(r)
	s.begin(r, nil)
	r.keep(done)
	return dead
}

// end ends the last one.
func (s *segments) end(r *recorder) { r.keep(s.finish(r)) }

// startOwn is called when the program starts a CPU profile. It gets all of it, and the recording a copy.
func (r *recorder) startOwn(w io.Writer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.cpu
	if s.own {
		return errors.New("cpu profiling already in use")
	}
	if r.ended {
		return r.profiler.start(w)
	}
	s.end(r)
	if err := s.begin(r, w); err != nil {
		s.begin(r, nil)
		return err
	}
	s.own = true
	return nil
}

// stopOwn is called when the program stops its CPU profile.
func (r *recorder) stopOwn() {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.cpu
	if r.ended {
		r.profiler.stop()
		return
	}
	if !s.own {
		return // that does nothing
	}
	s.end(r)
	s.own = false
	s.begin(r, nil)
	r.write.say("the program took its own CPU profiles; the recording has a copy of each, in one part. These have 100 samples a second of CPU time, whatever it set with runtime.SetCPUProfileRate")
}
