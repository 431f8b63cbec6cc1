package bridge

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf16"

	"firn.dev/client"
)

// Cut returns the start of a text with at most n units of UTF-16, up to a line break if there
// is one in its second half.
func Cut(text string, n int) string {
	for at, r := range text {
		if n -= max(utf16.RuneLen(r), 1); n < 0 {
			if line := strings.LastIndexByte(text[:at], '\n'); line > at/2 {
				at = line
			}
			return text[:at]
		}
	}
	return text
}

// Pieces splits a text into pieces of at most n units of UTF-16. Line breaks between pieces are
// dropped.
func Pieces(text string, n int) (all []string) {
	for text != "" {
		piece := Cut(text, n)
		all = append(all, piece)
		text = strings.TrimPrefix(text[len(piece):], "\n")
	}
	return all
}

// Users are the IDs of the users who may talk to the agent; * means all.
type Users []string

// ParseUsers parses a list that is separated by commas.
func ParseUsers(list string) (users Users) {
	for id := range strings.SplitSeq(list, ",") {
		if id = strings.TrimSpace(id); id != "" {
			users = append(users, id)
		}
	}
	return users
}

// Has reports whether a user may talk to the agent.
func (u Users) Has(id string) bool { return slices.Contains(u, "*") || slices.Contains(u, id) }

// Environment returns the values of variables, which must all be set. help explains each.
func Environment(help map[string]string) (map[string]string, error) {
	values := make(map[string]string)
	var missing []string
	for name, text := range help {
		if values[name] = os.Getenv(name); values[name] == "" {
			missing = append(missing, fmt.Sprintf("%s is not set: %s", name, text))
		}
	}
	if slices.Sort(missing); len(missing) > 0 {
		return nil, fmt.Errorf("%s", strings.Join(missing, "\n"))
	}
	return values, nil
}

// Connect returns a client of the gateway at FIRN_GATEWAY, with the token FIRN_TOKEN.
func Connect(name string) (*client.Client, error) {
	return client.New(client.Options{Address: os.Getenv("FIRN_GATEWAY"), Token: os.Getenv("FIRN_TOKEN"), UserAgent: name})
}
