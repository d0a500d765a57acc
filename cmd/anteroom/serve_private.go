package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/native"
	"anteroom/edge/native/disk"
	"anteroom/edge/native/sqlite"
)

// readSecrets reads the receipt key and the address of the mail server from their files.
func (s *server) readSecrets(t *cli.Terminal) (err error) {
	keyFile := s.o.keyFile
	if keyFile == "" {
		keyFile = s.o.defaultKeyFile()
	}
	if s.o.unsigned || s.o.key != "" {
		keyFile = ""
	}
	if err := s.makePrivate(keyFile, s.o.smtpFile); err != nil {
		return err
	}
	if s.o.smtp, err = s.o.mailServer(); err != nil {
		return err
	}
	s.key, err = s.o.readKey(t)
	return err
}

// mailServer is the URL of the mail server, "" where there is none.
func (o *serveOptions) mailServer() (string, error) {
	if o.smtpFile == "" {
		return o.smtp, nil
	}
	return readSMTP(o.smtpFile)
}

// readSMTP reads the URL of a mail server from a file. An error repeats nothing of it.
func readSMTP(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the URL of the mail server: %w (--smtp-file names the file that holds it)", err)
	}
	line := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if !isSMTP(line) { // a URL has no line break
		return "", fmt.Errorf("read the URL of the mail server: %s does not hold one line with %s", file, smtpForm)
	}
	return line, nil
}

// mailFolder is the Maildir for the operator, where no mail server is named.
func (o *serveOptions) mailFolder() string {
	if o.outbox != "" {
		return o.outbox
	}
	return filepath.Join(o.data, native.MailFolder)
}

// privateFiles are the files and folders that hold addresses or secrets, in the data folder and in
// that of the mail.
func (o *serveOptions) privateFiles() []string {
	database := filepath.Join(o.data, sqlite.FileName)
	files := []string{o.data, database, database + "-wal", database + "-shm", o.defaultKeyFile(), o.lastGoodFile()}
	mail := o.mailFolder()
	files = append(files, mail)
	for _, name := range []string{"tmp", "new", "cur"} {
		filepath.WalkDir(filepath.Join(mail, name), func(name string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type()&fs.ModeSymlink == 0 {
				files = append(files, name)
			}
			return nil
		})
	}
	return files
}

// isMissing reports whether an error says that there is no file, or no folder where it would be.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// makePrivate takes files and folders, those of them that exist, from all users but their owner. It
// logs which it had to change, and refuses those that it cannot change.
func (s *server) makePrivate(names ...string) error {
	const shown = 3
	var mended []string
	var faults []error
	for _, name := range names {
		if name == "" {
			continue
		}
		changed, err := disk.MakePrivate(name)
		if changed {
			mended = append(mended, name)
		}
		unseen := (*fs.PathError)(nil)
		switch {
		case errors.Is(err, disk.ErrForeignLink):
			return err // nothing behind it is touched
		case err == nil || isMissing(err):
		case errors.Is(err, fs.ErrPermission) && errors.As(err, &unseen) && unseen.Op == "stat":
			// What is beside it is not seen either.
			return fmt.Errorf("%w (run serve as the user whose folder this is, or give the folder to this user by chown)", err)
		default:
			faults = append(faults, err)
		}
	}
	if n := len(mended); n > 0 {
		list := strings.Join(mended[:min(n, shown)], ", ")
		if n > shown {
			list += fmt.Sprintf(" and %d more", n-shown)
		}
		s.log.Warn("others had access to what is private, and have none any more", "files", list)
	}
	return errors.Join(faults...)
}
