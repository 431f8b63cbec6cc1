package openaiapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/door/conversation"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/wire"
)

// itemsOf converts an entry to items. The result is empty if the entry is not a message.
func itemsOf(e firn.Entry) []item {
	switch b := e.Body.(type) {
	case *firn.CustomMessage:
		if b.Type == conversation.SystemType(protocol) {
			return []item{message(e.ID, "system", inputContent(b.Parts))}
		}
	case *firn.Message:
		switch b.Role {
		case firn.RoleUser:
			return []item{message(e.ID, "user", inputContent(b.Parts))}
		case firn.RoleToolResult:
			return resultItems(e.ID, b)
		case firn.RoleAssistant:
			return answerItems(e.ID, b)
		}
	}
	return nil
}

func message(id firn.EntryID, role string, content []any) item {
	return item{ID: "msg_" + string(id), Type: messageItem, Status: "completed", Role: role, Content: encodeParts(content)}
}

// encodeParts encodes parts as JSON.
func encodeParts(parts []any) json.RawMessage {
	if parts == nil {
		parts = []any{}
	}
	data, err := wire.Marshal(parts)
	if err != nil { // cannot happen: all values marshal
		return json.RawMessage("[]")
	}
	return data
}

// inputContent converts the parts of a client's message.
func inputContent(parts []firn.Part) []any {
	var out []any
	for _, p := range parts {
		switch p := p.(type) {
		case firn.Text:
			out = append(out, map[string]string{"type": "input_text", "text": p.Text})
		case firn.Image:
			out = append(out, map[string]string{"type": "input_image", "detail": "auto", "image_url": "data:" + p.MimeType + ";base64," + p.Data})
		}
	}
	return out
}

// resultItems converts the result of a tool call.
func resultItems(id firn.EntryID, m *firn.Message) []item {
	for _, p := range m.Parts {
		if r, ok := p.(firn.ToolResult); ok {
			output, err := wire.Marshal(firn.JoinText(r.Content))
			if err != nil { // cannot happen: a string always marshals
				output = nil
			}
			return []item{{ID: "fco_" + string(id), Type: "function_call_output", Status: "completed", CallID: r.CallID, Output: output}}
		}
	}
	return nil
}

// answerItems converts an answer: its reasoning, text and tool calls.
func answerItems(id firn.EntryID, m *firn.Message) []item {
	var items []item
	status := "completed"
	if m.Error != "" {
		status = "incomplete"
	}
	if text := m.Text(); text != "" {
		it := message(id, "assistant", []any{textOut(text)})
		it.Status = status
		items = append(items, it)
	}
	for _, p := range m.Parts {
		if call, ok := p.(firn.ToolCall); ok {
			arguments := string(call.Arguments)
			items = append(items, item{
				ID: callItemID(id, call.ID), Type: "function_call", Status: status,
				CallID: call.ID, Name: call.Name, Arguments: &arguments,
			})
		}
	}
	return items
}

// callItemID returns the ID of the item of a tool call.
func callItemID(entry firn.EntryID, call string) string { return "fc_" + string(entry) + "_" + call }

// oneResponse returns a stored response, or hides its answer.
func (v *exchange) oneResponse(id string) error {
	session, question, err := parseResponse(id, "")
	if err != nil {
		return err
	}
	if err := v.checkVisible(session, id); err != nil {
		return err
	}
	found, err := v.AnswerTo(session, question)
	if err != nil {
		return err
	}
	if found.Answer == "" {
		return noSuch("response", id, "")
	}
	if v.HTTP.Method == http.MethodDelete {
		if _, err := v.Client.Hide(v.HTTP.Context(), session, wire.Hide{Entry: string(found.Answer), Reason: "deleted by a client"}); err != nil {
			return err
		}
		v.Forget(id)
		return v.Reply(http.StatusOK, deleted{id, "response", true})
	}
	return v.Reply(http.StatusOK, storedResponse(found, id, session))
}

// storedResponse returns a stored answer as a response.
func storedResponse(a *conversation.Answered, id string, session firn.ID) *response {
	q := responseRequest{}
	p := &conversation.Placed{At: conversation.Position{Session: session}, Question: a.Question}
	r := q.response(p, conversation.Choice{}, a.Asked.Time.Unix())
	r.ID = id
	if model := a.Model(); model != "" {
		r.Model = model
	}
	answer := a.TurnAnswer(session)
	s := newSpeech(nil, r)
	s.Entry(a.Answer)
	if answer.Text != "" {
		s.Text(answer.Text, false)
	}
	s.end(answer)
	return r
}

// checkVisible checks that the session of a response exists and was not deleted.
func (v *exchange) checkVisible(session firn.ID, id string) error {
	s, err := v.Client.Session(v.HTTP.Context(), string(session))
	if err == nil && s.Hidden {
		return noSuch("response", id, "")
	}
	return notFoundError(err, "response", id, "")
}

// inputItems lists the messages up to the question that a response answers.
func (v *exchange) inputItems(id string) error {
	session, question, err := parseResponse(id, "")
	if err != nil {
		return err
	}
	if err := v.checkVisible(session, id); err != nil {
		return err
	}
	limit, back, err := v.paging()
	if err != nil {
		return err
	}
	page, more, err := v.listItems(session, string(question), v.HTTP.URL.Query().Get("after"), limit, back)
	if err != nil {
		return notFoundError(err, "response", id, "")
	}
	return v.Reply(http.StatusOK, listOf(page, more))
}

// cancelResponse rejects the request: only background responses can be canceled, and there
// are none. A client cancels another one by closing its connection.
func (v *exchange) cancelResponse(id string) error {
	session, _, err := parseResponse(id, "")
	if err != nil {
		return err
	}
	if err := v.checkVisible(session, id); err != nil {
		return err
	}
	return conversation.BadRequest("", "only background responses can be canceled; to cancel this one, close its connection")
}

// oneItem returns an item of a conversation, or hides it.
func (v *exchange) oneItem(id, name string) error {
	s, err := v.sessionOf(id, "")
	if err != nil {
		return err
	}
	entry, err := v.entryOf(s.ID, name)
	if err != nil {
		return err
	}
	all := itemsOf(entry)
	i := slices.IndexFunc(all, func(it item) bool { return it.ID == name })
	switch {
	case i < 0:
		return noSuch("item", name, "")
	case v.HTTP.Method != http.MethodDelete:
		return v.Reply(http.StatusOK, all[i])
	case len(all) > 1: // the model sees an entry or does not
		return conversation.Unsupported("", "the item belongs to an answer with other items, and cannot be deleted alone")
	}
	if _, err := v.Client.Hide(v.HTTP.Context(), s.ID, wire.Hide{Entry: string(entry.ID), Reason: "deleted by a client"}); err != nil {
		return err
	}
	return v.replyConversation(s, id)
}

// entryOf returns the entry of an item. The ID of an item contains that of its entry.
func (v *exchange) entryOf(session firn.ID, name string) (firn.Entry, error) {
	kind, ref, _ := strings.Cut(name, "_")
	if kind == "fc" {
		ref, _, _ = strings.Cut(ref, "_")
	}
	if ref == "" {
		return firn.Entry{}, noSuch("item", name, "")
	}
	e, err := v.Client.Entry(v.HTTP.Context(), session, ref, false)
	if err != nil || e.Out == "tombstoned" {
		if err == nil || wire.KindOf(err) == wire.NotFound || wire.KindOf(err) == wire.Invalid {
			err = noSuch("item", name, "")
		}
		return firn.Entry{}, err
	}
	return native.New().Decode(e.Line)
}
