package tool

import (
	"fmt"
	"math"
	"math/big"

	"firn.dev"
)

// mathFunction is a function in expressions.
type mathFunction struct {
	least, most int
	of          func(args []num) (num, error)
}

// functionNames lists the names that [functions] accepts.
var functionNames = []string{"sqrt", "abs", "min", "max", "round", "floor", "ceil", "exp", "ln", "log", "sin", "cos", "tan"}

// functions returns a function by its name.
func functions(name string) (mathFunction, bool) {
	switch name {
	case "sqrt":
		return mathFunction{1, 1, func(a []num) (num, error) { return a[0].root() }}, true
	case "abs":
		return mathFunction{1, 1, absolute}, true
	case "min":
		return mathFunction{1, maxExpression, func(a []num) (num, error) { return extreme(a, num.less), nil }}, true
	case "max":
		return mathFunction{1, maxExpression, func(a []num) (num, error) {
			return extreme(a, func(n, m num) bool { return m.less(n) }), nil
		}}, true
	case "round":
		return mathFunction{1, 2, round}, true
	case "floor":
		return mathFunction{1, 1, func(a []num) (num, error) { return toWhole(a[0], floor) }}, true
	case "ceil":
		return mathFunction{1, 1, func(a []num) (num, error) { return toWhole(a[0], ceiling) }}, true
	case "exp":
		return mathFunction{1, 1, func(a []num) (num, error) { return exponential(a[0]), nil }}, true
	case "ln":
		return mathFunction{1, 1, func(a []num) (num, error) { return logarithm(a[0], approx(math.E)) }}, true
	case "log":
		return mathFunction{1, 2, func(a []num) (num, error) {
			return logarithm(a[0], append(a[1:], exactly(10))[0])
		}}, true
	case "sin":
		return mathFunction{1, 1, func(a []num) (num, error) { return circular(a[0], math.Sin), nil }}, true
	case "cos":
		return mathFunction{1, 1, func(a []num) (num, error) { return circular(a[0], math.Cos), nil }}, true
	case "tan":
		return mathFunction{1, 1, func(a []num) (num, error) { return circular(a[0], math.Tan), nil }}, true
	}
	return mathFunction{}, false
}

func absolute(a []num) (num, error) {
	if a[0].sign() < 0 {
		return a[0].negate(), nil
	}
	return a[0], nil
}

// extreme returns the argument that is before all others.
func extreme(args []num, before func(n, m num) bool) num {
	best := args[0]
	for _, n := range args[1:] {
		if before(n, best) {
			best = n
		}
	}
	return best
}

// toWhole converts to an integer. An approximate number is treated as exact.
func toWhole(n num, of func(*big.Rat) *big.Int) (num, error) {
	r := n.rat
	if r == nil {
		r = new(big.Rat).SetFloat64(n.float)
	}
	return fraction(new(big.Rat).SetInt(of(r))), nil
}

func ceiling(r *big.Rat) *big.Int {
	n := floor(new(big.Rat).Neg(r))
	return n.Neg(n)
}

// nearest rounds half away from zero.
func nearest(r *big.Rat) *big.Int {
	half := big.NewRat(1, 2)
	if r.Sign() < 0 {
		return ceiling(half.Sub(r, half))
	}
	return floor(half.Add(r, half))
}

// maxPlaces limits the number of places to round to.
const maxPlaces = 100

// round rounds to a number of decimals.
func round(args []num) (num, error) {
	n, places := args[0], int64(0)
	if len(args) == 2 {
		p := args[1].rat
		if p == nil || !p.IsInt() || !p.Num().IsInt64() || p.Num().Int64() > maxPlaces || p.Num().Int64() < -maxPlaces {
			return num{}, fmt.Errorf("the digits to round to are a whole number from -%d to %d (%w)", maxPlaces, maxPlaces, firn.ErrInvalid)
		}
		places = p.Num().Int64()
	}
	scale, err := wholePower(big.NewRat(10, 1), big.NewInt(places))
	if err != nil {
		return num{}, err
	}
	r := n.rat
	if r == nil {
		r = new(big.Rat).SetFloat64(n.float)
	}
	scaled := new(big.Rat).Mul(r, scale.rat)
	result := new(big.Rat).SetInt(nearest(scaled))
	return fraction(result.Quo(result, scale.rat)), nil
}

func exponential(n num) num {
	if n.sign() == 0 {
		return exactly(1)
	}
	return approx(math.Exp(n.approximate()))
}

// logarithm computes a logarithm to a base. Integer powers of ten and two are exact, and
// numbers beyond the range of float64 are split first.
func logarithm(n, base num) (num, error) {
	b := base.approximate()
	if n.sign() <= 0 || base.sign() <= 0 || b == 1 || b == 0 || math.IsInf(b, 0) {
		return num{}, errDomain
	}
	if n.rat != nil && n.rat.Cmp(big.NewRat(1, 1)) == 0 {
		return exactly(0), nil
	}
	switch x := n.approximate(); {
	case x == 0 || math.IsInf(x, 0):
		return approx((logInt(n.rat.Num()) - logInt(n.rat.Denom())) / math.Log(b)), nil
	case b == math.E:
		return approx(math.Log(x)), nil
	case b == 10:
		return approx(math.Log10(x)), nil
	case b == 2:
		return approx(math.Log2(x)), nil
	default:
		return approx(math.Log(x) / math.Log(b)), nil
	}
}

// logInt returns the natural logarithm of an integer of any size.
func logInt(n *big.Int) float64 {
	mantissa := new(big.Float)
	exponent := new(big.Float).SetInt(n).MantExp(mantissa)
	m, _ := mantissa.Float64()
	return math.Log(m) + float64(exponent)*math.Ln2
}

// circular computes a trigonometric function. A result that is only the rounding error of
// pi becomes zero.
func circular(n num, of func(float64) float64) num {
	if n.sign() == 0 && of(0) == 0 {
		return exactly(0)
	}
	x := n.approximate()
	y := of(x)
	if math.Abs(x) > 1 && math.Abs(y) < 1e-15 {
		y = 0
	}
	return approx(y)
}
