package repeat

import "testing"

func TestRender(t *testing.T) {
	tests := []struct{ text, data, want string }{
		{"hello name", "name name=you", "hello you"},
		{"hello", "a a=1", "hello"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			tpl := Parse(tt.text)
			d := NewData(tt.data)
			if got := tpl.Render(d); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestPen(t *testing.T) {
	d := NewData("a a=1")
	p := NewPen(d)
	p.Write(d)
	if p.n != 2 {
		t.Error(p.n)
	}
}

// fake counts, which real ones do not.
type fake struct{ asked int }

func (f *fake) Who() string { f.asked++; return "a" }

func TestCheck(t *testing.T) {
	f := &fake{}
	p := NewPolicy(f)
	d := NewData("a a=1")
	if !p.Apply(d) {
		t.Error("nobody is there")
	}
}

func TestValidate(t *testing.T) {
	v := &Validator{}
	if !v.Validate(NewData("a a=1")) {
		t.Error("not valid")
	}
}
