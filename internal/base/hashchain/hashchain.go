// Package hashchain makes changes of a stored transcript detectable. Every line that firn
// writes ends with a link: a hash over the line and all lines before it.
//
// A link is the last member of the line's JSON object, so other programs read the line as
// before. The state after a line is a function of the lines alone, whatever store they are
// in: a state recorded elsewhere proves everything before it, see [Checker.Reached].
//
// An erased line keeps the hash of what was erased, so the lines around it can still be
// checked. The hash includes a random salt, which is erased with the line: the erased text
// cannot be guessed from what is left.
//
// The package is pure: it neither reads nor writes files.
package hashchain

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"sync"

	"firn.dev/internal/base/rawjson"
)

const (
	stateBytes = 24
	saltBytes  = 12
	stateText  = stateBytes / 3 * 4
	linkText   = (stateBytes + saltBytes) / 3 * 4

	linkMember     = `,"chain":"`
	sumMember      = `,"hash":"`
	redactedMember = `,"redacted":"`
	memberEnd      = `"}`

	// LinkBytes is the number of bytes that a link adds to a line.
	LinkBytes = len(linkMember) + linkText + len(memberEnd) - 1
)

// State is the hash over all lines of a session up to a place.
type State [stateBytes]byte

// Sum is the hash of the content of one line.
type Sum [stateBytes]byte

var encoding = base64.RawURLEncoding

// Start returns the state before the first line of a session. It depends on the session's
// ID, so that the lines of one session do not pass for those of another.
func Start(session string) State {
	return State(hash([]byte("firn hash chain 1\x00"), []byte(session)))
}

// String returns the state as text; see [ParseState].
func (s State) String() string { return encoding.EncodeToString(s[:]) }

// ParseState parses the result of [State.String].
func ParseState(text string) (State, error) {
	var s State
	b, err := encoding.Strict().DecodeString(text)
	if err == nil && len(b) != len(s) {
		err = errWrongLength
	}
	copy(s[:], b)
	return s, err
}

var errWrongLength = errors.New("a state of a hash chain has 32 characters")

// Next returns the state after a line, without its newline. Links are not compared: see
// [Checker]. Blank lines do not count, since editors add them.
func (s State) Next(line []byte) State {
	if Blank(line) {
		return s
	}
	return s.With(MarkOf(line))
}

// Mark is the hash of a line and its place in the tree.
type Mark [stateBytes]byte

// MarkOf returns the mark of a line. An erased line has the mark of the original as long as
// its ID and parent are the same.
func MarkOf(line []byte) Mark { return markOf(SumOf(line), line) }

func markOf(sum Sum, line []byte) Mark {
	var room [128]byte
	text := append(room[:0], sum[:]...)
	all := sha256.Sum256(appendPlace(text, line))
	return Mark(all[:stateBytes])
}

// appendPlace appends the ID and the parent of a line, as they are written in it. Of several
// members with one name the first counts.
func appendPlace(dst, line []byte) []byte {
	var id, parent []byte
	r := rawjson.New(trim(line))
	for ok := r.Object(); ok && (id == nil || parent == nil) && r.Member(); {
		switch {
		case id == nil && string(r.Key()) == "id":
			id = r.Raw()
		case parent == nil && string(r.Key()) == "parentId":
			parent = r.Raw()
		default:
			r.Skip()
		}
	}
	return append(append(append(dst, id...), 0), parent...)
}

// With returns the state after a line with a mark.
func (s State) With(mark Mark) State {
	var both [2 * stateBytes]byte
	copy(both[:], s[:])
	copy(both[stateBytes:], mark[:])
	all := sha256.Sum256(both[:])
	return State(all[:stateBytes])
}

// SumOf returns the hash of a line: of its content and salt, or the hash kept in the place
// of an erased line.
func SumOf(line []byte) Sum {
	line = trim(line)
	if sum, ok := KeptSum(line); ok {
		return sum
	}
	if body, l, ok := cutLink(line); ok {
		return sumOf(l.salt[:], body)
	}
	return sumOf(nil, line)
}

// sumOf hashes a body, which lacks its closing brace if it has a salt.
func sumOf(salt, body []byte) Sum {
	if salt == nil {
		return Sum(hash([]byte{0}, body))
	}
	return Sum(hash([]byte{1}, salt, body))
}

func hash(parts ...[]byte) (out [stateBytes]byte) {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p) // a hash never fails
	}
	var all [sha256.Size]byte
	copy(out[:], h.Sum(all[:0]))
	return out
}

// link is what a linked line ends with: the state after the line, and the line's salt.
type link struct {
	state State
	salt  [saltBytes]byte
}

// Append adds a link to the line that begins at start of buf and ends with buf. It returns
// the buffer and the state after the line. A line that is not a JSON object with members
// is left as it is.
func (s State) Append(buf []byte, start int) ([]byte, State) {
	body := buf[start:]
	if len(body) < 3 || body[0] != '{' || body[len(body)-1] != '}' || Blank(body[1:len(body)-1]) {
		return buf, s.Next(body)
	}
	var raw [stateBytes + saltBytes]byte
	salt := raw[stateBytes:]
	readSalt(salt)
	body = body[:len(body)-1]
	next := s.With(markOf(sumOf(salt, body), buf[start:]))
	copy(raw[:], next[:])
	buf = append(buf[:len(buf)-1], linkMember...)
	buf = encoding.AppendEncode(buf, raw[:])
	return append(buf, memberEnd...), next
}

// salts are random bytes read in advance: one system call serves many lines.
var salts struct {
	mu    sync.Mutex
	bytes [64 * saltBytes]byte
	left  int
}

// readSalt fills a salt with random bytes.
func readSalt(salt []byte) {
	salts.mu.Lock()
	defer salts.mu.Unlock()
	if salts.left == 0 {
		_, _ = rand.Read(salts.bytes[:]) // documented never to fail
		salts.left = len(salts.bytes)
	}
	next := salts.bytes[salts.left-saltBytes : salts.left]
	copy(salt, next)
	clear(next)
	salts.left -= saltBytes
}

// cutLink splits a linked line into its body, without the closing brace, and its link.
func cutLink(line []byte) (body []byte, l link, ok bool) {
	line = trim(line)
	text, body := lastMember(line, linkMember, linkText)
	if text == nil {
		return nil, l, false
	}
	var raw [stateBytes + saltBytes]byte
	if _, err := encoding.Strict().Decode(raw[:], text); err != nil {
		return nil, l, false
	}
	copy(l.state[:], raw[:stateBytes])
	copy(l.salt[:], raw[stateBytes:])
	return body, l, true
}

// lastMember returns the text of a JSON object's last member and what precedes it; nil if
// the last member is another one.
func lastMember(line []byte, member string, length int) (text, before []byte) {
	at := len(line) - len(memberEnd) - length - len(member)
	if at < 1 || line[0] != '{' || !bytes.HasSuffix(line, []byte(memberEnd)) || !bytes.HasPrefix(line[at:], []byte(member)) {
		return nil, nil
	}
	return line[at+len(member) : len(line)-len(memberEnd)], line[:at]
}

// LinkOf returns the state recorded in a line, and false if the line has no link.
func LinkOf(line []byte) (State, bool) {
	_, l, ok := cutLink(line)
	return l.state, ok
}

// LinkOffset returns the offset of a line's link, or 0 if the line has none.
func LinkOffset(line []byte) int {
	body, _, ok := cutLink(line)
	if !ok || line[0] != '{' {
		return 0
	}
	return len(body)
}

// Without returns a copy of a line without its link. A line without link is returned as it
// is.
func Without(line []byte) []byte {
	body, _, ok := cutLink(line)
	if !ok {
		return line
	}
	return append(append(make([]byte, 0, len(body)+1), body...), '}')
}

var erasedStart = []byte(`{"type":"erased",`)

// AppendSum adds the hash of an erased line to the line in its place, which lacks its
// closing brace. [KeptSum] finds it once the brace is there. Of a line without link nothing
// is added: without a salt, the erased text could be guessed from its hash.
func AppendSum(buf, erased []byte) []byte {
	if _, linked := LinkOf(erased); !linked {
		return buf
	}
	sum := SumOf(erased)
	buf = append(buf, sumMember...)
	buf = encoding.AppendEncode(buf, sum[:])
	return append(buf, '"')
}

// SumBytes is the number of bytes that AppendSum adds.
const SumBytes = len(sumMember) + stateText + 1

// Redact returns the line in the place of one with a link that is shared with parts of its
// text left out: it has the hash of the original instead of the link.
func Redact(redacted, original []byte) []byte {
	body := bytes.Clone(Without(trim(redacted)))
	if len(body) < 3 || body[len(body)-1] != '}' {
		return redacted
	}
	sum := SumOf(original)
	body = append(body[:len(body)-1], redactedMember...)
	return append(encoding.AppendEncode(body, sum[:]), memberEnd...)
}

// KeptSum returns the hash that a line has in the place of an erased or redacted one, and
// false if it is another line.
func KeptSum(line []byte) (Sum, bool) {
	var sum Sum
	text, _ := lastMember(trim(line), redactedMember, stateText)
	if IsErased(line) {
		text, _ = lastMember(bytes.TrimRight(line, " \r"), sumMember, stateText)
		if !onlyPlace(line) {
			return sum, false
		}
	}
	if text == nil {
		return sum, false
	}
	_, err := encoding.Strict().Decode(sum[:], text)
	return sum, err == nil
}

// onlyPlace reports whether an erased line has no members but those of a place in the tree,
// each at most once and in order.
func onlyPlace(line []byte) bool {
	names := []string{"type", "id", "parentId", "timestamp", "hash"}
	r := rawjson.New(line)
	for ok := r.Object(); ok && r.Member(); r.Skip() {
		for len(names) > 0 && names[0] != string(r.Key()) {
			names = names[1:]
		}
		if len(names) == 0 {
			return false
		}
		names = names[1:]
	}
	return r.End() == nil
}

// IsErased reports whether a line is in the place of an erased one.
func IsErased(line []byte) bool { return bytes.HasPrefix(line, erasedStart) }

// trim removes what an editor may add to a line without changing its content: a carriage
// return and a byte order mark.
func trim(line []byte) []byte {
	return bytes.TrimPrefix(bytes.TrimSuffix(line, []byte{'\r'}), []byte("\ufeff"))
}

// Blank reports whether a line contains only white space.
func Blank(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 }
