package blocks_test

import (
	"testing"

	"firn.dev"
	"firn.dev/internal/base/blocks"
)

func TestSidechain(t *testing.T) {
	const line = `{"isSidechain":true,"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"I looked."}]}}`
	m, ok := blocks.Sidechain(&firn.Custom{Type: "claudecode:sidechain", Data: []byte(line)})
	if !ok || m.Role != firn.RoleAssistant || m.Text() != "I looked." {
		t.Errorf("it reads as %+v, %v", m, ok)
	}
	for _, c := range []*firn.Custom{
		{Type: "claudecode:progress", Data: []byte(line)}, {Type: "claudecode:sidechain"}, {Type: "claudecode:sidechain", Data: []byte(`{"message":{"role":"user","content":7}}`)},
		{Type: "claudecode:sidechain", Data: []byte(`{"message":{"role":"system","content":"x"}}`)},
	} {
		if m, ok := blocks.Sidechain(c); ok {
			t.Errorf("%s %s reads as %+v", c.Type, c.Data, m)
		}
	}
}
