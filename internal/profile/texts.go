package profile

import (
	"bytes"
	"errors"
)

// An Edit says what becomes of the texts in an encoded profile; what is nil stays. A function is asked once for the same texts.
type Edit struct {
	Label    func(key, value string) (now string, keep bool) // of samples that are texts
	Number   func(key string) (keep bool)                    // a label that is a number
	Comment  func(text string) (now string, keep bool)
	Doc      func(url string) string        // where the profile is described
	Frames   func(rx string) string         // regexps of frames to drop and to keep
	Mapping  func(file string) string       // a program or library
	Function func(name, file string) string // what file a function is in
	Unused   func(text string) string       // a text that nothing refers to
}

// EditTexts changes texts in a profile that is encoded and not packed. What does not change stays byte for byte; when nothing does, it is
// raw that is returned.
func EditTexts(raw []byte, edit Edit) ([]byte, error) {
	e := &textEditor{edit: edit, uses: map[use]*usage{}}
	err := scan(raw, fieldString+1, func(f *field) error {
		if f.num == fieldString {
			if f.wire != wireBytes {
				return errType
			}
			e.texts = append(e.texts, string(f.data))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(e.texts) == 0 || e.texts[0] != "" {
		return nil, errors.New("the table of texts does not begin with an empty one")
	}
	e.used, e.stays = make([]bool, len(e.texts)), make([]bool, len(e.texts))
	e.used[0], e.stays[0] = true, true
	if _, err := e.profile(raw); err != nil {
		return nil, err
	}
	if !e.number() {
		return raw, nil
	}
	e.writing = true
	return e.profile(raw)
}

// TextsOf tells the texts in an encoded profile that is not packed, which may be damaged, until each returns false. It returns what could not be
// read at its end, or nil when it was told to stop.
func TextsOf(raw []byte, each func(text string) bool) (rest []byte) {
	for rest = raw; len(rest) > 0; {
		var f field
		next, err := f.next(rest)
		if err != nil {
			return rest
		}
		if f.num == fieldString && f.wire == wireBytes && !each(string(f.data)) {
			return nil
		}
		rest = next
	}
	return []byte{}
}

// The fields that are texts, or have them.
const (
	fieldSampleType  = 1
	fieldSample      = 2
	fieldMapping     = 3
	fieldFunction    = 5
	fieldString      = 6
	fieldDrop        = 7
	fieldKeep        = 8
	fieldPeriodType  = 11
	fieldComment     = 13
	fieldDefaultType = 14
	fieldDoc         = 15

	fieldLabel = 3 // of a sample

	labelKey, labelText, labelNumber = 1, 2, 3
	labelUnit                        = 4
	mappingFile, mappingBuild        = 5, 6
	functionName, functionFile       = 2, 4
	functionSystemName               = 3
)

// A use is a place where a text stands: a field of the profile, and what else the text depends on.
type use struct {
	field uint64
	of    uint64 // text that is the key of the label, or the name of the function
	text  uint64
}

// A usage is what becomes of the text there.
type usage struct {
	use
	now    string
	keep   bool
	number uint64 // of the text in the table, when it is to be written
}

// A textEditor edits the texts of one profile. A text may stand in several places, and change in some of them only: places come to know what
// they will have in a first pass, then the texts get their numbers, and are written in a second one.
type textEditor struct {
	edit    Edit
	texts   []string
	used    []bool // whether a text stands anywhere…
	stays   []bool // …and somewhere as it is
	uses    map[use]*usage
	order   []*usage // as they came
	now     []string // the texts, as they are to be written
	drops   bool     // a label or comment goes
	writing bool
}

// number gives texts their numbers, and reports whether anything changes. A text that changes keeps its number, unless that is needed.
func (e *textEditor) number() bool {
	e.now = append([]string(nil), e.texts...)
	taken := append([]bool(nil), e.stays...)
	added := map[string]uint64{"": 0}
	for _, u := range e.order {
		switch n, ok := added[u.now]; {
		case !u.keep || u.now == e.texts[u.text]:
			u.number = u.text
		case taken[u.text] && e.now[u.text] == u.now:
			u.number = u.text
		case ok:
			u.number = n
		case !taken[u.text]:
			taken[u.text], e.now[u.text], u.number = true, u.now, u.text
		default:
			u.number = uint64(len(e.now))
			added[u.now] = u.number
			e.now = append(e.now, u.now)
		}
	}
	changed := e.drops || len(e.now) > len(e.texts)
	for i, t := range e.texts {
		switch {
		case taken[i]:
		case e.used[i]:
			e.now[i] = "" // all that had it changed, or went
		case e.edit.Unused != nil:
			e.now[i] = e.edit.Unused(t)
		}
		changed = changed || e.now[i] != t
	}
	return changed
}

// text returns the number of the text in a place, and whether to keep that.
func (e *textEditor) text(u use, becomes func(text string) (string, bool)) (uint64, bool, error) {
	if u.text >= uint64(len(e.texts)) || u.of >= uint64(len(e.texts)) {
		return 0, false, errString
	}
	known := e.uses[u]
	if known == nil {
		text := e.texts[u.text]
		known = &usage{use: u, now: text, keep: true, number: u.text}
		if becomes != nil {
			known.now, known.keep = becomes(text)
		}
		e.uses[u] = known
		e.order = append(e.order, known)
		e.used[u.text] = true
		switch {
		case !known.keep:
			e.drops = true
		case known.now == text:
			e.stays[u.text] = true
		}
	}
	return known.number, known.keep, nil
}

// same is a text that stays, such as the unit of a value.
func (e *textEditor) same(n uint64) error {
	if n >= uint64(len(e.texts)) {
		return errString
	}
	e.used[n], e.stays[n] = true, true
	return nil
}

// always makes what becomes of a text out of a function that drops none.
func always(change func(string) string) func(string) (string, bool) {
	if change == nil {
		return nil
	}
	return func(text string) (string, bool) { return change(text), true }
}

// rewrite goes through the fields of a message, and returns it anew. each returns what stands in place of a field, which whole is the encoding of.
func rewrite(m []byte, each func(out []byte, f *field, whole []byte) ([]byte, error)) ([]byte, error) {
	out := make([]byte, 0, len(m))
	for len(m) > 0 {
		var f field
		rest, err := f.next(m)
		if err != nil {
			return nil, err
		}
		if out, err = each(out, &f, m[:len(m)-len(rest)]); err != nil {
			return nil, err
		}
		m = rest
	}
	return out, nil
}

// profile goes through the profile.
func (e *textEditor) profile(raw []byte) ([]byte, error) {
	at := 0 // in the table of texts
	out, err := rewrite(raw, func(out []byte, f *field, whole []byte) ([]byte, error) {
		var now []byte
		var err error
		switch f.num {
		case fieldString:
			if now = f.data; e.writing {
				now = []byte(e.now[at])
			}
			at++
		case fieldSampleType, fieldPeriodType:
			now, err = e.message(f, func(out []byte, f *field, whole []byte) ([]byte, error) {
				return e.fixed(out, f, whole, f.num == 1 || f.num == 2)
			})
		case fieldSample:
			now, err = e.sample(f)
		case fieldMapping:
			now, err = e.message(f, func(out []byte, f *field, whole []byte) ([]byte, error) {
				if f.num == mappingFile {
					return e.number1(out, f, whole, fieldMapping, always(e.edit.Mapping))
				}
				return e.fixed(out, f, whole, f.num == mappingBuild)
			})
		case fieldFunction:
			now, err = e.function(f)
		case fieldDrop, fieldKeep:
			return e.number1(out, f, whole, f.num, always(e.edit.Frames))
		case fieldDoc:
			return e.number1(out, f, whole, f.num, always(e.edit.Doc))
		case fieldComment:
			return e.comments(out, f, whole)
		default:
			return e.fixed(out, f, whole, f.num == fieldDefaultType)
		}
		if err != nil {
			return nil, err
		}
		if !e.writing || bytes.Equal(now, f.data) {
			return append(out, whole...), nil
		}
		return appendBytes(out, f.num, now), nil
	})
	if err != nil || !e.writing {
		return nil, err
	}
	for _, t := range e.now[len(e.texts):] {
		out = appendBytes(out, fieldString, []byte(t))
	}
	return out, nil
}

// message goes through a message inside the profile.
func (e *textEditor) message(f *field, each func(out []byte, f *field, whole []byte) ([]byte, error)) ([]byte, error) {
	if f.wire != wireBytes {
		return nil, errType
	}
	return rewrite(f.data, each)
}

// fixed is a field that stays as it is, which may be a text.
func (e *textEditor) fixed(out []byte, f *field, whole []byte, isText bool) ([]byte, error) {
	var err error
	if isText {
		if n := f.uint(&err); err == nil {
			err = e.same(n)
		}
	}
	return append(out, whole...), err
}

// number1 is a field that is the number of a text.
func (e *textEditor) number1(out []byte, f *field, whole []byte, in uint64, becomes func(string) (string, bool)) ([]byte, error) {
	var err error
	was := f.uint(&err)
	if err != nil {
		return nil, err
	}
	n, keep, err := e.text(use{field: in, text: was}, becomes)
	switch {
	case err != nil:
		return nil, err
	case !keep:
		return out, nil
	case n == was:
		return append(out, whole...), nil
	}
	return appendNumber(out, f.num, n), nil
}

// comments is a comment, or several in one field.
func (e *textEditor) comments(out []byte, f *field, whole []byte) ([]byte, error) {
	if f.wire != wireBytes {
		return e.number1(out, f, whole, f.num, e.edit.Comment)
	}
	for rest := f.data; len(rest) > 0; {
		was, size := uvarint(rest)
		if size == 0 {
			return nil, errVarint
		}
		rest = rest[size:]
		n, keep, err := e.text(use{field: f.num, text: was}, e.edit.Comment)
		if err != nil {
			return nil, err
		}
		if keep {
			out = appendNumber(out, f.num, n)
		}
	}
	return out, nil
}

// sample goes through the labels of a sample.
func (e *textEditor) sample(f *field) ([]byte, error) {
	return e.message(f, func(out []byte, f *field, whole []byte) ([]byte, error) {
		if f.num != fieldLabel {
			return append(out, whole...), nil
		}
		if f.wire != wireBytes {
			return nil, errType
		}
		var key, text, unit uint64
		var err error
		scanErr := scan(f.data, labelUnit+1, func(f *field) error {
			switch n := f.uint(&err); f.num {
			case labelKey:
				key = n
			case labelText:
				text = n
			case labelUnit:
				unit = n
			}
			return err
		})
		if scanErr != nil {
			return nil, scanErr
		}
		if key >= uint64(len(e.texts)) {
			return nil, errString
		}
		n, keep := uint64(0), true
		switch {
		case text != 0:
			var becomes func(string) (string, bool)
			if e.edit.Label != nil {
				becomes = func(value string) (string, bool) { return e.edit.Label(e.texts[key], value) }
			}
			n, keep, err = e.text(use{fieldLabel << 8, key, text}, becomes)
		case e.edit.Number != nil:
			var gone func(string) (string, bool)
			if !e.edit.Number(e.texts[key]) {
				gone = func(key string) (string, bool) { return key, false }
			}
			_, keep, err = e.text(use{field: fieldLabel<<8 | labelNumber, text: key}, gone)
		}
		if err != nil {
			return nil, err
		}
		if !keep {
			e.used[key] = true // which stays if other labels with it do
			return out, nil
		}
		if err := errors.Join(e.same(key), e.same(unit)); err != nil {
			return nil, err
		}
		if n == text {
			return append(out, whole...), nil
		}
		now, err := rewrite(f.data, func(out []byte, f *field, whole []byte) ([]byte, error) {
			if f.num == labelText {
				return appendNumber(out, f.num, n), nil
			}
			return append(out, whole...), nil
		})
		return appendBytes(out, fieldLabel, now), err
	})
}

// function goes through the names of a function.
func (e *textEditor) function(f *field) ([]byte, error) {
	name, file := uint64(0), uint64(0)
	_, err := e.message(f, func(out []byte, f *field, whole []byte) ([]byte, error) {
		var err error
		switch f.num {
		case functionName:
			name = f.uint(&err)
		case functionFile:
			file = f.uint(&err)
		}
		return e.fixed(out, f, whole, err == nil && (f.num == functionName || f.num == functionSystemName))
	})
	if err != nil {
		return nil, err
	}
	var becomes func(string) (string, bool)
	if e.edit.Function != nil && file != 0 && name < uint64(len(e.texts)) {
		becomes = func(file string) (string, bool) { return e.edit.Function(e.texts[name], file), true }
	}
	n, _, err := e.text(use{fieldFunction, name, file}, becomes)
	if err != nil || n == file {
		return f.data, err
	}
	return rewrite(f.data, func(out []byte, f *field, whole []byte) ([]byte, error) {
		if f.num == functionFile {
			return appendNumber(out, f.num, n), nil
		}
		return append(out, whole...), nil
	})
}
