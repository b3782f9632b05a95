// Package calls knows what calls cost: how profiles show what is called, and what it takes to make interfaces of arguments.
package calls

import (
	"go/ast"
	"go/types"
	"math"
	"strings"

	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/symbol"
)

// Boxes reports whether an expression needs memory to be an interface.
func Boxes(f *code.Func, e ast.Expr) bool {
	t := f.TypeOf(e)
	if t == nil || types.IsInterface(t) || f.IsConst(e) || f.Info().Types[e].IsNil() {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer, *types.Map, *types.Chan, *types.Signature:
		return false
	case *types.Basic:
		return u.Kind() != types.UnsafePointer && u.Info()&types.IsBoolean == 0
	case *types.Struct:
		return u.NumFields() > 0
	}
	return true
}

// Boxing is what it costs to make interfaces of the arguments of a call. A heap profile does not say what it is that a line
// allocates by itself, but how large: what is larger than any of the arguments is something else.
func Boxing(f *code.Func, call *ast.CallExpr) func(*cost.Chain) bool {
	most := int64(0)
	for _, arg := range call.Args {
		if Boxes(f, arg) {
			size, ok := f.SizeOf(f.TypeOf(arg))
			if !ok {
				size = math.MaxInt64 / 2
			}
			most = max(most, cost.UpToPower(max(size, leastObject)))
		}
	}
	boxed := cost.Allocates("convT")
	return func(c *cost.Chain) bool { return boxed(c) && (c.OnCPU || c.Size <= most && most > 0) }
}

// leastObject is the size that small objects without pointers have in profiles: several share as many bytes.
const leastObject = 16

// LockFuncs and UnlockFuncs are the methods of mutexes that wait, and that let others go on.
var (
	LockFuncs   = []string{"sync.(*Mutex).Lock", "sync.(*RWMutex).Lock", "sync.(*RWMutex).RLock"}
	UnlockFuncs = []string{"sync.(*Mutex).Unlock", "sync.(*RWMutex).Unlock", "sync.(*RWMutex).RUnlock"}
)

// LogFuncs are functions that log.
var LogFuncs = []string{
	"log.Print", "log.Printf", "log.Println", "(*log.Logger).Print", "(*log.Logger).Printf", "(*log.Logger).Println", "(*log.Logger).Output",
	"log/slog.Info", "log/slog.Debug", "log/slog.Warn", "log/slog.Error",
	"(*log/slog.Logger).Info", "(*log/slog.Logger).Debug", "(*log/slog.Logger).Warn", "(*log/slog.Logger).Error",
	"(*log/slog.Logger).InfoContext", "(*log/slog.Logger).DebugContext", "(*log/slog.Logger).LogAttrs",
}

// Calling is what passes the callee of a call, which may be a method of an interface.
func Calling(f *code.Func, call *ast.CallExpr) func(*cost.Chain) bool {
	fn := f.Callee(call)
	if fn == nil {
		return func(*cost.Chain) bool { return false }
	}
	if recv := fn.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
		return func(c *cost.Chain) bool {
			return strings.HasSuffix(c.First(), "."+fn.Name()) && !symbol.IsRuntime(c.First())
		}
	}
	name := f.ProfileName(fn)
	return func(c *cost.Chain) bool { return c.First() == name }
}
