package tool

import (
	"context"
	"fmt"

	"firn.dev"
)

// The limits of calc. Together they bound the work of one call to well below a second.
const (
	maxExpression = 2000 // bytes
	maxNesting    = 200
	maxBits       = 1 << 14 // for the numerator and the denominator each, about 4,900 digits
	maxExponent   = 1000    // of a number in exponent notation
)

type calcArguments struct {
	Expression string `json:"expression" desc:"What to compute, such as (2 + 3) * 4.5 or sqrt(2)^3."`
}

type calcDetails struct {
	Value string `json:"value"`
	// Exact is the value as a fraction, if it is known exactly.
	Exact string `json:"exact,omitempty"`
}

// Calc returns the tool calc, which evaluates expressions. The four basic operations and
// integer powers are exact for numbers of any size; other results are marked as rounded.
func Calc() Tool {
	return New("calc", "Computes an expression exactly: + - * / % (remainder, with the sign of the divisor) ^ or ** (power), parentheses, "+
		"sqrt, abs, min, max, round(x) or round(x, digits), floor, ceil, exp, ln, log(x) to base 10 or log(x, base), sin, cos and tan in radians, pi, e.",
		func(_ context.Context, a calcArguments) (Result, error) {
			n, err := compute(a.Expression)
			if err != nil {
				return Result{}, err
			}
			value, whole := n.text()
			text := value
			details := calcDetails{Value: value}
			if n.rat != nil {
				details.Exact = n.rat.RatString()
			}
			switch {
			case !whole && n.rat != nil && len(details.Exact) <= 40:
				text += " (rounded; exactly " + details.Exact + ")"
			case !whole:
				text += " (rounded)"
			}
			return Result{Parts: TextResult(text).Parts, Details: quote(details)}, nil
		})
}

// compute parses and evaluates an expression.
func compute(expression string) (num, error) {
	if len(expression) > maxExpression {
		return num{}, fmt.Errorf("the expression has %s and is %w: at most %s is allowed", count(len(expression), "byte"), firn.ErrTooLarge, group(maxExpression))
	}
	p := &parser{in: expression}
	n, err := p.all()
	if err != nil {
		return num{}, err
	}
	return n, nil
}
