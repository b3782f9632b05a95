package prove

import (
	"fmt"
	"go/token"
	"go/types"
)

// mostFields is how many fields a type may have for each to be set.
const mostFields = 12

// addFields adds that exported fields are set of what functions of the package make, as callers do with options.
func (s *surface) addFields() {
	for _, key := range sortedKeys(s.rules) {
		named, st := structOf(s.new.decls[key].obj.Type())
		if named == nil || named.TypeParams().Len() > 0 || !token.IsExported(key) {
			continue
		}
		base := s.baseKey(named)
		if len(s.ctors[base]) == 0 || len(s.methods[base]) == 0 {
			continue
		}
		var fields []*types.Var
		for _, r := range s.rules[key] {
			for f := range st.Fields() {
				if f.Name() == r.name && r.set && f.Exported() && !f.Embedded() && !s.foreign(f.Type()) {
					fields = append(fields, f)
				}
			}
		}
		if len(fields) > mostFields {
			continue
		}
		for _, f := range fields {
			p := types.NewPointer(named)
			s.use(p, &entry{
				name: fmt.Sprintf("(*%s).%s", key, f.Name()), field: f.Name(), method: true, params: []types.Type{p, f.Type()},
				expr: fmt.Sprintf("func(v *%s, to %s) { v.%s = to }", s.spell(named), s.spell(f.Type()), f.Name()),
			})
		}
	}
}
