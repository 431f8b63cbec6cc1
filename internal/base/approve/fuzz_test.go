package approve_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"firn.dev/internal/base/approve"
)

// FuzzDecide checks that arbitrary rules and calls never panic, that a deny rule without a
// pattern always denies, that rules are read back as they are written, and that the offered
// rule allows its call.
func FuzzDecide(f *testing.F) {
	f.Add("shell(git diff *)", "shell", `{"command":"git diff"}`, "/w")
	f.Add("edit(**/x)", "edit_file", `{"path":"a/../x"}`, "")
	f.Add("web_fetch(*.a)", "web_fetch", `{"url":"http://b.a"}`, "/")
	f.Fuzz(func(t *testing.T, text, tool, arguments, workspace string) {
		c := approve.Call{Tool: tool, Arguments: json.RawMessage(arguments), Workspace: workspace}
		var rules approve.Rules
		if r, err := approve.ParseRule(text); err == nil {
			if back, err := approve.ParseRule(r.String()); err != nil || back != r {
				t.Fatalf("%q is read as %q, %v", r, back, err)
			}
			rules.Allow = append(rules.Allow, r)
			for _, m := range approve.Modes {
				approve.Decide(m, approve.Rules{Deny: rules.Allow}, c)
			}
		}
		approve.Decide(approve.Ask, rules, c)
		if r := approve.Suggest(c); r != (approve.Rule{}) && approve.EffectOf(tool) != approve.Read {
			if got, _ := approve.Decide(approve.Ask, approve.Rules{Allow: []approve.Rule{r}}, c); got != approve.Allow {
				t.Fatalf("%q does not allow %q %q", r, tool, arguments)
			}
		}
	})
}

// FuzzDigest checks that space does not matter and that different names differ.
func FuzzDigest(f *testing.F) {
	f.Add("shell", `{"b":1,"a":{"d":[1,2,{}],"c":"x"}}`)
	f.Add("", `{"a":1,"a":2} x`)
	f.Fuzz(func(t *testing.T, tool, arguments string) {
		d := approve.Digest(tool, json.RawMessage(arguments))
		if d == approve.Digest(tool+"x", json.RawMessage(arguments)) {
			t.Fatal("two tools have one digest")
		}
		var spaced bytes.Buffer
		if json.Indent(&spaced, []byte(arguments), " ", "\t") == nil && approve.Digest(tool, spaced.Bytes()) != d {
			t.Fatalf("space matters in %q", arguments)
		}
	})
}
