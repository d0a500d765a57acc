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

// Witness is who cosigns checkpoints (C2SP tlog-witness).
type Witness struct {
	Key string `yaml:"key" is:"line"`     // verifier key with the algorithm 0x04 (C2SP tlog-cosignature)
	URL string `yaml:"url" is:"upstream"` // prefix of its API
}

// Name is the name of a witness in its cosignatures.
func (w *Witness) Name() string {
	name, _, _ := strings.Cut(w.Key, "+")
	return name
}

// Check says what is wrong with the key of a witness.
func (w *Witness) Check() error {
	_, err := w.verifier()
	return err
}

// verifier verifies the cosignatures of a witness.
func (w *Witness) verifier() (note.Verifier, error) {
	v, err := torchwood.NewCosignatureVerifier(w.Key)
	if err != nil {
		return nil, fmt.Errorf("witness key %.100q: %w (it is name, hash and an Ed25519 key of type 4, with + between them)", w.Key, err)
	}
	return v, nil
}

// Bounds of what a witness is asked, and answers.
const (
	WitnessTimeout = 20 * time.Second // for all that one witness is asked
	maxAnswer      = 64 << 10         // bytes of an answer
	maxAsked       = 4                // times that a witness is asked about one checkpoint
)

// ErrSplit is the error about a witness that has cosigned another tree than the log's.
var ErrSplit = errors.New("it has cosigned another tree than this one: that log, or this one, was forked")

// HasCosigned reports whether a witness has cosigned the checkpoint of a stage.
func (s *Stage) HasCosigned(w *Witness) bool {
	c, err := Open(s.Checkpoint, []string{s.Tree.Key}, []Witness{*w})
	return err == nil && len(c.Cosigned) > 0
}

// Asked is what became of asking one witness.
type Asked struct {
	Name     string `json:"name"`
	URL      string `json:"url"`
	Cosigned bool   `json:"cosigned"`
	New      bool   `json:"new"`             // whether it has cosigned now
	Error    string `json:"error,omitempty"` // why it has not
}

// CosignAll asks the witnesses that have not cosigned the newest checkpoint yet, side by side, and
// gives the checkpoint with all cosignatures.
func (l *Log) CosignAll(ctx context.Context, client *http.Client) (asked []Asked, checkpoint []byte, err error) {
	s := l.Current()
	asked = make([]Asked, len(l.Witnesses))
	lines := make([][]byte, len(asked))
	var asking sync.WaitGroup
	for i := range asked {
		w := &l.Witnesses[i]
		asked[i] = Asked{Name: w.Name(), URL: w.URL, Cosigned: s.HasCosigned(w)}
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
	c, err := Open(checkpoint, l.Keys, l.Witnesses)
	cosigned := 0
	for i := range asked {
		if asked[i].Cosigned {
			cosigned++
		}
	}
	if err == nil && len(c.Cosigned) != cosigned {
		err = errors.New("two witnesses have the same key")
	}
	return asked, checkpoint, err
}

// Cosign asks a witness to cosign the checkpoint of the newest stage (C2SP tlog-witness), and gives
// its cosignature: a line to append to the checkpoint.
func (l *Log) Cosign(ctx context.Context, client *http.Client, w *Witness) (line []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, WitnessTimeout)
	defer cancel()
	s := l.Current()
	old := int64(0) // the last tree that the witness is known to have seen
	for i := range l.Stages {
		if before := &l.Stages[i]; before.Tree == s.Tree && before.HasCosigned(w) {
			old = before.Size
		}
	}
	for range maxAsked {
		body, err := s.addition(old)
		if err != nil {
			return nil, err
		}
		status, answer, err := w.ask(ctx, client, body)
		switch {
		case err != nil:
			return nil, err
		case status == http.StatusOK:
			return s.cosignature(w, answer)
		case status != http.StatusConflict:
			return nil, fmt.Errorf("it answers %d: %s", status, s.refusal(status))
		}
		text := strings.TrimSuffix(string(answer), "\n")
		size, err := strconv.ParseInt(text, 10, 64)
		switch {
		case err != nil || size < 0 || strconv.FormatInt(size, 10) != text:
			return nil, fmt.Errorf("it answers %d without the size that it has seen: %.100q", status, text)
		case size > s.Size:
			return nil, fmt.Errorf("it has seen a tree of %d entries, and the newest here has %d (is this content an old copy?)", size, s.Size)
		case size == old && size == s.Size:
			return nil, ErrSplit
		}
		old = size // another may have shown it a checkpoint meanwhile, so that it says so again
	}
	return nil, fmt.Errorf("it has named the size that it has seen %d times, and accepted none of them", maxAsked)
}

// addition asks a witness to extend a tree of a size that it has seen.
func (s *Stage) addition(old int64) ([]byte, error) {
	b := fmt.Appendf(nil, "old %d\n", old)
	if 0 < old && old < s.Size {
		proof, err := merkle.ProveTree(s.Size, old, s.Tree)
		if err != nil {
			return nil, fmt.Errorf("prove that the tree extends that of %d entries: %w", old, err)
		}
		for _, h := range proof {
			b = append(append(b, h.String()...), '\n')
		}
	}
	return append(append(b, '\n'), bare(s.Checkpoint)...), nil
}

// refusal says what the status of a refusal means.
func (s *Stage) refusal(status int) string {
	switch {
	case status == http.StatusForbidden:
		return "it knows the log by another key (tell who runs it of " + s.Tree.Key + ")"
	case status == http.StatusNotFound:
		return "it does not know the log (have who runs it add " + s.Tree.Key + ", and check the url)"
	case status == http.StatusUnprocessableEntity:
		return ErrSplit.Error() + " (compare the checkpoints that it has cosigned)"
	case status/100 == 3:
		return "it redirects (give the url of the witness itself)"
	case status == http.StatusTooManyRequests || status/100 == 5:
		return "it fails for now (try again later)"
	}
	return "it does not take such a request (check the url)"
}

// ask sends a request to a witness, and once more if no answer comes. It follows no redirect.
func (w *Witness) ask(ctx context.Context, client *http.Client, body []byte) (status int, answer []byte, err error) {
	address := strings.TrimSuffix(w.URL, "/") + "/add-checkpoint"
	direct := *client
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for range 2 {
		var r *http.Request
		if r, err = http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body)); err != nil {
			return 0, nil, err
		}
		r.Header.Set("Content-Type", "text/plain; charset=utf-8")
		var resp *http.Response
		if resp, err = direct.Do(r); err == nil {
			answer, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
			resp.Body.Close()
			status = resp.StatusCode
		}
		if err == nil && len(answer) > maxAnswer {
			return 0, nil, fmt.Errorf("its answer has more than %d KiB", maxAnswer>>10)
		}
		if err == nil {
			return status, answer, nil
		}
	}
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err // the caller names the witness
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %s", WitnessTimeout)
	}
	return 0, nil, err
}

// cosignature gives the line of an answer by which the witness has cosigned the checkpoint of the
// stage.
func (s *Stage) cosignature(w *Witness, answer []byte) ([]byte, error) {
	for line := range bytes.Lines(answer) {
		if !bytes.HasPrefix(line, []byte("— "+w.Name()+" ")) || !bytes.HasSuffix(line, []byte("\n")) {
			continue // a witness may sign with further keys
		}
		c, err := Open(slices.Concat([]byte(bare(s.Checkpoint)), line), []string{s.Tree.Key}, []Witness{*w})
		if err == nil && len(c.Cosigned) > 0 {
			return line, nil
		}
	}
	return nil, errors.New("it answers without a cosignature of the checkpoint by its key (compare the key with the one that it publishes)")
}
