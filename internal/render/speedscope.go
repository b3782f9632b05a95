package render

import (
	"bufio"
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
	var weights []int64
	end := int64(0)
	out.WriteString(`{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"hone","profiles":[{"type":"sampled","name":`)
	out.Write(quoted(f.Metric))
	out.WriteString(`,"unit":`)
	out.Write(quoted(speedscopeUnit(f.Unit)))
	out.WriteString(`,"startValue":0,"samples":[`)
	for s := range f.Each {
		if s.Value <= 0 {
			continue // the format has no negative values
		}
		if len(weights) > 0 {
			out.WriteByte(',')
		}
		out.WriteByte('[')
		for i, name := range s.Frames {
			n, ok := numbers[name]
			if !ok {
				n = len(names)
				numbers[name] = n
				names = append(names, name)
			}
			if i > 0 {
				out.WriteByte(',')
			}
			out.WriteString(strconv.Itoa(n))
		}
		out.WriteByte(']')
		weights = append(weights, s.Value)
		end += s.Value
	}
	out.WriteString(`],"weights":[`)
	for i, v := range weights {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(strconv.FormatInt(v, 10))
	}
	out.WriteString(`],"endValue":` + strconv.FormatInt(end, 10) + `}],"shared":{"frames":[`)
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
