package line

import (
	"bytes"
	"strings"
	"unicode"
)

// Terminals that support it report keys by their code and modifiers: as CSI code;mod u in
// the kitty keyboard protocol, and as CSI 27;mod;code ~ with modifyOtherKeys. Without it,
// Shift-Enter cannot be distinguished from Enter.
const (
	keyboardOn  = "\x1b[>1u\x1b[>4;1m"
	keyboardOff = "\x1b[<u\x1b[>4;0m"
)

// Modifiers, as the bits of a parameter minus one.
const (
	modShift   = 1
	modAlt     = 2
	modControl = 4
	modSuper   = 8
)

// held returns the modifiers of a parameter, without locks such as Caps Lock.
func held(param int) int { return max(param-1, 0) & (modShift | modAlt | modControl | modSuper) }

// modified reports whether Alt or Control is held.
func modified(param int) bool { return held(param)&(modAlt|modControl) != 0 }

// isRelease reports whether the parameters of a sequence are those of a released key.
func isRelease(params string) bool {
	_, rest, _ := strings.Cut(params, ";")
	mods, _, _ := strings.Cut(rest, ";")
	_, event, _ := strings.Cut(mods, ":")
	return event == "3"
}

// keypadEnter is the code of Enter on the number pad.
const keypadEnter = 57414

// codeKey returns the key with a code and modifiers.
func codeKey(code, param int) key {
	mods := held(param)
	switch code {
	case '\r', keypadEnter:
		if mods != 0 {
			return key{name: keyNewline}
		}
		return key{name: keyEnter}
	case '\t':
		if mods&modShift != 0 {
			return key{name: keyBackTab}
		}
		return key{name: keyTab}
	case escape:
		return key{name: keyEscape}
	case 0x7f, 0x08:
		if modified(param) {
			return key{name: keyWordBackspace}
		}
		return key{name: keyBackspace}
	}
	if code < 0x20 || code > unicode.MaxRune || code >= 0xe000 && code <= 0xf8ff { // private codes are keys without text
		return key{name: keyUnknown}
	}
	return letterWith(rune(code), mods)
}

// letterWith returns the key of a letter with modifiers.
func letterWith(letter rune, mods int) key {
	switch {
	case mods&modSuper != 0:
		return key{name: keyUnknown}
	case mods&modControl != 0:
		up := unicode.ToUpper(letter)
		if up < '@' || up > '_' {
			return key{name: keyUnknown}
		}
		if up == '[' {
			return key{name: keyEscape}
		}
		k, _ := next([]byte{byte(up) - '@'})
		return k
	case mods&modAlt != 0:
		if alt, ok := altKeys[byte(letter&0x7f)]; ok && letter < 0x80 {
			return key{name: alt}
		}
		return key{name: keyUnknown}
	case mods&modShift != 0:
		letter = unicode.ToUpper(letter)
	}
	if text := cleanInput(string(letter)); text != "" {
		return key{name: keyText, text: text}
	}
	return key{name: keyUnknown}
}

// osc begins an operating system command, with which a terminal reports its colors. st and
// bel end it.
const (
	osc = "\x1b]"
	st  = "\x1b\\"
	bel = 0x07
)

// maxCommandAnswer is the maximum length of an answer that begins with osc.
const maxCommandAnswer = 256

// command decodes an answer that begins with osc. Its text is the content.
func command(b []byte) (key, int) {
	content := b[len(osc):]
	end, n := bytes.IndexByte(content, bel), 1
	if i := bytes.Index(content, []byte(st)); i >= 0 && (end < 0 || i < end) {
		end, n = i, len(st)
	}
	switch {
	case end > maxCommandAnswer, end < 0 && len(content) > maxCommandAnswer:
		return key{name: keyUnknown}, len(osc)
	case end < 0:
		return key{}, 0
	}
	return key{name: keyReply, text: string(content[:end])}, len(osc) + end + n
}
