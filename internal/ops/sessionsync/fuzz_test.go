package sessionsync

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzPiece decodes any bytes as a piece. What is decoded can be compared with a session.
func FuzzPiece(f *testing.F) {
	f.Add([]byte("S{\"id\":\"s1000000\",\"header\":{\"type\":\"session\",\"id\":\"s1000000\"},\"head\":\"a\"}\nE{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"late\":true,\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n"))
	f.Add([]byte("M{\"id\":\"s1000000\",\"archived\":true,\"at\":5}\nX{}\n"))
	f.Add([]byte("E{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := decodePiece(data)
		if err != nil {
			return
		}
		for _, g := range p.groups {
			c, err := readCopy(g.ID, noLines())
			if err != nil {
				t.Fatal(err)
			}
			d := decide(g, c)
			if len(d.add)+len(d.wait) > len(g.lines) {
				t.Errorf("%d lines became %d", len(g.lines), len(d.add)+len(d.wait))
			}
			c.travels(len(c.items))
			c.follows(c.realHead(), "x")
		}
		for _, m := range p.marks {
			once := mergeMarks(Marks{}, m)
			if twice := mergeMarks(once, m); twice.hash() != once.hash() {
				t.Errorf("merging %+v twice makes a difference", m)
			}
		}
	})
}

// FuzzManifest decodes any bytes as a manifest. A manifest that is accepted has a valid proof.
func FuzzManifest(f *testing.F) {
	id, err := ParseIdentity("AGE-SECRET-KEY-1QQQSYQCYQ5RQWZQFPG9SCRGWPUGPZYSNZS23V9CCRYDPK8QARC0SJDFR7H")
	if err != nil {
		if id, err = NewIdentity(); err != nil {
			f.Fatal(err)
		}
	}
	f.Add([]byte(`{"version":1,"machine":"abcdefgh","counter":1,"pieces":[{"name":"00","size":1}]}`))
	f.Add([]byte(`{"version":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := id.checkManifest(data)
		if err != nil {
			return
		}
		m.Proof = nil
		plain, err := json.Marshal(m)
		if err != nil || bytes.Equal(plain, data) {
			t.Errorf("%s was accepted: %v", data, err)
		}
	})
}
