package doctor

import (
	"fmt"

	"firn.dev/internal/find/model2vec"
)

// checkModel checks the model that embeds messages, if there is one. Search works without
// it, so an error is a warning.
func (h *homeExam) checkModel() error {
	if h.opts.Model == "" {
		return nil
	}
	return h.check("search model", func() (string, error) {
		m, err := model2vec.Open(h.fs, h.opts.Model)
		tokens := 0
		if err == nil {
			tokens, err = m.Tokens()
		}
		if err != nil {
			h.report.add(Finding{Severity: Warn, Kind: SearchModel, File: h.opts.Model, Message: "questions are searched without vectors: " + err.Error(), Hint: h.opts.ModelHint})
			return "cannot be used", nil
		}
		return fmt.Sprintf("%s: %s, %d components", m.Name(), plural(tokens, "token"), m.Size()), nil
	})
}
