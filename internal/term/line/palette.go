package line

import (
	"io"
	"strings"
)

// Palette says which colors and characters a terminal is sent. The zero value changes
// nothing. Others change neither styles such as bold nor the width of a text.
type Palette struct {
	// NoColor removes colors, and Light chooses those for a light background.
	NoColor, Light bool
	// ASCII replaces symbols and typographic quotes.
	ASCII bool
}

// lightColors maps colors to darker ones of the 256, which can be read on white. The names
// of the colors are those of the terminal, whose yellow and cyan are often too bright.
var lightColors = map[string]string{
	"31": "38;5;124", "32": "38;5;28", "33": "38;5;94", "34": "38;5;19", "35": "38;5;90", "36": "38;5;30", "37": "38;5;238",
	"90": "38;5;242", "91": "38;5;160", "92": "38;5;28", "93": "38;5;94", "94": "38;5;20", "95": "38;5;90", "96": "38;5;30", "97": "38;5;236",
}

// Apply changes the colors and characters of a text for the terminal.
func (p Palette) Apply(text string) string {
	if p.ASCII {
		text = toASCII.Replace(text)
	}
	if !p.NoColor && !p.Light || !strings.Contains(text, "\x1b[") {
		return text
	}
	var b strings.Builder
	for {
		i := strings.Index(text, "\x1b[")
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:i])
		text = text[i:]
		n := 2
		for n < len(text) && (text[n] >= '0' && text[n] <= '9' || text[n] == ';') {
			n++
		}
		if n == len(text) || text[n] != 'm' {
			b.WriteString(text[:n])
		} else {
			b.WriteString(p.style(text[2:n]))
			n++
		}
		text = text[n:]
	}
}

// style returns a sequence of styles with the parameters that are left.
func (p Palette) style(params string) string {
	if params == "" {
		return "\x1b[m"
	}
	words := strings.Split(params, ";")
	var kept []string
	for i := 0; i < len(words); i++ {
		word := words[i]
		if !isColor(word) {
			kept = append(kept, word)
			continue
		}
		whole := words[i : i+colorLength(words[i:])]
		i += len(whole) - 1
		switch {
		case p.NoColor:
		case lightColors[word] != "":
			kept = append(kept, lightColors[word])
		default:
			kept = append(kept, whole...)
		}
	}
	if len(kept) == 0 {
		return ""
	}
	return "\x1b[" + strings.Join(kept, ";") + "m"
}

// isColor reports whether a parameter sets a color: 30 to 49 and 90 to 107.
func isColor(word string) bool {
	switch len(word) {
	case 2:
		return word[0] == '3' || word[0] == '4' || word[0] == '9'
	case 3:
		return strings.HasPrefix(word, "10")
	}
	return false
}

// colorLength returns the number of parameters of the first color: more than one for those
// by number or by red, green and blue.
func colorLength(words []string) int {
	n := 1
	if words[0] == "38" || words[0] == "48" {
		if len(words) > 1 && words[1] == "5" {
			n = 3
		} else if len(words) > 1 && words[1] == "2" {
			n = 5
		}
	}
	return min(n, len(words))
}

// toASCII replaces the symbols that firn draws. Each replacement is as wide as the symbol.
var toASCII = strings.NewReplacer(
	"›", ">", "❯", ">", "▸", ">", "·", "-", "…", "~", "⋯", "~", "–", "-", "—", "-", "“", `"`, "”", `"`, "‘", "'", "’", "'",
	"•", "*", "●", "*", "○", "o", "◆", "+", "◇", "+", "▰", "#", "▱", "-", "█", "#", "▓", "#", "▒", "=", "░", "-", "⎇", "&",
	"↑", "^", "↓", "v", "←", "<", "→", ">", "✓", "v", "✔", "v", "✗", "x", "✘", "x", "×", "x", "─", "-", "━", "-", "═", "=",
	"│", "|", "┃", "|", "║", "|", "▏", "|", "▎", "|", "┌", "+", "┐", "+", "└", "+", "┘", "+", "├", "+", "┤", "+", "┬", "+",
	"┴", "+", "┼", "+", "╭", "+", "╮", "+", "╰", "+", "╯", "+", "╞", "+", "╡", "+", "╪", "+", "╌", "-", "┄", "-", "≈", "~", "√", "v",
	"↳", "+", "⚠", "!", "⏎", "<", "↵", "<", "▾", "v", "▴", "^", "▶", ">", "▲", "^", "▼", "v", "∞", "~", "≤", "<", "≥", ">", "°", "o",
	"±", "+", "÷", "/", "½", "h", "⌫", "<", "⇧", "^", "⌃", "^", "⋮", ":", "∙", "-", "‹", "<", "«", "<", "»", ">", "§", "S", "µ", "u", "■", "#", "□", "o", "▪", "*", "★", "*", "☆", "*", "✎", "*", "✱", "*", "\u00a0", " ", "‑", "-",
)

// Tint returns a writer that changes text for the terminal. A sequence must not be split
// between writes.
func (p Palette) Tint(w io.Writer) io.Writer { return tinted{w, p} }

type tinted struct {
	w io.Writer
	p Palette
}

func (t tinted) Write(b []byte) (int, error) {
	if _, err := io.WriteString(t.w, t.p.Apply(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// IsASCII reports whether the locale in variables of the environment has only ASCII. They
// are the values of LC_ALL, LC_CTYPE and LANG; the first that is set counts. If none is
// set, UTF-8 is assumed.
func IsASCII(values ...string) bool {
	for _, value := range values {
		if value == "" {
			continue
		}
		if value == "C" || value == "POSIX" {
			return true
		}
		_, charset, ok := strings.Cut(value, ".")
		charset, _, _ = strings.Cut(strings.ToLower(charset), "@")
		return ok && charset != "utf-8" && charset != "utf8"
	}
	return false
}
