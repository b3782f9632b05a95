package prove

import (
	"encoding/json"
	"go/types"
	"reflect"
	"regexp/syntax"
	"strconv"
	"strings"
)

// matching makes a string that a pattern matches.
func (g *gen) matching(re *syntax.Regexp, depth int) string {
	if depth > 20 {
		return ""
	}
	repeat := func(lo, hi int) string {
		var b strings.Builder
		for range lo + g.rng.IntN(max(hi-lo, 0)+1) {
			b.WriteString(g.matching(re.Sub[0], depth+1))
		}
		return b.String()
	}
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		if len(re.Rune) < 2 {
			return ""
		}
		i := g.rng.IntN(len(re.Rune)/2) * 2
		return string(re.Rune[i] + rune(g.rng.IntN(min(int(re.Rune[i+1]-re.Rune[i]), 200)+1)))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return string(pick(g, []rune{'a', 'é', ' ', '0', '-'}))
	case syntax.OpStar:
		return repeat(0, 4)
	case syntax.OpPlus:
		return repeat(1, 4)
	case syntax.OpQuest:
		return repeat(0, 1)
	case syntax.OpRepeat:
		hi := re.Max
		if hi < 0 {
			hi = re.Min + 3
		}
		return repeat(re.Min, hi)
	case syntax.OpCapture:
		return g.matching(re.Sub[0], depth+1)
	case syntax.OpConcat:
		var b strings.Builder
		for _, sub := range re.Sub {
			b.WriteString(g.matching(sub, depth+1))
		}
		return b.String()
	case syntax.OpAlternate:
		return g.matching(pick(g, re.Sub), depth+1)
	}
	return ""
}

// json makes a JSON text for a type.
func (g *gen) json(t types.Type, depth int) string {
	if depth > 4 || g.chance(4) {
		return "null"
	}
	quote := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			return `""`
		}
		return string(b)
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch info := u.Info(); {
		case info&types.IsString != 0:
			return quote(g.word())
		case info&types.IsBoolean != 0:
			return pick(g, []string{"true", "false"})
		case info&types.IsInteger != 0:
			return strconv.FormatInt(g.integer(u), 10)
		}
		return strconv.FormatFloat(float64(g.rng.IntN(1000))/8, 'g', -1, 64)
	case *types.Pointer:
		return g.json(u.Elem(), depth)
	case *types.Slice:
		var parts []string
		for range g.rng.IntN(4) {
			parts = append(parts, g.json(u.Elem(), depth+1))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case *types.Map:
		var parts []string
		for range g.rng.IntN(3) {
			parts = append(parts, quote(g.word())+":"+g.json(u.Elem(), depth+1))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case *types.Struct:
		var parts []string
		for i := range u.NumFields() {
			f := u.Field(i)
			name, _, _ := strings.Cut(reflect.StructTag(u.Tag(i)).Get("json"), ",")
			if name == "-" || !f.Exported() || g.chance(15) {
				continue
			}
			if name == "" {
				name = f.Name()
			}
			if sample := sampleFor(name); sample != "" && isText(f.Type()) && g.chance(25) {
				parts = append(parts, quote(name)+":"+quote(sample))
				continue
			}
			parts = append(parts, quote(name)+":"+g.json(f.Type(), depth+1))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	return pick(g, []string{"null", "1", `"a"`, "{}", "[]"})
}

func isText(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}
