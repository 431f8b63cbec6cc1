package compact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"firn.dev"
)

// Details is what a compaction of ours remembers besides its summary. Files of
// other programs have some of it or nothing.
type Details struct {
	// ReadFiles and ModifiedFiles are those that calls touched, from the
	// beginning of the branch.
	ReadFiles     []string `json:"readFiles"`
	ModifiedFiles []string `json:"modifiedFiles"`
	Strategy      Strategy `json:"strategy,omitempty"`
	// Model is the one that summarised, as provider/name.
	Model       string `json:"model,omitempty"`
	TokensAfter int64  `json:"tokensAfter,omitempty"`
	Reason      Reason `json:"reason,omitempty"`
	Hint        string `json:"hint,omitempty"`
	// By says who asked.
	By string `json:"by,omitempty"`
	// Chunks is how many pieces a model summarised, Usage what that cost.
	Chunks int    `json:"chunks,omitempty"`
	Usage  *Usage `json:"usage,omitempty"`
	// State is what was chosen explicitly, for readers that go no further back.
	State *firn.State `json:"state,omitempty"`
	// Count is how many compactions count on this branch, with this one.
	Count int `json:"count,omitempty"`
	// Goal is what the user asked for first, Request what they asked for last if
	// that message is not kept; both are cut if they are long.
	Goal    string `json:"goal,omitempty"`
	Request string `json:"request,omitempty"`
	Pins    []Pin  `json:"pins,omitempty"`
	// Failed is set if the summary was made without a model because the model failed,
	// now or in runs before.
	Failed *FailedSummary `json:"failed,omitempty"`
}

// FailedSummary says why a model did not make a summary.
type FailedSummary struct {
	// Row counts the failed tries in a row, At is when the last one was.
	Row   int       `json:"row"`
	At    time.Time `json:"at"`
	Error string    `json:"error"`
}

// Pin is an entry that the user pinned and that is summarised now: its text
// stands in every summary from here on, byte for byte.
type Pin struct {
	ID   firn.EntryID `json:"id"`
	Role firn.Role    `json:"role"`
	// Text is empty if the entry could not be found.
	Text string `json:"text"`
}

// Usage is a [firn.Usage] as pi spells it.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead"`
	CacheWrite int64 `json:"cacheWrite"`
	Total      int64 `json:"totalTokens"`
	Cost       Cost  `json:"cost"`
}

// Cost is a [firn.Cost] as pi spells it.
type Cost struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
	Total      float64 `json:"total"`
}

// DetailsOf reads the details of a compaction. What is not there, or is not
// what it should be, is empty.
func DetailsOf(c *firn.Compaction) Details {
	var members map[string]json.RawMessage
	if json.Unmarshal(c.Details, &members) != nil {
		return Details{}
	}
	var d Details
	read(members, "readFiles", &d.ReadFiles)
	read(members, "modifiedFiles", &d.ModifiedFiles)
	read(members, "strategy", &d.Strategy)
	read(members, "model", &d.Model)
	read(members, "tokensAfter", &d.TokensAfter)
	read(members, "reason", &d.Reason)
	read(members, "hint", &d.Hint)
	read(members, "by", &d.By)
	read(members, "chunks", &d.Chunks)
	read(members, "usage", &d.Usage)
	read(members, "state", &d.State)
	read(members, "count", &d.Count)
	read(members, "goal", &d.Goal)
	read(members, "request", &d.Request)
	read(members, "pins", &d.Pins)
	read(members, "failed", &d.Failed)
	return d
}

// read reads a member. One that is of another kind is left out as a whole:
// half of it would be worse than nothing.
func read[T any](members map[string]json.RawMessage, name string, to *T) {
	var value T
	if raw, ok := members[name]; ok && json.Unmarshal(raw, &value) == nil {
		*to = value
	}
}

// marshal spells a value as our files do: without escapes for HTML.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("spell %T: %w", v, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// usageOf spells a usage; none if nothing was used.
func usageOf(u firn.Usage) *Usage {
	spelt := Usage{
		Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Total: u.Total,
		Cost: Cost(u.Cost),
	}
	if spelt == (Usage{}) {
		return nil
	}
	return &spelt
}

// addUsage adds what one answer cost.
func addUsage(sum *firn.Usage, u *firn.Usage) {
	if u == nil {
		return
	}
	sum.Input += u.Input
	sum.Output += u.Output
	sum.CacheRead += u.CacheRead
	sum.CacheWrite += u.CacheWrite
	sum.Total += u.Context()
	sum.Cost.Input += u.Cost.Input
	sum.Cost.Output += u.Cost.Output
	sum.Cost.CacheRead += u.Cost.CacheRead
	sum.Cost.CacheWrite += u.Cost.CacheWrite
	sum.Cost.Total += u.Cost.Total
}
