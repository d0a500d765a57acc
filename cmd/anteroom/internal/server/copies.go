package server

import (
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
	files, _ := filepath.Glob(filepath.Join(folder, "*.db")) // fails only for a bad pattern
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.ModTime().After(at) {
			name, at = file, info.ModTime()
		}
	}
	return name, at
}

// Replicated returns the time up to which Litestream has replicated a database, from its control
// socket (Litestream 0.5, GET /list).
func Replicated(ctx context.Context, socket, database string) (at time.Time, err error) {
	list, err := askLitestream(ctx, socket)
	if err != nil {
		return at, fmt.Errorf("ask Litestream at %s: %w (look at its log, and restart it; --replica names its "+
			"control socket)", socket, err)
	}
	ours, err := os.Stat(database)
	if err != nil {
		return at, err
	}
	for _, d := range list.Databases {
		theirs, err := os.Stat(d.Path)
		switch {
		case err != nil || !os.SameFile(ours, theirs):
		case d.LastSync.IsZero():
			return at, fmt.Errorf("litestream has not replicated %s yet (look at its log)", database)
		default:
			return d.LastSync, nil
		}
	}
	return at, fmt.Errorf("litestream does not replicate %s (name it in litestream.yml)", database)
}

type replicas struct {
	Databases []struct {
		Path     string    `json:"path"`
		LastSync time.Time `json:"last_sync_at"`
	} `json:"databases"`
}

func askLitestream(ctx context.Context, socket string) (list replicas, err error) {
	const timeout, maxAnswer = time.Second, 1 << 20 // a scrape of metrics waits for it
	client := &http.Client{Timeout: timeout, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/list", nil)
	if err != nil {
		return list, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return list, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.200q", answer.Status, text)
	}
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	return list, err
}
