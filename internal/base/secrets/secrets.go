// Package secrets recognizes sentences that must not be saved in notes: passwords, API keys,
// tokens and codes. It errs on the side of caution, since a fact that is not noted can be said
// again. Package mask is for text that is displayed, where a false alarm costs more.
package secrets

import (
	"strings"

	"firn.dev/internal/base/pattern"
)

var (
	// named matches the name of a secret that is followed by a value.
	named = pattern.New(`(?i)(?:\b(?:pass ?words?|passwd|pass ?phrases?|pass ?codes?|pin|pin codes?|pins|credentials?|secrets?|api[-_ ]?keys?|access[-_ ]?keys?|private[-_ ]?keys?|tokens?|credit cards?|passwort|passwörter|kennwort|zugangscode|mot de passe|contraseñas?|contrasena|clave)\b|密码|密碼|口令|パスワード|暗証番号|비밀번호)` +
		`[^.\n]{0,40}?(?:\b(?:is|are|lautet|ist|est|es|s)\b|=|:|是|は|为|為|은|는)\s*\S`)
	// harmless matches names of settings and measures that contain the name of a secret.
	harmless = pattern.New(`(?i)\btokens? (?:limit|budget|count|window|usage|price|cost|rate)s?\b|\b(?:max|input|output|per|of|thousand|million|\d[\dk,.]*) tokens?\b|\bpin(?:s|ned)? (?:version|dependenc)|\bsecret santa\b|\bpassword (?:manager|policy|reset|field|form|page)\b`)
	// code matches a code of digits for a door, a card or a lock.
	code = pattern.New(`(?i)\b(?:door|gate|alarm|lock|card|safe|security|access|login|verification|recovery|backup|2fa|otp)[- ]?codes?\b.{0,30}?\d{3,}`)
	// shaped matches the forms of common keys.
	shaped = pattern.New(`\b(?:sk|pk|rk|gsk|xai|hf|gh[pousr]|github_pat|glpat|nvapi|xox[abprs]|pplx|tgp|csk|r8|npm|pypi|dop_v1|shpat|sq0atp)[-_][A-Za-z0-9_-]{10,}|\b(?:AKIA|ASIA)[0-9A-Z]{16}` +
		`|\bAIza[\w-]{20,}|\beyJ[\w-]{8,}\.[\w-]{8,}|-----BEGIN|://[^/\s:@]+:[^/\s:@]+@|(?i:\bbearer\s+[\w.~+/=-]{12,})`)
	longWord = pattern.New(`[A-Za-z0-9+/=_-]{32,}`)
)

// In reports whether a text looks like it contains a secret.
func In(text string) bool {
	if code().MatchString(text) || shaped().MatchString(text) || named().MatchString(harmless().ReplaceAllString(text, "")) {
		return true
	}
	for _, word := range longWord().FindAllString(text, -1) {
		digits := strings.ContainsAny(word, "0123456789")
		letters := strings.ContainsAny(strings.ToLower(word), "ghijklmnopqrstuvwxyz") // not a plain hash
		if digits && letters && !strings.Contains(word, "/") && strings.Count(word, "-") < 4 {
			return true
		}
	}
	return false
}

// Drop returns a text without the lines that contain secrets, and the number of those lines.
func Drop(text string) (kept string, dropped int) {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if In(line) {
			dropped++
			continue
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), dropped
}
