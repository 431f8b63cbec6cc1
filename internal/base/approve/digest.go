package approve

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"slices"
	"strings"
)

// Digest returns the SHA-256 of a tool name and its arguments in canonical form, in hex.
// Space between tokens and the order of members do not matter; everything else does.
func Digest(tool string, arguments json.RawMessage) string {
	h := sha256.New()
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(tool)))
	h.Write(length[:])
	h.Write([]byte(tool))
	h.Write(canonical(arguments))
	return hex.EncodeToString(h.Sum(nil))
}

// canonical returns arguments without space and with sorted members. Members with the same
// name keep their order, and numbers their spelling. What is not JSON is returned as it is,
// after a byte that no JSON begins with.
func canonical(raw json.RawMessage) []byte {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}") // as calls without arguments are run
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var out bytes.Buffer
	if !canonicalValue(d, &out) {
		return append([]byte{0}, raw...)
	}
	if _, err := d.Token(); err != io.EOF {
		return append([]byte{0}, raw...)
	}
	return out.Bytes()
}

// canonicalValue writes the next value. It returns false if there is none.
func canonicalValue(d *json.Decoder, out *bytes.Buffer) bool {
	token, err := d.Token()
	if err != nil {
		return false
	}
	switch token {
	case json.Delim('{'):
		return canonicalObject(d, out)
	case json.Delim('['):
		out.WriteByte('[')
		for n := 0; d.More(); n++ {
			if n > 0 {
				out.WriteByte(',')
			}
			if !canonicalValue(d, out) {
				return false
			}
		}
		out.WriteByte(']')
		_, err := d.Token()
		return err == nil
	}
	return writeToken(token, out)
}

// canonicalObject writes the members of an object, sorted by name.
func canonicalObject(d *json.Decoder, out *bytes.Buffer) bool {
	type member struct{ name, text string }
	var members []member
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return false
		}
		var value bytes.Buffer
		if !writeToken(name, &value) {
			return false
		}
		value.WriteByte(':')
		if !canonicalValue(d, &value) {
			return false
		}
		text, _ := name.(string)
		members = append(members, member{text, value.String()})
	}
	if _, err := d.Token(); err != nil {
		return false
	}
	slices.SortStableFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	out.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(m.text)
	}
	out.WriteByte('}')
	return true
}

// writeToken writes a string, number, boolean or null.
func writeToken(token json.Token, out *bytes.Buffer) bool {
	data, err := json.Marshal(token)
	if err != nil {
		return false
	}
	out.Write(data)
	return true
}
