package store_test

import (
	"encoding/json"
	"errors"
	"testing"

	"firn.dev"
	"firn.dev/store"
)

func TestCheckEntriesFromOutside(t *testing.T) {
	custom := func(kind string) firn.Entry { return firn.Entry{Body: &firn.Custom{Type: kind}} }
	with := func(name string) firn.Entry {
		e := firn.UserText("x")
		e.Extra = firn.Fields{{Name: name, Value: json.RawMessage("true")}}
		return e
	}
	for name, c := range map[string]struct {
		entry   firn.Entry
		refused bool
	}{
		"a message": {firn.UserText("x"), false}, "a custom entry": {custom("mine.counters"), false}, "another field": {with("mine"), false},
		"counters": {custom(firn.CountersType), true}, "a draft": {custom(firn.DraftType), true}, "repair": {custom("firn.repair"), true},
		"what waits": {custom("firn.queued"), true}, "loud": {custom("FIRN.reset"), true}, "one to come": {custom("firn.anything"), true},
		"a custom message": {firn.Entry{Body: &firn.CustomMessage{Type: "firn.machine"}}, true},
		"erased":           {firn.Entry{Body: &firn.Opaque{Type: firn.KindErased, Raw: json.RawMessage(`{"type":"erased"}`)}}, true},
		"accepted":         {with("accepted"), true}, "who asked": {with("asker"), true}, "collected": {with("collected"), true}, "a request": {with("request"), true}, "late": {with("late"), true},
		"late and unknown": {firn.Entry{Body: &firn.Opaque{Type: "new", Raw: json.RawMessage(`{"type":"new","late":1}`)}}, true},
		"unknown":          {firn.Entry{Body: &firn.Opaque{Type: "new", Raw: json.RawMessage(`{"type":"new"}`)}}, false},
	} {
		if err := store.CheckExternal(&c.entry); errors.Is(err, firn.ErrInvalid) != c.refused {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestImplausibleCountsAreIgnored checks that implausible counts are not used.
func TestImplausibleCountsAreIgnored(t *testing.T) {
	for data, want := range map[string]bool{
		`{"turns":3,"input":10}`: true, `{"turns":-5}`: false, `{"input":9223372036854775807,"output":9223372036854775807}`: false,
		`{"cost":-1}`: false, `{"cost":1e300}`: false, `{"messages":-1}`: false, `{"window":-1}`: false,
	} {
		if _, ok := store.CountsOf(&firn.Custom{Type: firn.CountersType, Data: json.RawMessage(data)}); ok != want {
			t.Errorf("%s is accepted: %v", data, ok)
		}
	}
}
