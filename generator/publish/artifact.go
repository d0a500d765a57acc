package publish

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"anteroom/edge/snapshot"
)

// Artifact is what a host serves.
type Artifact struct {
	Snapshot *snapshot.Snapshot
	Text     []byte // of the snapshot, without the list of documents
	Files    []File // sorted by path
}

// encode gives the text of a snapshot file.
func encode(s *snapshot.Snapshot, sums map[string]string) []byte {
	text := append(s.Encode(), '\n')
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		text = fmt.Appendf(text, "%s  %s\n", sums[name], name[1:])
	}
	return text
}

// decode takes the text of a snapshot file apart: the snapshot, and the SHA-256 of each document by
// its path.
func decode(text []byte) (known []byte, sums map[string]string, err error) {
	known, list, found := bytes.Cut(text, []byte("\n\n"))
	if !found {
		return nil, nil, errors.New("it has no list of documents")
	}
	sums = map[string]string{}
	for line := range strings.Lines(string(list)) {
		sum, name, found := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if hash, err := hex.DecodeString(sum); !found || err != nil || len(hash) != sha256.Size || !filepath.IsLocal(name) {
			return nil, nil, fmt.Errorf("%.100q is not the hash and the path of a document", line)
		}
		sums["/"+name] = sum
	}
	return text[:len(known)+1], sums, nil
}

// hintGenerate ends an error about what a host cannot serve.
const hintGenerate = "(run anteroom generate)"

// Read reads what a host serves, whole into memory. It refuses a folder that is not, to the byte,
// what the snapshot file lists, as after a run that was killed. The error names the files.
func Read(dir, snapshotFile string) (*Artifact, error) {
	text, err := os.ReadFile(snapshotFile)
	if err != nil {
		return nil, fmt.Errorf("read the snapshot: %w %s", err, hintGenerate)
	}
	known, sums, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("read the snapshot %s: %w %s", snapshotFile, err, hintGenerate)
	}
	a := &Artifact{Text: known}
	if a.Snapshot, err = snapshot.Decode(known); err != nil {
		return nil, fmt.Errorf("read the snapshot %s: %w %s", snapshotFile, err, hintGenerate)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	there, err := readTree(dir)
	if err != nil {
		return nil, fmt.Errorf("read the documents of %s: %w", dir, err)
	}
	var stale, missing, foreign []string
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		file := filepath.Join(dir, name)
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, file)
			continue
		} else if err != nil {
			return nil, fmt.Errorf("read the documents of %s: %w (give this user access to it)", dir, err)
		}
		if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != sums[name] {
			stale = append(stale, file)
		}
		a.Files = append(a.Files, File{Path: name, Bytes: text})
	}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		if _, listed := sums[name]; !listed && !there[name].IsDir() && name != "/.assetsignore" {
			foreign = append(foreign, filepath.Join(dir, name))
		}
	}
	if err := mixture(dir, snapshotFile, stale, missing, foreign); err != nil {
		return nil, err
	}
	return a, a.checkManifest(dir, snapshotFile)
}

// mixture is the error about documents that are not those of a snapshot file. It is nil if all are.
func mixture(dir, snapshotFile string, stale, missing, foreign []string) error {
	var found []string
	hint := "run anteroom generate, and try again"
	for _, kind := range []struct {
		what  string
		files []string
	}{{"stale", stale}, {"missing", missing}, {"foreign", foreign}} {
		if kind.files != nil {
			found = append(found, kind.what+": "+Some(kind.files))
		}
	}
	if found == nil {
		return nil
	}
	if foreign != nil {
		hint += "; move away what it did not make"
	}
	return fmt.Errorf("%s does not fit %s: %s (%s)", dir, snapshotFile, strings.Join(found, "; "), hint)
}

// checkManifest checks that manifest and snapshot are of one content.
func (a *Artifact) checkManifest(dir, snapshotFile string) error {
	var manifest struct {
		Version string `json:"content_version"`
	}
	i := slices.IndexFunc(a.Files, func(f File) bool { return f.Path == ManifestPath })
	if i < 0 {
		return fmt.Errorf("%s lists no %s %s", snapshotFile, ManifestPath, hintGenerate)
	}
	if err := json.Unmarshal(a.Files[i].Bytes, &manifest); err != nil {
		return fmt.Errorf("read %s: %w %s", filepath.Join(dir, ManifestPath), err, hintGenerate)
	}
	if want := a.Snapshot.ShortVersion(); manifest.Version != want {
		return fmt.Errorf("%s is of content %s, and %s of %s %s", filepath.Join(dir, ManifestPath), manifest.Version, snapshotFile, want, hintGenerate)
	}
	return nil
}
