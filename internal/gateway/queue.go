package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"firn.dev"
	"firn.dev/internal/base/route"
	"firn.dev/store"
	"firn.dev/window"
	"firn.dev/wire"
)

// A message that waits is in the log as an entry of this type, so that the
// next gateway finds it; once more if the session is compacted meanwhile. Once it is said it is an ordinary message of the same
// id; those that were said together are named by the one they became.
const (
	queuedType = "firn.queued"
	// unqueuedType names, by their ids, messages that wait no more because
	// somebody stopped it all.
	unqueuedType = "firn.unqueued"
	// collectedField names, on the message that several became, their ids.
	collectedField = "collected"
	// acceptedField marks messages that the gateway accepted, so that it knows
	// after a crash that it owes them an answer.
	acceptedField = "accepted"
)

// waiting is a message that waits.
type waiting struct {
	ID     firn.EntryID `json:"id"`
	Text   string       `json:"text,omitempty"`
	Images []wire.Image `json:"images,omitempty"`
	Sender string       `json:"sender,omitempty"`
	// Chat is "direct" if nobody but the sender takes part in the chat.
	Chat string `json:"chat,omitempty"`
	// Channel is where it came from; empty if that is not known.
	Channel string `json:"channel,omitempty"`
	// CWD is the directory that it is said in; empty if that is not known.
	CWD string `json:"cwd,omitempty"`
	// By is the machine that says it; empty if a person does.
	By   string          `json:"by,omitempty"`
	Mode route.QueueMode `json:"mode"`
	// Asker is who asked for it.
	Asker Asker `json:"asker,omitzero"`
	// From is the session whose turn said it; nil if none did.
	From *origin `json:"from,omitempty"`
	// Agent is who is to answer it; empty means the agent of the session.
	Agent string `json:"agent,omitempty"`
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
	fields := firn.Fields{{Name: acceptedField, Value: json.RawMessage("true")}, {Name: askerField, Value: spell(w.Asker)}}
	if w.Sender != "" {
		fields = append(fields, firn.Field{Name: window.SenderField, Value: spell(w.Sender)})
		if w.Chat != "" {
			fields = append(fields, firn.Field{Name: window.ChatField, Value: spell(w.Chat)})
		}
	}
	if w.Agent != "" {
		fields = append(fields, firn.Field{Name: window.AgentField, Value: spell(w.Agent)})
	}
	if w.CWD != "" {
		fields = append(fields, firn.Field{Name: firn.DirectoryField, Value: spell(w.CWD)})
	}
	if w.From != nil {
		fields = append(fields, firn.Field{Name: fromField, Value: spell(w.From)})
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

// together joins messages that are answered in one turn; dropped are those
// that were too many, of which a line is kept.
func together(all, dropped []waiting) []firn.Part {
	if len(all) == 1 && len(dropped) == 0 {
		return all[0].parts()
	}
	lines := func(of []waiting) (out []route.Waiting) {
		for _, w := range of {
			out = append(out, route.Waiting{Sender: w.Sender, Text: w.Text})
		}
		return out
	}
	parts := []firn.Part{firn.Text{Text: route.Collected(lines(all), lines(dropped))}}
	for _, w := range all {
		for _, i := range w.Images {
			parts = append(parts, firn.Image{MimeType: i.MimeType, Data: i.Data})
		}
	}
	return parts
}

// left returns the messages of a path that still wait, in order: those that no
// message of the path is, or names. What waited before the head was moved was
// said on the branch that was left.
func left(p window.Path) []waiting {
	var queue []waiting
	for _, e := range p.Entries {
		switch b := e.Body.(type) {
		case *firn.Head, *firn.BranchSummary:
			queue = nil
		case *firn.Custom:
			queue = slices.DeleteFunc(queue, func(w waiting) bool { return slices.Contains(unqueued(b), w.ID) })
			w, ok := waitingOf(b)
			restated := slices.ContainsFunc(queue, func(known waiting) bool { return known.ID == w.ID })
			if ok && w.ID != "" && !restated {
				queue = append(queue, w)
			}
		case *firn.CustomMessage:
			queue = slices.DeleteFunc(queue, func(w waiting) bool { return w.ID == e.ID })
		case *firn.Message:
			if b.Role == firn.RoleUser {
				queue = slices.DeleteFunc(queue, func(w waiting) bool { return w.ID == e.ID || slices.Contains(collected(e), w.ID) })
			}
		}
	}
	return queue
}

// restate stores once more what waits, because the session is about to be compacted:
// only what stands behind the place where that cuts is found by the next gateway. Nobody
// says meanwhile that it waits no more.
func (l *lane) restate(ctx context.Context) {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	queue := slices.Clone(l.queue)
	l.mu.Unlock()
	if len(queue) == 0 {
		return
	}
	path, err := l.g.Path(ctx, l.id)
	var entries []firn.Entry
	for _, w := range left(path) {
		if slices.ContainsFunc(queue, func(t *ticket) bool { return t.ID == w.ID }) {
			entry, spelt := w.entry()
			entries, err = append(entries, entry), errors.Join(err, spelt)
		}
	}
	if err == nil && len(entries) > 0 {
		_, err = l.g.Store.Append(ctx, l.id, store.Any, entries...)
	}
	if err != nil {
		l.g.Log.Warn("what waits cannot be stored behind a compaction", "session", l.id, "error", err)
	}
}

// unqueued are the ids of the messages that an entry says wait no more.
func unqueued(c *firn.Custom) []firn.EntryID {
	var data struct {
		IDs []firn.EntryID `json:"ids"`
	}
	if c.Type != unqueuedType || json.Unmarshal(c.Data, &data) != nil {
		return nil
	}
	return data.IDs
}

// collected are the ids of the messages that became this one.
func collected(e firn.Entry) []firn.EntryID {
	var ids []firn.EntryID
	if json.Unmarshal(e.Extra.Get(collectedField), &ids) != nil {
		return nil
	}
	return ids
}
