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
}

var usual = profiler{pprof.StartCPUProfile, pprof.StopCPUProfile}

// segments are CPU profiles that follow each other.
type segments struct {
	buf     bytes.Buffer
	from    time.Duration
	stopped time.Time     // when the one before ended
	pauses  time.Duration // without a profile
	running bool
	own     bool // the program takes it, and we get a copy
}

// begin starts the next one.
func (s *segments) begin(r *recorder) {
	s.beginInto(r, &s.buf)
}

func (s *segments) beginInto(r *recorder, w io.Writer) error {
	s.buf.Reset()
	from := r.since()
	err := r.profiler.start(w)
	if err != nil {
		r.write.say("the program takes CPU profiles of itself, so there are none of that time in the recording")
		return err
	}
	s.from, s.running = from, true
	if !s.stopped.IsZero() {
		s.pauses += time.Since(s.stopped)
	}
	return nil
}

// finish ends the one that runs.
func (s *segments) finish(r *recorder) {
	s.stopped = time.Now()
	if s.running {
		r.profiler.stop()
	}
}

// keep writes the one that ended.
func (s *segments) keep(r *recorder, data []byte, from, to time.Duration) {
	if len(data) > 0 && to > from {
		r.write.file("cpu", number(from)+"-"+number(to)+".pb.gz", data)
	}
}

// rotate ends one and starts the next. In between it looks whether the program can ever go on, since a profile that is
// being taken keeps that from being seen.
func (s *segments) rotate(r *recorder) (dead bool) {
	if s.own {
		return false // the program says when it ends
	}
	ran, from, to := s.running, s.from, r.since()
	s.finish(r)
	dead = r.quiet.forever(r)
	data := append([]byte(nil), s.buf.Bytes()...)
	s.running = false
	s.begin(r)
	if ran {
		s.keep(r, data, from, to)
	}
	return dead
}

// end ends the last one.
func (s *segments) end(r *recorder) {
	if !s.running {
		return
	}
	to := r.since()
	s.finish(r)
	s.running = false
	s.keep(r, s.buf.Bytes(), s.from, to)
}

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
	if err := s.beginInto(r, io.MultiWriter(&s.buf, w)); err != nil {
		s.begin(r)
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
	s.begin(r)
	r.write.say("the program took CPU profiles of itself; the recording has a copy of each, in one part")
}
