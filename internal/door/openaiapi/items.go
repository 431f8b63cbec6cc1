package openaiapi

import (
	"encoding/json"
	"net/http"
	"strconv"

	"firn.dev"
	"firn.dev/wire"
)

// itemsOf converts an entry to items. The result is empty if the entry is not a message.
func itemsOf(e firn.Entry) []item {
	switch b := e.Body.(type) {
	case *firn.CustomMessage:
		if b.Type == systemType {
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
	for i, p := range m.Parts {
		if call, ok := p.(firn.ToolCall); ok {
			arguments := string(call.Arguments)
			items = append(items, item{
				ID: "fc_" + string(id) + "_" + strconv.Itoa(i), Type: "function_call", Status: status,
				CallID: call.ID, Name: call.Name, Arguments: &arguments,
			})
		}
	}
	return items
}

// oneResponse returns a stored response, or hides its answer.
func (v *exchange) oneResponse(id string) error {
	session, question, err := parseResponse(id, "")
	if err != nil {
		return err
	}
	if _, err := v.c.Session(v.r.Context(), string(session)); err != nil {
		return notFoundError(err, "response", id, "")
	}
	found, err := v.answerTo(session, question)
	if err != nil {
		return err
	}
	if found.answer == "" {
		return noSuch("response", id, "")
	}
	if v.r.Method == http.MethodDelete {
		if _, err := v.c.Hide(v.r.Context(), session, wire.Hide{Entry: string(found.answer), Reason: "deleted by a client"}); err != nil {
			return err
		}
		v.door.memory.drop(id)
		return v.reply(http.StatusOK, deleted{id, "response", true})
	}
	return v.reply(http.StatusOK, found.response(id, session))
}

// response returns a stored answer as a response.
func (a *answered) response(id string, session firn.ID) *response {
	q := responseRequest{}
	p := &placed{at: position{session: session}, question: a.question}
	r := q.response(p, choice{}, a.asked.Time.Unix())
	r.ID = id
	if m, ok := a.entries[a.answer].Body.(*firn.Message); ok {
		r.Model = m.Provider + "/" + m.Model
	}
	answer := a.turnAnswer(session)
	s := newSpeech(nil, r)
	if answer.Text != "" {
		s.text(answer.Text, false)
	}
	s.end(answer)
	return r
}

// turnAnswer returns the answer in the form in which a turn returns it.
func (a *answered) turnAnswer(session firn.ID) wire.Answer {
	reported, _ := a.branch.clientMessage(a.question, a.answer)
	answer := wire.Answer{Session: session, Message: a.question, Entry: a.answer, Text: reported.Text()}
	if m, ok := a.entries[a.answer].Body.(*firn.Message); ok {
		answer.Stop = string(m.StopReason)
		if u := m.Usage; u != nil {
			answer.Usage = wire.Counters{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
		}
	}
	for _, p := range reported.Parts {
		if call, ok := p.(firn.ToolCall); ok {
			answer.Pending = append(answer.Pending, wire.Tool{Call: call.ID, Name: call.Name, Arguments: call.Arguments})
		}
	}
	return answer
}
