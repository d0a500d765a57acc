package server

import (
	"context"
	"encoding/json"
	"fmt"
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

// Replicated asks Litestream at its control socket for the time up to which it has replicated a
// database (Litestream 0.5, GET /list).
func Replicated(ctx context.Context, socket, database string) (time.Time, error) {
	const timeout = 2 * time.Second
	client := &http.Client{Timeout: timeout, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}
	fail := func(err error) (time.Time, error) {
		return time.Time{}, fmt.Errorf("ask Litestream at %s: %w (is it running? --replica names its control socket)", socket, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/list", http.NoBody)
	if err != nil {
		return fail(err)
	}
	answer, err := client.Do(request)
	if err != nil {
		return fail(err)
	}
	defer answer.Body.Close()
	var list struct {
		Databases []struct {
			Path     string    `json:"path"`
			LastSync time.Time `json:"last_sync_at"`
		} `json:"databases"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&list); err != nil {
		return fail(fmt.Errorf("read its databases: %w", err))
	}
	ours, err := os.Stat(database)
	if err != nil {
		return time.Time{}, err
	}
	for _, d := range list.Databases {
		theirs, err := os.Stat(d.Path)
		switch {
		case err != nil || !os.SameFile(ours, theirs):
		case d.LastSync.IsZero():
			return time.Time{}, fmt.Errorf("litestream has not replicated %s yet (look at its log)", database)
		default:
			return d.LastSync, nil
		}
	}
	return time.Time{}, fmt.Errorf("litestream does not replicate %s (name it in litestream.yml)", database)
}
