// Package views has all views.
package views

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/view"
	"github.com/hone-perf/hone/internal/view/benchview"
	"github.com/hone-perf/hone/internal/view/loadview"
	"github.com/hone-perf/hone/internal/view/profileview"
	"github.com/hone-perf/hone/internal/view/runview"
	"github.com/hone-perf/hone/internal/view/traceview"
)

var tables = [...]*[]view.View{&profileview.Views, &runview.Views, &traceview.Views, &benchview.Views, &loadview.Views}

// All yields all views, in the order in which help shows them.
func All() iter.Seq[*view.View] {
	return func(yield func(*view.View) bool) {
		for _, table := range tables {
			for i := range *table {
				if !yield(&(*table)[i]) {
					return
				}
			}
		}
	}
}

// Find returns the view called name, or known by it.
func Find(name string) (*view.View, bool) {
	for v := range All() {
		if v.Name == name || slices.Contains(v.Aliases, name) {
			return v, true
		}
	}
	return nil, false
}

// Keys is the grammar of queries about all views.
func Keys(name string) ([]string, error) {
	v, ok := Find(name)
	if !ok {
		return nil, unknownView(name)
	}
	return v.Uses.List(), nil
}

func unknownView(name string) error {
	var names []string
	for v := range All() {
		names = append(names, v.Name)
	}
	meant := ""
	if near := query.Nearest(name, names); near != "" {
		meant = "; did you mean " + near + "?"
	}
	return fmt.Errorf("unknown view %q%s; the views are %s", name, meant, strings.Join(names, ", "))
}

// Numbered returns a line of the prompt with the number behind the name of a view as a word of its own: top20 is as at the prompt of pprof.
func Numbered(line string) string {
	first, rest, _ := strings.Cut(line, " ")
	name := strings.TrimRight(first, "0123456789")
	if v, ok := Find(name); name == first || !ok || !v.Uses.Has("limit") {
		return line
	}
	return strings.TrimSuffix(name+" "+first[len(name):]+" "+rest, " ")
}

// Resolve finds the view that answers q and checks that q says what the view is to be about, if it needs that.
func Resolve(q query.Query) (*view.View, query.Query, error) {
	v, ok := Find(q.View)
	if !ok {
		return nil, q, unknownView(q.View)
	}
	q.View = v.Name
	switch {
	case v.Arg != "" && q.Arg == "":
		return nil, q, fmt.Errorf("%s needs %s, as in %s", v.Name, v.Argument(), v.Examples[0])
	case v.Arg != "" || q.Arg == "":
		return v, q, nil
	}
	if n, err := strconv.Atoi(q.Arg); err == nil && n > 0 && v.Uses.Has("limit") {
		q.Arg, q.Limit = "", n
		return v, q, nil
	}
	if instead := notFlags(q.Arg); strings.Contains(q.Arg, "-") && instead != "" {
		return nil, q, fmt.Errorf("%s takes no argument, and no flags here: %s", v.Name, instead)
	}
	if v.Uses.Has("focus") {
		return nil, q, fmt.Errorf("%s takes no argument; focus=%s shows what goes through that", v.Name, q.Arg)
	}
	return nil, q, fmt.Errorf("%s takes no argument", v.Name)
}

// notFlags says what to write in place of the flags of pprof and of the command line, or nothing when there is none of those.
func notFlags(arg string) string {
	var out []string
	for _, word := range strings.FieldsFunc(arg, func(r rune) bool { return r == ' ' || r == '|' }) {
		n, err := strconv.Atoi(word)
		name, isFlag := strings.CutPrefix(word, "-")
		name = strings.TrimLeft(name, "-")
		switch {
		case err == nil && n > 0:
			out = append(out, "limit="+word)
		case !isFlag:
		case name == "n", name == "limit": // the number follows
		case name == "cum":
			out = append(out, "sort=cum")
		case isFlag:
			out = append(out, name+"=…")
		}
	}
	return strings.Join(out, " ")
}
