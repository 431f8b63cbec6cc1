package tool

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"unicode"
	"unicode/utf8"

	"firn.dev"
)

// parser reads an expression from left to right and computes as it reads:
//
//	sum     = product { ( "+" | "-" ) product }
//	product = signed { ( "*" | "/" | "%" ) signed }
//	signed  = { "+" | "-" } power
//	power   = value [ ( "^" | "**" ) signed ]
//	value   = number | name | name "(" sum { "," sum } ")" | "(" sum ")"
//
// So a power binds more tightly than a sign before it, and from right to left:
// -2^2 is -4, and 2^3^2 is 2^9.
type parser struct {
	in string
	at int
	// depth is the nesting depth of sums, signs and powers.
	depth int
	// listed is set if the innermost parenthesis belongs to a function, where commas
	// separate arguments.
	listed bool
}

// fail returns an error with the position.
func (p *parser) fail(format string, args ...any) error {
	return fmt.Errorf("%w expression: %s, at character %d of %q", firn.ErrInvalid, fmt.Sprintf(format, args...),
		utf8.RuneCountInString(p.in[:p.at])+1, ellipsis(p.in, 100))
}

func (p *parser) all() (num, error) {
	n, err := p.sum()
	if err != nil {
		return num{}, err
	}
	if p.skip(); p.at < len(p.in) {
		return num{}, p.unexpected()
	}
	return n, nil
}

// unexpected returns the error for an unexpected character.
func (p *parser) unexpected() error {
	rest := p.in[p.at:]
	r, _ := utf8.DecodeRuneInString(rest)
	switch {
	case rest == "":
		return p.fail("something is missing at the end")
	case r == '(' || unicode.IsLetter(r) || unicode.IsDigit(r):
		return p.fail("an operator is missing; write * to multiply")
	case r == ',' && !p.listed:
		return p.fail("a comma parts the arguments of a function, or groups of three digits; write 2.5 for two and a half")
	}
	return p.fail("%q is not expected here", r)
}

// skip skips white space.
func (p *parser) skip() {
	for p.at < len(p.in) {
		r, width := utf8.DecodeRuneInString(p.in[p.at:])
		if !unicode.IsSpace(r) {
			return
		}
		p.at += width
	}
}

// signs replaces alternative operators.
var signs = strings.NewReplacer("**", "^", "×", "*", "·", "*", "÷", "/", "−", "-")

// operator consumes the next operator if it is one of those given.
func (p *parser) operator(among string) byte {
	p.skip()
	rest := p.in[p.at:]
	width := 1
	switch {
	case rest == "":
		return 0
	case strings.HasPrefix(rest, "**"):
		width = 2
	default:
		_, width = utf8.DecodeRuneInString(rest)
	}
	op := signs.Replace(rest[:width])
	if len(op) != 1 || !strings.Contains(among, op) {
		return 0
	}
	p.at += width
	return op[0]
}

// enter increments the nesting depth.
func (p *parser) enter() error {
	if p.depth++; p.depth > maxNesting {
		return fmt.Errorf("the expression is nested too deeply: it is %w", firn.ErrTooLarge)
	}
	return nil
}

func (p *parser) sum() (num, error) {
	if err := p.enter(); err != nil {
		return num{}, err
	}
	defer func() { p.depth-- }()
	n, err := p.product()
	for err == nil {
		op := p.operator("+-")
		if op == 0 {
			return n, nil
		}
		var m num
		if m, err = p.product(); err == nil {
			n, err = n.apply(op, m)
		}
	}
	return num{}, err
}

func (p *parser) product() (num, error) {
	n, err := p.signed()
	for err == nil {
		op := p.operator("*/%")
		if op == 0 {
			return n, nil
		}
		if op == '%' {
			if err := p.remainder(); err != nil {
				return num{}, err
			}
		}
		var m num
		if m, err = p.signed(); err == nil {
			n, err = n.apply(op, m)
		}
	}
	return num{}, err
}

// remainder rejects a % that may be meant as percent.
func (p *parser) remainder() error {
	before := p.at
	if p.skip(); p.at == len(p.in) || strings.ContainsRune("+-−*/^),×÷·", rune0(p.in[p.at:])) {
		p.at = before
		return p.fail("%% is the remainder and needs a number after it; write 15/100 for 15 percent, and parentheses around a negative divisor")
	}
	return nil
}

func rune0(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

func (p *parser) signed() (num, error) {
	if err := p.enter(); err != nil {
		return num{}, err
	}
	defer func() { p.depth-- }()
	switch p.operator("+-") {
	case '+':
		return p.signed()
	case '-':
		n, err := p.signed()
		if err != nil {
			return num{}, err
		}
		return n.negate(), nil
	}
	return p.power()
}

func (p *parser) power() (num, error) {
	n, err := p.value()
	if err != nil || p.operator("^") == 0 {
		return n, err
	}
	m, err := p.signed()
	if err != nil {
		return num{}, err
	}
	return n.apply('^', m)
}

func (p *parser) value() (num, error) {
	p.skip()
	r := rune0(p.in[p.at:])
	switch {
	case p.at == len(p.in):
		return num{}, p.unexpected()
	case r >= '0' && r <= '9' || r == '.':
		return p.number()
	case r == '(':
		p.at++
		listed := p.listed
		p.listed = false
		n, err := p.sum()
		p.listed = listed
		if err != nil {
			return num{}, err
		}
		return n, p.close()
	case unicode.IsLetter(r):
		return p.name()
	}
	return num{}, p.unexpected()
}

func (p *parser) close() error {
	if p.skip(); p.at == len(p.in) {
		return p.fail("a closing parenthesis is missing")
	}
	if p.in[p.at] != ')' {
		return p.unexpected()
	}
	p.at++
	return nil
}

// name parses a constant or a function call.
func (p *parser) name() (num, error) {
	start := p.at
	for p.at < len(p.in) {
		r, width := utf8.DecodeRuneInString(p.in[p.at:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' {
			break
		}
		p.at += width
	}
	name := strings.ToLower(p.in[start:p.at])
	switch name {
	case "pi", "π":
		return approx(math.Pi), nil
	case "e":
		return approx(math.E), nil
	}
	f, ok := functions(name)
	if !ok {
		p.at = start
		return num{}, p.fail("unknown name %q; the known names are pi, e, %s", ellipsis(name, 40), enumerate(functionNames))
	}
	if p.skip(); p.at == len(p.in) || p.in[p.at] != '(' {
		return num{}, p.fail("%s is a function: put its argument in parentheses", name)
	}
	args, err := p.arguments()
	if err != nil {
		return num{}, err
	}
	if len(args) < f.least || len(args) > f.most {
		return num{}, p.fail("%s does not take %s", name, count(len(args), "argument"))
	}
	n, err := f.of(args)
	if err != nil {
		return num{}, fmt.Errorf("compute %s: %w", name, err)
	}
	return n.bounded()
}

// arguments parses the arguments of a function.
func (p *parser) arguments() ([]num, error) {
	p.at++
	listed := p.listed
	p.listed = true
	defer func() { p.listed = listed }()
	if p.skip(); p.at < len(p.in) && p.in[p.at] == ')' {
		p.at++
		return nil, nil
	}
	var args []num
	for {
		n, err := p.sum()
		if err != nil {
			return nil, err
		}
		args = append(args, n)
		if p.skip(); p.at < len(p.in) && p.in[p.at] == ',' {
			p.at++
			continue
		}
		return args, p.close()
	}
}

// number parses digits with an optional point and exponent, underscores between digits, and
// commas between groups of three digits.
func (p *parser) number() (num, error) {
	start := p.at
	digits, err := p.digits()
	if err != nil {
		return num{}, err
	}
	if p.at < len(p.in) && p.in[p.at] == '.' {
		p.at++
		digits += "." + p.run()
	}
	if strings.Trim(digits, ".") == "" {
		p.at = start
		return num{}, p.unexpected()
	}
	if exponent := p.exponent(); exponent != "" {
		digits += "e" + exponent
	}
	if p.at < len(p.in) && (p.in[p.at] == '.' || p.in[p.at] == '_') {
		return num{}, p.unexpected()
	}
	return p.literal(digits)
}

// literal converts a text of digits, point and exponent to a number.
func (p *parser) literal(s string) (num, error) {
	if _, exponent, ok := strings.Cut(s, "e"); ok {
		e, ok := new(big.Int).SetString(strings.TrimPrefix(exponent, "+"), 10)
		if !ok || !e.IsInt64() || e.Int64() > maxExponent || e.Int64() < -maxExponent {
			return num{}, fmt.Errorf("the exponent of %s is %w: it is at most %d", ellipsis(s, 40), firn.ErrTooLarge, maxExponent)
		}
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return num{}, p.fail("%q is not a number", ellipsis(s, 40))
	}
	return num{rat: r}.bounded()
}

// run consumes digits and underscores between them.
func (p *parser) run() string {
	start := p.at
	for p.at < len(p.in) {
		c := p.in[p.at]
		between := c == '_' && p.at > start && p.at+1 < len(p.in) && isDigit(p.in[p.at+1]) && isDigit(p.in[p.at-1])
		if !isDigit(c) && !between {
			break
		}
		p.at++
	}
	return strings.ReplaceAll(p.in[start:p.at], "_", "")
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// digits consumes the digits before a point. Commas between groups of three are accepted
// where they cannot separate arguments.
func (p *parser) digits() (string, error) {
	start := p.at
	digits := p.run()
	plain := p.at-start == len(digits) && len(digits) >= 1 && len(digits) <= 3 && digits[0] != '0'
	for p.groupFollows() {
		switch {
		case !plain && p.listed:
			return digits, nil // the comma can only separate arguments
		case !plain:
			return "", p.unexpected()
		case p.listed:
			return "", p.fail("ambiguous comma: it may separate arguments or thousands; write a space after it or leave it out")
		}
		digits += p.in[p.at+1 : p.at+4]
		p.at += 4
	}
	return digits, nil
}

// groupFollows reports whether a comma and exactly three digits follow.
func (p *parser) groupFollows() bool {
	rest := p.in[p.at:]
	return len(rest) >= 4 && rest[0] == ',' && isDigit(rest[1]) && isDigit(rest[2]) && isDigit(rest[3]) &&
		(len(rest) == 4 || !isDigit(rest[4]))
}

// exponent consumes an exponent and returns it without the e, or "" if there is none.
func (p *parser) exponent() string {
	rest := p.in[p.at:]
	if len(rest) < 2 || rest[0] != 'e' && rest[0] != 'E' {
		return ""
	}
	i := 1
	if rest[i] == '+' || rest[i] == '-' {
		i++
	}
	end := i
	for end < len(rest) && isDigit(rest[end]) {
		end++
	}
	if end == i {
		return ""
	}
	p.at += end
	return rest[1:end]
}
