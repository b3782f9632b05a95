package exectrace

import (
	"errors"
	"fmt"
)

// advance yields the next event of a thread, if it may happen now.
func (d *decoder) advance(th *thread) (ok bool, err error) {
	e := &th.next
	a := &e.args
	ev := &d.ev
	if d.rest {
		*ev, d.rest = Event{}, false
	}
	ev.Time = d.time(e.time)
	ev.Stack, ev.Own, ev.Reason = 0, 0, NoReason
	ev.By, ev.Proc, ev.Thread = 0, -1, -1
	if th.id != noThread {
		ev.Thread = int64(th.id)
	}
	if th.g != nil {
		ev.By = int64(th.g.id)
	}
	if th.p != nil {
		ev.Proc = small(th.p.id)
	}
	switch e.kind {
	case evGoStart:
		g := d.goroutine(a[0])
		if g == nil || g.state != Ready || !d.follows(g.seq, a[1]) {
			return false, nil
		}
		if th.g != nil {
			return false, fmt.Errorf("goroutine %d starts on a thread that runs goroutine %d", a[0], th.g.id)
		}
		g.seq.number++
		th.g = g
		return true, d.change(g, Running)

	case evGoBlock, evGoStop:
		g, err := d.running(th)
		if err != nil {
			return false, err
		}
		ev.Reason = d.reason(a[0])
		ev.Stack = d.tables.stacks.get(a[1])
		th.g = nil
		if e.kind == evGoStop {
			return true, d.change(g, Ready)
		}
		return true, d.change(g, Waiting)

	case evGoUnblock:
		g := d.goroutine(a[0])
		if g == nil || g.state != Waiting || !d.follows(g.seq, a[1]) {
			return false, nil
		}
		g.seq.number++
		ev.Stack = d.tables.stacks.get(a[2])
		return true, d.change(g, Ready)

	case evGoSyscallBegin:
		g, err := d.running(th)
		if err != nil {
			return false, err
		}
		if th.p == nil || !d.follows(th.p.seq, a[0]) {
			return false, fmt.Errorf("goroutine %d calls the system on a P that is somewhere else", g.id)
		}
		th.p.seq.number++
		th.p.status = procSyscall
		ev.Stack = d.tables.stacks.get(a[1])
		return true, d.change(g, Syscall)

	case evGoSyscallEnd:
		if th.g == nil || th.g.state != Syscall || th.p == nil || th.p.status != procSyscall {
			return false, errors.New("a system call ends that did not begin")
		}
		th.p.status = procRunning
		return true, d.change(th.g, Running)

	case evGoSyscallEndBlocked:
		if th.p != nil && th.p.status == procSyscall {
			return false, nil // it will lose that one before
		}
		if th.g == nil || th.g.state != Syscall {
			return false, errors.New("a system call ends that did not begin")
		}
		g := th.g
		th.g = nil
		return true, d.change(g, Ready)

	case evGoCreate, evGoCreateBlocked:
		if th.p == nil {
			return false, errors.New("a goroutine is created without a P")
		}
		if d.goroutine(a[0]) != nil {
			return false, fmt.Errorf("goroutine %d is created, and exists", a[0])
		}
		g, err := d.create(a[0])
		if err != nil {
			return false, err
		}
		ev.Own, ev.Stack = d.tables.stacks.get(a[1]), d.tables.stacks.get(a[2])
		if e.kind == evGoCreateBlocked {
			ev.Reason = Coroutine
			return true, d.change(g, Waiting)
		}
		return true, d.change(g, Ready)

	case evGoCreateSyscall:
		if th.g != nil || d.goroutines[a[0]] != nil {
			return false, fmt.Errorf("goroutine %d comes from C on a thread that runs another one", a[0])
		}
		g, err := d.create(a[0])
		if err != nil {
			return false, err
		}
		th.g = g
		return true, d.change(g, Syscall)

	case evGoDestroy:
		g, err := d.running(th)
		if err != nil {
			return false, err
		}
		d.remove(g)
		th.g = nil
		return true, d.change(g, Absent)

	case evGoSwitch, evGoSwitchDestroy:
		g, err := d.running(th)
		if err != nil {
			return false, err
		}
		to := d.goroutine(a[0])
		if to == nil || to.state != Waiting || !d.follows(to.seq, a[1]) {
			return false, nil
		}
		to.seq.number++
		if err := d.change(to, Ready); err != nil {
			return true, err
		}
		if e.kind == evGoSwitch {
			ev.Reason = Coroutine
			err = d.change(g, Waiting)
		} else {
			d.remove(g)
			err = d.change(g, Absent)
		}
		if err != nil {
			return true, err
		}
		ev.Reason, ev.By = NoReason, 0
		th.g = to
		return true, d.change(to, Running)

	case evGoStatus, evGoStatusStack:
		return true, d.goStatus(th, a)
	}
	return d.advanceOther(th)
}

// advanceOther is advance for what is not about the state of a goroutine.
func (d *decoder) advanceOther(th *thread) (ok bool, err error) {
	e := &th.next
	a := &e.args
	ev := &d.ev
	d.rest = true
	ev.Goroutine, ev.Slot, ev.From, ev.To = -1, nil, Unknown, Unknown
	switch e.kind {
	case evGoDestroySyscall:
		if th.g == nil || th.g.state != Syscall {
			return false, errors.New("a goroutine of C ends that is not in C")
		}
		g := th.g
		d.remove(g)
		th.g = nil
		if th.p != nil {
			// The thread may be used again before somebody takes its P.
			p := th.p
			p.status, th.p = procAbandoned, nil
			if err := d.procEvent(ProcStop, p); err != nil {
				return true, err
			}
		}
		ev.Kind, ev.By = 0, int64(g.id)
		return true, d.change(g, Absent)

	case evProcStart:
		p := d.procs[a[0]]
		if p == nil || p.status != procIdle || !d.follows(p.seq, a[1]) || th.p != nil {
			return false, nil
		}
		p.seq.number++
		p.status = procRunning
		th.p = p
		return true, d.procEvent(ProcStart, p)

	case evProcStop:
		p := th.p
		if p == nil {
			return false, errors.New("a thread without a P gives it away")
		}
		p.status, th.p = procIdle, nil
		return true, d.procEvent(ProcStop, p)

	case evProcSteal:
		p := d.procs[a[0]]
		if p == nil || p.status != procSyscall && p.status != procAbandoned || !d.follows(p.seq, a[1]) {
			return false, nil
		}
		p.seq.number++
		gone := p.status == procAbandoned
		p.status = procIdle
		if gone {
			return true, nil
		}
		from := d.threads[a[2]]
		if from == nil || from.p != p {
			return false, fmt.Errorf("proc %d is taken from a thread that does not have it", p.id)
		}
		from.p = nil
		return true, d.procEvent(ProcStop, p)

	case evProcStatus:
		return true, d.procStatus(th, a)

	case evProcsChange:
		ev.Stack = d.tables.stacks.get(a[1])
		return true, d.metric("/sched/gomaxprocs:threads", a[0])
	case evHeapAlloc:
		return true, d.metric("/memory/classes/heap/objects:bytes", a[0])
	case evHeapGoal:
		return true, d.metric("/gc/heap/goal:bytes", a[0])

	case evSTWBegin:
		if th.g == nil {
			return false, errors.New("the program is stopped by no goroutine")
		}
		th.g.stop = "stop-the-world (" + d.tables.texts.get(a[0]) + ")"
		ev.Goroutine, ev.Name, ev.Stack = int64(th.g.id), th.g.stop, d.tables.stacks.get(a[1])
		return true, d.emit(RangeBegin)
	case evSTWEnd:
		if th.g == nil {
			return false, errors.New("the program goes on by no goroutine")
		}
		ev.Goroutine, ev.Name = int64(th.g.id), th.g.stop
		if ev.Name == "" {
			ev.Name = "stop-the-world"
		}
		th.g.stop = ""
		return true, d.emit(RangeEnd)
	case evGCActive, evGCBegin, evGCEnd:
		if d.gcSeen && a[0] != d.gcSeq+1 {
			return false, nil
		}
		d.gcSeq, d.gcSeen = a[0], true
		ev.Name = "GC concurrent mark phase"
		switch e.kind {
		case evGCActive:
			return true, d.emit(RangeActive)
		case evGCBegin:
			ev.Stack = d.tables.stacks.get(a[1])
			return true, d.emit(RangeBegin)
		}
		return true, d.emit(RangeEnd)
	case evGCSweepActive:
		ev.Name, ev.Proc = "GC incremental sweep", small(a[0])
		return true, d.emit(RangeActive)
	case evGCSweepBegin:
		ev.Name, ev.Stack = "GC incremental sweep", d.tables.stacks.get(a[0])
		return true, d.emit(RangeBegin)
	case evGCSweepEnd:
		ev.Name, ev.Value = "GC incremental sweep", int64(a[0])
		return true, d.emit(RangeEnd)
	case evGCMarkAssistActive:
		ev.Name, ev.Goroutine = "GC mark assist", int64(a[0])
		return true, d.emit(RangeActive)
	case evGCMarkAssistBegin:
		ev.Name, ev.Goroutine, ev.Stack = "GC mark assist", ev.By, d.tables.stacks.get(a[0])
		return true, d.emit(RangeBegin)
	case evGCMarkAssistEnd:
		ev.Name, ev.Goroutine = "GC mark assist", ev.By
		return true, d.emit(RangeEnd)

	case evGoLabel:
		ev.Goroutine, ev.Name = ev.By, d.tables.texts.get(a[0])
		return true, d.emit(Label)
	case evUserTaskBegin:
		ev.Goroutine, ev.Task, ev.Parent, ev.Name, ev.Stack = ev.By, a[0], a[1], d.tables.texts.get(a[2]), d.tables.stacks.get(a[3])
		if len(d.tasks) < maxTasks {
			d.tasks[a[0]] = ev.Name
		}
		return true, d.emit(TaskBegin)
	case evUserTaskEnd:
		ev.Goroutine, ev.Task, ev.Name, ev.Stack = ev.By, a[0], d.tasks[a[0]], d.tables.stacks.get(a[1])
		delete(d.tasks, a[0])
		return true, d.emit(TaskEnd)
	case evUserRegionBegin, evUserRegionEnd:
		ev.Goroutine, ev.Task, ev.Name, ev.Stack = ev.By, a[0], d.tables.texts.get(a[1]), d.tables.stacks.get(a[2])
		if e.kind == evUserRegionBegin {
			return true, d.emit(RegionBegin)
		}
		return true, d.emit(RegionEnd)
	case evUserLog:
		ev.Goroutine, ev.Task, ev.Name, ev.Text, ev.Stack = ev.By, a[0], d.tables.texts.get(a[1]), d.tables.texts.get(a[2]), d.tables.stacks.get(a[3])
		return true, d.emit(Log)
	}
	return true, nil // of an experiment
}

// maxTasks bounds the tasks that begin and never end.
const maxTasks = 1 << 20

// maxEnded is how many goroutines that ended are kept to be used again.
const maxEnded = 1 << 10

// goroutine is the goroutine of a number, nil where there is none.
func (d *decoder) goroutine(id uint64) *goroutine {
	at := &d.recent[id%uint64(len(d.recent))]
	if g := *at; g != nil && g.id == id {
		return g
	}
	g := d.goroutines[id]
	if g != nil {
		*at = g
	}
	return g
}

// create makes a goroutine, in the place of one that ended.
func (d *decoder) create(id uint64) (*goroutine, error) {
	if len(d.goroutines) >= d.most {
		return nil, fmt.Errorf("there are more than %d goroutines", d.most)
	}
	var g *goroutine
	if n := len(d.ended); n > 0 {
		g, d.ended = d.ended[n-1], d.ended[:n-1]
	} else {
		g = new(goroutine)
	}
	*g = goroutine{id: id, state: Absent, seq: d.begins()}
	d.goroutines[id] = g
	return g, nil
}

// remove forgets a goroutine that ends.
func (d *decoder) remove(g *goroutine) {
	if len(d.ended) < maxEnded {
		d.ended = append(d.ended, g)
	}
	delete(d.goroutines, g.id)
	if at := &d.recent[g.id%uint64(len(d.recent))]; *at == g {
		*at = nil
	}
}

// running is the goroutine that a thread runs.
func (d *decoder) running(th *thread) (*goroutine, error) {
	if th.g == nil || th.g.state != Running {
		return nil, errors.New("something is done by a goroutine that does not run")
	}
	return th.g, nil
}

// change yields that a goroutine went to another state.
func (d *decoder) change(g *goroutine, to State) error {
	ev := &d.ev
	ev.Kind, ev.Goroutine, ev.Slot, ev.From, ev.To = Change, int64(g.id), &g.slot, g.state, to
	g.state = to
	return d.send()
}

func (d *decoder) emit(k Kind) error {
	d.ev.Kind = k
	return d.send()
}

func (d *decoder) metric(name string, v uint64) error {
	d.ev.Name, d.ev.Value = name, int64(v)
	return d.emit(Metric)
}

func (d *decoder) procEvent(k Kind, p *proc) error {
	d.ev.Proc = small(p.id)
	return d.emit(k)
}

// goStatus takes what a generation says of a goroutine before anything else.
func (d *decoder) goStatus(th *thread, a *[5]uint64) error {
	if a[2] == 0 || a[2] >= uint64(len(states)) {
		return fmt.Errorf("goroutine %d has unknown state %d", a[0], a[2])
	}
	ev := &d.ev
	state := states[a[2]]
	g := d.goroutines[a[0]]
	if g == nil {
		var err error
		if g, err = d.create(a[0]); err != nil {
			return err
		}
		g.state = Unknown
	} else if g.state != state {
		return fmt.Errorf("goroutine %d changed its state between two generations of the trace", a[0])
	}
	g.seq = d.begins()
	ev.Own, ev.By = d.tables.stacks.get(a[3]), 0
	if th.next.kind == evGoStatus {
		ev.Own = 0
	}
	on := th
	switch state {
	case Running:
		th.g = g
	case Syscall:
		if a[1] != th.id {
			if on = d.threads[a[1]]; on == nil {
				on = &thread{id: a[1]}
				d.threads[a[1]] = on
			}
			ev.Thread, ev.Proc = int64(a[1]), -1
		}
		if on.g != nil && on.g != g {
			return fmt.Errorf("goroutine %d calls the system on a thread that has goroutine %d", g.id, on.g.id)
		}
		on.g = g
	}
	return d.change(g, state)
}

// procStatus takes what a generation says of a P before anything else.
func (d *decoder) procStatus(th *thread, a *[5]uint64) error {
	status := procStatus(min(a[1], 255))
	if status < procRunning || status > procAbandoned {
		return fmt.Errorf("proc %d has unknown state %d", a[0], a[1])
	}
	p := d.procs[a[0]]
	isNew := p == nil
	switch {
	case isNew && len(d.procs) >= maxThreads:
		return fmt.Errorf("there are more than %d Ps", maxThreads)
	case isNew:
		p = &proc{id: a[0], status: status}
		d.procs[a[0]] = p
	case status == procAbandoned && (p.status == procSyscall || p.status == procAbandoned):
		// It is about to be taken, and where it is known still has its thread.
		p.seq = d.begins()
		return nil
	case p.status != status:
		return fmt.Errorf("proc %d changed its state between two generations of the trace", a[0])
	}
	p.seq = d.begins()
	if status == procRunning || status == procSyscall {
		th.p = p
	}
	switch {
	case !isNew:
		return nil
	case status == procRunning || status == procSyscall:
		return d.procEvent(ProcStart, p)
	}
	return d.procEvent(ProcStop, p)
}

// reason is what the number of a name stands for.
func (d *decoder) reason(id uint64) Reason {
	if r := d.tables.reasons.get(id); r != NoReason {
		return r
	}
	r := d.named(id)
	d.tables.reasons.set(id, r)
	return r
}

func (d *decoder) named(id uint64) Reason {
	if text := d.tables.texts.get(id); text != "" {
		if r, ok := reasonOf()[text]; ok {
			return r
		}
		return OtherReason
	}
	if i := id - firstReason; id >= firstReason && i < uint64(len(reasons)) && d.t.Version >= 23 {
		return reasons[i].reason
	}
	return NoReason
}
