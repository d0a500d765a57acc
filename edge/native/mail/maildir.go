package mail

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"anteroom/edge/native/disk"
	"anteroom/edge/snapshot"

	gomail "github.com/wneessen/go-mail"
)

// maildir is a folder of messages (cr.yp.to/proto/maildir.html). Accepts: what a killed process was
// writing stays in tmp until a mail program removes it; records erase names it.
type maildir struct{ path, host string }

func openMaildir(path string) (*maildir, error) {
	for _, name := range []string{"tmp", "new", "cur"} {
		if err := disk.MakeFolder(filepath.Join(path, name)); err != nil {
			return nil, fmt.Errorf("relay maildir:%s: %w (name a folder that this user may write to)", path, err)
		}
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return &maildir{path, strings.NewReplacer("/", `\057`, ":", `\072`).Replace(host)}, nil
}

func (d *maildir) send(_ context.Context, message *gomail.Msg, _ *snapshot.Snapshot) error {
	_, err := d.write(message, "R")
	return err
}

func (d *maildir) write(message *gomail.Msg, mark string) (string, error) {
	var text bytes.Buffer
	_, err := message.WriteTo(&text)
	name := fmt.Sprintf("%d.%s%sP%d.%s", time.Now().Unix(), mark, rand.Text(), os.Getpid(), d.host)
	tmp, path := filepath.Join(d.path, "tmp", name), filepath.Join(d.path, "new", name)
	if err == nil {
		// Mail programs expect the line ends of the system in files.
		err = disk.WriteNew(tmp, bytes.ReplaceAll(text.Bytes(), []byte("\r\n"), []byte("\n")))
	}
	if err == nil {
		if err = os.Rename(tmp, path); err != nil {
			os.Remove(tmp)
		}
	}
	if err != nil {
		return "", &relayError{why: inFolder(err)}
	}
	if err := disk.SyncFolder(filepath.Dir(path)); err != nil {
		return path, &relayError{why: inFolder(err), unknown: true}
	}
	return path, nil
}

// copied marks a copy: other messages in the folder may have no original elsewhere. isCopy matches
// the name, even after a mail program has moved the file.
const copied = "C"

var isCopy = regexp.MustCompile(`^([0-9]+)\.` + copied + `[A-Z2-7]{26}P`)

func (d *maildir) expire(before time.Time) error {
	var faults []error
	for _, name := range []string{"new", "cur"} {
		entries, err := os.ReadDir(filepath.Join(d.path, name))
		faults = append(faults, err)
		for _, entry := range entries {
			written := isCopy.FindStringSubmatch(entry.Name())
			if written == nil {
				continue
			}
			if at, err := strconv.ParseInt(written[1], 10, 64); err == nil && at < before.Unix() {
				faults = append(faults, os.Remove(filepath.Join(d.path, name, entry.Name())))
			}
		}
	}
	return errors.Join(faults...)
}

func inFolder(err error) string {
	var said syscall.Errno
	if errors.As(err, &said) {
		return "mail folder: " + said.Error()
	}
	return "mail folder not written"
}
