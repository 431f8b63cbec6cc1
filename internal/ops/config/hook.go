package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"firn.dev"
)

// Hook is an address that other programs call.
type Hook struct {
	Token           string `key:"token" doc:"The name of the token that authorizes callers. Not needed if calls are signed."`
	SecretEnv       string `key:"secret_env" is:"variable" doc:"The environment variable that holds the secret for signed calls. Signed calls need no token."`
	SecretFile      string `key:"secret_file" is:"path" doc:"A file that holds the secret, used if the variable is not set."`
	Signature       string `key:"signature" default:"github" allow:"github|standard|slack|stripe" doc:"The format of signatures. All but github sign the time too: calls that are older than five minutes are rejected, and repeated ones are recognized."`
	SignatureHeader string `key:"signature_header" is:"header" default:"X-Hub-Signature-256" doc:"The header with the signature in the format github: sha256= and the HMAC-SHA256 of the body in hex."`
	Agent           string `key:"agent" is:"id" doc:"The agent that receives it. Empty means the default agent."`
	Key             string `key:"key" doc:"The key of the session that receives it. Empty means a new session for each call, under hook:<uuid>."`
	Template        string `key:"template" is:"template" default:"{{.text}}" doc:"The prompt: a Go template executed on the JSON of the request."`
	Model           string `key:"model" is:"model" doc:"The model. Empty means the agent's model."`
	Enabled         bool   `key:"enabled" default:"true" doc:"Whether the hook accepts calls."`
}

// Signed reports whether calls of the hook may be signed.
func (h Hook) Signed() bool { return h.SecretEnv != "" || h.SecretFile != "" }

// Secret returns the secret for signing calls of the hook, or "" if calls are not signed.
// The error is [firn.ErrInvalid] if the named secret is empty, since anyone could sign with
// it.
func (h Hook) Secret(env func(name string) string) (string, error) {
	secret, err := Secret(h.SecretEnv, h.SecretFile, env)
	if err != nil || !h.Signed() || strings.TrimSpace(secret) != "" {
		return secret, err
	}
	var why []string
	if h.SecretEnv != "" {
		why = append(why, "the variable "+h.SecretEnv+" is not set here")
	}
	if h.SecretFile != "" {
		why = append(why, "no secret in "+h.SecretFile)
	}
	return "", fmt.Errorf("the secret is empty because %s: %w", strings.Join(why, " and "), firn.ErrInvalid)
}

// CheckSecrets checks the secrets that only the gateway needs. Other commands may be run by
// users that cannot read them.
func (s *Settings) CheckSecrets() Problems {
	d := &decoder{}
	env := func(name string) string { return s.vars[name] }
	for _, id := range slices.Sorted(maps.Keys(s.Hooks)) {
		h := s.Hooks[id]
		if !h.Enabled {
			continue
		}
		if _, err := h.Secret(env); err != nil {
			d.at(s, joinPath([]string{"hooks", id}), "set the secret, or set enabled = false; the gateway cannot start without it", "%s", err)
		}
	}
	return d.problems
}
