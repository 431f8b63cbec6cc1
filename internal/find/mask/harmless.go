package mask

import (
	"regexp"
	"strings"
	"sync"
)

// blanks are what is written where something else is meant: kinds of values, and
// no value.
var blanks = map[string]bool{
	"null": true, "nil": true, "none": true, "undefined": true, "true": true, "false": true, "yes": true, "no": true, "on": true, "off": true, "string": true, "str": true,
	"text": true, "number": true, "int": true, "integer": true, "boolean": true, "bool": true, "object": true, "any": true, "optional": true, "required": true, "hidden": true,
	"password": true, "passwd": true, "pwd": true, "token": true, "secret": true, "function": true, "redacted": true, "masked": true, "changeme": true,
	"option": true, "options": true, "argument": true, "arguments": true, "parameter": true, "parameters": true, "setting": true, "settings": true,
}

// stands are the forms of what stands for a secret: variables, members of
// something, words that say so, letters that are crossed out.
var stands = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:` + strings.Join([]string{
		`\$\w+`, `\$[({].*`, `%[\w(){}.-]*%?[sdvq]?`, `<[\w -]*>?`, `\[secret.*`, `\{\{.*`,
		`(?:os|env|process|self|this|config|cfg|settings|args|opts|options|req|request|ctx|import|secrets|vars|local|data|params)\.[\w.\[\]'"]*`,
		`(?:your|example|dummy|fake)(?:[-_ ][a-z_-]*|[a-z]*here)?`, `[x*.…•#-]+`, `(?:null|undefined|none)[^a-z0-9].*`,
		`[\w.]*\.(?:password|passwd|token|secret|api_?key|key)`,
	}, "|") + `)$`)
})

// harmless reports whether what looks like a secret stands for one: a variable,
// a placeholder, or what was masked already.
func harmless(secret string) bool {
	if len(secret) > 256 {
		return false
	}
	return blanks[strings.ToLower(secret)] || stands().MatchString(secret)
}
