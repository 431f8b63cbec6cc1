package compact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"firn.dev"
)

// Details is the data that firn records with a compaction besides its summary. Files of
// other programs have some or none of it.
type Details struct {
	// ReadFiles and ModifiedFiles are the files that calls touched since the start of the
	// branch.
	ReadFiles     []string `json:"readFiles"`
	ModifiedFiles []string `json:"modifiedFiles"`
	Strategy      Strategy `json:"strategy,omitempty"`
	// Model is the model that wrote the summary, as provider/name.
	Model       string `json:"model,omitempty"`
	TokensAfter int64  `json:"tokensAfter,omitempty"`
	Reason      Reason `json:"reason,omitempty"`
	Hint        string `json:"hint,omitempty"`
	// By is the user or program that requested the compaction.
	By string `json:"by,omitempty"`
	// Chunks is the number of pieces that a model summarized, Usage their total cost.
	Chunks int    `json:"chunks,omitempty"`
	Usage  *Usage `json:"usage,omitempty"`
	// State is the explicitly chosen state, for readers that stop at the compaction.
	State *firn.State `json:"state,omitempty"`
	// Count is the number of compactions in effect on this branch, including this one.
	Count int `json:"count,omitempty"`
	// Goal is the user's first request. Request is the last one if its message is not kept.
	// Long texts are cut.
	Goal    string `json:"goal,omitempty"`
	Request string `json:"request,omitempty"`
	Pins    []Pin  `json:"pins,omitempty"`
	// Failed is set if the summary was made without a model because the model failed, in
	// this run or in earlier ones.
	Failed *FailedSummary `json:"failed,omitempty"`
}

// FailedSummary describes why a model did not write a summary.
type FailedSummary struct {
	// Row is the number of consecutive failed attempts, At the time of the last one.
	Row   int       `json:"row"`
	At    time.Time `json:"at"`
	Error string    `json:"error"`
}

// Pin is a pinned entry that is now summarized: its text is included verbatim in every
// summary from here on.
type Pin struct {
	ID   firn.EntryID `json:"id"`
	Role firn.Role    `json:"role"`
	// Text is empty if the entry could not be found.
	Text string `json:"text"`
}

// Usage is a [firn.Usage] in pi's JSON format.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead"`
	CacheWrite int64 `json:"cacheWrite"`
	Total      int64 `json:"totalTokens"`
	Cost       Cost  `json:"cost"`
}

// Cost is a [firn.Cost] in pi's JSON format.
type Cost struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
	Total      float64 `json:"total"`
}

// DetailsOf decodes the details of a compaction. Missing or invalid members are empty.
func DetailsOf(c *firn.Compaction) Details {
	var members map[string]json.RawMessage
	if json.Unmarshal(c.Details, &members) != nil {
		return Details{}
	}
	var d Details
	readMember(members, "readFiles", &d.ReadFiles)
	readMember(members, "modifiedFiles", &d.ModifiedFiles)
	readMember(members, "strategy", &d.Strategy)
	readMember(members, "model", &d.Model)
	readMember(members, "tokensAfter", &d.TokensAfter)
	readMember(members, "reason", &d.Reason)
	readMember(members, "hint", &d.Hint)
	readMember(members, "by", &d.By)
	readMember(members, "chunks", &d.Chunks)
	readMember(members, "usage", &d.Usage)
	readMember(members, "state", &d.State)
	readMember(members, "count", &d.Count)
	readMember(members, "goal", &d.Goal)
	readMember(members, "request", &d.Request)
	readMember(members, "pins", &d.Pins)
	readMember(members, "failed", &d.Failed)
	return d
}

// readMember decodes a member. If it has the wrong type, it is left out completely rather
// than decoded in part.
func readMember[T any](members map[string]json.RawMessage, name string, to *T) {
	var value T
	if raw, ok := members[name]; ok && json.Unmarshal(raw, &value) == nil {
		*to = value
	}
}

// marshal encodes a value without HTML escapes, as firn's files do.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// usageOf converts a usage; it returns nil if it is zero.
func usageOf(u firn.Usage) *Usage {
	encoded := Usage{
		Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Total: u.Total,
		Cost: Cost(u.Cost),
	}
	if encoded == (Usage{}) {
		return nil
	}
	return &encoded
}

// addUsage adds the usage of one answer to a sum.
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
