package pattern

import (
	"reflect"
	"regexp"
	"testing"
)

func TestPattern(t *testing.T) {
	const expression, text = `(a)(b+)`, "xabbyabz"
	p, want := New(expression), regexp.MustCompile(expression)
	if p.compiled != nil {
		t.Error("it was compiled before it was used")
	}
	for name, pair := range map[string][2]any{
		"MatchString":                {p.MatchString(text), want.MatchString(text)},
		"FindString":                 {p.FindString(text), want.FindString(text)},
		"FindStringSubmatch":         {p.FindStringSubmatch(text), want.FindStringSubmatch(text)},
		"FindStringSubmatchIndex":    {p.FindStringSubmatchIndex(text), want.FindStringSubmatchIndex(text)},
		"FindAllString":              {p.FindAllString(text, -1), want.FindAllString(text, -1)},
		"FindAllStringSubmatch":      {p.FindAllStringSubmatch(text, -1), want.FindAllStringSubmatch(text, -1)},
		"FindAllStringSubmatchIndex": {p.FindAllStringSubmatchIndex(text, 1), want.FindAllStringSubmatchIndex(text, 1)},
		"ReplaceAllString":           {p.ReplaceAllString(text, "$2-"), want.ReplaceAllString(text, "$2-")},
		"Split":                      {p.Split(text, -1), want.Split(text, -1)},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s: %v, want %v", name, pair[0], pair[1])
		}
	}
}
