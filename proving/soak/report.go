//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// summary is the result of a run.
type summary struct {
	OK       bool    `json:"ok"`
	Began    string  `json:"began"`
	Seconds  float64 `json:"seconds"`
	Seed     uint64  `json:"seed"`
	Sent     int     `json:"said"`
	Noted    int     `json:"noted"`
	Unknown  int     `json:"unknown"`
	Sessions int     `json:"sessions"`
	Entries  int     `json:"entries"`
	Lives    int     `json:"lives"`
	// Faults is the number of occurrences of each fault, and Counts the operations of
	// clients.
	Faults map[string]int   `json:"faults"`
	Counts map[string]int64 `json:"counts"`
	// Asked and Failed are the numbers of model requests and failures.
	Asked  int64 `json:"asked"`
	Failed int64 `json:"failed"`
	// NotTried lists the faults that cannot be injected here, with reasons.
	NotTried   []string `json:"notTried,omitempty"`
	Trends     []trend  `json:"trends,omitempty"`
	Complaints []string `json:"complaints"`
	Samples    []sample `json:"samples"`
}

func (s *soak) summary() *summary {
	t := s.ledger.snapshot()
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	_, lives := s.gateway.now()
	out := &summary{
		OK: len(s.ledger.complaints) == 0, Began: s.began.UTC().Format(time.RFC3339), Seconds: time.Since(s.began).Seconds(), Seed: s.Seed,
		Sent: len(t.sent), Noted: len(t.noted), Unknown: len(t.lost), Sessions: len(s.auditor.books), Lives: lives,
		Faults: maps.Clone(s.ledger.faults), Counts: maps.Clone(s.ledger.counts), Asked: s.model.asked.Load(), Failed: s.model.failed.Load(),
		NotTried: s.untried, Complaints: slices.Clone(s.ledger.complaints), Samples: s.samples.all,
	}
	for _, b := range s.auditor.books {
		out.Entries += b.count
	}
	if s.isLongEnough() {
		out.Trends = s.samples.trends()
	}
	return out
}

// table formats the summary.
func (s *summary) table() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(what string, value any) { fmt.Fprintf(w, "%s\t%v\n", what, value) }
	fmt.Fprintln(w)
	row("time", (time.Duration(s.Seconds) * time.Second).String())
	row("seed", s.Seed)
	row("messages acknowledged", s.Sent)
	row("entries acknowledged", s.Noted)
	row("entries of unknown fate", s.Unknown)
	row("sessions, entries in all", fmt.Sprintf("%d, %d", s.Sessions, s.Entries))
	row("processes of the gateway", s.Lives)
	row("model asked, of that failed", fmt.Sprintf("%d, %d", s.Asked, s.Failed))
	for _, k := range slices.Sorted(maps.Keys(s.Faults)) {
		row("fault: "+k, s.Faults[k])
	}
	for _, k := range slices.Sorted(maps.Keys(s.Counts)) {
		row(k, s.Counts[k])
	}
	for _, t := range s.Trends {
		row("second half: "+t.What, fmt.Sprintf("%s: %s", t, map[bool]string{true: "ok", false: "TOO MUCH"}[t.OK]))
	}
	for _, n := range s.NotTried {
		row("not tried", n)
	}
	for _, c := range s.Complaints {
		row("WRONG", c)
	}
	row("result", map[bool]string{true: "ok: nothing that was acknowledged is lost, twice or out of order; verify and doctor are clean", false: "FAILED"}[s.OK])
	w.Flush()
	return b.String()
}

func (s *summary) write(name string) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(data, '\n'), 0o600)
}
