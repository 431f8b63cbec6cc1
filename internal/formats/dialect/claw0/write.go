package claw0

import (
	"strconv"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// title writes a title in a line that claw0 skips.
func (p *printer) title(dst []byte, b *firn.Title) []byte {
	if b.Name == "" {
		return dst
	}
	dst = appendText(dst, `{"type": "title", "title": `, b.Name)
	if b.Source != "" {
		dst = appendText(dst, `, "source": `, string(b.Source))
	}
	return p.endWithTime(dst)
}

// compaction writes a compaction in a line that claw0 skips.
func (p *printer) compaction(dst []byte, b *firn.Compaction) []byte {
	if b.Summary == "" {
		return dst
	}
	dst = appendText(dst, `{"type": "compaction", "summary": `, b.Summary)
	if at := p.spanOf(b.FirstKept); at.count > 0 {
		dst = appendNumber(dst, `, "first_kept": `, p.reference(at.first))
	}
	dst = appendNumber(dst, `, "tokens_before": `, b.TokensBefore)
	return p.endWithTime(dst)
}

// tombstone hides or restores an entry in lines that claw0 skips: one for each line of the
// entry.
func (p *printer) tombstone(dst []byte, e firn.Entry, b *firn.Tombstone) []byte {
	at := p.spanOf(b.Target)
	p.to.ReportLoss(&e, limitHiding, at.count == 0)
	for i := range at.count {
		dst = appendNumber(dst, `{"type": "tombstone", "target": `, p.reference(at.first+i))
		dst = p.endWithTime(dst)
	}
	return dst
}

// spanOf returns the lines of an entry.
func (p *printer) spanOf(id firn.EntryID) span {
	if at, ok := p.lines[id]; ok {
		return at
	}
	if n, ok := lineNumber(id); ok && n <= p.number {
		return span{-n, 1}
	}
	return span{}
}

// reference returns the reference to a line: its number if the entry is named by it,
// otherwise a negative offset, which is correct even if the file has lines unknown to the
// printer.
func (p *printer) reference(line int) int64 {
	if line < 0 {
		return int64(-line)
	}
	return int64(line - p.number - 1)
}

// custom writes an original line of claw0 unchanged.
func (p *printer) custom(dst []byte, e firn.Entry, b *firn.Custom) []byte {
	if dialect.IsLine(dialect.Claw0, b) && rawjson.Valid(b.Data) == nil {
		if out, err := rawjson.AppendValue(dst, b.Data); err == nil {
			return p.newline(out)
		}
	}
	p.to.ReportLoss(&e, limitCustom, true)
	return dst
}

// endWithTime ends a line with its time.
func (p *printer) endWithTime(dst []byte) []byte {
	dst = append(dst, `, "ts": `...)
	if p.current {
		return p.end(appendEpoch(dst, p.time))
	}
	return p.end(rawjson.AppendString(dst, stamp(p.time)))
}

func (p *printer) end(dst []byte) []byte { return p.newline(append(dst, '}')) }

func (p *printer) newline(dst []byte) []byte {
	p.number++
	return append(dst, '\n')
}

// stamp formats a time as Python's isoformat does: with six fractional digits, or none if
// they are zero.
func stamp(t time.Time) string {
	t = t.UTC().Truncate(time.Microsecond)
	if t.Nanosecond() == 0 {
		return t.Format("2006-01-02T15:04:05") + "+00:00"
	}
	return t.Format("2006-01-02T15:04:05.000000") + "+00:00"
}

// appendEpoch appends the seconds since 1970 as Python prints them.
func appendEpoch(dst []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(dst, "0.0"...)
	}
	text := strconv.FormatFloat(float64(t.UnixMicro())/1e6, 'f', -1, 64)
	dst = append(dst, text...)
	if !strings.Contains(text, ".") {
		dst = append(dst, ".0"...)
	}
	return dst
}

func appendText(dst []byte, before, text string) []byte {
	return rawjson.AppendString(append(dst, before...), text)
}

func appendNumber(dst []byte, before string, n int64) []byte {
	return strconv.AppendInt(append(dst, before...), n, 10)
}
