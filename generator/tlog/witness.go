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
	"sync"
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

// Name returns the name of the witness in its cosignatures.
func (w *Witness) Name() string {
	name, _, _ := strings.Cut(w.Key, "+")
	return name
}

// Check returns an error if the key of the witness is invalid.
func (w *Witness) Check() error {
	_, err := w.verifier()
	return err
}

func (w *Witness) verifier() (note.Verifier, error) {
	v, err := torchwood.NewCosignatureVerifier(w.Key)
	if err == nil && !validPoint(w.Key) {
		err = errors.New("anyone can sign under this key")
	}
	if err != nil {
		return nil, fmt.Errorf("witness key %.100q: %w: want a name, a hash and an Ed25519 key of type 4, "+
			"joined with +", w.Key, err)
	}
	return v, nil
}

// Bounds of the requests to a witness.
const (
	witnessTimeout = 20 * time.Second // for all requests to one witness
	maxAnswer      = 64 << 10         // bytes of a response
	maxAsked       = 4                // requests about one checkpoint
)

var errSplit = errors.New("cosigned another tree: that log, or this one, was forked")

func (l *Log) cosigned(checkpoint []byte, w *Witness) bool {
	c, err := Open(checkpoint, l.Key, []Witness{*w})
	return err == nil && len(c.Cosigned) > 0
}

// Asked is the result of a request to one witness.
type Asked struct {
	Name     string `json:"name"`
	URL      string `json:"url"`
	Cosigned bool   `json:"cosigned"`
	New      bool   `json:"new"`             // cosigned in this call
	Error    string `json:"error,omitempty"` // the reason if not cosigned
}

// CosignAll requests cosignatures of the newest checkpoint from all witnesses that have not
// cosigned it, concurrently. It returns the checkpoint with all cosignatures.
func (l *Log) CosignAll(ctx context.Context, client *http.Client) (asked []Asked, checkpoint []byte, err error) {
	s := l.Current()
	asked = make([]Asked, len(l.Witnesses))
	lines := make([][]byte, len(asked))
	var asking sync.WaitGroup
	for i := range asked {
		w := &l.Witnesses[i]
		asked[i] = Asked{Name: w.Name(), URL: w.URL, Cosigned: l.cosigned(s.Checkpoint, w)}
		if asked[i].Cosigned {
			continue
		}
		asking.Go(func() {
			var err error
			if lines[i], err = l.Cosign(ctx, client, w); err != nil {
				asked[i].Error = err.Error()
			} else {
				asked[i].Cosigned, asked[i].New = true, true
			}
		})
	}
	asking.Wait()
	checkpoint = slices.Concat(s.Checkpoint, slices.Concat(lines...))
	_, err = Open(checkpoint, l.Key, l.Witnesses)
	return asked, checkpoint, err
}

// Cosign requests a witness's cosignature of the newest checkpoint (C2SP tlog-witness): a line to
// append to the checkpoint.
func (l *Log) Cosign(ctx context.Context, client *http.Client, w *Witness) (line []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, witnessTimeout)
	defer cancel()
	s := l.Current()
	seen := int64(0) // the size that the witness has seen
	for range maxAsked {
		body, err := l.addition(seen)
		if err != nil {
			return nil, err
		}
		status, answer, err := w.ask(ctx, client, body)
		switch {
		case err != nil:
			return nil, err
		case status == http.StatusOK:
			return l.cosignature(w, answer)
		case status != http.StatusConflict:
			return nil, fmt.Errorf("status %d: %s", status, l.refusal(status))
		}
		text := strings.TrimSuffix(string(answer), "\n")
		size, err := strconv.ParseInt(text, 10, 64)
		switch {
		case err != nil || size < 0 || strconv.FormatInt(size, 10) != text:
			return nil, fmt.Errorf("status %d: got %.100q, want the size that the witness has seen", status, text)
		case size > s.Size:
			return nil, fmt.Errorf("has seen a tree of %d entries, but the newest here has %d (is this content an "+
				"old copy?)", size, s.Size)
		case size == seen && size == s.Size:
			return nil, errSplit
		}
		seen = size // another caller may send it a checkpoint meanwhile: then it names a size again
	}
	return nil, fmt.Errorf("did not accept the size it named in %d requests", maxAsked)
}

func (l *Log) addition(seen int64) ([]byte, error) {
	s := l.Current()
	b := fmt.Appendf(nil, "old %d\n", seen)
	if 0 < seen && seen < s.Size {
		proof, err := merkle.ProveTree(s.Size, seen, l)
		if err != nil {
			return nil, fmt.Errorf("prove that the tree extends the tree of %d entries: %w", seen, err)
		}
		for _, h := range proof {
			b = fmt.Appendln(b, h)
		}
	}
	return append(append(b, '\n'), bare(s.Checkpoint)...), nil
}

func (l *Log) refusal(status int) string {
	switch {
	case status == http.StatusForbidden || status == http.StatusNotFound:
		return "does not know the log (ask the witness's operator to add " + l.Key + ", and check the url)"
	case status == http.StatusUnprocessableEntity:
		return errSplit.Error() + " (compare the checkpoints it has cosigned)"
	case status == http.StatusTooManyRequests || status/100 == 5:
		return "temporary failure (try again later)"
	}
	return "not a witness (check the url)"
}

func (w *Witness) ask(ctx context.Context, client *http.Client, body []byte) (status int, answer []byte,
	err error,
) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(w.URL, "/")+"/add-checkpoint",
		bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "text/plain; charset=utf-8")
	direct := *client
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := direct.Do(r)
	if err == nil {
		defer resp.Body.Close()
		status = resp.StatusCode
		answer, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	}
	wrapped := (*url.Error)(nil)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("no answer within %s", witnessTimeout)
	case errors.As(err, &wrapped):
		err = wrapped.Err // the caller names the witness
	case err == nil && len(answer) > maxAnswer:
		err = fmt.Errorf("answer is longer than %d KiB", maxAnswer>>10)
	}
	return status, answer, err
}

func (l *Log) cosignature(w *Witness, answer []byte) ([]byte, error) {
	for line := range bytes.Lines(answer) { // a witness may sign with further keys
		whole := bytes.HasPrefix(line, []byte("— "+w.Name()+" ")) && bytes.HasSuffix(line, []byte("\n"))
		if whole && l.cosigned(slices.Concat([]byte(bare(l.Current().Checkpoint)), line), w) {
			return line, nil
		}
	}
	return nil, errors.New("answer has no cosignature by this key (compare the key with the one the witness " +
		"publishes)")
}
