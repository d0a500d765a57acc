// Package continuity refuses to withdraw what agents rely on: dated scoreboards, receipt keys, the
// public log. Check compares the published Facts with the Facts that replace them. Facts come from
// a folder of documents, a generation, or a running service.
package continuity

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"anteroom/edge/assets"
	"anteroom/edge/snapshot"
	"anteroom/generator/contract"
	"anteroom/generator/model"
	"anteroom/generator/site"
	"anteroom/generator/tlog"
)

// Kinds of regressions, as an operator names them in --allow.
const (
	AsOf     = "as_of"    // the date of the newest scoreboard
	Board    = "board"    // a dated scoreboard changes or vanishes
	Document = "document" // another document vanishes
	Key      = "key"      // a receipt key vanishes: its receipts would not verify any more
	Policy   = "policy"   // the rules of the acceptable-use policy change under their version
	Log      = "log"      // the public log vanishes, or does not extend its signed checkpoints
)

// Facts describe what a service publishes and must not withdraw. The zero value publishes nothing.
type Facts struct {
	AsOf        string            // date of the newest scoreboard
	Documents   map[string]string // SHA-256 in hex of each document in the manifest, by path
	Keys        []string          // the receipt keys: the current and the retired ones
	Revoked     []string          // some of these, whose receipts are invalid
	Policy      Rules             // of acceptable use
	LogKey      string            // the verifier key of the public log
	Checkpoints map[string][]byte // of the log, by path: the newest, and one for each known size
}

// Rules are the members of GET /api/aup that may change only with its version.
type Rules struct {
	Version    string             `json:"version"` // "" if no policy is published
	Policy     string             `json:"policy"`
	Prohibited []model.Prohibited `json:"prohibited"`
}

// LogSize returns the number of entries of the log, 0 if it cannot be read.
func (f Facts) LogSize() int64 {
	if c, err := tlog.Open(f.Checkpoints[tlog.CheckpointPath], f.LogKey, nil); err == nil {
		return c.Size
	}
	return 0
}

// Regression is a published fact that would be withdrawn.
type Regression struct {
	Kind string `json:"kind"`
	Path string `json:"path,omitempty"` // of the document
	What string `json:"what"`           // without a full stop; the evidence of a fork follows in further lines
	Hint string `json:"hint"`           // the next step
}

func (r Regression) Error() string {
	first, evidence, forked := strings.Cut(r.What, "\n")
	text := first + " (" + r.Hint + ")"
	if forked {
		text += "\n" + evidence
	}
	return text
}

// Refuse returns the regressions whose kind is not allowed as an error.
func Refuse(found []Regression, allowed ...string) error {
	var refused []error
	for _, r := range found {
		if !slices.Contains(allowed, r.Kind) {
			refused = append(refused, r)
		}
	}
	return errors.Join(refused...)
}

const (
	manifestPath = "/manifest.json"
	boardPath    = "/scoreboard.json" // the newest one
	policyPath   = "/api/aup"
)

const (
	hintBoard = "bring back scoreboard/%[1]s.yaml and verifications/%[1]s.yaml of the content from version control; " +
		"anteroom publish makes a new board; if they exist, the document is damaged: " +
		"git restore --source HEAD -- public/scoreboard"
	hintKey = "list it under receipt_keys.retired of service.yaml, as anteroom key rotate does; if it leaked, " +
		"with a line revoked: REASON"
	hintRevoked = "under receipt_keys.retired of service.yaml, give it the line revoked: REASON again"
	hintPolicy  = "set the next version in aup.yaml"
	hintLog     = "bring back log/ of the content, and log.vkey of its service.yaml, from version control; if they exist, " +
		"a file of the published log is damaged: git restore --source HEAD -- public/log"
)

// Check lists the regressions if next replaces the published facts, sorted by kind and path.
func Check(published, next Facts) []Regression {
	found := []Regression{}
	add := func(kind, path, hint, format string, args ...any) {
		found = append(found, Regression{kind, path, fmt.Sprintf(format, args...), hint})
	}
	for p, sum := range published.Documents {
		now, exists := next.Documents[p]
		hint := fmt.Sprintf(hintBoard, strings.TrimSuffix(path.Base(p), ".json"))
		switch {
		case tlog.IsBoard(p) && !exists:
			add(Board, p, hint, "%s is published, and would vanish", p)
		case tlog.IsBoard(p) && now != sum:
			add(Board, p, hint, "%s is published, and would change", p)
		case !exists:
			add(Document, p, "bring its content back", "%s is published, and would vanish", p)
		}
	}
	if published.AsOf > next.AsOf {
		add(AsOf, boardPath, "bring back the content of the newest verification", "%s is dated %s, and would be dated %q",
			boardPath, published.AsOf, next.AsOf)
	}
	for _, key := range published.Keys {
		if key != "" && !slices.Contains(next.Keys, key) {
			add(Key, manifestPath, hintKey,
				"the receipt key %s is published, and would not be listed: receipts that it signed would not verify", key)
		}
	}
	for _, key := range published.Revoked {
		if slices.Contains(next.Keys, key) && !slices.Contains(next.Revoked, key) {
			add(Key, manifestPath, hintRevoked,
				"the receipt key %s is revoked, and would not be: receipts that its thief signed would verify", key)
		}
	}
	if published.Policy.Version == next.Policy.Version && !reflect.DeepEqual(published.Policy, next.Policy) {
		add(Policy, policyPath, hintPolicy, "the policy %s is published with other rules", next.Policy.Version)
	}
	checkLog(&published, &next, func(path, hint, format string, args ...any) { add(Log, path, hint, format, args...) })
	slices.SortFunc(found, func(a, b Regression) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Path, b.Path), cmp.Compare(a.What, b.What))
	})
	return found
}

// checkLog compares each published checkpoint with the next log's checkpoint of that size, and
// reports the first fault.
func checkLog(published, next *Facts, add func(path, hint, format string, args ...any)) {
	if published.LogKey != "" && next.LogKey == "" {
		add(tlog.KeyPath, hintLog, "a public log is published, and would vanish")
		return
	}
	// the newest checkpoint sorts before the ones by size
	for _, p := range slices.Sorted(maps.Keys(published.Checkpoints)) {
		if err := next.extends(published.Checkpoints[p]); err != nil {
			add(p, hintLog, "%s is published: %v", p, err)
			return
		}
	}
}

func (f *Facts) extends(checkpoint []byte) error {
	c, err := tlog.Open(checkpoint, f.LogKey, nil)
	if err != nil {
		return err
	}
	own := f.Checkpoints[tlog.CheckpointOf(c.Size)]
	if own == nil {
		own = f.Checkpoints[tlog.CheckpointPath]
	}
	if own == nil {
		return errors.New("it would vanish")
	}
	have, err := tlog.Open(own, f.LogKey, nil)
	switch {
	case err != nil:
		return err
	case have.Size < c.Size:
		return fmt.Errorf("it has %d entries, the next log %d: published entries are missing", c.Size, have.Size)
	case have.Root != c.Root:
		return fmt.Errorf("the log is forked: its key has signed two trees of %d entries, this one and the content's\n%s\n%s",
			c.Size, own, checkpoint)
	}
	return nil
}

func (f *Facts) Retire(key model.RetiredKey) {
	f.Keys = append(f.Keys, key.PublicKey)
	if key.Revoked != "" {
		f.Revoked = append(f.Revoked, key.PublicKey)
	}
}

// FromFiles returns the facts of generated documents. The manifest has only the current receipt
// key, the snapshot all; it may be nil.
func FromFiles(files []assets.File, known *snapshot.Snapshot) (Facts, error) {
	facts := Facts{Documents: map[string]string{}, Checkpoints: map[string][]byte{}}
	if known != nil {
		facts.AsOf = known.AsOf
		facts.Keys = []string{known.CurrentKey}
		for _, key := range known.RetiredKeys {
			facts.Retire(model.RetiredKey(key))
		}
		_ = json.Unmarshal(known.Documents["aup"], &facts.Policy) // absent from the snapshots of a test
	}
	for i := range files {
		f := &files[i]
		switch {
		case f.Path == manifestPath:
			if err := facts.addManifest(f.Bytes); err != nil {
				return Facts{}, err
			}
		case f.Path == tlog.KeyPath:
			var err error
			if facts.LogKey, err = tlog.PublishedKey(f.Bytes); err != nil {
				return Facts{}, err
			}
		case f.Path == tlog.CheckpointPath || path.Dir(f.Path) == tlog.Folder+"/checkpoints":
			facts.Checkpoints[f.Path] = f.Bytes
		}
	}
	return facts, nil
}

func FromSite(s *site.Site) Facts {
	facts := Facts{
		AsOf: s.Current().AsOf, Documents: map[string]string{}, LogKey: s.Log.Key,
		Checkpoints: map[string][]byte{},
	}
	for i := range s.Scoreboards {
		board := &s.Scoreboards[i]
		facts.Documents[contract.BoardPath(board)] = assets.SumOf(contract.BoardDocument(board))
	}
	for i := range s.Log.Stages {
		stage := &s.Log.Stages[i]
		facts.Checkpoints[tlog.CheckpointOf(stage.Size)] = stage.Checkpoint
		facts.Checkpoints[tlog.CheckpointPath] = stage.Checkpoint
	}
	return facts
}

func (f Facts) Counted() Facts {
	f.Keys, f.Documents = nil, maps.Clone(f.Documents)
	maps.DeleteFunc(f.Documents, func(p, _ string) bool { return !tlog.IsBoard(p) })
	return f
}

// Manifest is the part of manifest.json that commands rely on, of any version of this software.
type Manifest struct {
	Host      string `json:"canonical_host"`
	Documents []struct {
		Path      string `json:"path"`
		MediaType string `json:"media_type"`
		SHA256    string `json:"sha256"`
	} `json:"documents"`
	ReceiptKey string `json:"receipt_key"`
	Content    string `json:"content_version"`
}

func (f *Facts) addManifest(text []byte) error {
	var manifest Manifest
	if err := json.Unmarshal(text, &manifest); err != nil {
		return fmt.Errorf("read %s: %w", manifestPath, err)
	}
	for _, d := range manifest.Documents {
		f.Documents[d.Path] = d.SHA256
	}
	if key := manifest.ReceiptKey; key != "" && !slices.Contains(f.Keys, key) {
		f.Keys = append(f.Keys, key)
	}
	return nil
}

// FromFolder returns the facts of a folder of documents and of the snapshot, which need not exist.
// A board that the manifest does not list counts too.
func FromFolder(public, snapshotFile string) (Facts, error) {
	folder := os.DirFS(public)
	var files []assets.File
	for _, pattern := range []string{
		manifestPath, tlog.KeyPath, tlog.CheckpointPath, tlog.Folder + "/checkpoints/*", "/scoreboard/*.json",
	} {
		names, err := fs.Glob(folder, pattern[1:])
		if err != nil {
			return Facts{}, err
		}
		for _, name := range names {
			text, err := assets.ReadFile(filepath.Join(public, name))
			if err != nil {
				return Facts{}, fmt.Errorf("look for published files: %w", err)
			}
			if "/"+name == manifestPath && !json.Valid(text) { // damaged by a merge
				continue
			}
			files = append(files, assets.File{Path: "/" + name, Bytes: text})
		}
	}
	var known *snapshot.Snapshot
	if text, err := assets.ReadFile(snapshotFile); err == nil {
		text, _, _ = bytes.Cut(text, []byte("\n\n"))
		known, _ = snapshot.Decode(text) // nil for another format
	}
	facts, err := FromFiles(files, known)
	for i := range files {
		if f := &files[i]; err == nil && tlog.IsBoard(f.Path) && facts.Documents[f.Path] == "" {
			facts.Documents[f.Path] = assets.SumOf(f.Bytes)
		}
	}
	return facts, err
}
