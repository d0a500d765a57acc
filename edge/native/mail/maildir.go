package mail

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"anteroom/edge/native/disk"

	gomail "github.com/wneessen/go-mail"
)

// abandoned is how old a file in the folder tmp of a Maildir is if nobody writes it any more.
const abandoned = 36 * time.Hour

// openMaildir makes the Maildir at path (cr.yp.to/proto/maildir.html) where it is missing, and
// removes what killed processes left in it. Its transport writes each message to a new file.
func openMaildir(path string) (transport, error) {
	for _, name := range []string{"tmp", "new", "cur"} {
		if err := disk.MakeFolder(filepath.Join(path, name)); err != nil {
			return nil, fmt.Errorf("relay maildir:%s: %w (name a folder that this user may write to)", path, err)
		}
	}
	left, _ := os.ReadDir(filepath.Join(path, "tmp"))
	for _, file := range left {
		if info, err := file.Info(); err == nil && time.Since(info.ModTime()) > abandoned {
			os.Remove(filepath.Join(path, "tmp", file.Name()))
		}
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	host = strings.NewReplacer("/", `\057`, ":", `\072`).Replace(host)
	return func(_ context.Context, message *gomail.Msg) error {
		var text bytes.Buffer
		_, err := message.WriteTo(&text)
		name := fmt.Sprintf("%d.R%sP%d.%s", time.Now().Unix(), rand.Text(), os.Getpid(), host)
		tmp := filepath.Join(path, "tmp", name)
		if err == nil {
			// Mail programs expect the line ends of the system in files.
			err = disk.WriteNew(tmp, bytes.ReplaceAll(text.Bytes(), []byte("\r\n"), []byte("\n")))
		}
		if err == nil {
			if err = os.Rename(tmp, filepath.Join(path, "new", name)); err != nil {
				os.Remove(tmp)
			}
		}
		if err != nil {
			return &relayError{why: inFolder(err)}
		}
		if err := disk.SyncFolder(filepath.Join(path, "new")); err != nil {
			return &relayError{why: inFolder(err), unknown: true}
		}
		return nil
	}, nil
}

// inFolder describes an error in the mail folder, in the words of the system alone.
func inFolder(err error) string {
	var said syscall.Errno
	if errors.As(err, &said) {
		return "mail folder: " + said.Error()
	}
	return "mail folder not written"
}
