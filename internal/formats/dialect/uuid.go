package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// UUID returns an ID for tools that accept only UUIDs. A UUID is returned unchanged; any
// other name is mapped to a version 8 UUID, a digest of scope and name.
func UUID(scope, name string) string {
	if IsUUID(name) {
		return name
	}
	sum := sha256.Sum256([]byte(scope + "\x00" + name))
	sum[6] = sum[6]&0x0f | 0x80
	sum[8] = sum[8]&0x3f | 0x80
	h := hex.EncodeToString(sum[:16])
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

// IsUUID reports whether s is a UUID of any version in lower case.
func IsUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case (c < '0' || c > '9') && (c < 'a' || c > 'f'):
			return false
		}
	}
	return true
}
