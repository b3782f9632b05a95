package prove

import (
	"go/types"
	"strings"
)

// instantiate chooses types for the type parameters of a function.
func (s *surface) instantiate(sig *types.Signature) (*types.Signature, bool) {
	if sig.TypeParams().Len() == 0 {
		return sig, true
	}
	args, ok := s.choose(sig.TypeParams(), sig)
	if !ok {
		return nil, false
	}
	t, err := types.Instantiate(nil, sig, args, true)
	if err != nil {
		return nil, false
	}
	inst := t.(*types.Signature)
	s.remember(inst, args)
	return inst, true
}

func (s *surface) instantiateNamed(n *types.Named) (*types.Named, bool) {
	args, ok := s.choose(n.TypeParams(), n.Origin())
	if !ok {
		return nil, false
	}
	t, err := types.Instantiate(nil, n.Origin(), args, true)
	if err != nil {
		return nil, false
	}
	named, ok := t.(*types.Named)
	return named, ok
}

// choose finds types for type parameters, one after the other.
func (s *surface) choose(params *types.TypeParamList, of types.Type) ([]types.Type, bool) {
	plain := []types.Type{
		types.Typ[types.Int], types.Typ[types.String], types.Typ[types.Float64], types.NewSlice(types.Typ[types.Int]),
		types.NewSlice(types.Typ[types.Byte]), types.NewMap(types.Typ[types.String], types.Typ[types.Int]), types.Typ[types.Bool],
		types.NewSlice(types.Typ[types.String]), types.Typ[types.Uint8], types.Typ[types.Int64], types.NewMap(types.Typ[types.Int], types.Typ[types.String]),
	}
	args := make([]types.Type, params.Len())
	tries := 0
	var try func(i int) bool
	try = func(i int) bool {
		tries++
		if tries > 5000 {
			return false
		}
		if i == len(args) {
			_, err := types.Instantiate(nil, of, args, true)
			return err == nil
		}
		for j := range plain {
			args[i] = plain[(j+i)%len(plain)] // different ones, where they may be
			if try(i + 1) {
				return true
			}
		}
		return false
	}
	return args, len(args) <= 4 && try(0)
}

func (s *surface) remember(sig *types.Signature, args []types.Type) {
	if s.inst == nil {
		s.inst = make(map[types.Type][]types.Type)
	}
	s.inst[sig] = args
}

// typeArgs writes the types that a function is used with.
func (s *surface) typeArgs(sig *types.Signature, fn *types.Func) string {
	args := s.inst[sig]
	if len(args) == 0 {
		return ""
	}
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = s.spell(a)
	}
	return "[" + strings.Join(words, ", ") + "]"
}
