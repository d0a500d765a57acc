package tlog

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

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

// cosignatureAlgorithm is Ed25519 over a note with a time (C2SP tlog-cosignature).
const cosignatureAlgorithm = 4

// cosigner verifies cosignatures. It implements note.Verifier.
type cosigner struct {
	name string
	hash uint32
	key  ed25519.PublicKey
}

func (c *cosigner) Name() string    { return c.name }
func (c *cosigner) KeyHash() uint32 { return c.hash }

// Verify checks a cosignature: eight bytes of Unix seconds and a signature.
func (c *cosigner) Verify(msg, sig []byte) bool {
	if len(sig) != 8+ed25519.SignatureSize {
		return false
	}
	at := binary.BigEndian.Uint64(sig)
	signed := "cosignature/v1\ntime " + strconv.FormatUint(at, 10) + "\n" + string(msg)
	return ed25519.Verify(c.key, []byte(signed), sig[8:])
}

// verifier is what checks the cosignatures of a witness.
func (w *Witness) verifier() (note.Verifier, error) {
	parts := strings.SplitN(w.Key, "+", 3)
	if len(parts) != 3 || parts[0] == "" || strings.ContainsFunc(parts[0], unicode.IsSpace) || len(parts[1]) != 8 {
		return nil, fmt.Errorf("witness key %.100q is not name, hash and key with + between them", w.Key)
	}
	key, err := base64.StdEncoding.DecodeString(parts[2])
	hash, hashErr := strconv.ParseUint(parts[1], 16, 32)
	if err != nil || hashErr != nil || len(key) != 1+ed25519.PublicKeySize || key[0] != cosignatureAlgorithm {
		return nil, fmt.Errorf("witness key %.100q is no Ed25519 key for cosignatures (type 4)", w.Key)
	}
	sum := sha256.Sum256(append([]byte(parts[0]+"\n"), key...))
	if binary.BigEndian.Uint32(sum[:]) != uint32(hash) {
		return nil, fmt.Errorf("witness key %.100q has a hash of another key", w.Key)
	}
	return &cosigner{parts[0], uint32(hash), key[1:]}, nil
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

// Cosign asks a witness to cosign the checkpoint of the newest stage (C2SP tlog-witness), and gives
// its cosignature: a line to append to the checkpoint.
func (l *Log) Cosign(ctx context.Context, client *http.Client, w *Witness) (line []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, WitnessTimeout)
	defer cancel()
	s := l.Current()
	old := int64(0) // the tree that the witness has seen last, as far as that is known here
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
			return nil, fmt.Errorf("it has seen a tree of %d entries, and the newest here has %d (is this content an old one?)", size, s.Size)
		case size == old && size == s.Size:
			return nil, ErrSplit
		}
		old = size // another may have shown it a checkpoint meanwhile, so that it says so again
	}
	return nil, fmt.Errorf("it has named the size that it has seen %d times, and took none of them", maxAsked)
}

// addition is what a witness is asked: to go on from a tree of a size that it has seen.
func (s *Stage) addition(old int64) ([]byte, error) {
	b := fmt.Appendf(nil, "old %d\n", old)
	if 0 < old && old < s.Size {
		proof, err := merkle.ProveTree(s.Size, old, s.Tree)
		if err != nil {
			return nil, fmt.Errorf("prove that the tree goes on from %d entries: %w", old, err)
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
		return "it does not know the log (have who runs it add " + s.Tree.Key + ", and look at the url)"
	case status == http.StatusUnprocessableEntity:
		return ErrSplit.Error() + " (compare the checkpoints that it has cosigned)"
	case status/100 == 3:
		return "it redirects (give the url of the witness itself)"
	case status == http.StatusTooManyRequests || status/100 == 5:
		return "it fails in passing (try again later)"
	}
	return "it takes no such request (look at the url)"
}

// ask sends a request to a witness, and once more where no answer comes. It follows no redirect.
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
		err = wrapped.Err // who is asked is said by the caller
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
