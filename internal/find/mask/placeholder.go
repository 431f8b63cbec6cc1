package mask

import (
	"regexp"
	"strings"
	"sync"
)

// placeholderWords are words used in place of a value: types, and empty values.
var placeholderWords = map[string]bool{
	"null": true, "nil": true, "none": true, "undefined": true, "true": true, "false": true, "yes": true, "no": true, "on": true, "off": true, "string": true, "str": true,
	"text": true, "number": true, "int": true, "integer": true, "boolean": true, "bool": true, "object": true, "any": true, "optional": true, "required": true, "hidden": true,
	"password": true, "passwd": true, "pwd": true, "token": true, "secret": true, "function": true, "redacted": true, "masked": true, "changeme": true,
	"option": true, "options": true, "argument": true, "arguments": true, "parameter": true, "parameters": true, "setting": true, "settings": true,
}

// placeholderForms returns the forms of expressions used in place of a secret: variables,
// members, placeholder words, crossed out letters.
var placeholderForms = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:` + strings.Join([]string{
		`\$\w+`, `\$[({].*`, `%[\w(){}.-]*%?[sdvq]?`, `<[\w -]*>?`, `\[secret.*`, `\{\{.*`,
		`(?:os|env|process|self|this|config|cfg|settings|args|opts|options|req|request|ctx|import|secrets|vars|local|data|params)\.[\w.\[\]'"]*`,
		`(?:your|example|dummy|fake)(?:[-_ ][a-z_-]*|[a-z]*here)?`, `[x*.…•#-]+`, `(?:null|undefined|none)[^a-z0-9].*`,
		`[\w.]*\.(?:password|passwd|token|secret|api_?key|key)`,
	}, "|") + `)$`)
})

// isPlaceholder reports whether a text only represents a secret: a variable, a placeholder,
// or text that is already masked.
func isPlaceholder(secret string) bool {
	if len(secret) > 256 {
		return false
	}
	return placeholderWords[strings.ToLower(secret)] || placeholderForms().MatchString(secret)
}
