package convert

import (
	"firn.dev/internal/formats/dialect"
	"firn.dev/wire"
)

// Fidelity converts a report to its wire format.
func Fidelity(from, to dialect.Name, limits []dialect.Limit, r *Report) wire.Fidelity {
	becomes := make(map[string]string, len(limits)+len(providerLimits))
	for _, l := range providerLimits {
		becomes[l.Name] = l.Becomes
	}
	for _, l := range limits {
		becomes[l.Name] = l.Becomes
	}
	f := wire.Fidelity{
		From: string(from), To: string(to), Entries: r.Total(), Kinds: r.Entries, Same: r.Same, Reencoded: r.Reencoded, Changed: r.Changed, Left: r.Left,
		UnknownLines: r.UnknownLines, UnknownFields: r.UnknownFields, LostLines: r.LostLines, LostFields: r.LostFields, Damaged: r.Damaged, Faults: r.Faults,
		LinesRead: r.Lines, BytesRead: r.BytesRead, LinesWritten: r.LinesWritten, BytesWritten: r.BytesWritten,
	}
	for _, reason := range r.Reasons() {
		f.Losses = append(f.Losses, wire.Loss{What: reason, Becomes: becomes[reason], Count: r.Losses[reason]})
	}
	return f
}
