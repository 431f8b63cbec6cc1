package api

import (
	"fmt"
	"slices"
	"strings"

	"firn.dev/internal/door/foreign"
	"firn.dev/internal/gateway/view"
	"firn.dev/wire"
)

// listModels lists the models in both our format and OpenAI's, since both use the same
// path.
func (c statusCalls) listModels() (foreign.ModelList, error) {
	local := c.query.flag("local")
	if c.query.err != nil {
		return foreign.ModelList{}, c.query.err
	}
	models := c.gateway.Models(c.r.Context(), local)
	list := foreign.ModelList{Page: pageOf(models), Object: "list", Data: []foreign.OpenAIModel{}}
	for _, a := range c.visibleAgents(c.gateway.Agents(c.r.Context())) {
		list.Data = append(list.Data, foreign.OpenAIModel{ID: a.ID, Object: "model", OwnedBy: "firn"})
	}
	for _, m := range models {
		owner, _, _ := strings.Cut(m.ID, "/")
		list.Data = append(list.Data, foreign.OpenAIModel{ID: m.ID, Object: "model", OwnedBy: owner})
	}
	return list, nil
}

func (c statusCalls) getModel() (foreign.OpenAIModel, error) {
	list, err := c.listModels()
	if err != nil {
		return foreign.OpenAIModel{}, err
	}
	id := c.r.PathValue("model")
	i := slices.IndexFunc(list.Data, func(m foreign.OpenAIModel) bool { return m.ID == id })
	if i < 0 {
		return foreign.OpenAIModel{}, &wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("unknown agent or model %q", view.Clip(id)), Hint: "to list them: GET /v1/models"}
	}
	return list.Data[i], nil
}
