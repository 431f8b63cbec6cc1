package redact_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/find/redact"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/store"
	"firn.dev/store/memstore"
)

// secret is a key that the masks recognize by its form. It is assembled here so that no
// scanner takes the test for a leak.
var secret = "ghp_" + "x7Kq9ZbT2mWv4RnY8cLp1DsF6hJg3QaE5uXo"

func text(s string) []firn.Part { return []firn.Part{firn.Text{Text: s}} }

// places are entries with a secret in every place where text can be, with the number of
// times it is there.
func places() map[string]struct {
	body firn.Body
	n    int
} {
	type one = struct {
		body firn.Body
		n    int
	}
	raw := func(s string) json.RawMessage { return json.RawMessage(strings.ReplaceAll(s, "SECRET", secret)) }
	return map[string]one{
		"user":        {&firn.Message{Role: firn.RoleUser, Parts: text("use " + secret + " please")}, 1},
		"twice":       {&firn.Message{Role: firn.RoleUser, Parts: append(text("use "+secret), text("and password=hunter2hunter2")...)}, 2},
		"answer":      {&firn.Message{Role: firn.RoleAssistant, Parts: []firn.Part{firn.Thinking{Text: "the key is " + secret, Signature: "c2ln"}, firn.Text{Text: "it is " + secret}}}, 2},
		"error":       {&firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopError, Error: "rejected " + secret}, 1},
		"call":        {&firn.Message{Role: firn.RoleAssistant, Parts: []firn.Part{firn.ToolCall{ID: "c", Name: "shell", Arguments: raw(`{"command":"curl -H 'Authorization: Bearer SECRET' x","password":"hunter2hunter2","n":1}`)}}}, 2},
		"result":      {&firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{CallID: "c", Name: "shell", Content: text("TOKEN=" + secret), Details: raw(`{"out":"SECRET"}`)}}}, 2},
		"shell":       {&firn.Message{Role: firn.RoleShell, Parts: []firn.Part{firn.Shell{Command: "echo " + secret, Output: secret}}}, 2},
		"part":        {&firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.OpaquePart{Type: "x", Raw: raw(`{"type":"x","v":"SECRET"}`)}}}, 1},
		"extra":       {&firn.Message{Role: firn.RoleUser, Parts: text("hi"), Extra: firn.Fields{{Name: "apiKey", Value: raw(`"SECRET"`)}}}, 1},
		"note":        {&firn.CustomMessage{Type: "ext", Parts: text(secret), Details: raw(`["SECRET"]`)}, 2},
		"compaction":  {&firn.Compaction{Summary: "the key " + secret, Details: raw(`{"x":"SECRET"}`)}, 2},
		"branch":      {&firn.BranchSummary{Summary: secret}, 1},
		"title":       {&firn.Title{Name: "Use " + secret}, 1},
		"label":       {&firn.Label{Target: "e", Name: secret}, 1},
		"tombstone":   {&firn.Tombstone{Target: "e", Reason: secret}, 1},
		"head":        {&firn.Head{Reason: secret}, 1},
		"custom":      {&firn.Custom{Type: "ext", Data: raw(`{"a":["SECRET"]}`)}, 1},
		"queued":      {&firn.Custom{Type: "firn.queued", Data: raw(`{"id":"e","text":"SECRET","asker":{"token":"0e7v4a9kgg80a0e7v4a9kgg80a"}}`)}, 1},
		"asked":       {&firn.Custom{Type: "firn.approval.asked", Data: raw(`{"call":"c","digest":"aa","arguments":{"k":"SECRET"}}`)}, 1},
		"counters":    {&firn.Custom{Type: "firn.counters", Data: raw(`{"input":1,"names":{"title":"Use SECRET","keys":[{"key":"agent:main:main"}]}}`)}, 1},
		"other lines": {&firn.Opaque{Type: "later", Raw: raw(`{"type":"later","id":"e1","parentId":null,"timestamp":"2026-11-15T02:46:06.000Z","asker":{"token":"0e7v4a9kgg80a0e7v4a9kgg80a"},"text":"SECRET"}`)}, 1},
	}
}

// TestPlaces replaces the secret wherever it is, counts it, and leaves the given entry and
// everything else as it was.
func TestPlaces(t *testing.T) {
	for name, c := range places() {
		in := firn.Entry{ID: "e1", Body: c.body, Extra: firn.Fields{{Name: "asker", Value: json.RawMessage(`{"token":"0e7v4a9kgg80a0e7v4a9kgg80a"}`)}}}
		before := encode(t, in)
		out, n := redact.Entry(in)
		line := encode(t, out)
		if n != c.n || strings.Contains(line, secret) || strings.Contains(line, "hunter2") || !strings.Contains(line, "[secret]") {
			t.Errorf("%s: %d replaced, want %d: %s", name, n, c.n, line)
		}
		if got := string(out.Extra.Get(redact.Field)); got != string(rune('0'+c.n)) {
			t.Errorf("%s: the entry counts %s", name, got)
		}
		if strings.Count(line, "0e7v4a9kgg80a0e7v4a9kgg80a") != strings.Count(before, "0e7v4a9kgg80a0e7v4a9kgg80a") {
			t.Errorf("%s: the asker was changed: %s", name, line)
		}
		if after := encode(t, in); after != before {
			t.Errorf("%s: the given entry was changed: %s", name, after)
		}
		if again, n := redact.Entry(out); n != 0 || !reflect.DeepEqual(again, out) {
			t.Errorf("%s: a second time %d are replaced", name, n)
		}
	}
}

func encode(t *testing.T, e firn.Entry) string {
	t.Helper()
	if o, ok := e.Body.(*firn.Opaque); ok { // a store adds the extra fields
		return string(o.Raw)
	}
	line, err := native.New().Append(nil, e)
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}

// TestUnchanged checks that entries without secrets, and records of firn, stay as they are.
func TestUnchanged(t *testing.T) {
	image := firn.Image{MimeType: "image/png", Data: strings.Repeat("iVBORw0KGgo", 40)}
	for _, body := range []firn.Body{
		&firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "the tokens are counted"}, image}},
		&firn.Message{Role: firn.RoleAssistant, Parts: []firn.Part{firn.Thinking{Text: "so", Signature: "c2ln"}, firn.ToolCall{ID: "c", Name: "read", Arguments: json.RawMessage(`{ "path" : "a" }`)}}},
		&firn.Custom{Type: "firn.counters", Data: json.RawMessage(`{"input":150,"names":{"title":"x","keys":[{"key":"agent:main:telegram:direct:123456789"}]}}`)},
		&firn.Custom{Type: "firn.fence", Data: json.RawMessage(`{"token":"0e7v4a9kgg80a0e7v4a9kgg80a"}`)},
		&firn.Header{Session: "s", Key: "agent:main:main"}, &firn.ModelChange{Provider: "a", Model: "b"}, nil,
	} {
		in := firn.Entry{ID: "e1", Body: body}
		if out, n := redact.Entry(in); n != 0 || !reflect.DeepEqual(out, in) {
			t.Errorf("%#v became %#v", in.Body, out.Body)
		}
	}
	piece := firn.Entry{Body: &firn.Custom{Type: firn.DraftType, Data: json.RawMessage(`{"answer":"e2","text":"ghp_","thinking":"t"}`)}}
	out, n := redact.Entry(piece)
	if got := string(out.Body.(*firn.Custom).Data); n != 0 || got != `{"answer":"e2","text":"","thinking":""}` {
		t.Errorf("a piece of an answer became %s", got)
	}
}

// deferred is a store with deferred appends.
type deferred struct{ store.Store }

func (d deferred) AppendDeferred(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	return d.Append(ctx, id, expect, entries...)
}

func (deferred) Sync(context.Context, firn.ID) error { return nil }

func (d deferred) Unwrap() store.Store { return d.Store }

// TestStore appends through the wrapped store in every way.
func TestStore(t *testing.T) {
	on, total := true, 0
	st := redact.Wrap(deferred{memstore.New(memstore.Options{})}, redact.Options{Enabled: func() bool { return on }, Replaced: func(n int) { total += n }})
	defer st.Close()
	ctx, id := t.Context(), firn.NewID()
	d, ok := store.As[store.Deferred](st)
	if !ok {
		t.Fatal("no deferred appends")
	}
	if _, ok := store.As[store.Keyed](st); !ok {
		t.Error("the features of the store are hidden")
	}
	counted := 0
	_, err := st.Append(redact.WithCount(ctx, &counted), id, store.Start, firn.UserText("use "+secret))
	if counted != 1 {
		t.Errorf("%d counted for one append", counted)
	}
	if err == nil {
		_, err = d.AppendDeferred(ctx, id, store.Any, firn.UserText("and "+secret))
	}
	if _, err := st.Append(ctx, id, store.Start, firn.UserText(secret)); err == nil {
		t.Error("no conflict")
	}
	if total != 2 || err != nil {
		t.Errorf("%d counted, %v", total, err)
	}
	if _, err = st.Append(redact.Verbatim(ctx), id, store.Any, firn.UserText("copied "+secret)); err == nil {
		on = false
		_, err = st.Append(ctx, id, store.Any, firn.UserText("off "+secret))
	}
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for rec, err := range st.Read(ctx, id, store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		e, err := rec.Entry()
		if m, ok := e.Body.(*firn.Message); ok && err == nil {
			got = append(got, m.Text())
		}
	}
	want := []string{"use [secret]", "and [secret]", "copied " + secret, "off " + secret}
	if !reflect.DeepEqual(got, want) || total != 2 {
		t.Errorf("stored %q, counted %d", got, total)
	}
}

// FuzzEntry replaces secrets in arbitrary lines: what is encoded can be decoded, and a
// second run finds nothing.
func FuzzEntry(f *testing.F) {
	for _, c := range places() {
		if line, err := native.New().Append(nil, firn.Entry{ID: "e1", Body: c.body}); err == nil {
			f.Add(line)
		}
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := native.New().Decode(line)
		if err != nil || e.Body == nil {
			return
		}
		out, n := redact.Entry(e)
		if out.ID != e.ID || out.Parent != e.Parent || out.Body.Kind() != e.Body.Kind() {
			t.Errorf("%s became another entry", line)
		}
		if (n > 0) != (string(out.Extra.Get(redact.Field)) != string(e.Extra.Get(redact.Field))) {
			t.Errorf("%d replaced, and the entry counts %s", n, out.Extra.Get(redact.Field))
		}
	})
}

// BenchmarkEntry measures a tool result of 50 KB without secrets.
func BenchmarkEntry(b *testing.B) {
	e := firn.Entry{Body: &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{Content: text(strings.Repeat("func main() { fmt.Println(\"snow\") }\n", 1400))}}}}
	b.SetBytes(50 << 10)
	for b.Loop() {
		redact.Entry(e)
	}
}
