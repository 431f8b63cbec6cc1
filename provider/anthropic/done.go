package anthropic

import (
	"slices"

	"firn.dev"
	"firn.dev/provider"
)

// done returns the final event of a complete stream.
func (a *answer) done() (provider.Event, error) {
	if !a.began || a.reason == "" {
		return nil, a.malformedError("the response ends without a stop reason")
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

// refusal returns the error for a refused answer. Keeping it would leave an empty message.
func (a *answer) refusal() error {
	message := a.explanation
	if message == "" {
		message = "the model will not answer this"
	}
	return &provider.Error{
		Kind: provider.BadRequest, Provider: a.info.Provider, Model: a.info.Name,
		Code: "refusal", Message: message, Partial: true,
	}
}

// stopReason converts the API's stop reason. All reasons not listed (end_turn,
// stop_sequence, refusal, pause_turn, which is for server-side tools, and future ones) mean
// that the answer is complete. An answer with calls is StopToolUse, whatever the reason.
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

// usage is the API's token usage. Values that were not reported are nil.
type usage struct {
	Input      *int64 `json:"input_tokens"`
	Output     *int64 `json:"output_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
	// Writes splits cache writes by lifetime.
	Writes *struct {
		Hour int64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
}

// merge applies a later report. The numbers are cumulative, so they replace the earlier
// ones.
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

// count converts a usage and computes its cost. The price of cache writes applies to five
// minutes; a write for an hour costs twice the input price.
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

// tokens clamps a number of tokens to a range in which sums cannot overflow.
func tokens(n *int64) int64 {
	if n == nil {
		return 0
	}
	return min(max(*n, 0), 1<<50)
}
