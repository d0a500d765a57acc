// Package preview serves a content folder to whoever writes it: it generates again whenever the
// content changes, in memory, and has the open pages reload. It writes neither public/ nor a store
// that stays.
package preview

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"net"
	"os"
	"regexp"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/content"
	"anteroom/edge/assets"
	"anteroom/edge/native"
	"anteroom/edge/native/receiptkey"
	"anteroom/edge/native/static"
	"anteroom/edge/snapshot"
)

//go:embed preview.js
var script []byte

// The documents that a preview has besides those of the content.
const (
	scriptPath  = "/preview.js"
	versionPath = "/preview-version" // differs after each generation
)

// Run serves a content folder at an address until ctx is done. Faults of the content are printed;
// the pages stay as they were then.
func Run(ctx context.Context, t *cli.Terminal, folder, address string) error {
	listener, err := native.Listen(address)
	if err != nil {
		return err
	}
	defer listener.Close()
	if host, _, err := net.SplitHostPort(listener.Addr().String()); err != nil || !net.ParseIP(host).IsLoopback() {
		return cli.Usage(fmt.Errorf("--addr %s can be reached by others, and a preview is for its writer alone "+
			"(choose an address such as 127.0.0.1:8081)", address))
	}
	data, err := os.MkdirTemp("", "anteroom-preview-")
	if err != nil {
		return fmt.Errorf("make a store for the preview: %w", err)
	}
	defer os.RemoveAll(data)
	p := &preview{t: t, folder: folder, data: data, listener: listener, ended: make(chan error, 1)}
	watch(ctx, folder, func(second bool) bool { return p.show(ctx, second) })
	if p.host == nil {
		return nil
	}
	return p.close()
}

// preview is a host, once the content had no fault for the first time.
type preview struct {
	t        *cli.Terminal
	folder   string
	data     string
	listener net.Listener
	host     *native.Host
	ended    chan error
}

// show generates, and serves that. It prints what failed at the second look.
func (p *preview) show(ctx context.Context, second bool) bool {
	known, documents, err := p.generate()
	switch {
	case err != nil:
	case p.host != nil:
		err = p.host.Publish(known, documents)
	default:
		err = p.start(ctx, known, documents)
	}
	if err != nil && second {
		p.t.Fail(err)
	} else if err == nil {
		p.t.Printf("%s: content %s at http://%s", p.t.Now().Format(time.TimeOnly), known.ShortVersion(), p.listener.Addr())
	}
	p.t.Out.Flush()
	return err == nil
}

// start begins to serve. The receipts of a preview are signed only if the content publishes no key.
func (p *preview) start(ctx context.Context, known *snapshot.Snapshot, documents *static.Documents) (err error) {
	var unlimited int64
	config := native.Config{
		Data: p.data, Create: true, Snapshot: known, Documents: documents, WritesPerMinute: &unlimited,
		Log: slog.New(slog.NewTextHandler(p.t.Err, &slog.HandlerOptions{Level: slog.LevelError})),
	}
	if known.CurrentKey == "" {
		config.Key = receiptkey.New()
	}
	if p.host, err = native.Open(config); err != nil {
		return err
	}
	go func() { p.ended <- p.host.Serve(ctx, p.listener) }()
	return nil
}

func (p *preview) close() error {
	err := <-p.ended
	if closed := p.host.Close(); err == nil {
		err = closed
	}
	return err
}

// cacheLines are the lines of a _headers file that let a browser keep a document.
var cacheLines = regexp.MustCompile(`(?m)^  Cache-Control: .*$`)

func (p *preview) generate() (*snapshot.Snapshot, *static.Documents, error) {
	_, output, err := content.Generate(p.folder, p.t.Now())
	if err != nil {
		return nil, nil, err
	}
	files := make([]assets.File, len(output.Documents), len(output.Documents)+2)
	for i, d := range output.Documents {
		switch {
		case strings.HasSuffix(d.Path, ".html"):
			d.Bytes = fmt.Appendf(d.Content(), "<script src=%q></script>\n", scriptPath)
		case d.Path == assets.HeadersPath:
			d.Bytes = cacheLines.ReplaceAll(d.Content(), []byte("  Cache-Control: no-store"))
		}
		files[i] = d
	}
	files = append(files, assets.File{Path: scriptPath, MediaType: "text/javascript; charset=utf-8", Bytes: script},
		assets.File{Path: versionPath, MediaType: "text/plain; charset=utf-8", Bytes: fmt.Append(nil, p.t.Now().UnixNano())})
	output.Snapshot.Store = "" // the preview has one of its own
	documents, err := static.New(files)
	return output.Snapshot, documents, err
}
