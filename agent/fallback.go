package agent

import (
	"encoding/json"
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/provider"
)

// fallbackField is the member of an answer's entry that says in whose place the
// model answered, and why: who reads the log later must not wonder.
const fallbackField = "fallback"

// fallback is what it says.
type fallback struct {
	// From is provider/model, Why the kind of its failure.
	From string        `json:"from"`
	Why  provider.Kind `json:"why"`
}

// fallBack turns to the next of the agent's fallbacks after the model failed,
// for the rest of the turn; false if there is none. The next turn begins with
// the session's own model again.
func (t *turn) fallBack(err error) bool {
	failed := t.info
	t.failed = append(t.failed, modelName(failed))
	for _, next := range t.a.Fallbacks {
		info := next.Info()
		if slices.Contains(t.failed, modelName(info)) {
			continue
		}
		if t.fallen.From == "" {
			t.fallen = fallback{From: modelName(failed), Why: provider.KindOf(err)}
		}
		t.take(next)
		// What was learnt of the size of one window says nothing of another.
		t.fit = fitting{compactions: t.fit.compactions, suggested: t.fit.suggested, stuck: t.fit.stuck}
		t.emit(Notice{Text: fmt.Sprintf("%v; %s answers instead", err, modelName(info))})
		return true
	}
	return false
}

// take makes a model the one that answers.
func (t *turn) take(m provider.Model) {
	t.model, t.info = m, m.Info()
	if t.info.Window <= 0 {
		t.info.Window = provider.AssumedWindow
	}
}

// noted marks an answer that another model gave than the session's.
func (f fallback) noted(e firn.Entry) firn.Entry {
	if f.From == "" {
		return e
	}
	data, err := json.Marshal(f)
	if err != nil {
		return e // two strings can always be spelt
	}
	e.Extra = append(slices.Clip(e.Extra), firn.Field{Name: fallbackField, Value: data})
	return e
}

func modelName(i provider.Info) string { return i.Provider + "/" + i.Name }
