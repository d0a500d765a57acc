package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"anteroom/cmd/anteroom/internal/continuity"
	"anteroom/edge/civil"
	"anteroom/generator/tlog"
)

// scoreboard is the path of the newest board among the documents.
const scoreboard = "/scoreboard.json"

// receiptPath is where the service says which keys verify its receipts.
const receiptPath = "/api/receipt"

// keys are the members of the answer of receiptPath that name keys.
type keys struct {
	Current string   `json:"public_key_b64"`
	Retired []string `json:"retired_public_keys_b64"`
	Status  string   `json:"signing_status"`
}

// Facts reads what the service publishes and may never take back. The error wraps ErrNothing if
// nothing is published yet, as before a first deployment. It wraps ErrUnreachable or ErrForeign, or
// is another, if it is not known what is published.
func (s *Service) Facts(ctx context.Context) (continuity.Facts, error) {
	facts := continuity.Facts{Documents: map[string]string{}, Checkpoints: map[string][]byte{}}
	a := s.asker(Timeout, cmp.Or(s.pause, pause))
	p, err := a.identify(ctx)
	if err != nil {
		return facts, err
	}
	if p.manifestErr != nil {
		return facts, fmt.Errorf("look for what is published at %s: %w", s, p.manifestErr)
	}
	for _, read := range []func(context.Context, *published, *continuity.Facts) error{a.documentFacts, a.boardFacts, a.keyFacts, a.logFacts} {
		if err := read(ctx, &p, &facts); err != nil {
			return facts, fmt.Errorf("look for what is published at %s: %w", s, err)
		}
	}
	return facts, nil
}

// documentFacts reads the manifest, and each dated board: a manifest may be newer than the board.
func (a *asker) documentFacts(ctx context.Context, p *published, facts *continuity.Facts) error {
	var boards []string
	for _, d := range p.manifest.Documents {
		facts.Documents[d.Path] = d.SHA256
		if continuity.IsBoard(d.Path) {
			boards = append(boards, d.Path)
		}
	}
	sums, errs := make([]string, len(boards)), make([]error, len(boards))
	var asking sync.WaitGroup
	for n, board := range boards {
		asking.Go(func() {
			got, err := a.get(ctx, board)
			if errs[n] = err; err == nil && got.status == 200 {
				sums[n] = hashOf(got.body)
			}
		})
	}
	asking.Wait()
	for n, board := range boards {
		facts.Documents[board] = cmp.Or(sums[n], facts.Documents[board])
	}
	return errors.Join(errs...)
}

// boardFacts reads the date of the newest board, of the document or of the endpoint.
func (a *asker) boardFacts(ctx context.Context, _ *published, facts *continuity.Facts) error {
	for _, at := range []string{scoreboard, rosterPath} {
		var board struct {
			AsOf string `json:"as_of"`
		}
		if err := a.optional(ctx, at, &board); err != nil {
			return err
		}
		if _, is := civil.ParseDate(board.AsOf); is && board.AsOf > facts.AsOf {
			facts.AsOf = board.AsOf
		}
	}
	return nil
}

// keyFacts reads the receipt keys. A key that signs while nothing is published is not promised.
func (a *asker) keyFacts(ctx context.Context, p *published, facts *continuity.Facts) error {
	var k keys
	if err := a.optional(ctx, receiptPath, &k); err != nil {
		return err
	}
	if p.manifest.ReceiptKey != "" {
		facts.Keys = append(facts.Keys, p.manifest.ReceiptKey, k.Current)
	}
	facts.Keys = append(facts.Keys, k.Retired...)
	return nil
}

// logFacts reads the keys of the public log, and the newest checkpoint of each tree.
func (a *asker) logFacts(ctx context.Context, _ *published, facts *continuity.Facts) (err error) {
	facts.LogKeys, err = tlog.PublishedKeys(func(path string) ([]byte, error) { return a.File(ctx, path) })
	if errors.Is(err, tlog.ErrNoLog) {
		return nil
	}
	for _, key := range facts.LogKeys {
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
		facts.Checkpoints[at] = checkpoint
	}
	return err
}

// optional reads a JSON object that a service may lack.
func (a *asker) optional(ctx context.Context, path string, into any) error {
	got, err := a.get(ctx, path)
	if err != nil || got.status == 404 {
		return err
	}
	return object(path, got, 200, into)
}
