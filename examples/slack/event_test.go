package main

import "testing"

// TestPlain checks how the markup of messages becomes text.
func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"<@UBOT> hello":                                "hello",
		"ask <@U1> in <#C1|general>":                   "ask @U1 in #general",
		"see <https://a.example/b|the page>":           "see the page (https://a.example/b)",
		"<https://a.example> and <mailto:a@b.c|a@b.c>": "https://a.example and mailto:a@b.c",
		"<!here> 1 &lt; 2 &amp;&amp; &amp;lt;":         "here 1 < 2 && &lt;",
	} {
		if got := plain(text, identity{User: "UBOT"}); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// TestParse checks which events are questions.
func TestParse(t *testing.T) {
	for text, want := range map[string]bool{
		`{"type":"message","channel_type":"im","channel":"D1","user":"U1","ts":"1.1"}`:                             true,
		`{"type":"app_mention","channel":"C1","user":"U1","ts":"1.1"}`:                                             true,
		`{"type":"message","subtype":"file_share","channel_type":"im","channel":"D1","user":"U1","ts":"1.1"}`:      true,
		`{"type":"message","subtype":"message_changed","channel_type":"im","channel":"D1","user":"U1","ts":"1.1"}`: false,
		`{"type":"message","channel_type":"im","channel":"D1","user":"U1","bot_id":"B2","ts":"1.1"}`:               false,
		`{"type":"message","channel_type":"im","channel":"D1","user":"UBOT","ts":"1.1"}`:                           false,
		`{"type":"message","channel_type":"channel","channel":"C1","user":"U1","ts":"1.1"}`:                        false,
		`{"type":"app_mention","channel":"D1","user":"U1","ts":"1.1"}`:                                             false,
		`{"type":"reaction_added","user":"U1"}`:                                                                    false,
		`{"type":5}`:                                                                                               false,
	} {
		e := envelope{Type: "events_api", Payload: []byte(`{"type":"event_callback","event":` + text + `}`)}
		if _, ok := parse(e, identity{User: "UBOT"}); ok != want {
			t.Errorf("%s is a question: %v", text, ok)
		}
	}
}
