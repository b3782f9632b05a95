package message

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
)

type inner struct {
	Name string `pb:"1" json:"name"`
	N    int64  `pb:"2" json:"n"`
}

type outer struct {
	Text  string    `pb:"1" json:"text"`
	Raw   []byte    `pb:"2" json:"raw"`
	Yes   bool      `pb:"3" json:"yes"`
	X     float64   `pb:"4" json:"x"`
	I     int32     `pb:"5" json:"i" enum:"ZERO ONE TWO"`
	U     uint32    `pb:"6" json:"u"`
	Big   uint64    `pb:"7f" json:"big"`
	Maybe *int64    `pb:"8" json:"maybeSo"`
	In    *inner    `pb:"9" json:"in"`
	All   []*inner  `pb:"10" json:"all"`
	Texts []string  `pb:"11" json:"texts"`
	Nums  []int64   `pb:"12p" json:"nums"`
	Times []uint64  `pb:"13fp" json:"times"`
	Xs    []float64 `pb:"14" json:"xs"`
	Flat  []inner   `pb:"16" json:"flat"`
	Self  *outer    `pb:"200" json:"self"`
}

func sample() *outer {
	zero := int64(0)
	return &outer{
		Text: "a<b>\u2028\"\x01ü", Raw: []byte{0, 255}, Yes: true, X: -1.5, I: -3, U: math.MaxUint32, Big: math.MaxUint64, Maybe: &zero,
		In: &inner{"x", math.MinInt64}, All: []*inner{{}, {Name: "y"}}, Texts: []string{"", "t"}, Nums: []int64{0, -1, math.MaxInt64},
		Times: []uint64{1, 0}, Xs: []float64{0.1, math.Inf(1)}, Flat: []inner{{N: 1}}, Self: &outer{Text: "deep"},
	}
}

func TestRoundTrip(t *testing.T) {
	var got outer
	if err := Unmarshal(Marshal(sample()), &got, Limits{}); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(&got, sample()) {
		t.Errorf("protocol buffers: got %+v", got)
	}
	got = outer{}
	text := MarshalJSON(sample())
	if err := UnmarshalJSON(text, &got, Limits{}); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(&got, sample()) {
		t.Errorf("JSON %s: got %+v", text, got)
	}
	if bytes.ContainsAny(text, "<>") {
		t.Errorf("JSON %s has markup", text)
	}
}

func TestJSONForms(t *testing.T) {
	tests := []struct {
		in   string
		want outer
	}{
		{`{}`, outer{}},
		{` {"text":null,"unknown":{"a":[1,{"b":null}]}} `, outer{}},
		{`{"maybe_so":"7","nums":[1,"2",1.5e3]}`, outer{Maybe: ptr(7), Nums: []int64{1, 2, 1500}}},
		{`{"i":"TWO","raw":"-_8="}`, outer{I: 2, Raw: []byte{0xfb, 0xff}}},
		{`{"x":"NaN","in":{"name":"q"}}`, outer{X: math.NaN(), In: &inner{Name: "q"}}},
	}
	for _, tt := range tests {
		var got outer
		if err := UnmarshalJSON([]byte(tt.in), &got, Limits{}); err != nil {
			t.Errorf("%s: %v", tt.in, err)
		} else if !bytes.Equal(MarshalJSON(&got), MarshalJSON(&tt.want)) {
			t.Errorf("%s: got %s; want %s", tt.in, MarshalJSON(&got), MarshalJSON(&tt.want))
		}
	}
	for _, in := range []string{
		"", "[]", "{", `{"text":1}`, `{"nums":[1.5]}`, `{"nums":[1e300]}`, `{"i":"THREE"}`, `{"i":4294967296}`, `{"all":[null]}`, `{"raw":"!"}`, `{} {}`,
		`{"self":` + strings.Repeat(`{"self":`, 200) + strings.Repeat(`}`, 201), `{"unknown":` + strings.Repeat("[", 1<<16),
	} {
		if err := UnmarshalJSON([]byte(in), new(outer), Limits{}); !errors.Is(err, ErrForm) {
			t.Errorf("%.60s: %v", in, err)
		}
	}
}

func ptr(x int64) *int64 { return &x }

func TestBadWire(t *testing.T) {
	deep := []byte{}
	for range 200 {
		o := append([]byte(nil), deep...)
		deep = append(append([]byte{0xc2, 0x0c}, uvarint(len(o))...), o...)
	}
	for _, in := range [][]byte{
		{0x08}, {0x0a, 0x05, 'x'}, {0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, {0x00, 0x00}, {0x08, 0x01},
		{0x0a, 0x01, 0xff}, {0x60, 0x01}, {0x0b}, {0x38, 0x01}, {0x4a, 0x02, 0x08, 0x01}, deep,
	} {
		if err := Unmarshal(in, new(outer), Limits{}); !errors.Is(err, ErrForm) {
			t.Errorf("%.20x: %v", in, err)
		}
	}
}

func uvarint(n int) (b []byte) {
	for n >= 0x80 {
		b = append(b, byte(n)|0x80)
		n >>= 7
	}
	return append(b, byte(n))
}

// TestMemory holds that entries with nothing in them cannot take more memory than their bytes justify.
func TestMemory(t *testing.T) {
	empty := bytes.Repeat([]byte{0x52, 0x00}, 4<<20)
	if err := Unmarshal(empty, new(outer), Limits{Memory: 8 << 20}); !errors.Is(err, ErrMemory) {
		t.Errorf("4 million entries: %v", err)
	}
	list := []byte(`{"all":[` + strings.Repeat(`{},`, 4<<20) + `{}]}`)
	if err := UnmarshalJSON(list, new(outer), Limits{Memory: 8 << 20}); !errors.Is(err, ErrMemory) {
		t.Errorf("4 million entries in JSON: %v", err)
	}
}

func FuzzUnmarshal(f *testing.F) {
	f.Add(Marshal(sample()))
	f.Fuzz(func(t *testing.T, in []byte) {
		var m outer
		if Unmarshal(in, &m, Limits{}) != nil {
			return
		}
		var again outer
		if err := Unmarshal(Marshal(&m), &again, Limits{Memory: 1 << 30}); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(Marshal(&again), Marshal(&m)) {
			t.Errorf("%x is written as %x and then as %x", in, Marshal(&m), Marshal(&again))
		}
	})
}

func FuzzUnmarshalJSON(f *testing.F) {
	f.Add(MarshalJSON(sample()))
	f.Add([]byte(`{"i":"TWO","unknown":[{}],"nums":["1",2e1]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var m outer
		if UnmarshalJSON(in, &m, Limits{}) != nil {
			return
		}
		var again outer
		if err := UnmarshalJSON(MarshalJSON(&m), &again, Limits{Memory: 1 << 30}); err != nil {
			t.Fatalf("%s: %v", MarshalJSON(&m), err)
		}
		if !bytes.Equal(MarshalJSON(&again), MarshalJSON(&m)) {
			t.Errorf("%s is written as %s and then as %s", in, MarshalJSON(&m), MarshalJSON(&again))
		}
	})
}
