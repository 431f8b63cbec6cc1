package crabtalk

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// The defaults for a session without agent or sender.
const (
	defaultAgent  = "crab"
	defaultSender = "user"
)

// slug converts a sender or a title to a part of a file name as CrabTalk does: letters and
// digits of all scripts are kept, ASCII letters in lower case; other characters become
// single dashes, with none at either end.
func slug(s string) string {
	dashed := strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r == utf8.RuneError:
			return '-'
		case unicode.IsLetter(r), unicode.IsNumber(r), unicode.Is(unicode.Other_Alphabetic, r):
			return r
		}
		return '-'
	}, s)
	return strings.Join(strings.FieldsFunc(dashed, func(r rune) bool { return r == '-' }), "-")
}

// name is a parsed file name: agent_sender[_number][_title].
type name struct {
	agent, sender, title string
	// seq is the number, 0 if there is none.
	seq uint32
}

// parseName parses a stem without knowing its owner, as CrabTalk's list does: the agent
// extends to the first underscore.
func parseName(stem string) (name, bool) {
	parts := strings.Split(stem, "_")
	if len(parts) < 2 || parts[0] == "" {
		return name{}, false
	}
	for i := 2; i < len(parts); i++ {
		if seq, ok := number(parts[i]); ok {
			return name{parts[0], strings.Join(parts[1:i], "_"), strings.Join(parts[i+1:], "_"), seq}, true
		}
	}
	return name{parts[0], parts[1], strings.Join(parts[2:], "_"), 0}, true
}

// parseNameOf parses a stem with a known agent and sender, which may contain underscores.
// It returns false if the stem is not theirs.
func parseNameOf(stem, agent, sender string) (name, bool) {
	n := name{agent: agent, sender: slug(sender)}
	rest, ok := strings.CutPrefix(stem, agent+"_"+n.sender)
	if !ok || rest != "" && rest[0] != '_' {
		return name{}, false
	}
	digits, title, _ := strings.Cut(strings.TrimPrefix(rest, "_"), "_")
	if seq, ok := number(digits); ok {
		n.seq, n.title = seq, title
	} else {
		n.title = strings.TrimPrefix(rest, "_")
	}
	return n, true
}

// number parses a session number.
func number(digits string) (uint32, bool) {
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	return uint32(n), err == nil
}

// base returns the name without its title, since the title can change.
func (n name) base(stem string) string {
	if n.seq == 0 {
		return stem
	}
	return n.agent + "_" + n.sender + "_" + strconv.FormatUint(uint64(n.seq), 10)
}

// safeID derives a valid session ID from CrabTalk's name.
func safeID(s string) firn.ID {
	if id := firn.ID(s); id.Check() == nil {
		return id
	}
	return firn.ID(dialect.UUID(string(dialect.CrabTalk), s))
}

// keyOf returns the key of an agent's conversation with a sender,
// agent:<agent>:direct:<slug>, or "" if there is no valid one. A sender with an empty slug
// is escaped instead.
func keyOf(agent, sender string) string {
	if agent == "" {
		return ""
	}
	if sender == "" {
		sender = defaultSender
	}
	peer := slug(sender)
	if peer == "" {
		peer = sender
	}
	if strings.Contains(peer, ":") || strings.TrimSpace(peer) != peer {
		return "" // it would be parsed as another kind of key
	}
	return "agent:" + agentID(agent) + ":direct:" + escapeID(peer)
}

// maxAgent limits an agent's ID in bytes, as in keys.
const maxAgent = 64

// agentID derives an agent ID from a name: lower case, with dashes for characters other
// than ASCII letters, digits, dashes and underscores.
func agentID(agent string) string {
	var b strings.Builder
	other := false
	for _, r := range strings.ToLower(strings.TrimSpace(agent)) {
		fits := r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_'
		if fits {
			b.WriteRune(r)
		} else if !other {
			b.WriteByte('-')
		}
		other = !fits
	}
	id := b.String()
	if strings.HasPrefix(id, "-") || id != strings.ToLower(strings.TrimSpace(agent)) {
		id = strings.Trim(id, "-")
	}
	if len(id) > maxAgent {
		id = id[:maxAgent]
	}
	if id == "" {
		return "main"
	}
	return id
}

// escapeID escapes an ID for use in a key: unsafe bytes become %xx.
func escapeID(id string) string {
	const hex = "0123456789abcdef"
	var b strings.Builder
	for i := 0; i < len(id); {
		r, size := utf8.DecodeRuneInString(id[i:])
		broken := r == utf8.RuneError && size == 1
		if !broken && r != '%' && r != 0x130 && !unicode.IsControl(r) && unicode.ToLower(r) == r {
			b.WriteString(id[i : i+size])
		} else {
			for _, c := range []byte(id[i : i+size]) {
				b.Write([]byte{'%', hex[c>>4], hex[c&15]})
			}
		}
		i += size
	}
	return b.String()
}

// unescapeID reverses escapeID.
func unescapeID(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// identity returns the agent and the sender of a session to write.
func identity(to dialect.Target) (agent, sender string) {
	agent, rest := to.Agent, ""
	if after, ok := strings.CutPrefix(to.Key, "agent:"); ok {
		var keyed string
		keyed, rest, _ = strings.Cut(after, ":")
		if agent == "" {
			agent = keyed
		}
	}
	if agent == "" {
		agent = defaultAgent
	}
	var parts []string
	for _, part := range strings.Split(rest, ":") {
		if part != "direct" && part != "dm" && part != "" {
			parts = append(parts, unescapeID(part))
		}
	}
	sender = strings.Join(parts, ":")
	if sender == "" || sender == "main" {
		sender = defaultSender
	}
	return agent, sender
}

// fileAgent returns an agent's name that is safe in a file name. CrabTalk uses names
// unchanged.
func fileAgent(agent string) string {
	plain := agent != "" && len(agent) <= maxPiece && agent[0] != '.' && agent[0] != '-' && !strings.ContainsFunc(agent, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r))
	})
	if plain {
		return agent
	}
	if s := firn.CutText(slug(agent), maxPiece); s != "" {
		return s
	}
	return defaultAgent
}

// maxPiece limits each part of a file name in bytes, so that the whole name is valid on
// common file systems.
const maxPiece = 72
