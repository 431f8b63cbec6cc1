package cersei

import (
	"math"
	"strconv"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/blocks"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// utterance is a message to be encoded.
type utterance struct {
	kind, uuid string
	parts      []firn.Part
	// answer is the message if it is an assistant's.
	answer *firn.Message
	// mark is firn's mark, as JSON.
	mark string
}

// write appends the line of a message in either format. An empty message is omitted.
func (p *printer) write(dst []byte, e firn.Entry, u utterance) (out []byte, spoken bool) {
	if len(u.parts) == 0 {
		p.to.ReportLoss(&e, limitEmpty, true)
		return dst, false
	}
	if p.bare {
		return append(p.content(dst, u), '\n'), true
	}
	dst = appendText(dst, `{"type":`, u.kind)
	dst = appendText(dst, `,"uuid":`, u.uuid)
	if u.kind == "assistant" && p.last != "" {
		dst = appendText(dst, `,"parent_uuid":`, p.last)
	}
	if p.options.ForClaude {
		dst = p.claudeParent(dst)
	}
	dst = appendText(dst, `,"timestamp":`, dialect.ChronoTime(p.time))
	dst = appendText(dst, `,"session_id":`, p.session)
	if p.options.ForClaude {
		dst = appendText(dst, `,"sessionId":`, p.session)
	}
	dst = appendText(dst, `,"cwd":`, p.cwd)
	dst = append(dst, `,"message":`...)
	dst = p.content(dst, u)
	dst = append(dst, `,"is_sidechain":false`...)
	if p.options.ForClaude {
		dst = append(dst, `,"isSidechain":false`...)
	}
	if u.mark != "" {
		dst = append(dst, `,"extra":{"firn":`...)
		dst = append(dst, u.mark...)
		dst = append(dst, '}')
	}
	p.last = u.uuid
	return append(dst, "}\n"...), true
}

// claudeParent appends the link that Claude Code follows: every line names the previous
// one.
func (p *printer) claudeParent(dst []byte) []byte {
	if p.last == "" {
		return append(dst, `,"parentUuid":null`...)
	}
	return appendText(dst, `,"parentUuid":`, p.last)
}

// content appends the message itself. A single text of a user or the system is a string, as
// in Cersei's own constructors.
func (p *printer) content(dst []byte, u utterance) []byte {
	dst = appendText(dst, `{"role":`, u.kind)
	dst = append(dst, `,"content":`...)
	if text, ok := plain(u.parts); ok && u.answer == nil {
		dst = rawjson.AppendString(dst, text)
	} else {
		dst = blocks.Append(dst, u.parts, blocks.Compact)
	}
	if u.answer != nil {
		if id := p.responseID(u); id != "" {
			dst = appendText(dst, `,"id":`, id)
		}
		dst = p.metadata(dst, u.answer)
	}
	return append(dst, '}')
}

func plain(parts []firn.Part) (string, bool) {
	if len(parts) != 1 {
		return "", false
	}
	t, ok := parts[0].(firn.Text)
	return t.Text, ok
}

// responseID returns the ID of a response. Claude Code requires a unique one.
func (p *printer) responseID(u utterance) string {
	r := rawjson.New(u.answer.Extra.Get(dialect.ResponseID))
	id, _ := r.Text()
	if id == "" && p.options.ForClaude {
		return "msg_" + strings.ReplaceAll(u.uuid, "-", "")
	}
	return id
}

// metadata appends the model and the usage, if known.
func (p *printer) metadata(dst []byte, m *firn.Message) []byte {
	if m.Model == "" && m.Usage == nil {
		return dst
	}
	model, usage := m.Model, m.Usage
	if model == "" {
		model = p.to.Model
	}
	if usage == nil {
		usage = new(firn.Usage)
	}
	dst = appendText(dst, `,"metadata":{"model":`, model)
	dst = appendUsage(dst, usage)
	dst = appendText(dst, `,"stop_reason":`, stopReason(m))
	return append(dst, '}')
}

func appendUsage(dst []byte, u *firn.Usage) []byte {
	dst = appendNumber(dst, `,"usage":{"input_tokens":`, u.Input)
	dst = appendNumber(dst, `,"output_tokens":`, u.Output)
	dst = appendNumber(dst, `,"total_tokens":`, u.Context())
	if cost := u.Cost.Total; cost != 0 && !math.IsNaN(cost) && !math.IsInf(cost, 0) {
		dst = append(dst, `,"cost_usd":`...)
		dst = appendFloat(dst, cost)
	}
	if raw := u.Extra.Get("provider_usage"); rawjson.Valid(raw) == nil {
		dst = append(append(dst, `,"provider_usage":`...), rawjson.CleanLine(raw)...)
	} else if u.CacheRead != 0 || u.CacheWrite != 0 {
		dst = appendNumber(dst, `,"provider_usage":{"cache_creation_input_tokens":`, u.CacheWrite)
		dst = appendNumber(dst, `,"cache_read_input_tokens":`, u.CacheRead)
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// stopReason returns Cersei's stop reason. There is none for failure.
func stopReason(m *firn.Message) string {
	switch m.StopReason {
	case firn.StopLength:
		return "max_tokens"
	case firn.StopToolUse:
		return "tool_use"
	}
	return "end_turn"
}

// appendFloat appends a number as serde_json does: with an exponent only if it is very
// small or large, and always as a fraction.
func appendFloat(dst []byte, f float64) []byte {
	short := strconv.FormatFloat(f, 'e', -1, 64)
	digits, exponent, _ := strings.Cut(short, "e")
	if n, _ := strconv.Atoi(exponent); n < -5 || n > 15 {
		dst = append(append(dst, digits...), 'e')
		return strconv.AppendInt(dst, int64(n), 10)
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
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
