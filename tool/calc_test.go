package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/tool"
)

func TestCalcComputes(t *testing.T) {
	cases := map[string]string{
		// arithmetic is exact
		"1+2":           "3",
		"0.1+0.2":       "0.3",
		"2 - 3 - 4":     "-5",
		"12 / 4 / 3":    "1",
		"1/3":           "0.333333333333333 (rounded; exactly 1/3)",
		"1/3*3":         "1",
		"10/4":          "2.5",
		"-7 % 3":        "2",
		"7 % (-3)":      "-2",
		"7.5 % 2":       "1.5",
		"2 + 3 * 4":     "14",
		"(2 + 3) * 4":   "20",
		"2 × 3 ÷ 4 − 1": "0.5",
		"99999999999999999999 * 99999999999999999999": "9999999999999999999800000000000000000001",
		"1e30/3":                "333333333333333333333333333333.333333 (rounded; exactly 1000000000000000000000000000000/3)",
		"1/3e30":                "3.33333333333333e-31 (rounded; exactly 1/3000000000000000000000000000000)",
		"1.10 * 1.10":           "1.21",
		".5 + 5.":               "5.5",
		"1_000_000 + 1":         "1000001",
		"1,000 + 2,000,000.5":   "2001000.5",
		"1.5e3":                 "1500",
		"2E-3":                  "0.002",
		"  7  ":                 "7",
		"((((((((((7))))))))))": "7",
		// powers
		"2^10":                    "1024",
		"2**10":                   "1024",
		"2^3^2":                   "512",
		"-2^2":                    "-4",
		"(-2)^2":                  "4",
		"2^-2":                    "0.25",
		"0^0":                     "1",
		"4^0.5":                   "2",
		"(4/9)^(1/2)":             "0.666666666666667 (rounded; exactly 2/3)",
		"2^0.5":                   "1.4142135623731 (rounded)",
		"(-1)^1000001":            "-1",
		"1^999999999999999999999": "1",
		"2^100":                   "1267650600228229401496703205376",
		// signs
		"--5":    "5",
		"-+-5":   "5",
		"2*-3":   "-6",
		"2 - -3": "5",
		// functions and constants
		"sqrt(16)":          "4",
		"sqrt(2)^2":         "2 (rounded)",
		"SQRT(0.25)":        "0.5",
		"abs(-1/4)":         "0.25",
		"min(3, 1, 2)":      "1",
		"max(1,2,30)":       "30",
		"max(0,100)":        "100",
		"max(1000,200)":     "1000",
		"max((1,000), 2)":   "1000",
		"round(2.5)":        "3",
		"round(-2.5)":       "-3",
		"round(2.4999)":     "2",
		"round(3.14159, 2)": "3.14",
		"round(1234, -2)":   "1200",
		"floor(-1.5)":       "-2",
		"ceil(-1.5)":        "-1",
		"ceil(1.2)":         "2",
		"floor(pi)":         "3",
		"ln(1)":             "0",
		"ln(e)":             "1 (rounded)",
		"log(1000)":         "3 (rounded)",
		"log(8, 2)":         "3 (rounded)",
		"log(10^1000)":      "1000 (rounded)",
		"exp(0)":            "1",
		"exp(1)":            "2.71828182845905 (rounded)",
		"sin(0)":            "0",
		"sin(pi)":           "0 (rounded)",
		"cos(pi)":           "-1 (rounded)",
		"tan(pi/4)":         "1 (rounded)",
		"pi":                "3.14159265358979 (rounded)",
		"2*π":               "6.28318530717959 (rounded)",
		"pi*10^20":          "3.14159265358979e20 (rounded)",
	}
	for expression, want := range cases {
		if got := call(t, tool.Calc(), args{"expression": expression}); got != want {
			t.Errorf("%s is %q, want %q", expression, got, want)
		}
	}
}

func TestCalcRefuses(t *testing.T) {
	deep := strings.Repeat("(", 500) + "1" + strings.Repeat(")", 500)
	cases := map[string]struct {
		want string
		is   error
	}{
		"":                               {"something is missing at the end", firn.ErrInvalid},
		"1 +":                            {"something is missing at the end", firn.ErrInvalid},
		"(1 + 2":                         {"a closing parenthesis is missing", firn.ErrInvalid},
		"1 + 2)":                         {"')' is not expected here", firn.ErrInvalid},
		"* 2":                            {"'*' is not expected here, at character 1", firn.ErrInvalid},
		"2pi":                            {"write * to multiply, at character 2", firn.ErrInvalid},
		"2(3)":                           {"write * to multiply", firn.ErrInvalid},
		"1 2":                            {"write * to multiply", firn.ErrInvalid},
		"foo(1)":                         {`unknown name "foo"; the known names are pi, e, sqrt`, firn.ErrInvalid},
		"sqrt 2":                         {"put its argument in parentheses", firn.ErrInvalid},
		"sqrt()":                         {"sqrt does not take 0 arguments", firn.ErrInvalid},
		"sqrt(1, 2)":                     {"sqrt does not take 2 arguments", firn.ErrInvalid},
		"max(1,200)":                     {"ambiguous comma: it may separate arguments or thousands", firn.ErrInvalid},
		"1,00":                           {"a comma parts", firn.ErrInvalid},
		"1000,000":                       {"a comma parts", firn.ErrInvalid},
		"0,500":                          {"a comma parts", firn.ErrInvalid},
		"2,5":                            {"write 2.5", firn.ErrInvalid},
		"1.2.3":                          {"'.' is not expected", firn.ErrInvalid},
		"1__0":                           {"'_' is not expected", firn.ErrInvalid},
		".":                              {"'.' is not expected", firn.ErrInvalid},
		"15%":                            {"write 15/100", firn.ErrInvalid},
		"100 - 10% - 5":                  {"write 15/100", firn.ErrInvalid},
		"0x10":                           {"write *", firn.ErrInvalid},
		"1/0":                            {"division by zero", nil},
		"1%0":                            {"division by zero", nil},
		"1/(pi-pi)":                      {"division by zero", nil},
		"0^-1":                           {"division by zero", nil},
		"sqrt(-1)":                       {"the result is not a real number", nil},
		"(-8)^(1/3)":                     {"the result is not a real number", nil},
		"ln(0)":                          {"the result is not a real number", nil},
		"log(2, 1)":                      {"the result is not a real number", nil},
		"9^9^9^9":                        {"too large", firn.ErrTooLarge},
		"2^100000":                       {"too large", firn.ErrTooLarge},
		"1e1001":                         {"the exponent of 1e1001 is too large", firn.ErrTooLarge},
		"1e99999999999999999999":         {"too large", firn.ErrTooLarge},
		"exp(1000)":                      {"too large", firn.ErrTooLarge},
		"10^1000*10^1000*10^4000":        {"too large", firn.ErrTooLarge},
		"round(1, 1000)":                 {"from -100 to 100", firn.ErrInvalid},
		"round(1, 0.5)":                  {"from -100 to 100", firn.ErrInvalid},
		deep:                             {"nested too deeply", firn.ErrTooLarge},
		strings.Repeat("-", 300) + "1":   {"nested too deeply", firn.ErrTooLarge},
		strings.Repeat("1+", 1500) + "1": {"3,001 bytes and is too large", firn.ErrTooLarge},
		"1\x00":                          {"is not expected", firn.ErrInvalid},
	}
	for expression, c := range cases {
		err := fails(t, tool.Calc(), args{"expression": expression})
		has(t, err.Error(), c.want)
		if c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%.50s: %v is not %v", expression, err, c.is)
		}
	}
}

func TestCalcReportsFraction(t *testing.T) {
	type calc struct{ Value, Exact string }
	if got := details[calc](t, result(t, tool.Calc(), args{"expression": "2/6"})); got != (calc{"0.333333333333333", "1/3"}) {
		t.Errorf("got %+v", got)
	}
	if got := details[calc](t, result(t, tool.Calc(), args{"expression": "sqrt(2)"})); got.Exact != "" {
		t.Errorf("a root is reported as exactly %s", got.Exact)
	}
}

func FuzzCalc(f *testing.F) {
	for _, seed := range []string{"1+2*3", "-(2^-3)**2", "max(1, 2,3)%(-4)", "1,000.5e3/7", "log(10^999, 3)", "round(1/3, 50)^99", "sin(pi)^e", "9^9^9", "((((", "1e-1000^16", "é×2÷0"} {
		f.Add(seed)
	}
	calc := tool.Calc()
	f.Fuzz(func(t *testing.T, expression string) {
		raw, err := json.Marshal(map[string]string{"expression": expression})
		if err != nil {
			t.Fatal(err)
		}
		r, err := calc.Run(context.Background(), raw)
		if err != nil {
			if len(err.Error()) > 2000 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			return
		}
		text := firn.JoinText(r.Parts)
		if text == "" || len(text) > 20_000 || strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("%q is %.200q", expression, text)
		}
	})
}
