package live

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"anteroom/cmd/anteroom/internal/continuity"
	"anteroom/edge/civil"
	"anteroom/edge/endpoint/health"
	"anteroom/generator/model"
	"anteroom/generator/tlog"
)

const (
	scoreboard  = "/scoreboard.json" // the newest one
	rosterPath  = "/api/roster"
	receiptPath = "/api/receipt" // lists the receipt keys
)

type keys struct {
	Current string             `json:"public_key_b64"`
	Retired []model.RetiredKey `json:"retired_keys"`
	Status  string             `json:"signing_status"`
}

// Facts reads the published facts that the service may never withdraw. The error wraps ErrNothing
// before a first deployment. After any other error the facts are unknown.
func (s *Service) Facts(ctx context.Context) (continuity.Facts, error) {
	facts := continuity.Facts{Documents: map[string]string{}, Checkpoints: map[string][]byte{}}
	a := s.asker(Timeout, 0)
	p, err := a.identify(ctx)
	if err != nil {
		return facts, err
	}
	if p.manifestWrong != "" {
		err = fmt.Errorf("%s %s", health.Manifest, p.manifestWrong)
	}
	if err == nil {
		err = a.boards(ctx, &p, &facts)
	}
	if err == nil {
		err = a.logs(ctx, &facts)
	}
	if err != nil {
		err = fmt.Errorf("read the published facts of %s: %w", s, err)
	}
	return facts, err
}

func (a *asker) boards(ctx context.Context, p *published, facts *continuity.Facts) error {
	for _, d := range p.manifest.Documents {
		facts.Documents[d.Path] = d.SHA256
	}
	var errs []error
	for _, at := range []string{scoreboard, rosterPath} {
		var board struct {
			AsOf string `json:"as_of"`
		}
		errs = append(errs, a.optional(ctx, at, &board))
		if _, is := civil.ParseDate(board.AsOf); is {
			facts.AsOf = max(facts.AsOf, board.AsOf)
		}
	}
	var k keys
	errs = append(errs, a.optional(ctx, receiptPath, &k))
	if p.manifest.ReceiptKey != "" { // a key that signs while none is published is not promised
		facts.Keys = append(facts.Keys, p.manifest.ReceiptKey, k.Current)
	}
	for _, key := range k.Retired {
		facts.Keys = append(facts.Keys, key.PublicKey)
	}
	return errors.Join(errs...)
}

func (a *asker) logs(ctx context.Context, facts *continuity.Facts) (err error) {
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
		if err == nil {
			facts.Checkpoints[at] = checkpoint
		} else if !errors.Is(err, fs.ErrNotExist) { // a key may have signed nothing yet
			return err
		}
	}
	return err
}

func (a *asker) optional(ctx context.Context, path string, into any) error {
	got, err := a.get(ctx, path)
	if err != nil || got.status == http.StatusNotFound {
		return err
	}
	if wrong := got.object(into); wrong != "" {
		return fmt.Errorf("%s %s", path, wrong)
	}
	return nil
}
