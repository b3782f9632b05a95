package web

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"sync"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/query"
)

// A remark is a text in an answer that names settings or commands. The JSON of an answer has the text; beside it, the page gets its parts, to make
// buttons of the settings.
type remark struct {
	Text  string `json:"text"`
	Parts []any  `json:"parts"` // string, setting, command
}

// A setting is something that the page can set. Without a value, the user chooses one.
type setting struct {
	Set   string `json:"set"`
	Value string `json:"value,omitempty"`
}

// A command is for a terminal.
type command struct {
	Command string `json:"command"`
}

// remarksOf returns the texts in an answer that name settings or commands.
func remarksOf(answer any, by hint.Speller) []remark {
	var out []remark
	seen := make(map[string]bool)
	eachText(reflect.ValueOf(answer), func(v reflect.Value) {
		t := v.Interface().(hint.Text)
		r := remark{Text: t.String()}
		if seen[r.Text] {
			return
		}
		if parts, does := piecesOf(t, by); does {
			seen[r.Text] = true
			r.Parts = parts
			out = append(out, r)
		}
	})
	return out
}

// piecesOf returns the parts of t, and whether any of them is a setting or command.
func piecesOf(t hint.Text, by hint.Speller) (parts []any, does bool) {
	for _, item := range t {
		switch item := item.(type) {
		case hint.Option:
			does = true
			if k := query.Find(item.Name); k != nil {
				if k.Switch() && item.Value == "" {
					item.Value = "true"
				}
				parts = append(parts, setting{item.Name, item.Value})
			} else {
				parts = append(parts, command{hint.SpellOption(by, item)})
			}
		case hint.Command:
			does = true
			parts = append(parts, command{hint.SpellCommand(by, item)})
		case hint.Text:
			more, some := piecesOf(item, by)
			parts, does = append(parts, more...), does || some
		default:
			parts = append(parts, hint.Text{item}.String())
		}
	}
	return parts, does
}

var textType = reflect.TypeFor[hint.Text]()

// eachText calls yield with the texts in v that appear in its JSON.
func eachText(v reflect.Value, yield func(reflect.Value)) {
	if !v.IsValid() || !holdsTexts(v.Type(), nil) {
		return
	}
	if v.Type() == textType {
		yield(v)
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		eachText(v.Elem(), yield)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			eachText(v.Index(i), yield)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if shownInJSON(v.Type().Field(i)) {
				eachText(v.Field(i), yield)
			}
		}
	}
}

var holding sync.Map // from reflect.Type to bool

// holdsTexts reports whether values of type t can contain texts, because long lists in answers have none. within has the types that are being
// checked.
func holdsTexts(t reflect.Type, within []reflect.Type) bool {
	if t == textType || t.Kind() == reflect.Interface {
		return true
	}
	if known, ok := holding.Load(t); ok {
		return known.(bool)
	}
	for _, u := range within {
		if u == t {
			return false
		}
	}
	holds := false
	within = append(within, t)
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		holds = holdsTexts(t.Elem(), within)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			holds = holds || shownInJSON(f) && holdsTexts(f.Type, within)
		}
	}
	if len(within) == 1 { // otherwise the result may depend on a type that is still being checked
		holding.Store(t, holds)
	}
	return holds
}

func shownInJSON(f reflect.StructField) bool {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return (f.IsExported() || f.Anonymous) && name != "-"
}

// A remarker puts remarks before the other fields of an object that is written to it.
type remarker struct {
	to      io.Writer
	remarks []remark
}

func (r *remarker) Write(p []byte) (int, error) {
	if len(r.remarks) == 0 || !bytes.HasPrefix(p, []byte("{")) {
		r.remarks = nil
		return r.to.Write(p)
	}
	var head bytes.Buffer
	head.WriteString(`{"remarks":`)
	enc := json.NewEncoder(&head)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r.remarks); err != nil {
		return 0, err
	}
	r.remarks = nil
	head.WriteByte(',')
	if _, err := r.to.Write(head.Bytes()); err != nil {
		return 0, err
	}
	n, err := r.to.Write(p[1:])
	return n + 1, err
}
