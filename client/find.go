package client

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// AddressFile is where a gateway writes down how it is reached, below its home.
const AddressFile = "gateway/address.json"

// findTime is how long a gateway may take to say that it is there.
const findTime = 2 * time.Second

// socketFile is where the socket of a gateway is unless its settings say otherwise.
const socketFile = "gateway.sock"

// Find looks for a gateway that serves a home: it reads the address that the
// gateway wrote down, and asks whether it is there. One that was killed leaves
// its address behind; it is not found. One that had no room on its disk for its
// address is found by its socket, if that is where it usually is. read reads the
// file; nil means os.ReadFile.
func Find(ctx context.Context, home string, read func(path string) ([]byte, error)) (address string, ok bool) {
	if read == nil {
		read = os.ReadFile
	}
	var at struct {
		Address string `json:"address"`
	}
	data, err := read(filepath.Join(home, filepath.FromSlash(AddressFile)))
	if err == nil && json.Unmarshal(data, &at) == nil && answers(ctx, at.Address) {
		return at.Address, true
	}
	socket := filepath.Join(home, socketFile)
	if _, err := os.Lstat(socket); err != nil || at.Address == "unix:"+socket {
		return at.Address, false
	}
	return "unix:" + socket, answers(ctx, "unix:"+socket)
}

// answers reports whether a gateway is at an address.
func answers(ctx context.Context, address string) bool {
	c, err := New(Options{Address: address})
	if err != nil {
		return false
	}
	defer c.Close()
	return c.alive(ctx)
}

// alive asks once whether a gateway is there. That it wants a token from us does
// not matter here: /healthz asks for none.
func (c *Client) alive(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, findTime)
	defer cancel()
	_, err := c.fetch(ctx, request{method: http.MethodGet, path: []string{"healthz"}}, nil)
	return err == nil
}
