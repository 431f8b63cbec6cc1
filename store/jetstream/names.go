package jetstream

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"hash/fnv"
	"strings"

	"firn.dev"
)

// names holds the names of streams, subjects and buckets. Subjects contain no user text
// except the session ID, which [firn.ID.Check] has validated.
type names struct {
	space  string
	shards int
}

// isWord reports whether s can be part of a stream name.
func isWord(s string) bool {
	for _, c := range s {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

// token encodes an ID as one part of a subject, which must not contain dots.
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

// all returns the subject of all sessions of a shard.
func (n names) all(shard int) string { return fmt.Sprintf("%s.s.%02d.*", n.space, shard) }

// sessionOf returns the session of a subject.
func (n names) sessionOf(subject string) firn.ID {
	return idOf(subject[strings.LastIndexByte(subject, '.')+1:])
}

func (n names) keys() string  { return n.space + "_KEYS" }
func (n names) index() string { return n.space + "_IDX" }
func (n names) blobs() string { return n.space + "_BLOB" }

// keyName returns the name under which a key is stored. It is a hash, because keys are user
// text; the value contains the key.
func keyName(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "k." + strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
}

// shardsName is the name of the number of shards.
const shardsName = "shards"

func rowName(id firn.ID) string     { return "i." + token(id) }
func markName(shard int) string     { return fmt.Sprintf("w.%02d", shard) }
func bucketStream(b string) string  { return "KV_" + b }
func bucketSubject(b string) string { return "$KV." + b + "." }
