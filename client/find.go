package client

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// AddressFile is the file in a gateway's home that holds its address.
const AddressFile = "gateway/address.json"

// findTime is the time limit for the gateway's response.
const findTime = 2 * time.Second

// socketFile is the default path of a gateway's socket.
const socketFile = "gateway.sock"

// Find looks for a gateway that serves a home: it reads the address file and checks that
// the gateway responds. The stale address of a killed gateway is not returned. A gateway
// that could not write its address, because the disk is full, is found by its socket at the
// default path. read reads the file; nil means os.ReadFile.
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

// answers reports whether a gateway responds at an address.
func answers(ctx context.Context, address string) bool {
	c, err := New(Options{Address: address})
	if err != nil {
		return false
	}
	defer c.Close()
	return c.alive(ctx)
}

// alive sends a single health check. It works without a token, because /healthz needs none.
func (c *conn) alive(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, findTime)
	defer cancel()
	_, err := c.fetch(ctx, request{method: http.MethodGet, path: []string{"healthz"}}, nil)
	return err == nil
}
