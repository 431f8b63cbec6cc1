package gateway

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"firn"
	"firn/window"
	"firn/wire"
)

// Queue says what becomes of a message that comes while a turn is running.
type Queue struct {
	// Mode is what to do unless the message says otherwise; empty means Collect.
	Mode Mode
	// Cap is how many messages may wait; zero means 20. More are refused.
	Cap int
	// Debounce is how long to wait for more before those that wait are
	// answered together; zero means not at all.
	Debounce time.Duration
}

// Mode is a way to deal with a message that comes while a turn is running.
type Mode string

// The ways to deal with such a message.
const (
	// Steer puts it before the model at once, in the turn that is running.
	Steer Mode = "steer"
	// Followup answers it in a turn of its own.
	Followup Mode = "followup"
	// Collect answers all that wait together, in one turn.
	Collect Mode = "collect"
	// Interrupt stops the turn that is running, and answers it then.
	Interrupt Mode = "interrupt"
)

// modeOf reads the name of a mode; empty means the standard one.
func (q Queue) modeOf(name string) (Mode, error) {
	switch m := Mode(name); m {
	case Steer, Followup, Collect, Interrupt:
		return m, nil
	case "steer-backlog":
		return Steer, nil
	case "":
		if q.Mode != "" {
			return q.Mode, nil
		}
		return Collect, nil
	}
	return "", &wire.Problem{Kind: wire.Invalid, Message: "there is no way to queue called " + firn.CutText(name, 40), Hint: "steer, followup, collect or interrupt"}
}

func (q Queue) cap() int {
	if q.Cap > 0 {
		return q.Cap
	}
	return 20
}

// A message that waits is in the log as an entry of this type, so that the
// next gateway finds it. Once it is said it is an ordinary message of the same
// id; those that were said together are named by the one they became.
const (
	queuedType = "firn.queued"
	// collectedField names, on the message that several became, their ids.
	collectedField = "collected"
	// acceptedField marks messages that the gateway accepted, so that it knows
	// after a crash that it owes them an answer.
	acceptedField = "accepted"
	senderField   = "sender"
)

// waiting is a message that waits.
type waiting struct {
	ID     firn.EntryID `json:"id"`
	Text   string       `json:"text,omitempty"`
	Images []wire.Image `json:"images,omitempty"`
	Sender string       `json:"sender,omitempty"`
	Mode   Mode         `json:"mode"`
}

func (w waiting) parts() []firn.Part {
	var parts []firn.Part
	if w.Text != "" {
		parts = append(parts, firn.Text{Text: w.Text})
	}
	for _, i := range w.Images {
		parts = append(parts, firn.Image{MimeType: i.MimeType, Data: i.Data})
	}
	return parts
}

// entry is the message as it waits in the log.
func (w waiting) entry() (firn.Entry, error) {
	data, err := json.Marshal(w)
	if err != nil {
		return firn.Entry{}, err
	}
	return firn.NewEntry(&firn.Custom{Type: queuedType, Data: data}), nil
}

// extra is what is kept with the message when it is said.
func (w waiting) extra(together []waiting) firn.Fields {
	fields := firn.Fields{{Name: acceptedField, Value: json.RawMessage("true")}}
	if w.Sender != "" {
		fields = append(fields, firn.Field{Name: senderField, Value: spell(w.Sender)})
	}
	if len(together) > 1 {
		ids := make([]firn.EntryID, len(together))
		for i := range together {
			ids[i] = together[i].ID
		}
		fields = append(fields, firn.Field{Name: collectedField, Value: spell(ids)})
	}
	return fields
}

// spell is JSON of strings, which always can be.
func spell(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return data
}

// together joins messages that are answered in one turn. One alone stays as it
// is; several are set apart, so that the model can tell them from each other.
func together(all []waiting) []firn.Part {
	if len(all) == 1 {
		return all[0].parts()
	}
	var parts []firn.Part
	var texts []string
	for _, w := range all {
		text := w.Text
		if w.Sender != "" {
			text = w.Sender + ": " + text
		}
		texts = append(texts, text)
	}
	parts = append(parts, firn.Text{Text: strings.Join(texts, "\n\n")})
	for _, w := range all {
		for _, i := range w.Images {
			parts = append(parts, firn.Image{MimeType: i.MimeType, Data: i.Data})
		}
	}
	return parts
}

// left returns the messages of a path that still wait, in order: those that no
// message of the path is, or names.
func left(p window.Path) []waiting {
	var queue []waiting
	for _, e := range p.Entries {
		switch b := e.Body.(type) {
		case *firn.Custom:
			var w waiting
			if b.Type == queuedType && json.Unmarshal(b.Data, &w) == nil && w.ID != "" {
				queue = append(queue, w)
			}
		case *firn.Message:
			if b.Role == firn.RoleUser {
				queue = slices.DeleteFunc(queue, func(w waiting) bool { return w.ID == e.ID || slices.Contains(collected(e), w.ID) })
			}
		}
	}
	return queue
}

// collected are the ids of the messages that became this one.
func collected(e firn.Entry) []firn.EntryID {
	var ids []firn.EntryID
	if json.Unmarshal(e.Extra.Get(collectedField), &ids) != nil {
		return nil
	}
	return ids
}
