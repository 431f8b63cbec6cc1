package firn_test

import (
	"slices"
	"testing"

	"firn.dev"
)

// TestSystemPrompt checks that the sections of a system prompt follow its text, replace each
// other by name and are removed by null. Anything but an object of texts is ignored.
func TestSystemPrompt(t *testing.T) {
	system := func(text, sections string) *firn.Message {
		m := &firn.Message{Role: firn.RoleSystem}
		if text != "" {
			m.Parts = []firn.Part{firn.Text{Text: text}}
		}
		if sections != "" {
			m.Extra = firn.Fields{{Name: firn.SectionsField, Value: []byte(sections)}}
		}
		return m
	}
	for _, c := range []struct {
		messages []*firn.Message
		want     []string
	}{
		{nil, nil},
		{[]*firn.Message{system("", `{"b":"two","a":"one"}`)}, []string{"two", "one"}},
		{[]*firn.Message{system("base", `{"a":"one"}`), system("more", `{"a":"ONE","b":"two"}`)}, []string{"base", "more", "ONE", "two"}},
		{[]*firn.Message{system("base", `{"a":"one","b":"two"}`), system("", `{"a":null,"c":null}`)}, []string{"base", "two"}},
		{[]*firn.Message{system("base", `[1]`), system("", `{"a":1}`), system("", `{"a"`)}, []string{"base"}},
	} {
		if got := firn.SystemPrompt(c.messages...); !slices.Equal(got, c.want) {
			t.Errorf("the prompt is %q, want %q", got, c.want)
		}
	}
	if got := system("base", `{"a":"one"}`).Text(); got != "base\n\none" {
		t.Errorf("the text is %q", got)
	}
	user := &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "hi"}}, Extra: system("", `{"a":"one"}`).Extra}
	if got := user.Text(); got != "hi" {
		t.Errorf("the text of a user is %q", got)
	}
}
