// Command verifiers checks a published log with verifiers that other projects wrote: verifiers BASE
// KEYS. BASE is the address of a service, or a folder with what it publishes; KEYS is a file with
// the verifier keys of the log, one a line, such as /log/vkey. For each tree of the log, each
// verifier has a line, which ends with "ok" or says why it refuses. Where one refuses, the exit
// code is 1.
//
//   - torchwood looks at the checkpoints, all entries of each and the proofs of the verifications.
//   - x/mod looks at whether each checkpoint continues the one before.
//   - tessera computes all tiles of each checkpoint anew and compares them.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"

	"filippo.io/torchwood"
	"github.com/transparency-dev/merkle/rfc6962"
	"github.com/transparency-dev/tessera/api"
	"github.com/transparency-dev/tessera/client"
	"github.com/transparency-dev/tessera/fsck"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
	"k8s.io/klog/v2"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: verifiers BASE KEYS")
		os.Exit(2)
	}
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "verifiers:", err)
		os.Exit(1)
	}
}

func run(base, keysFile string) error {
	keys, err := os.ReadFile(keysFile)
	if err != nil {
		return fmt.Errorf("read the keys: %w", err)
	}
	if info, err := os.Stat(base); err == nil && info.IsDir() {
		server := httptest.NewServer(http.FileServer(http.Dir(base)))
		defer server.Close()
		base = server.URL
	}
	trees, refused := 0, false
	for key := range strings.FieldsSeq(string(keys)) {
		v, err := note.NewVerifier(key)
		if err != nil {
			return fmt.Errorf("key %q: %w", key, err)
		}
		_, folder, _ := strings.Cut(v.Name(), "/")
		t := &tree{key: v, host: strings.TrimSuffix(base, "/"), base: strings.TrimSuffix(base, "/") + "/" + folder}
		newest, err := t.get(t.base + "/checkpoint")
		if errors.Is(err, fs.ErrNotExist) {
			continue // nothing is signed with this key yet
		} else if err != nil {
			return err
		}
		trees++
		t.find(newest)
		for _, verifier := range []struct {
			name  string
			check func(*tree) error
		}{{"torchwood", torchwoodChecks}, {"x/mod", modChecks}, {"tessera", tesseraChecks}} {
			if err := guarded(verifier.check, t); err != nil {
				refused = true
				fmt.Printf("%s %s: refused: %.300s\n", v.Name(), verifier.name, strings.ReplaceAll(err.Error(), "\n", " "))
			} else {
				fmt.Printf("%s %s: %d checkpoints ok\n", v.Name(), verifier.name, len(t.checkpoints))
			}
		}
	}
	switch {
	case trees == 0:
		return errors.New("no key of the file has a checkpoint there")
	case refused:
		return errors.New("the log is refused")
	}
	return nil
}

// guarded takes a panic as a refusal: a verifier may trust the length of a bundle.
func guarded(check func(*tree) error, t *tree) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v", fault)
		}
	}()
	return check(t)
}

// tree is the published tree of one key.
type tree struct {
	key         note.Verifier
	host, base  string   // addresses
	checkpoints [][]byte // oldest first; the newest one comes last
	proofs      []proof
}

// proof is the published proof of an entry.
type proof struct {
	entry []byte
	url   string
}

func (t *tree) get(address string) ([]byte, error) {
	response, err := http.Get(address)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
		return io.ReadAll(response.Body)
	case http.StatusNotFound:
		return nil, fmt.Errorf("%s: %w", address, fs.ErrNotExist)
	}
	return nil, fmt.Errorf("%s: %s", address, response.Status)
}

// find finds the checkpoints and proofs by the entries: each verification has one of both. What it
// reads is not verified. Where a bundle is unreadable it stops, and the verifiers come upon that.
func (t *tree) find(newest []byte) {
	defer func() { t.checkpoints = append(t.checkpoints, newest) }()
	lines := strings.Split(string(newest), "\n")
	if len(lines) < 2 {
		return
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	for at := int64(0); at < size && err == nil; {
		n := at / torchwood.TileWidth
		var bundle, entry []byte
		bundle, err = t.get(t.base + "/" + torchwood.TilePath(tlog.Tile{
			H: torchwood.TileHeight, L: -1, N: n, W: int(min(torchwood.TileWidth, size-n*torchwood.TileWidth)),
		}))
		for ; len(bundle) > 0 && err == nil; at++ {
			if entry, bundle, err = torchwood.ReadTileEntry(bundle); err != nil {
				break
			}
			var e struct{ Kind, Board string }
			if json.Unmarshal(entry, &e) != nil || e.Kind != "verification" {
				continue
			}
			name := strings.TrimSuffix(path.Base(e.Board), ".json")
			t.proofs = append(t.proofs, proof{entry, t.host + "/log/verifications/" + name + ".tlog-proof"})
			if at+1 == size {
				continue
			}
			checkpoint, missing := t.get(fmt.Sprintf("%s/checkpoints/%d", t.base, at+1))
			if missing != nil {
				checkpoint = []byte(missing.Error()) // which no verifier takes
			}
			t.checkpoints = append(t.checkpoints, checkpoint)
		}
		if at != min(size, (n+1)*torchwood.TileWidth) {
			return
		}
	}
	// The newest checkpoint is published a second time, by its size.
	if again, err := t.get(fmt.Sprintf("%s/checkpoints/%d", t.base, size)); err != nil || !bytes.Equal(again, newest) {
		t.checkpoints = append(t.checkpoints, []byte(fmt.Sprintf("checkpoints/%d is not the newest checkpoint", size)))
	}
}

func torchwoodChecks(t *tree) error {
	ctx := context.Background()
	own := torchwood.ThresholdPolicy(2, torchwood.OriginPolicy(t.key.Name()), torchwood.SingleVerifierPolicy(t.key))
	text, err := t.get(t.base + "/policy")
	if err != nil {
		return err
	}
	published, err := torchwood.ParsePolicy(text)
	if err != nil {
		return err
	}
	for _, text := range t.checkpoints {
		if _, _, err := torchwood.VerifyCheckpoint(text, published); err != nil {
			return fmt.Errorf("by the published policy: %w", err)
		}
		c, _, err := torchwood.VerifyCheckpoint(text, own)
		if err != nil {
			return err
		}
		fetcher, err := torchwood.NewTileFetcher(t.base + "/")
		if err != nil {
			return err
		}
		entries, err := torchwood.NewClient(fetcher)
		if err != nil {
			return err
		}
		n := int64(0)
		for range entries.AllEntries(ctx, c.Tree, 0) {
			n++
		}
		if err := entries.Err(); err != nil || n != c.N {
			return fmt.Errorf("%d of the %d entries: %w", n, c.N, err)
		}
	}
	for _, p := range t.proofs {
		text, err := t.get(p.url)
		if err != nil {
			return err
		}
		if err := torchwood.VerifyProof(own, tlog.RecordHash(p.entry), text); err != nil {
			return fmt.Errorf("%s: %w", p.url, err)
		}
		if extra, err := torchwood.ProofExtraData(text); err != nil || !bytes.Equal(extra, p.entry) {
			return fmt.Errorf("%s: its extra data is not the entry", p.url)
		}
	}
	return nil
}

func modChecks(t *tree) error {
	var before tlog.Tree
	for i, text := range t.checkpoints {
		n, err := note.Open(text, note.VerifierList(t.key))
		if err != nil {
			return err
		}
		lines := strings.Split(n.Text, "\n")
		if len(lines) != 4 || lines[0] != t.key.Name() {
			return fmt.Errorf("%q is no checkpoint of %s", n.Text, t.key.Name())
		}
		size, err := strconv.ParseInt(lines[1], 10, 64)
		if err != nil {
			return err
		}
		root, err := tlog.ParseHash(lines[2])
		if err != nil {
			return err
		}
		c := tlog.Tree{N: size, Hash: root}
		if i > 0 {
			p, err := tlog.ProveTree(c.N, before.N, tlog.TileHashReader(c, tiles{t}))
			if err != nil {
				return err
			}
			if err := tlog.CheckTree(p, c.N, c.Hash, before.N, before.Hash); err != nil {
				return err
			}
		}
		before = c
	}
	return nil
}

// tiles reads tiles for package tlog, which checks them against the checkpoint.
type tiles struct{ *tree }

func (tiles) Height() int                     { return torchwood.TileHeight }
func (tiles) SaveTiles([]tlog.Tile, [][]byte) {}

func (t tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	var data [][]byte
	for _, tile := range wanted {
		b, err := t.get(t.base + "/" + torchwood.TilePath(tile))
		if err != nil {
			return nil, err
		}
		data = append(data, b)
	}
	return data, nil
}

func tesseraChecks(t *tree) error {
	root, err := url.Parse(t.base)
	if err != nil {
		return err
	}
	fetcher, err := client.NewHTTPFetcher(root, nil)
	if err != nil {
		return err
	}
	for _, text := range t.checkpoints {
		if err := fsck.New(t.key.Name(), t.key, of{fetcher, text}, leaves, fsck.Opts{N: 2}).Check(context.Background()); err != nil {
			return err
		}
	}
	return nil
}

// of reads the tree of one checkpoint, whether that is the newest one or not.
type of struct {
	*client.HTTPFetcher
	checkpoint []byte
}

func (o of) ReadCheckpoint(context.Context) ([]byte, error) { return o.checkpoint, nil }

// leaves are the hashes of the entries of a bundle.
func leaves(bundle []byte) (hashes [][]byte, err error) {
	var b api.EntryBundle
	if err := b.UnmarshalText(bundle); err != nil {
		return nil, err
	}
	for _, entry := range b.Entries {
		hashes = append(hashes, rfc6962.DefaultHasher.HashLeaf(entry))
	}
	return hashes, nil
}
