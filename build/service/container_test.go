//go:build full

package service_test

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// image is what a runtime reads of an image (OCI image specification).
type image struct {
	Config struct {
		User       string
		Env        []string
		Entrypoint []string
		Cmd        []string
		WorkingDir string
		Volumes    map[string]struct{}
	} `json:"config"`
}

// buildImage builds the image of Containerfile by the commands of README.md, and unpacks it.
func buildImage(t *testing.T, root string) (made image) {
	t.Helper()
	dir := t.TempDir()
	from := filepath.Join(dir, "release")
	if err := os.MkdirAll(filepath.Join(from, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, source := range map[string]string{"anteroom": program(), "ca-certificates.crt": "/etc/ssl/certs/ca-certificates.crt"} {
		content, err := os.ReadFile(source)
		if err == nil {
			err = os.WriteFile(filepath.Join(from, name), content, 0o755)
		}
		check(t, err)
	}
	policy := write(t, dir, "policy.json", `{"default":[{"type":"insecureAcceptAnything"}]}`)
	buildah := func(action string, args ...string) {
		t.Helper()
		store := []string{"--root", dir + "/store", "--runroot", dir + "/run", "--storage-driver", "vfs", action, "--signature-policy", policy}
		if said, err := command(t, "buildah", append(store, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
	}
	buildah("bud", "--isolation", "chroot", "--tag", "anteroom", "--file", "Containerfile", from)
	buildah("push", "anteroom", "oci:"+dir+"/image")
	read := func(digest string, into any) {
		t.Helper()
		name := "index.json"
		if digest != "" {
			name = "blobs/" + strings.Replace(digest, ":", "/", 1)
		}
		content, err := os.ReadFile(filepath.Join(dir, "image", name))
		if err == nil {
			err = json.Unmarshal(content, into)
		}
		check(t, err)
	}
	type blob struct{ Digest string }
	var index struct{ Manifests []blob }
	var manifest struct {
		Config blob
		Layers []blob
	}
	read("", &index)
	read(index.Manifests[0].Digest, &manifest)
	read(manifest.Config.Digest, &made)
	for _, layer := range manifest.Layers {
		size := unpack(t, filepath.Join(dir, "image/blobs", strings.Replace(layer.Digest, ":", "/", 1)), root)
		t.Logf("a layer of %.1f MB", float64(size)/1e6)
	}
	return made
}

// unpack unpacks a layer, and gives its size as it is sent.
func unpack(t *testing.T, layer, root string) int64 {
	t.Helper()
	f, err := os.Open(layer)
	check(t, err)
	defer f.Close()
	info, _ := f.Stat()
	plain, err := gzip.NewReader(f)
	check(t, err)
	for files := tar.NewReader(plain); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return info.Size()
		}
		name := filepath.Join(root, h.Name)
		if err == nil && h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(name, h.FileInfo().Mode())
		} else if err == nil {
			var content []byte
			if content, err = io.ReadAll(files); err == nil {
				err = os.WriteFile(name, content, h.FileInfo().Mode())
			}
		}
		if err == nil {
			err = os.Chown(name, h.Uid, h.Gid)
		}
		check(t, err)
	}
}

// The container begins a database without a variable that has to be taken away again, runs as its
// own user without anything but the program, says whether it is ready, and ends when it is told.
// Where no container runtime can run, a changed root and user are as near as one gets.
func TestContainer(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Fatal("changing the root folder needs root")
	}
	root := t.TempDir()
	made := buildImage(t, root)
	service := filepath.Join(root, made.Config.WorkingDir)
	if err := os.CopyFS(filepath.Join(service, "public"), os.DirFS("../../public")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(service, "build"), 0o755); err != nil {
		t.Fatal(err)
	}
	snapshot := text(t, "../../build/snapshot.txt")
	if err := os.WriteFile(filepath.Join(service, "build/snapshot.txt"), []byte(snapshot), 0o644); err != nil {
		t.Fatal(err)
	}
	var user, group uint32
	if _, err := fmt.Sscanf(made.Config.User, "%d:%d", &user, &group); err != nil || user == 0 {
		t.Fatalf("user %q: %v", made.Config.User, err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	call := func(args ...string) *exec.Cmd {
		c := exec.Command(made.Config.Entrypoint[0], args...)
		c.Dir, c.Env = made.Config.WorkingDir, append(made.Config.Env, "ANTEROOM_ADDR="+address)
		c.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: user, Gid: group}}
		return c
	}
	for _, records := range []string{"0", "1"} {
		c := call(made.Config.Cmd...)
		began := time.Now()
		said := begin(t, c)
		said.until(t, `msg=serving .*(records=`+records+`) `)
		t.Logf("serves after %d ms", time.Since(began).Milliseconds())
		if records == "0" {
			register(t, http.DefaultClient, "http://"+address)
		}
		c.Process.Signal(syscall.SIGTERM)
		if err := c.Wait(); err != nil {
			t.Errorf("at its end: %v: %s", err, said)
		}
	}
}
