package sdk

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// poison is one defect of a request.
type poison struct {
	// what describes the defect, and path is its position.
	what, path string
	body       []byte
}

// poisons returns copies of a request with one defect each: an unknown member, a renamed
// member, a missing required member, a value of another type, or an unknown word.
func (s sender) poisons(body []byte) ([]poison, error) {
	v, err := decode(body)
	if err != nil {
		return nil, err
	}
	var all []poison
	add := func(what, path string) {
		spoilt, err := json.Marshal(v)
		if err == nil {
			all = append(all, poison{what, path, spoilt})
		}
	}
	// Members are changed in their object, and restored.
	walk("", v, func(path string, v any) bool {
		object, ok := v.(map[string]any)
		if slices.Contains(s.loose, place(path)) || s.foreign(path) {
			return false
		}
		if !ok {
			return true
		}
		object["firn_x"] = 1
		add("more", path)
		delete(object, "firn_x")
		for name, value := range object {
			at := strings.TrimPrefix(path+"."+name, ".")
			delete(object, name)
			if slices.Contains(s.required, place(at)) {
				add("missing", at)
			}
			object[name+"_x"] = value
			add("renamed", at)
			delete(object, name+"_x")
			if !s.takesAny(at) {
				object[name] = otherType(value)
				add("type", at)
			}
			if s.words[place(at)] != nil {
				object[name] = "firn_x"
				add("word", at)
			}
			object[name] = value
		}
		return true
	})
	return all, nil
}

// takesAny reports whether the SDK accepts a value of any type at a path.
func (s sender) takesAny(path string) bool {
	return s.foreign(path) || place(path) == "messages[].content[].input"
}

// foreign reports whether a path is legitimately unknown to the SDK.
func (s sender) foreign(path string) bool {
	return slices.ContainsFunc(s.allowed, func(a allowance) bool { return a.place == place(path) && a.ours == "*" })
}

func otherType(v any) any {
	switch v.(type) {
	case string:
		return 7
	case json.Number, bool:
		return "seven"
	case []any:
		return map[string]any{"a": 1}
	}
	return []any{1}
}

// TestComparisonDetectsDefects checks that the comparison of TestSent detects defects.
func TestComparisonDetectsDefects(t *testing.T) {
	for _, s := range senders() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t)
			m := s.model(server.client)
			seen := make(map[string]bool)
			for _, q := range questions(t, m.Info()) {
				if !slices.Contains([]string{"loop/high", "image/high", "signed calls/high", "hello/bare"}, q.name) {
					continue
				}
				sent, _ := s.check(t, t.Context(), server, m, q.req, nil)
				all, err := s.poisons(sent.body)
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range all {
					mark := p.what + " " + place(p.path)
					if seen[mark] {
						continue
					}
					seen[mark] = true
					if !s.notices(t, server, sent, p) {
						t.Errorf("%s: %s was not detected in\n%.300s", q.name, mark, p.body)
					}
				}
			}
			if len(seen) < 50 {
				t.Errorf("there were only %d poisons", len(seen))
			}
			for _, where := range s.required {
				if !seen["missing "+where] {
					t.Errorf("no request has %s: take it off the list", where)
				}
			}
		})
	}
}

// notices reports whether TestSent would detect a defect.
func (s sender) notices(t *testing.T, server *server, sent request, p poison) bool {
	sent.body = p.body
	server.play(http.StatusOK, s.answer)
	found, err := s.again(t, t.Context(), server, sent)
	if err != nil || len(without(found, s.allowed, nil)) > 0 {
		return true
	}
	return len(s.unknownWords(p.body, make(map[string]bool))) > 0
}

func TestDefectGenerator(t *testing.T) {
	s := sender{words: map[string][]string{"a.b": {"x"}, "c": nil}, required: []string{"c"}, loose: []string{"d"}}
	all, err := s.poisons([]byte(`{"a":{"b":"x"},"c":"y","d":{"e":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range all {
		got = append(got, fmt.Sprintf("%s %s: %s", p.what, p.path, p.body))
	}
	slices.Sort(got)
	want := []string{
		`missing c: {"a":{"b":"x"},"d":{"e":1}}`,
		`more : {"a":{"b":"x"},"c":"y","d":{"e":1},"firn_x":1}`,
		`more a: {"a":{"b":"x","firn_x":1},"c":"y","d":{"e":1}}`,
		`renamed a.b: {"a":{"b_x":"x"},"c":"y","d":{"e":1}}`,
		`renamed a: {"a_x":{"b":"x"},"c":"y","d":{"e":1}}`,
		`renamed c: {"a":{"b":"x"},"c_x":"y","d":{"e":1}}`,
		`renamed d: {"a":{"b":"x"},"c":"y","d_x":{"e":1}}`,
		`type a.b: {"a":{"b":7},"c":"y","d":{"e":1}}`,
		`type a: {"a":[1],"c":"y","d":{"e":1}}`,
		`type c: {"a":{"b":"x"},"c":7,"d":{"e":1}}`,
		`type d: {"a":{"b":"x"},"c":"y","d":[1]}`,
		`word a.b: {"a":{"b":"firn_x"},"c":"y","d":{"e":1}}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
