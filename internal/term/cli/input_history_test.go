package cli

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"firn.dev"
	"firn.dev/client"
)

// TestTypedText checks that typed text of a session is collected, including queued messages.
// For a session that cannot be read to its end it returns the text before that and the
// error; for entries it fails.
func TestTypedText(t *testing.T) {
	const lines = `{"items":[
		{"line":{"type":"message","id":"e1","message":{"role":"user","content":"xyzzy"}}},
		{"line":{"type":"message","id":"e2","message":{"role":"assistant","content":"fine"}}},
		{"line":{"type":"custom","id":"e3","customType":"firn.queued","data":{"id":"e9","text":"plugh"}}},
		{"line":{"type":"custom","id":"e4","customType":"firn.tags","data":{"tags":["cave","dark"]}}},
		{"line":{"type":"custom","id":"e5","customType":"other","data":{"text":"no"}}}],"total":5`
	broken := false
	local := client.InProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Query().Get("cursor") != "":
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, `{"error":{"kind":"internal","message":"the disk has a hole"}}`)
		case broken:
			_, _ = io.WriteString(w, lines+`,"cursor":"more"}`)
		default:
			_, _ = io.WriteString(w, lines+"}")
		}
	}))
	c, err := client.New(client.Options{Transport: local})
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	for _, broken = range []bool{false, true} {
		all, unread, err := typedIn(t.Context(), c, "s", nil)
		if got := fmt.Sprint(all); got != "[xyzzy plugh cave dark]" || err != nil || (unread != nil) != broken {
			t.Errorf("broken %v: of a session %s was typed, %v, %v", broken, got, unread, err)
		}
		all, unread, err = typedIn(t.Context(), c, "s", []firn.EntryID{"e3"})
		if broken {
			if err == nil {
				t.Errorf("for interrupted entries %s was typed", all)
			}
		} else if got := fmt.Sprint(all); got != "[plugh]" || unread != nil || err != nil {
			t.Errorf("of an entry %s was typed, %v, %v", got, unread, err)
		}
	}
}
