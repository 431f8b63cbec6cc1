package offline

import "firn.dev/internal/base/secrets"

// refusesSecret is the answer to a request to note a secret. Notes are sent to models in later
// sessions, possibly to those of another provider.
const refusesSecret = "I don't save passwords, keys and tokens in notes: notes are sent to models in later sessions. A password manager is the place for it. It does stay in this conversation; firn purge removes a session."

// secrecy refuses to note a secret.
func secrecy(c *conversation) (reply, bool) {
	groups := rememberPattern().FindStringSubmatch(c.last)
	if groups == nil || isQuestion(c.last) || !secrets.In(groups[1]) {
		return reply{}, false
	}
	return reply{thought: "A secret.", text: refusesSecret}, true
}
