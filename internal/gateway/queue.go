package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"firn.dev"
	"firn.dev/internal/base/approve"
	"firn.dev/internal/base/route"
	"firn.dev/store"
	"firn.dev/window"
	"firn.dev/wire"
)

// queuedType is the type of the entry that stores a queued message, so that the next
// gateway finds it. The entry is written again before a compaction. When the message is
// delivered, it becomes an ordinary message with the same ID. Messages that are delivered
// together are named by the one they became.
const (
	queuedType = "firn.queued"
	// unqueuedType is the type of an entry with the IDs of messages that were removed from
	// the queue by a stop.
	unqueuedType = "firn.unqueued"
	// collectedField lists the IDs of the messages that were joined into one.
	collectedField = "collected"
	// acceptedField marks messages that the gateway accepted, so that after a crash it
	// knows which ones still need an answer.
	acceptedField = "accepted"
)

// waiting is a queued message.
type waiting struct {
	ID     firn.EntryID `json:"id"`
	Text   string       `json:"text,omitempty"`
	Images []wire.Image `json:"images,omitempty"`
	Sender string       `json:"sender,omitempty"`
	// Chat is "direct" if the sender is the only participant of the chat.
	Chat string `json:"chat,omitempty"`
	// Channel is the channel of origin; empty if unknown.
	Channel string `json:"channel,omitempty"`
	// CWD is the sender's working directory; empty if unknown.
	CWD string `json:"cwd,omitempty"`
	// By names the machine that sent the message; empty if a person did.
	By   string          `json:"by,omitempty"`
	Mode route.QueueMode `json:"mode"`
	// Asker is the sender's identity.
	Asker Asker `json:"asker,omitzero"`
	// From is the session whose turn sent the message; nil if none did.
	From *origin `json:"from,omitempty"`
	// Agent is the agent that answers; empty means the agent of the session.
	Agent string `json:"agent,omitempty"`
	// Approve is the approval mode of the message; empty means the agent's setting.
	Approve approve.Mode `json:"approve,omitempty"`
	// ClientTools is set if the client offered its tools with the message, or is a terminal
	// without a gateway.
	ClientTools bool `json:"clientTools,omitempty"`
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

// entry returns the entry that stores the queued message.
func (w waiting) entry() (firn.Entry, error) {
	data, err := json.Marshal(w)
	if err != nil {
		return firn.Entry{}, err
	}
	return firn.NewEntry(&firn.Custom{Type: queuedType, Data: data}), nil
}

// extra returns the extra fields of the message entry. If several messages were joined, it
// lists their IDs.
func (w waiting) extra(together []waiting) firn.Fields {
	fields := firn.Fields{{Name: acceptedField, Value: json.RawMessage("true")}, {Name: askerField, Value: toJSON(w.Asker)}}
	if w.Sender != "" {
		fields = append(fields, firn.Field{Name: window.SenderField, Value: toJSON(w.Sender)})
		if w.Chat != "" {
			fields = append(fields, firn.Field{Name: window.ChatField, Value: toJSON(w.Chat)})
		}
	}
	if w.Agent != "" {
		fields = append(fields, firn.Field{Name: window.AgentField, Value: toJSON(w.Agent)})
	}
	if w.Approve != "" {
		fields = append(fields, firn.Field{Name: approveField, Value: toJSON(w.Approve)})
	}
	if w.ClientTools {
		fields = append(fields, firn.Field{Name: clientToolsField, Value: json.RawMessage("true")})
	}
	if w.CWD != "" {
		fields = append(fields, firn.Field{Name: firn.DirectoryField, Value: toJSON(w.CWD)})
	}
	if w.From != nil {
		fields = append(fields, firn.Field{Name: fromField, Value: toJSON(w.From)})
	}
	if len(together) > 1 {
		ids := make([]firn.EntryID, len(together))
		for i := range together {
			ids[i] = together[i].ID
		}
		fields = append(fields, firn.Field{Name: collectedField, Value: toJSON(ids)})
	}
	return fields
}

// toJSON encodes v, or null if that fails.
func toJSON(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return data
}

// joinParts joins messages that are answered in one turn. For each message in dropped it
// includes a line.
func joinParts(all, dropped []waiting) []firn.Part {
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

// queuedIn returns the messages of a path that are still queued, in order. A message is no
// longer queued once a later message of the path has or lists its ID. Messages queued before
// the head was moved belong to the abandoned branch.
func queuedIn(p window.Path) []waiting {
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

// storeQueueAgain stores the queued messages again before the session is compacted: the
// next gateway finds only entries after the cut. It holds writing, so that no message is
// removed from the queue at the same time.
func (l *lane) storeQueueAgain(ctx context.Context) {
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
	for _, w := range queuedIn(path) {
		if slices.ContainsFunc(queue, func(t *ticket) bool { return t.ID == w.ID }) {
			entry, encoded := w.entry()
			entries, err = append(entries, entry), errors.Join(err, encoded)
		}
	}
	if err == nil && len(entries) > 0 {
		_, err = l.g.Store.Append(ctx, l.id, store.Any, entries...)
	}
	if err != nil {
		l.g.Log.Warn("saving queued messages after a compaction failed", "session", l.id, "error", err)
	}
}

// unqueued returns the IDs of the messages that an entry removes from the queue.
func unqueued(c *firn.Custom) []firn.EntryID {
	var data struct {
		IDs []firn.EntryID `json:"ids"`
	}
	if c.Type != unqueuedType || json.Unmarshal(c.Data, &data) != nil {
		return nil
	}
	return data.IDs
}

// collected returns the IDs of the messages that were joined into this one.
func collected(e firn.Entry) []firn.EntryID {
	var ids []firn.EntryID
	if json.Unmarshal(e.Extra.Get(collectedField), &ids) != nil {
		return nil
	}
	return ids
}
