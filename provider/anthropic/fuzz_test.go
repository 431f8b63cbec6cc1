package anthropic

import (
	"bytes"
	"testing"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/window"
	"firn.dev/window/windowtest"
)

// FuzzRead checks that for any input a stream ends in Done or in one error, with no event
// after it, and that a completed answer can be stored and sent back.
func FuzzRead(f *testing.F) {
	for _, data := range streams(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var draft provider.Draft
		var done *firn.Message
		var failure error
		for event, err := range read(bytes.NewReader(data), testInfo()) {
			if done != nil || failure != nil {
				t.Fatalf("%v and %v follow the end", event, err)
			}
			failure = err
			if e, ok := event.(provider.Done); ok {
				done = &e.Message
			} else if err == nil {
				draft.Add(event)
			}
		}
		if (done == nil) == (failure == nil) {
			t.Fatalf("ends with %v and %v", done, failure)
		}
		if done != nil {
			keep(t, done)
		}
	})
}

// keep stores an answer and sends it back to its model.
func keep(t *testing.T, answer *firn.Message) {
	t.Helper()
	session, home := firn.NewID(), memstore.New(memstore.Options{})
	defer home.Close()
	entries := []firn.Entry{firn.NewEntry(&firn.Header{Session: session}), firn.UserText("Hello?"), firn.NewEntry(answer)}
	if _, err := home.Append(t.Context(), session, store.Start, entries...); err != nil {
		t.Fatalf("the answer cannot be stored: %v\n%+v", err, answer)
	}
	path, err := window.Collect(home.ReadBack(t.Context(), session, store.End))
	if err != nil {
		t.Fatal(err)
	}
	info := testInfo()
	w := window.Build(path, window.Options{Profile: info.Profile, Ask: info.Ask()})
	if err := windowtest.Check(info.Profile, w); err != nil {
		t.Fatal(err)
	}
	s := settingsOf(info.Name)
	body, err := encode(s, provider.Request{Window: w, Thinking: provider.ThinkLow}, answering)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate(body, s.generation); err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
}
