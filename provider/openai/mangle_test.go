package openai

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"firn.dev/provider"
)

// TestMangledStreams reads streams with lost, repeated or reordered events and with missing or
// invalid members. The result is an answer that can be logged or an error with a kind.
func TestMangledStreams(t *testing.T) {
	for _, a := range apis() {
		files, err := filepath.Glob(filepath.Join("testdata", a.name, "*.sse"))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(a.name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				body, err := os.ReadFile(rapid.SampledFrom(files).Draw(r, "file"))
				if err != nil {
					r.Fatal(err)
				}
				body = mangle(r, body)
				o := a.read(r, bytes.NewReader(body))
				checkDeltas(r, o)
				if o.done != nil {
					checkMessage(r, o.done)
				} else if provider.KindOf(o.err) == "" {
					r.Fatalf("an error without a kind: %v", o.err)
				}
			})
		})
	}
}

func mangle(t *rapid.T, body []byte) []byte {
	events := strings.Split(strings.TrimSpace(string(body)), "\n\n")
	for range rapid.IntRange(0, 4).Draw(t, "changes") {
		at := rapid.IntRange(0, len(events)-1).Draw(t, "at")
		switch rapid.IntRange(0, 5).Draw(t, "change") {
		case 0:
			events = slices.Insert(events, at, events[at])
		case 1:
			other := rapid.IntRange(0, len(events)-1).Draw(t, "other")
			events[at], events[other] = events[other], events[at]
		case 2:
			if len(events) > 1 {
				events = slices.Delete(events, at, at+1)
			}
		default:
			events[at] = mangleEvent(t, events[at])
		}
	}
	return []byte(strings.Join(events, "\n\n") + "\n\n")
}

// mangleEvent changes a member of the JSON of an event.
func mangleEvent(t *rapid.T, event string) string {
	begin := strings.Index(event, "{")
	var value any
	if begin < 0 || json.Unmarshal([]byte(event[begin:]), &value) != nil {
		return event
	}
	spelled, err := json.Marshal(mangleValue(t, value))
	if err != nil {
		t.Fatal(err)
	}
	return event[:begin] + string(spelled)
}

// mangleValue changes a value or a part of it.
func mangleValue(t *rapid.T, value any) any {
	if rapid.IntRange(0, 5).Draw(t, "here") == 0 {
		return rapid.SampledFrom([]any{nil, true, 7.0, -1.0, 1e30, "", "x", "{}", "\x00\xff", []any{}, []any{nil}, map[string]any{}, map[string]any{"type": "reasoning"}}).Draw(t, "value")
	}
	switch v := value.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		if len(names) == 0 {
			return v
		}
		name := rapid.SampledFrom(names).Draw(t, "name")
		if rapid.IntRange(0, 5).Draw(t, "lose") == 0 {
			delete(v, name)
		} else {
			v[name] = mangleValue(t, v[name])
		}
	case []any:
		if len(v) > 0 {
			i := rapid.IntRange(0, len(v)-1).Draw(t, "index")
			v[i] = mangleValue(t, v[i])
		}
	}
	return value
}
