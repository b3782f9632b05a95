package profileview

import (
	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// ListCall is List for one call of a flame graph, the one that the key root leads to: the lines of its function add up to
// what the call costs there, and not to what the function costs everywhere. Without samples in it there is no function.
func ListCall(in []*recording.Recording, q query.Query) (report.Report, error) {
	q.By, q.Columns = "line", false
	a, err := ask(in, q)
	if err != nil {
		return nil, err
	}
	b, err := a.builder(false)
	if err != nil {
		return nil, err
	}
	frames := b.Table.Frames
	flat, cum := make(map[int32]int64), make(map[int32]int64)
	var stack []uint32
	for i, v := range a.Profile.Values(a.Type) {
		stack = a.Profile.Stack(i, stack[:0])
		if f, leaf := b.Table.CallAt(stack, q.Root); f >= 0 {
			if cum[f] += v; leaf {
				flat[f] += v
			}
		}
	}
	out := &report.Source{Head: a.head}
	byFile := make(map[string][]*calls.Node)
	name := ""
	for f, v := range cum {
		if name = frames[f].Name; frames[f].File != "" {
			byFile[frames[f].File] = append(byFile[frames[f].File], &calls.Node{Frame: &frames[f], ID: f, Flat: flat[f], Cum: v})
		}
	}
	if len(cum) == 0 {
		return out, nil
	}
	l := lister{sources: in[0].Sources, failed: make(map[string]string)}
	fn := report.SourceFunction{Name: name}
	for _, file := range sortedKeys(byFile) {
		fn.Files = append(fn.Files, l.file(name, file, byFile[file]))
	}
	out.Functions = []report.SourceFunction{fn}
	return out, nil
}
