package project

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"html"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/content"
	"anteroom/edge/assets"
	"anteroom/edge/native"
	"anteroom/edge/native/receiptkey"
	"anteroom/edge/native/static"
	"anteroom/edge/snapshot"
	"anteroom/generator"
	"anteroom/generator/site"
)

//go:embed preview.js
var script []byte

const (
	scriptPath  = "/preview.js"
	versionPath = "/preview-version" // differs after each generation
)

// Preview serves a content folder at a loopback address until ctx is done. It generates again in
// memory whenever the content changes, and has open pages reload. If the content has faults, it
// prints them, and shows them instead of every page. It writes no documents and keeps no store.
func Preview(ctx context.Context, t *cli.Terminal, folder, address string) error {
	listener, err := cli.Listen("addr", address)
	if err != nil {
		return err
	}
	defer listener.Close()
	if host, _, err := net.SplitHostPort(listener.Addr().String()); err != nil || !net.ParseIP(host).IsLoopback() {
		return cli.Usage(fmt.Errorf("--addr %s is not a loopback address (a preview is only for its writer: "+
			"choose one such as 127.0.0.1:8081)", address))
	}
	data, err := os.MkdirTemp("", "anteroom-preview-")
	if err != nil {
		return fmt.Errorf("make a store for the preview: %w", err)
	}
	defer os.RemoveAll(data)
	p := &preview{t: t, folder: folder, data: data, listener: listener, ended: make(chan error, 1)}
	watch(ctx, folder, func() { p.show(ctx) })
	if p.host == nil {
		return nil
	}
	return cmp.Or(<-p.ended, p.host.Close())
}

type preview struct {
	t        *cli.Terminal
	folder   string
	data     string
	listener net.Listener
	made     *generator.Output // the last without a fault
	host     *native.Host
	ended    chan error
}

func (p *preview) show(ctx context.Context) {
	_, made, err := Generate(p.folder, nil, p.t.Now())
	what := "the faults"
	if err == nil {
		p.made, what = made, "content "+made.Snapshot.ShortVersion()
	} else {
		p.t.Fail(err)
	}
	if p.made == nil { // the shipped content has what a host needs to show the faults
		s, _ := site.Load(content.Files)
		p.made, _ = generator.Generate(s)
	}
	failed := p.publish(ctx, err)
	if failed != nil {
		p.t.Fail(failed)
	} else {
		p.t.Printf("%s: %s at http://%s", p.t.Now().Format(time.TimeOnly), what, p.listener.Addr())
	}
	p.t.Out.Flush()
}

func (p *preview) start(ctx context.Context, known *snapshot.Snapshot, documents *static.Documents) (err error) {
	var unlimited int64
	config := native.Config{
		Data: p.data, Create: true, Snapshot: known, Documents: documents, WritesPerMinute: &unlimited,
		Log: slog.New(slog.NewTextHandler(p.t.Err, &slog.HandlerOptions{Level: slog.LevelError})),
	}
	if known.CurrentKey == "" { // a published key signs elsewhere
		config.Key = receiptkey.New()
	}
	if p.host, err = native.Open(config); err != nil {
		return err
	}
	go func() { p.ended <- p.host.Serve(ctx, p.listener) }()
	return nil
}

// cacheLines matches the lines of a _headers file that allow a browser to cache.
var cacheLines = regexp.MustCompile(`(?m)^  Cache-Control: .*$`)

func (p *preview) publish(ctx context.Context, faults error) error {
	var files []assets.File
	for _, d := range p.made.Documents {
		switch {
		case strings.HasSuffix(d.Path, ".html") && faults != nil:
			d.Bytes = faultPage(faults)
		case strings.HasSuffix(d.Path, ".html"):
			d.Bytes = fmt.Appendf(d.Bytes, "<script src=%q></script>\n", scriptPath)
		case d.Path == assets.HeadersPath:
			d.Bytes = cacheLines.ReplaceAll(d.Bytes, []byte("  Cache-Control: no-store"))
		}
		files = append(files, d)
	}
	files = append(files, assets.File{Path: scriptPath, MediaType: "text/javascript; charset=utf-8", Bytes: script},
		assets.File{Path: versionPath, MediaType: "text/plain; charset=utf-8", Bytes: fmt.Append(nil, p.t.Now().UnixNano())})
	p.made.Snapshot.Store, p.made.Snapshot.Segments = "", nil // the preview has another store
	documents, err := static.New(files)
	if err != nil {
		return err
	}
	if p.host == nil {
		return p.start(ctx, p.made.Snapshot, documents)
	}
	return p.host.Publish(p.made.Snapshot, documents)
}

func faultPage(faults error) []byte {
	page := []byte("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Faults</title>\n" +
		"<link rel=\"stylesheet\" href=\"/style.css\">\n<main>\n<h1>The content has faults</h1>\n<ul>\n")
	for line := range strings.SplitSeq(faults.Error(), "\n") {
		page = fmt.Appendf(page, "<li>%s\n", html.EscapeString(line))
	}
	return fmt.Appendf(page, "</ul>\n</main>\n<script src=%q></script>\n", scriptPath)
}

// watch calls look at once, and again whenever the files of a content folder have changed and then
// stayed unchanged for a moment, until ctx is done.
func watch(ctx context.Context, folder string, look func()) {
	seen := fingerprint(folder)
	look()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for last := seen; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := fingerprint(folder)
		if now == last && now != seen {
			seen = now
			look()
		}
		last = now
	}
}

func fingerprint(folder string) string {
	var state strings.Builder
	fs.WalkDir(os.DirFS(folder), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && site.Ignored(name) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		fmt.Fprintln(&state, name, err)
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := os.Stat(filepath.Join(folder, name)); err == nil { // of a link, its target
			fmt.Fprintln(&state, info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
	return state.String()
}
