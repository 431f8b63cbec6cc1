package sessionsync

import (
	"crypto/hmac"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/failure"
)

// formatVersion is the version of pieces and manifests.
const formatVersion = 1

// manifest lists pieces that a machine published. A machine writes a new manifest each time,
// numbered from 1.
type manifest struct {
	Version int `json:"version"`
	// Machine is the ID of the machine, Name the name its user gave it.
	Machine string `json:"machine"`
	Name    string `json:"name"`
	Counter int    `json:"counter"`
	// Previous is the name of the machine's manifest before this one; empty for the first.
	Previous string    `json:"previous,omitempty"`
	Time     time.Time `json:"time"`
	// Base is set if the manifests from this number on contain everything that their machine
	// publishes, so that earlier ones may be missing. Those that are there are read: they may
	// have entries of sessions that stay on the machine or are in its trash bin since.
	Base   int        `json:"base,omitempty"`
	Pieces []pieceRef `json:"pieces"`
	// Proof shows that the writer has the sync identity.
	Proof []byte `json:"proof,omitempty"`
}

// pieceRef names a piece.
type pieceRef struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

// encodeManifest returns the sealed manifest and its name.
func (i *Identity) encodeManifest(m manifest) (sealed []byte, name string, err error) {
	m.Version, m.Proof = formatVersion, nil
	plain, err := json.Marshal(m)
	if err != nil {
		return nil, "", err
	}
	m.Proof = i.sign(plain)
	if plain, err = json.Marshal(m); err != nil {
		return nil, "", err
	}
	return i.seal(plain)
}

// decodeManifest opens a sealed manifest and checks that it is the one that its place names.
func (i *Identity) decodeManifest(at place, sealed []byte) (manifest, error) {
	plain, err := i.open(at.name, sealed)
	if err != nil {
		return manifest{}, err
	}
	m, err := i.checkManifest(plain)
	if err == nil && (m.Machine != at.machine || m.Counter != at.counter) {
		err = failure.Of(firn.ErrCorrupt, "it was moved from another place")
	}
	return m, err
}

// checkManifest decodes a manifest and checks its proof.
func (i *Identity) checkManifest(plain []byte) (manifest, error) {
	var m manifest
	if err := json.Unmarshal(plain, &m); err != nil {
		return m, failure.Of(firn.ErrCorrupt, "%v", err)
	}
	proof := m.Proof
	m.Proof = nil
	signed, err := json.Marshal(m)
	if err != nil {
		return m, failure.Of(firn.ErrCorrupt, "%v", err)
	}
	switch {
	case m.Version > formatVersion:
		return m, failure.Of(firn.ErrUnsupported, "a newer firn wrote it")
	case !hmac.Equal(proof, i.sign(signed)):
		return m, failure.Of(firn.ErrCorrupt, "it was not written with the sync identity of this home")
	}
	for _, p := range m.Pieces {
		if !isName(p.Name) {
			return m, failure.Of(firn.ErrCorrupt, "it names the piece %.80q", p.Name)
		}
	}
	return m, nil
}

// place is the place of a manifest on the target: its machine, its number and the hash of
// its bytes.
type place struct {
	machine string
	counter int
	name    string
}

func (p place) path() string {
	return fmt.Sprintf("%s/%s/%010d-%s", manifestDir, p.machine, p.counter, p.name)
}

// parsePlace returns the place of a file in the directory of a machine.
func parsePlace(machine, file string) (place, bool) {
	number, name, ok := strings.Cut(file, "-")
	if !ok || len(number) != 10 || !isName(name) {
		return place{}, false
	}
	n, err := strconv.Atoi(number)
	return place{machine, n, name}, err == nil && n > 0
}

// isName reports whether a text is the name of sealed data: 64 hexadecimal digits.
func isName(name string) bool {
	return len(name) == 64 && strings.Trim(name, "0123456789abcdef") == ""
}

// isMachine reports whether a text is the ID of a machine.
func isMachine(id string) bool {
	return len(id) >= 8 && len(id) <= 64 && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}
