package agent

import (
	"encoding/json"
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/provider"
)

// fallbackField is the member of an answer's entry that records which model was replaced
// and why.
const fallbackField = "fallback"

// fallback is the value of fallbackField.
type fallback struct {
	// From is provider/model, Why the kind of its failure.
	From string        `json:"from"`
	Why  provider.Kind `json:"why"`
}

// fallBack switches to the agent's next fallback model for the rest of the turn. It returns
// false if there is none. The next turn starts with the session's own model again.
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
		t.useModel(next)
		// The learned window size applies only to the previous model.
		t.fit = fitting{compactions: t.fit.compactions, suggested: t.fit.suggested, stuck: t.fit.stuck}
		t.emit(Notice{Text: fmt.Sprintf("%v; %s answers instead", err, modelName(info))})
		return true
	}
	return false
}

// useModel selects the model for the following calls.
func (t *turn) useModel(m provider.Model) {
	t.model, t.info = m, m.Info()
	if t.info.Window <= 0 {
		t.info.Window = provider.AssumedWindow
	}
}

// mark records in an answer that a fallback model gave it.
func (f fallback) mark(e firn.Entry) firn.Entry {
	if f.From == "" {
		return e
	}
	data, err := json.Marshal(f)
	if err != nil {
		return e // two strings can always be encoded
	}
	e.Extra = append(slices.Clip(e.Extra), firn.Field{Name: fallbackField, Value: data})
	return e
}

func modelName(i provider.Info) string { return i.Provider + "/" + i.Name }
