package tlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/note"
	merkle "golang.org/x/mod/sumdb/tlog"
)

// Witness cosigns checkpoints (C2SP tlog-witness).
type Witness struct {
	Key string `yaml:"key" is:"line"`     // verifier key with the algorithm 0x04 (C2SP tlog-cosignature)
	URL string `yaml:"url" is:"upstream"` // prefix of the witness's API
}

func (w *Witness) Name() string {
	name, _, _ := strings.Cut(w.Key, "+")
	return name
}

func (w *Witness) Check() error {
	_, err := w.verifier()
	return err
}

func (w *Witness) verifier() (note.Verifier, error) {
	v, err := torchwood.NewCosignatureVerifier(w.Key)
	if err != nil {
		return nil, fmt.Errorf("witness key %.100q: %w: want a name, a hash and an Ed25519 key of type 4, "+
			"joined with +", w.Key, err)
	}
	return v, nil
}

const (
	witnessTimeout = 20 * time.Second // for all requests to one witness
	maxAnswer      = 64 << 10         // bytes of a response
	maxAsked       = 4                // requests about one checkpoint
)

type Asked struct {
	Name, URL string
	Cosigned  bool
	Error     string // the reason if not cosigned
}

// CosignAll requests cosignatures of the newest checkpoint from all witnesses that have not
// cosigned it. It returns the checkpoint with all cosignatures.
//
// It accepts that a slow witness holds up the others, for at most witnessTimeout: there are few,
// and each is asked once for each verification.
func (l *Log) CosignAll(ctx context.Context, client *http.Client) (asked []Asked, checkpoint []byte, err error) {
	checkpoint = l.Current().Checkpoint
	for i := range l.Witnesses {
		w := &l.Witnesses[i]
		a := Asked{Name: w.Name(), URL: w.URL, Cosigned: l.cosigned(checkpoint, w)}
		if !a.Cosigned {
			line, err := l.Cosign(ctx, client, w)
			if err != nil {
				a.Error = err.Error()
			}
			a.Cosigned, checkpoint = err == nil, slices.Concat(checkpoint, line)
		}
		asked = append(asked, a)
	}
	_, err = Open(checkpoint, l.Key, l.Witnesses)
	return asked, checkpoint, err
}

func (l *Log) cosigned(checkpoint []byte, w *Witness) bool {
	c, err := Open(checkpoint, l.Key, []Witness{*w})
	return err == nil && len(c.Cosigned) > 0
}

// Cosign requests a witness's cosignature of the newest checkpoint (C2SP tlog-witness): a line to
// append to the checkpoint. A witness that has seen a tree of another size names that size, and is
// asked again with a proof from it.
func (l *Log) Cosign(ctx context.Context, client *http.Client, w *Witness) (line []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, witnessTimeout)
	defer cancel()
	s := l.Current()
	seen := int64(0)
	for range maxAsked {
		body := fmt.Appendf(nil, "old %d\n", seen)
		if 0 < seen && seen < s.Size {
			proof, err := merkle.ProveTree(s.Size, seen, l)
			if err != nil {
				return nil, fmt.Errorf("prove that the tree extends the tree of %d entries: %w", seen, err)
			}
			for _, h := range proof {
				body = fmt.Appendln(body, h)
			}
		}
		status, answer, err := w.ask(ctx, client, append(append(body, '\n'), bare(s.Checkpoint)...))
		if err != nil {
			return nil, err
		}
		switch status {
		case http.StatusOK:
			for line := range bytes.Lines(answer) { // a witness may sign with further keys
				if l.cosigned(slices.Concat([]byte(bare(s.Checkpoint)), line), w) {
					return line, nil
				}
			}
			return nil, errors.New("answer has no cosignature by this key (compare the key with the one the witness publishes)")
		case http.StatusConflict:
			seen, err = strconv.ParseInt(strings.TrimSuffix(string(answer), "\n"), 10, 64)
			if err != nil || seen < 0 || seen > s.Size {
				return nil, fmt.Errorf("has seen a tree of %.20q entries, the newest here has %d (is this content an old copy?)",
					answer, s.Size)
			}
		case http.StatusForbidden, http.StatusNotFound:
			return nil, fmt.Errorf("status %d: does not know the log (ask the witness's operator to add %s, and check the url)",
				status, l.Key)
		case http.StatusUnprocessableEntity:
			return nil, fmt.Errorf("status %d: cosigned another tree: that log, or this one, was forked", status)
		default:
			return nil, fmt.Errorf("status %d (try again later, or check the url)", status)
		}
	}
	return nil, fmt.Errorf("did not accept the size %d, which it named", seen)
}

func (w *Witness) ask(ctx context.Context, client *http.Client, body []byte) (status int, answer []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(w.URL, "/")+"/add-checkpoint",
		bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "text/plain; charset=utf-8")
	resp, err := client.Do(r)
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		return 0, nil, wrapped.Err // the caller names the witness
	} else if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return resp.StatusCode, answer, err
}
