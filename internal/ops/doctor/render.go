package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"firn.dev/internal/render/prose"
)

// Text formats a report as text. Findings about one session are listed together in the
// order they were found.
func (r *Report) Text() string {
	var b strings.Builder
	for _, c := range r.Checks {
		fmt.Fprintf(&b, "%s %-12s %s\n", severityMark(c.Worst), c.Name, c.Result)
	}
	if len(r.Checks) > 0 && len(r.Findings) > 0 {
		b.WriteByte('\n')
	}
	writeFindings(&b, r.Findings)
	r.writeUnlisted(&b)
	if len(r.Findings) > 0 {
		b.WriteByte('\n')
	}
	b.WriteString(r.summary())
	return b.String()
}

func severityMark(worst Severity) string {
	switch worst {
	case Fault:
		return "✗"
	case Warn:
		return "!"
	}
	return "✓"
}

// writeFindings formats findings with their hints.
func writeFindings(b *strings.Builder, findings []Finding) {
	for _, f := range findings {
		fmt.Fprintf(b, "%s\n", strings.TrimSpace(fmt.Sprintf("%-5s  %s  %s", f.Severity, f.Kind, sanitize(f.where()))))
		fmt.Fprintf(b, "       %s\n", sanitize(f.Message))
		if f.Hint != "" {
			fmt.Fprintf(b, "       hint: %s\n", sanitize(f.Hint))
		}
	}
}

// where returns the location of a finding.
func (f *Finding) where() string {
	s := f.File
	if f.At != nil {
		s = fmt.Sprintf("%s:%d (byte %s)", s, f.At.Line, prose.Grouped(f.At.Offset))
	}
	if f.Entry != "" {
		s += fmt.Sprintf(" entry %.64s", f.Entry)
	}
	if f.Repaired {
		s += " [repaired]"
	}
	return strings.TrimSpace(s)
}

// sanitize replaces control characters, which may come from damaged files and affect the
// terminal.
func sanitize(text string) string {
	bad := func(r rune) bool {
		return unicode.IsControl(r) || r == unicode.ReplacementChar || unicode.Is(unicode.Bidi_Control, r)
	}
	if strings.IndexFunc(text, bad) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if bad(r) {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func (r *Report) writeUnlisted(b *strings.Builder) {
	var kinds []Kind
	for k := range r.Unlisted {
		kinds = append(kinds, k)
	}
	slices.Sort(kinds)
	for _, k := range kinds {
		fmt.Fprintf(b, "…      %s more of kind %s\n", prose.Grouped(int64(r.Unlisted[k])), k)
	}
}

// summary returns the result, and the number of accepted faults if there are any.
func (r *Report) summary() string {
	text := r.acceptedResult() + r.proof()
	if r.Unlinked > 0 {
		text += fmt.Sprintf("  %s without any hash: written by another program, or before firn added hashes\n", plural(r.Unlinked, "session"))
	}
	return text
}

// proof describes how many sessions are as the anchor recorded them.
func (r *Report) proof() string {
	if r.Anchored == 0 {
		return ""
	}
	return fmt.Sprintf("  compared %s with the anchor: %s with all that it recorded\n", plural(r.Anchored, "session"), prose.Grouped(int64(r.Proven)))
}

func (r *Report) acceptedResult() string {
	if n := len(r.Accepted); n > 0 {
		return r.result() + fmt.Sprintf("  %s accepted, %d of them now (%s)\n", plural(n, "fault"), r.NewlyAccepted, AcceptedName)
	}
	return r.result()
}

// result returns one line with the amount of data read and the number of faults.
func (r *Report) result() string {
	read := fmt.Sprintf("%s, %s, %s", plural(r.Sessions, "session"), plural(r.Entries, "entry"), prose.Size(r.Bytes))
	if r.Faults == 0 && r.Warnings == 0 {
		return fmt.Sprintf("✓ %s: no faults\n", read)
	}
	if r.Faults == 0 {
		return fmt.Sprintf("✓ %s: no faults, %s\n", read, plural(r.Warnings, "warning"))
	}
	faults := plural(r.Faults, "fault")
	if r.Faulty > 0 {
		faults += " in " + plural(r.Faulty, "session")
	}
	return fmt.Sprintf("✗ %s: %s, %s\n", read, faults, plural(r.Warnings, "warning"))
}

// Text formats a plan as text.
func (p *Plan) Text() string {
	var b strings.Builder
	for _, s := range p.Steps {
		fmt.Fprintf(&b, "%s %-11s  %s\n", stepMark(p.Applied), s.Action, sanitize(s.File))
		fmt.Fprintf(&b, "  %s\n", sanitize(s.Message))
		if s.SavedTo != "" {
			fmt.Fprintf(&b, "  saved as %s\n", sanitize(s.SavedTo))
		}
	}
	for _, f := range p.Failed {
		fmt.Fprintf(&b, "✗ failed       %s\n  %s\n", sanitize(string(f.Session)), sanitize(f.Message))
	}
	if len(p.Left) > 0 {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s that cannot be repaired by appending:\n", plural(len(p.Left), "fault"))
		writeFindings(&b, p.Left)
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	b.WriteString(p.summary())
	return b.String()
}

func stepMark(applied bool) string {
	if applied {
		return "✓"
	}
	return "·"
}

func (p *Plan) summary() string {
	cut := int64(0)
	for _, s := range p.Steps {
		cut += s.Cut
	}
	switch {
	case len(p.Steps) == 0 && len(p.Failed) == 0:
		return "nothing to repair\n"
	case p.Applied:
		return fmt.Sprintf("%s done; %s moved to separate files, none removed\n", plural(len(p.Steps), "step"), plural(int(cut), "byte"))
	}
	return fmt.Sprintf("%s planned, nothing changed yet; run again with --apply\n", plural(len(p.Steps), "step"))
}
