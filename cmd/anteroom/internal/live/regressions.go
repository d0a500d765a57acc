package live

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"anteroom/edge/civil"
	"anteroom/edge/endpoint/health"
	"anteroom/generator"
	"anteroom/generator/publish"
	"anteroom/generator/tlog"
)

// The names of regressions, as a deployment is told to allow them.
const (
	RegressionAsOf     = "as_of"    // the date of the newest board goes back
	RegressionBoard    = "board"    // a published board changes or vanishes
	RegressionDocument = "document" // a document vanishes
	RegressionKey      = "key"      // a receipt key vanishes: its receipts would verify no more
	RegressionLog      = "log"      // the public log vanishes, or does not go on from what it has signed
)

// RegressionNames are all of them.
var RegressionNames = []string{RegressionAsOf, RegressionBoard, RegressionDocument, RegressionKey, RegressionLog}

// Regression is something that agents would see go backwards.
type Regression struct {
	Name string `json:"name"` // one of RegressionNames
	Path string `json:"path"` // the path that it is about
	What string `json:"what"` // a sentence, without a full stop; of a fork the evidence follows, in further lines
}

// Regressions lists what agents would see go backwards if output took the place of what the service
// publishes, sorted by name and path. The error wraps ErrNothing where nothing is published yet, as
// before a first deployment: then nothing can go back. It wraps ErrUnreachable or ErrForeign, or is
// another, where it is not known what is published.
func (s *Service) Regressions(ctx context.Context, output *generator.Output) ([]Regression, error) {
	a := s.asker(Timeout, cmp.Or(s.pause, pause))
	p, err := a.identify(ctx)
	if err != nil {
		return nil, err
	}
	if p.manifestErr != nil {
		return nil, fmt.Errorf("look for what is published at %s: %w", s, p.manifestErr)
	}
	next := map[string]*generator.File{}
	for i := range output.Documents {
		next[output.Documents[i].Path] = &output.Documents[i]
	}
	const otherBoard = "%s is published for ever, and the content has something else in its place"
	found := []Regression{}
	add := func(name, path, format string, args ...any) {
		found = append(found, Regression{name, path, fmt.Sprintf(format, args...)})
	}
	if next[health.Manifest] == nil {
		add(RegressionDocument, health.Manifest, "%s is published, and the content has none", health.Manifest)
	}
	var boards []string
	for _, d := range p.manifest.Documents {
		isBoard := publish.IsDatedScoreboard(d.Path)
		switch {
		case isBoard && next[d.Path] == nil:
			add(RegressionBoard, d.Path, "%s is published for ever, and the content has it no more", d.Path)
		case isBoard && d.SHA256 != hashOf(next[d.Path].Content()):
			add(RegressionBoard, d.Path, otherBoard, d.Path)
		case isBoard:
			boards = append(boards, d.Path)
		case next[d.Path] == nil:
			add(RegressionDocument, d.Path, "%s is published, and the content has it no more", d.Path)
		}
	}
	// What the manifest says of a board may be newer than the board itself.
	changed, errs := make([]bool, len(boards)), make([]error, len(boards))
	var asking sync.WaitGroup
	for n, board := range boards {
		asking.Go(func() {
			var got *answer
			if got, errs[n] = a.get(ctx, board); errs[n] == nil {
				changed[n] = got.status == 200 && !bytes.Equal(got.body, next[board].Content())
			}
		})
	}
	asking.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("look for what is published at %s: %w", s, err)
	}
	for n, board := range boards {
		if changed[n] {
			add(RegressionBoard, board, otherBoard, board)
		}
	}
	if err := a.compareBoard(ctx, output, add); err != nil {
		return nil, err
	}
	if err := a.compareKeys(ctx, p.manifest.ReceiptKey, output, add); err != nil {
		return nil, err
	}
	if err := a.compareLog(ctx, output.Log, add); err != nil {
		return nil, fmt.Errorf("look for the public log: %w", err)
	}
	slices.SortFunc(found, func(a, b Regression) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Path, b.Path), strings.Compare(a.What, b.What))
	})
	return found, nil
}

// scoreboard is the path of the newest board among the documents.
const scoreboard = "/scoreboard.json"

// compareBoard adds a date of the newest board that goes back.
func (a *asker) compareBoard(ctx context.Context, output *generator.Output, add func(name, path, format string, args ...any)) error {
	for _, at := range []string{scoreboard, "/api/roster"} {
		got, err := a.get(ctx, at)
		if err != nil {
			return fmt.Errorf("look for the newest board at %s: %w", a, err)
		}
		var board struct {
			AsOf string `json:"as_of"`
		}
		if got.status == 404 {
			continue
		}
		if err := object(at, got, 200, &board); err != nil {
			return fmt.Errorf("look for the newest board at %s: %w", a, err)
		}
		if _, is := civil.ParseDate(board.AsOf); is && board.AsOf > output.Snapshot.AsOf {
			add(RegressionAsOf, at, "%s is as of %s, and the content is as of %s", at, board.AsOf, output.Snapshot.AsOf)
		}
	}
	return nil
}

// receiptPath is where the service says which keys verify its receipts.
const receiptPath = "/api/receipt"

// keys are the members of the answer of receiptPath that name keys.
type keys struct {
	Current string   `json:"public_key_b64"`
	Retired []string `json:"retired_public_keys_b64"`
	Status  string   `json:"signing_status"`
}

// compareKeys adds keys that vanish: those of the documents, and those that the endpoint names. The
// key with which a service signs that publishes none goes on to verify: it is no document's.
func (a *asker) compareKeys(ctx context.Context, published string, output *generator.Output, add func(name, path, format string, args ...any)) error {
	listed := append([]string{output.Snapshot.CurrentKey}, output.Snapshot.RetiredKeys...)
	seen := map[string]bool{"": true}
	missing := func(at, key string) {
		if !seen[key] && !slices.Contains(listed, key) {
			add(RegressionKey, at, "%s names the receipt key %s, which the content lists no more", at, key)
		}
		seen[key] = true
	}
	missing(health.Manifest, published)
	got, err := a.get(ctx, receiptPath)
	if err != nil {
		return fmt.Errorf("look for the receipt keys at %s: %w", a, err)
	}
	if got.status == 404 {
		return nil
	}
	var k keys
	if err := object(receiptPath, got, 200, &k); err != nil {
		return fmt.Errorf("look for the receipt keys at %s: %w", a, err)
	}
	if output.Snapshot.CurrentKey != "" {
		missing(receiptPath, k.Current)
	}
	for _, key := range k.Retired {
		missing(receiptPath, key)
	}
	return nil
}

// compareLog adds a log that vanishes, or that does not go on from the newest checkpoints of what
// is published: each of its trees has one.
func (a *asker) compareLog(ctx context.Context, log *tlog.Log, add func(name, path, format string, args ...any)) error {
	keys, err := tlog.PublishedKeys(func(path string) ([]byte, error) { return a.File(ctx, path) })
	switch {
	case errors.Is(err, tlog.ErrNoLog):
		return nil
	case err != nil:
		return err
	case log == nil:
		add(RegressionLog, tlog.KeysPath, "%s: a log is published for ever, and the content has none", tlog.KeysPath)
		return nil
	}
	for _, key := range keys {
		tree, err := tlog.TreeOf(key)
		if err != nil {
			return err
		}
		at := tlog.CheckpointPath(tree)
		checkpoint, err := a.File(ctx, at)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the key has signed nothing yet
		}
		if err != nil {
			return err
		}
		if err := log.Consistent(checkpoint); err != nil {
			add(RegressionLog, at, "%s: %v", at, err)
		}
	}
	return nil
}
