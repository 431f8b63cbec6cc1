package anthropic

import (
	"slices"

	"firn"
	"firn/provider"
)

// done is the end of a stream that came whole.
func (a *answer) done() (provider.Event, error) {
	if !a.began || a.reason == "" {
		return nil, a.fault("the answer ends and does not say why")
	}
	var parts []firn.Part
	for _, c := range a.blocks {
		if part := c.part(); part != nil {
			parts = append(parts, part)
		}
	}
	if a.reason == "refusal" {
		parts = slices.DeleteFunc(parts, isCall)
		if firn.JoinText(parts) == "" {
			return nil, a.refusal()
		}
	}
	usage := a.usage.count(a.info.Price)
	return provider.Done{Message: firn.Message{
		Role: firn.RoleAssistant, Parts: parts,
		API: a.info.API, Provider: a.info.Provider, Model: a.info.Name,
		Usage: &usage, StopReason: stopReason(a.reason, parts),
	}}, nil
}

// refusal is the error for an answer that is not given. To keep it would leave
// a message with nothing in it.
func (a *answer) refusal() error {
	message := a.explanation
	if message == "" {
		message = "the model will not answer this"
	}
	return &provider.Error{
		Kind: provider.BadRequest, Provider: a.info.Provider, Model: a.info.Name,
		Code: "refusal", Message: message, Began: true,
	}
}

// stopReason says why the model stopped. The reasons that are not named
// (end_turn, stop_sequence, refusal, pause_turn, which is for tools that the
// provider runs, and those to come) all mean that it said what it had to say.
// If that were calls, they wait for their results, whatever the reason.
func stopReason(reason string, parts []firn.Part) firn.StopReason {
	switch {
	case reason == "max_tokens" || reason == "model_context_window_exceeded":
		return firn.StopLength
	case slices.ContainsFunc(parts, isCall):
		return firn.StopToolUse
	}
	return firn.StopEnd
}

func isCall(part firn.Part) bool { _, ok := part.(firn.ToolCall); return ok }

// usage is what the API tells of tokens. What is not told is nil.
type usage struct {
	Input      *int64 `json:"input_tokens"`
	Output     *int64 `json:"output_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
	// Writes tells how long what was written is kept.
	Writes *struct {
		Hour int64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
}

// merge takes the numbers of a later report. They count from the beginning, so
// they stand in the place of those before.
func (u *usage) merge(later usage) {
	replace(&u.Input, later.Input)
	replace(&u.Output, later.Output)
	replace(&u.CacheRead, later.CacheRead)
	replace(&u.CacheWrite, later.CacheWrite)
	replace(&u.Writes, later.Writes)
}

func replace[T any](p **T, later *T) {
	if later != nil {
		*p = later
	}
}

// count makes a usage with its cost. What is kept for an hour costs twice the
// price of input to write; the price of writing is for five minutes.
func (u *usage) count(price provider.Price) firn.Usage {
	counted := firn.Usage{
		Input: tokens(u.Input), Output: tokens(u.Output),
		CacheRead: tokens(u.CacheRead), CacheWrite: tokens(u.CacheWrite),
	}
	counted.Total = counted.Context()
	counted.Cost = price.Cost(counted)
	if u.Writes != nil && price.CacheWrite > 0 {
		hour := min(tokens(&u.Writes.Hour), counted.CacheWrite)
		more := float64(hour) * (2*price.Input - price.CacheWrite) / 1e6
		counted.Cost.CacheWrite += more
		counted.Cost.Total += more
	}
	return counted
}

// tokens is a number of tokens as it can be: not negative, nor so large that
// adding them up goes wrong.
func tokens(n *int64) int64 {
	if n == nil {
		return 0
	}
	return min(max(*n, 0), 1<<50)
}
