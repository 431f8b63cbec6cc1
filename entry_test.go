package firn

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestNewEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(1500 * time.Microsecond) // half a millisecond past the bubble's clock
		want := time.Date(2000, 1, 1, 0, 0, 0, int(time.Millisecond), time.UTC)
		body := &Title{Name: "trip"}
		e := NewEntry(body)
		if e.ID == "" || e.Parent != "" || e.Body != Body(body) || e.Extra != nil {
			t.Errorf("NewEntry made %+v", e)
		}
		if !e.Time.Equal(want) || e.Time.Location() != time.UTC {
			t.Errorf("its time is %v, want %v", e.Time, want)
		}
	})
}

func TestTextEntries(t *testing.T) {
	user := UserText("hello").Body.(*Message)
	for name, e := range map[string]Entry{"UserText": UserText("hello"), "AssistantText": AssistantText("hi"), "Hide": Hide("x")} {
		if e.ID != "" || !e.Time.IsZero() {
			t.Errorf("%s made %+v, but the store sets the ID and time", name, e)
		}
		if m, ok := e.Body.(*Message); ok && !m.Time.IsZero() {
			t.Errorf("%s made a message of %v, but the store sets the time", name, m.Time)
		}
	}
	if user.Role != RoleUser || user.Text() != "hello" || user.StopReason != "" {
		t.Errorf("UserText made %+v", user)
	}
	answer := AssistantText("hi").Body.(*Message)
	if answer.Role != RoleAssistant || answer.Text() != "hi" || answer.StopReason != StopEnd {
		t.Errorf("AssistantText made %+v", answer)
	}
	if hide := Hide("x").Body.(*Tombstone); hide.Target != "x" {
		t.Errorf("Hide made %+v", hide)
	}
}

// TestKindNamesMatchFiles checks the kinds, which are part of the file format and must never
// change.
func TestKindNamesMatchFiles(t *testing.T) {
	cases := map[Kind]Body{
		"session":               &Header{},
		"message":               &Message{},
		"compaction":            &Compaction{},
		"branch_summary":        &BranchSummary{},
		"tombstone":             &Tombstone{},
		"label":                 &Label{},
		"session_info":          &Title{},
		"model_change":          &ModelChange{},
		"thinking_level_change": &ThinkingChange{},
		"custom":                &Custom{},
		"custom_message":        &CustomMessage{},
		"head":                  &Head{},
		"erased":                &Opaque{Type: KindErased},
		"from_elsewhere":        &Opaque{Type: "from_elsewhere"},
	}
	for want, body := range cases {
		if got := body.Kind(); got != want {
			t.Errorf("%T is of kind %q, want %q", body, got, want)
		}
	}
}

func TestFieldsGet(t *testing.T) {
	f := Fields{{"b", json.RawMessage("1")}, {"a", json.RawMessage("2")}, {"b", json.RawMessage("3")}}
	if got := string(f.Get("b")); got != "1" {
		t.Errorf("Get(b) = %s, want the first", got)
	}
	if got := f.Get("B"); got != nil {
		t.Errorf("Get(B) = %s, but names are case-sensitive", got)
	}
}

func TestTitlePrecedence(t *testing.T) {
	none, foreign, user, auto := Title{}, Title{Name: "f"}, Title{Name: "u", Source: SourceUser}, Title{Name: "a", Source: SourceAuto}
	cases := []struct {
		later, old Title
		want       bool
	}{
		{auto, none, true},
		{auto, auto, true},
		{auto, user, false},
		{auto, foreign, false},
		{user, auto, true},
		{user, user, true},
		{user, foreign, true},
		{foreign, auto, true},
		{foreign, user, true},
	}
	for _, c := range cases {
		if got := c.later.Beats(c.old); got != c.want {
			t.Errorf("%+v.Beats(%+v) = %v", c.later, c.old, got)
		}
	}
}

func TestJoinText(t *testing.T) {
	parts := []Part{Thinking{Text: "hm"}, Text{Text: "one"}, Image{Data: "x"}, ToolCall{Name: "t"}, Text{Text: "two"}}
	if got := JoinText(parts); got != "one\ntwo" {
		t.Errorf("JoinText = %q", got)
	}
	if got := JoinText(nil); got != "" {
		t.Errorf("JoinText(nil) = %q", got)
	}
}

func TestUsageContext(t *testing.T) {
	if got := (&Usage{Input: 1, Output: 2, CacheRead: 4, CacheWrite: 8}).Context(); got != 15 {
		t.Errorf("without a total, Context = %d", got)
	}
	if got := (&Usage{Input: 1, Output: 2, Total: 99}).Context(); got != 99 {
		t.Errorf("with a total, Context = %d", got)
	}
}

func TestGlanceOf(t *testing.T) {
	cases := []struct {
		name  string
		entry Entry
		want  Glance
	}{
		{"message", Entry{ID: "m", Parent: "p", Body: &Message{}}, Glance{Kind: KindMessage, ID: "m", Parent: "p"}},
		{"root", Entry{ID: "m", Parent: Root, Body: &Message{}}, Glance{Kind: KindMessage, ID: "m"}},
		{"tombstone", Entry{ID: "t", Body: &Tombstone{Target: "x"}}, Glance{Kind: KindTombstone, ID: "t", Target: "x"}},
		{"label", Entry{ID: "l", Body: &Label{Target: "x"}}, Glance{Kind: KindLabel, ID: "l", Target: "x"}},
		{"compaction", Entry{ID: "c", Body: &Compaction{FirstKept: "x"}}, Glance{Kind: KindCompaction, ID: "c", Target: "x"}},
		{"opaque", Entry{ID: "o", Body: &Opaque{Type: "new"}}, Glance{Kind: "new", ID: "o"}},
		{"nothing", Entry{}, Glance{}},
	}
	for _, c := range cases {
		if got := GlanceOf(c.entry); got != c.want {
			t.Errorf("%s: GlanceOf = %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestRecordEntry(t *testing.T) {
	whole := NewRecord(3, 7, Entry{ID: "a", Body: &Message{}})
	if e, err := whole.Entry(); err != nil || e.ID != "a" || whole.Line() != nil || whole.At != 3 || whole.Next != 7 {
		t.Errorf("a complete record gives %+v, %v", e, err)
	}
	broken := errors.New("broken")
	lazy := LazyRecord(3, 7, Glance{ID: "a"}, []byte("line"), func(line []byte) (Entry, error) {
		if string(line) != "line" {
			return Entry{}, broken
		}
		return Entry{ID: "a"}, nil
	})
	if e, err := lazy.Entry(); err != nil || e.ID != "a" || string(lazy.Line()) != "line" {
		t.Errorf("a lazy record gives %+v, %v", e, err)
	}
	gap := GapRecord(Gap{Kind: GapNUL, At: 3, Next: 7, Detail: "4 zero bytes"})
	_, err := gap.Entry()
	if !errors.Is(err, ErrCorrupt) || gap.At != 3 || gap.Next != 7 {
		t.Errorf("a gap gives %v", err)
	}
	var named *Gap
	if !errors.As(err, &named) || named.Kind != GapNUL {
		t.Errorf("the gap is not distinguishable: %v", err)
	}
}

func TestGapErrorMessage(t *testing.T) {
	gap := Gap{Kind: GapDangling, At: 42, Entry: "e7", Detail: "its parent is gone"}
	if got, want := gap.Error(), "dangling-parent at 42 (entry e7): its parent is gone"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	gap.Entry = ""
	if got := gap.Error(); strings.Contains(got, "entry") {
		t.Errorf("Error() = %q mentions an entry", got)
	}
}
