package conversation

import (
	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/wire"
)

// Answered is the answer to a question, as stored in the log.
type Answered struct {
	branch
	// Question and Answer are the entries; Answer is empty if there is none.
	Question, Answer firn.EntryID
	// Asked is the entry of the question.
	Asked firn.Entry
}

// AnswerTo finds the answer to a question in the log. The result has no answer if there was
// none.
func (v *Request) AnswerTo(id firn.ID, question firn.EntryID) (*Answered, error) {
	a := &Answered{branch: newBranch(v.Keeper), Question: question}
	for e, err := range v.Client.Entries(v.HTTP.Context(), id, client.EntryQuery{View: wire.ViewDisk, Back: true}) {
		if err != nil {
			return nil, err
		}
		entry, err := native.New().Decode(e.Line)
		if err != nil {
			continue // a gap
		}
		if entry.ID == question {
			a.Asked = entry
			a.Answer = a.branch.answer(question, func(firn.Message) bool { return true })
			return a, nil
		}
		a.add(entry)
	}
	return a, nil
}

// Model returns the model that answered, as provider/model.
func (a *Answered) Model() string {
	if m, ok := a.entries[a.Answer].Body.(*firn.Message); ok {
		return m.Provider + "/" + m.Model
	}
	return ""
}

// TurnAnswer returns the answer in the form in which a turn returns it.
func (a *Answered) TurnAnswer(session firn.ID) wire.Answer {
	reported, _ := a.branch.clientMessage(a.Question, a.Answer)
	answer := wire.Answer{Session: session, Message: a.Question, Entry: a.Answer, Text: reported.Text()}
	if m, ok := a.entries[a.Answer].Body.(*firn.Message); ok {
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
