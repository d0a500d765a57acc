package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// NewestBackup returns the newest file of a folder that anteroom backup writes to, or "".
func NewestBackup(folder string) (name string, at time.Time) {
	files, _ := filepath.Glob(filepath.Join(folder, "*.db")) // fails for a bad pattern alone
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.ModTime().After(at) {
			name, at = file, info.ModTime()
		}
	}
	return name, at
}

// Replicated returns the time up to which Litestream has replicated a database, from its control
// socket (Litestream 0.5, GET /list).
func Replicated(ctx context.Context, socket, database string) (time.Time, error) {
	_, at, err := findReplica(ctx, socket, database)
	if err == nil && at.IsZero() {
		err = fmt.Errorf("litestream has not replicated %s yet (look at its log)", database)
	}
	return at, err
}

// findReplica returns the path by which Litestream knows a database, and the time up to which it
// has replicated it.
func findReplica(ctx context.Context, socket, database string) (path string, at time.Time, err error) {
	var list struct {
		Databases []struct {
			Path     string    `json:"path"`
			LastSync time.Time `json:"last_sync_at"`
		} `json:"databases"`
	}
	if err := askLitestream(ctx, socket, http.MethodGet, "/list", nil, &list); err != nil {
		return "", at, err
	}
	ours, err := os.Stat(database)
	if err != nil {
		return "", at, err
	}
	for _, d := range list.Databases {
		if theirs, err := os.Stat(d.Path); err == nil && os.SameFile(ours, theirs) {
			return d.Path, d.LastSync, nil
		}
	}
	return "", at, fmt.Errorf("litestream does not replicate %s (name it in litestream.yml)", database)
}

func askLitestream(ctx context.Context, socket, method, path string, body, into any) (err error) {
	const timeout = 10 * time.Second
	defer func() {
		if err != nil {
			err = fmt.Errorf("ask Litestream at %s: %w (is it running? --replica names its control socket)", socket, err)
		}
	}()
	client := &http.Client{Timeout: timeout, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}
	sent, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, bytes.NewReader(sent))
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	switch {
	case err != nil:
		return err
	case answer.StatusCode != http.StatusOK:
		return fmt.Errorf("%s %s: %s: %.200q", method, path, answer.Status, text)
	case into != nil:
		return json.Unmarshal(text, into)
	}
	return nil
}

const maxAnswer = 1 << 20 // bytes
