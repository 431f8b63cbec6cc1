package linetest

import (
	"encoding/base64"
	"io"
	"strings"
)

// Keyboard is the name of the kitty keyboard protocol as a mode, and OtherKeys that of
// modifyOtherKeys.
const (
	Keyboard  = ">u"
	OtherKeys = ">4"
)

// Answer makes the screen answer questions, as input of the program. Background is the color
// of the background, such as rgb:ffff/ffff/ffff; empty means that the terminal does not report
// it.
func (s *Screen) Answer(keys io.Writer, background string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys, s.background = keys, background
}

// question is what firn asks about the background.
const question = "11;?"

// Answered reports whether a question was answered. Keys that are typed afterwards reach the
// program after the answer.
func (s *Screen) Answered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answered
}

// Copied returns the text that was put on the clipboard last.
func (s *Screen) Copied() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.copied
}

// command interprets an operating system command. Only the question for the background and
// copies to the clipboard are expected.
func (s *Screen) command() int {
	const st = "\x1b\\"
	text := string(s.rest)
	i := strings.Index(text, st)
	if bel := strings.IndexByte(text, 7); bel >= 0 && (i < 0 || bel < i) {
		s.strange = append(s.strange, text[:bel+1])
		return bel + 1
	}
	if i < 0 {
		return 0
	}
	if data, ok := strings.CutPrefix(text[2:i], "52;c;"); ok {
		copied, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			s.strange = append(s.strange, text[:i])
		}
		s.copied = string(copied)
	} else if text[2:i] != question {
		s.strange = append(s.strange, text[:i])
	} else if s.background != "" {
		s.color = "\x1b]11;" + s.background + st
	}
	return i + len(st)
}

// mode handles the modes of the keyboard and the question for the device. It returns false
// for other sequences.
func (s *Screen) mode(params string, final byte) bool {
	switch {
	case params == "" && final == 'c':
		if s.keys != nil {
			keys, text := s.keys, s.color+"\x1b[?62;22c"
			go func() { // the program may be about to write more
				_, _ = io.WriteString(keys, text) // a program that has ended needs no answer
				s.mu.Lock()
				s.answered = true
				s.mu.Unlock()
				select {
				case s.more <- struct{}{}:
				default:
				}
			}()
		}
	case params == ">1" && final == 'u':
		s.modes[Keyboard] = true
	case params == "<" && final == 'u':
		s.modes[Keyboard] = false
	case strings.HasPrefix(params, ">4;") && final == 'm':
		s.modes[OtherKeys] = params != ">4;0"
	default:
		return false
	}
	return true
}
