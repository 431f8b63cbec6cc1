package tool

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"firn.dev"
)

// num is a number: an exact fraction, or a floating-point approximation.
type num struct {
	rat   *big.Rat // nil if not exact
	float float64
}

func exactly(n int64) num     { return num{rat: new(big.Rat).SetInt64(n)} }
func approx(f float64) num    { return num{float: f} }
func fraction(r *big.Rat) num { return num{rat: r} }

var (
	errZero   = errors.New("division by zero has no result")
	errDomain = errors.New("the result is not a real number")
	errRange  = fmt.Errorf("the result is %w: exact numbers have at most about 4,900 digits, others are at most 1.8e308", firn.ErrTooLarge)
)

// approximate returns the number as a float64.
func (n num) approximate() float64 {
	if n.rat == nil {
		return n.float
	}
	f, _ := n.rat.Float64()
	return f
}

// bounded returns an error if the number is too large.
func (n num) bounded() (num, error) {
	switch {
	case n.rat != nil && (n.rat.Num().BitLen() > maxBits || n.rat.Denom().BitLen() > maxBits):
		return num{}, errRange
	case n.rat == nil && math.IsNaN(n.float):
		return num{}, errDomain
	case n.rat == nil && math.IsInf(n.float, 0):
		return num{}, errRange
	}
	return n, nil
}

func (n num) negate() num {
	if n.rat == nil {
		return approx(-n.float)
	}
	return fraction(new(big.Rat).Neg(n.rat))
}

func (n num) sign() int {
	if n.rat != nil {
		return n.rat.Sign()
	}
	switch {
	case n.float > 0:
		return 1
	case n.float < 0:
		return -1
	}
	return 0
}

func (n num) less(m num) bool {
	if n.rat != nil && m.rat != nil {
		return n.rat.Cmp(m.rat) < 0
	}
	return n.approximate() < m.approximate()
}

// apply computes n op m, exactly if both are exact.
func (n num) apply(op byte, m num) (num, error) {
	if (op == '/' || op == '%') && m.sign() == 0 {
		return num{}, errZero
	}
	var result num
	var err error
	switch {
	case op == '^':
		result, err = n.power(m)
	case n.rat != nil && m.rat != nil:
		result = fraction(arithmetic(n.rat, op, m.rat))
	default:
		result = approx(floats(n.approximate(), op, m.approximate()))
	}
	if err != nil {
		return num{}, err
	}
	return result.bounded()
}

func arithmetic(a *big.Rat, op byte, b *big.Rat) *big.Rat {
	r := new(big.Rat)
	switch op {
	case '+':
		return r.Add(a, b)
	case '-':
		return r.Sub(a, b)
	case '*':
		return r.Mul(a, b)
	case '/':
		return r.Quo(a, b)
	}
	whole := new(big.Rat).SetInt(floor(r.Quo(a, b)))
	return r.Sub(a, whole.Mul(whole, b))
}

func floats(a float64, op byte, b float64) float64 {
	switch op {
	case '+':
		return a + b
	case '-':
		return a - b
	case '*':
		return a * b
	case '/':
		return a / b
	}
	return a - b*math.Floor(a/b)
}

// floor returns the largest integer not above r.
func floor(r *big.Rat) *big.Int {
	// Denominators are positive, for which Div rounds down.
	return new(big.Int).Div(r.Num(), r.Denom())
}

// power computes n to the power of m.
func (n num) power(m num) (num, error) {
	switch {
	case m.sign() == 0:
		return exactly(1), nil
	case n.sign() == 0 && m.sign() < 0:
		return num{}, errZero
	case n.rat != nil && m.rat != nil && m.rat.IsInt():
		return wholePower(n.rat, m.rat.Num())
	case n.rat != nil && m.rat != nil && m.rat.Cmp(big.NewRat(1, 2)) == 0:
		return n.root()
	}
	return approx(math.Pow(n.approximate(), m.approximate())), nil
}

// wholePower computes an exact power. The size of the result is estimated first, so that no
// oversized computation is started.
func wholePower(base *big.Rat, exponent *big.Int) (num, error) {
	one := base.IsInt() && base.Num().IsInt64() && (base.Num().Int64() == 1 || base.Num().Int64() == -1)
	if base.Sign() == 0 {
		return exactly(0), nil
	}
	if one {
		if base.Sign() < 0 && exponent.Bit(0) == 1 {
			return exactly(-1), nil
		}
		return exactly(1), nil
	}
	bits := int64(max(base.Num().BitLen(), base.Denom().BitLen()))
	if !exponent.IsInt64() || exponent.Int64() > maxBits || exponent.Int64() < -maxBits {
		return num{}, errRange
	}
	e := exponent.Int64()
	// A number of b bits to the power of e has more than (b-1)*e bits.
	if (bits-1)*max(e, -e) > maxBits {
		return num{}, errRange
	}
	power := new(big.Int).SetInt64(max(e, -e))
	top := new(big.Int).Exp(base.Num(), power, nil)
	bottom := new(big.Int).Exp(base.Denom(), power, nil)
	if e < 0 {
		top, bottom = bottom, top
	}
	return fraction(new(big.Rat).SetFrac(top, bottom)), nil
}

// root returns the square root, exact if possible.
func (n num) root() (num, error) {
	if n.sign() < 0 {
		return num{}, errDomain
	}
	if n.rat != nil {
		top, bottom := new(big.Int).Sqrt(n.rat.Num()), new(big.Int).Sqrt(n.rat.Denom())
		r := new(big.Rat).SetFrac(top, bottom)
		if new(big.Rat).Mul(r, r).Cmp(n.rat) == 0 {
			return fraction(r), nil
		}
	}
	return approx(math.Sqrt(n.approximate())), nil
}

const (
	// shownDigits is the number of digits shown of a rounded number.
	shownDigits = 15
	// exactDigits is the maximum number of decimals shown of an exact number.
	exactDigits = 60
)

// text formats the number; whole reports whether all digits are shown.
func (n num) text() (value string, whole bool) {
	if n.rat == nil {
		return tidy(strconv.FormatFloat(n.float, 'g', shownDigits, 64)), false
	}
	if n.rat.IsInt() {
		return n.rat.Num().String(), true
	}
	if places, ok := decimals(n.rat.Denom()); ok && places <= exactDigits {
		return n.rat.FloatString(places), true
	}
	return roundedText(n.rat), false
}

// decimals returns the number of decimals of a fraction with that denominator, or false if
// they are infinite.
func decimals(denominator *big.Int) (int, bool) {
	d := new(big.Int).Set(denominator)
	twos := int(d.TrailingZeroBits())
	d.Rsh(d, uint(twos))
	fives, five, rest := 0, big.NewInt(5), new(big.Int)
	for {
		quotient, _ := new(big.Int).QuoRem(d, five, rest)
		if rest.Sign() != 0 {
			break
		}
		d = quotient
		fives++
	}
	return max(twos, fives), d.IsInt64() && d.Int64() == 1
}

// roundedText formats a fraction with 15 digits, or with 6 decimals if it is that large.
func roundedText(r *big.Rat) string {
	whole := new(big.Int).Quo(r.Num(), r.Denom())
	if digits := len(whole.String()); digits > shownDigits-6 {
		return r.FloatString(6)
	}
	f := new(big.Float).SetPrec(256).SetRat(r)
	return tidy(f.Text('g', shownDigits))
}

// tidy removes trailing zeros after the point and leading zeros of the exponent.
func tidy(s string) string {
	digits, exponent, scientific := strings.Cut(s, "e")
	if strings.Contains(digits, ".") {
		digits = strings.TrimRight(strings.TrimRight(digits, "0"), ".")
	}
	if digits == "-0" {
		digits = "0"
	}
	if !scientific {
		return digits
	}
	sign := strings.Trim(exponent[:1], "+")
	return digits + "e" + sign + strings.TrimLeft(exponent[1:], "0")
}
