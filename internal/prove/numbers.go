package prove

import (
	"go/types"
	"math"
)

// integer makes a number that fits t.
func (g *gen) integer(t *types.Basic) int64 {
	near, all := g.dict.numbers[g.dict.near], g.dict.numbers[""]
	var n int64
	switch c := g.rng.IntN(100); {
	case !g.sized && c < 95:
		n = int64(g.rng.IntN(12)) - 2
	case c < 8 && len(g.dict.fresh.numbers) > 0:
		n = pick(g, g.dict.fresh.numbers) + int64(g.rng.IntN(3)) - 1
	case c < 40:
		n = int64(g.rng.IntN(24)) - 3
	case c < 58 && len(near) > 0:
		n = pick(g, near) + int64(g.rng.IntN(3)) - 1
	case c < 66 && len(all) > 0:
		n = pick(g, all) + int64(g.rng.IntN(3)) - 1
	case c < 78:
		n = int64(g.rng.IntN(1200)) - 100
	case c < 90:
		n = 1<<g.rng.IntN(11) + int64(g.rng.IntN(3)) - 1
	case g.sized && c < 95:
		n = 1<<g.rng.IntN(63) + int64(g.rng.IntN(3)) - 1
	case g.sized:
		n = pick(g, []int64{math.MinInt64, math.MaxInt64, math.MinInt32, math.MaxInt32, math.MaxUint32, -1, math.MinInt64 + 1, math.MinInt16, math.MaxInt16, math.MinInt8, math.MaxInt8, math.MaxUint16})
	default:
		n = int64(g.rng.IntN(100))
	}
	if g.chance(8) {
		n = -n
	}
	if n < 0 && t.Info()&types.IsUnsigned != 0 && !g.chance(8) {
		n = -n // near the largest of the type most calls only run out of memory or time
	}
	return fitInteger(n, t)
}

// fitInteger cuts n to what fits t.
func fitInteger(n int64, t *types.Basic) int64 {
	switch t.Kind() {
	case types.Int8:
		return int64(int8(n))
	case types.Int16:
		return int64(int16(n))
	case types.Int32:
		return int64(int32(n))
	case types.Uint8:
		return int64(uint8(n))
	case types.Uint16:
		return int64(uint16(n))
	case types.Uint32:
		return int64(uint32(n))
	}
	return n
}

func (g *gen) float() float64 {
	switch c := g.rng.IntN(10); {
	case c < 3:
		return float64(g.rng.IntN(20) - 4)
	case c < 5 && len(g.dict.floats) > 0:
		return pick(g, g.dict.floats)
	case c < 6:
		return pick(g, []float64{0, math.Copysign(0, -1), 0.5, -0.5, 1.5, 2.5, 0.1, 1e-9, 1e21, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64, 0.005, 1.005, 99.995})
	case c < 8:
		return float64(g.rng.IntN(2000)-1000) / pick(g, []float64{2, 4, 8, 10, 100, 1000, 3})
	}
	return (g.rng.Float64() - 0.5) * math.Pow10(g.rng.IntN(12)-3)
}
