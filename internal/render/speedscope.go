package render

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"github.com/hone-perf/hone/internal/report"
)

// Speedscope writes stacks in the file format of speedscope, which other viewers also read.
func Speedscope(w io.Writer, r report.Report, _ Options) error {
	f, ok := r.(*report.Folded)
	if !ok {
		return errors.New("writing speedscope: this view is not a list of stacks; use folded")
	}
	out := bufio.NewWriter(w)
	numbers := make(map[string]int)
	var names []string
	var buf []byte
	sample := func(s *report.FoldedStack) []byte {
		buf = append(buf[:0], '[')
		for i, name := range s.Frames {
			n, ok := numbers[name]
			if !ok {
				n = len(names)
				numbers[name] = n
				names = append(names, name)
			}
			if i > 0 {
				buf = append(buf, ',')
			}
			buf = strconv.AppendInt(buf, int64(n), 10)
		}
		return append(buf, ']')
	}
	begin := func(name string) {
		out.WriteString(`{"type":"sampled","name":`)
		out.Write(quoted(name))
		out.WriteString(`,"unit":`)
		out.Write(quoted(speedscopeUnit(f.Unit)))
		out.WriteString(`,"startValue":0,"samples":[`)
	}
	end := func(weights []int64) {
		sum := int64(0)
		out.WriteString(`],"weights":[`)
		for i, v := range weights {
			if i > 0 {
				out.WriteByte(',')
			}
			out.WriteString(strconv.FormatInt(v, 10))
			sum += v
		}
		out.WriteString(`],"endValue":` + strconv.FormatInt(sum, 10) + `}`)
	}
	var weights, below []int64
	var negative bytes.Buffer // samples; the format has no negative values, so they are a profile of their own
	out.WriteString(`{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"hone","profiles":[`)
	begin(f.Metric)
	for s := range f.Each {
		switch v := s.Change(); {
		case v > 0:
			if len(weights) > 0 {
				out.WriteByte(',')
			}
			out.Write(sample(s))
			weights = append(weights, v)
		case v < 0:
			if len(below) > 0 {
				negative.WriteByte(',')
			}
			negative.Write(sample(s))
			below = append(below, -v)
		}
	}
	end(weights)
	if len(below) > 0 {
		out.WriteByte(',')
		begin(f.Metric + ", what is below zero")
		out.Write(negative.Bytes())
		end(below)
	}
	out.WriteString(`],"shared":{"frames":[`)
	for i, name := range names {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(`{"name":`)
		out.Write(quoted(name))
		out.WriteByte('}')
	}
	out.WriteString("]}}\n")
	return out.Flush()
}

func quoted(s string) []byte {
	b, _ := json.Marshal(s) // strings always marshal
	return b
}

// speedscopeUnit returns what speedscope calls a unit.
func speedscopeUnit(unit string) string {
	switch unit {
	case "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes":
		return unit
	}
	return "none"
}
