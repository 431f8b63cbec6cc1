package jetstream

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"hash/fnv"
	"strings"

	"firn.dev"
)

// names says what things are called in the cluster. Nothing that a user has
// written becomes part of a subject but the id of a session, which
// [firn.ID.Check] has passed.
type names struct {
	space  string
	shards int
}

// isWord reports whether s can be part of the name of a stream.
func isWord(s string) bool {
	for _, c := range s {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

// token spells an id as one part of a subject: dots would part it.
func token(id firn.ID) string { return strings.ReplaceAll(string(id), ".", "=") }

// idOf is the inverse of token.
func idOf(token string) firn.ID { return firn.ID(strings.ReplaceAll(token, "=", ".")) }

func (n names) shard(id firn.ID) int {
	h := fnv.New32a()
	h.Write([]byte(id)) // cannot fail
	return int(h.Sum32() % uint32(n.shards))
}

func (n names) stream(shard int) string { return fmt.Sprintf("%s_S%02d", n.space, shard) }

func (n names) subject(id firn.ID) string {
	return fmt.Sprintf("%s.s.%02d.%s", n.space, n.shard(id), token(id))
}

// all is the subject of all sessions of a shard.
func (n names) all(shard int) string { return fmt.Sprintf("%s.s.%02d.*", n.space, shard) }

// sessionOf returns the id of the session that a subject is of.
func (n names) sessionOf(subject string) firn.ID {
	return idOf(subject[strings.LastIndexByte(subject, '.')+1:])
}

func (n names) keys() string  { return n.space + "_KEYS" }
func (n names) index() string { return n.space + "_IDX" }
func (n names) blobs() string { return n.space + "_BLOB" }

// keyName is the name under which a key is kept. Keys are what users write, so
// it is a hash; the value tells the key itself.
func keyName(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "k." + strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
}

// shardsName is where the number of shards is kept.
const shardsName = "shards"

func rowName(id firn.ID) string     { return "i." + token(id) }
func markName(shard int) string     { return fmt.Sprintf("w.%02d", shard) }
func bucketStream(b string) string  { return "KV_" + b }
func bucketSubject(b string) string { return "$KV." + b + "." }
