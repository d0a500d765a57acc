package verification

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"mime/quotedprintable"
	"net/mail"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"anteroom/edge/assets"
	nativemail "anteroom/edge/native/mail"
	"anteroom/edge/quote"
	"anteroom/edge/store/records"
)

const maxMail = 1 << 20 // bytes; a suggestion is much shorter

// Mail names the Maildirs with the texts of suggestions.
type Mail struct {
	Inbox  string // where the operator reads them; "" if unknown
	Outbox string // where serve writes them or, if it mails them, copies
}

// Check refuses an inbox that is not a Maildir.
func (m Mail) Check() error {
	if m.Inbox != "" && len(maildirs(m.Inbox)) == 0 {
		return fmt.Errorf("read the inbox: %s is not a Maildir, with a folder new or cur (name the folder that "+
			"your mail program reads)", m.Inbox)
	}
	return nil
}

// Texts returns the texts of suggestions that it finds, by their record identifiers.
func (m Mail) Texts(suggestions []records.Record) map[string]string {
	texts := textsIn(m.Outbox, suggestions, true)
	maps.Copy(texts, m.Arrived(suggestions))
	return texts
}

// Arrived returns the texts of the suggestions whose mail is in the inbox.
func (m Mail) Arrived(suggestions []records.Record) map[string]string {
	return textsIn(m.Inbox, suggestions, false)
}

// textsIn finds the texts of suggestions in a Maildir and its folders. Invisible characters are
// shown as <U+...>, as in the mail. The copies of serve count only if copies is set: they prove no
// delivery.
//
// Anyone may have sent a mail with an identifier: only a text with the recorded hash counts.
func textsIn(folder string, suggestions []records.Record, copies bool) map[string]string {
	texts, wanted := map[string]string{}, map[string]string{}
	oldest := time.Now()
	for _, s := range suggestions {
		wanted[s.ID] = s.SHA256
		if at, err := time.Parse(time.RFC3339, s.At); err == nil && at.Before(oldest) {
			oldest = at
		}
	}
	var files []fs.FileInfo
	paths := map[fs.FileInfo]string{}
	for _, name := range maildirs(folder) {
		entries, _ := os.ReadDir(filepath.Join(folder, name))
		for _, entry := range entries {
			if !copies && nativemail.IsCopy(entry.Name()) {
				continue
			}
			const skew = 24 * time.Hour // between two clocks
			if info, err := entry.Info(); err == nil && info.Mode().IsRegular() && info.Size() <= maxMail &&
				info.ModTime().After(oldest.Add(-skew)) {
				files, paths[info] = append(files, info), filepath.Join(folder, name, entry.Name())
			}
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, info := range files {
		if len(texts) == len(wanted) {
			break
		}
		if data, err := os.ReadFile(paths[info]); err == nil {
			if id, text, is := suggestion(data, wanted); is {
				texts[id] = text
			}
		}
	}
	return texts
}

func maildirs(folder string) []string {
	var names []string
	for _, pattern := range []string{"new", "cur", ".*/new", ".*/cur"} { // Maildir++ has folders such as .Junk
		found, _ := fs.Glob(os.DirFS(folder), pattern) // the patterns are valid
		names = append(names, found...)
	}
	return names
}

func suggestion(data []byte, wanted map[string]string) (id, text string, is bool) {
	message, err := mail.ReadMessage(bytes.NewReader(data))
	if err != nil {
		return "", "", false
	}
	id = message.Header.Get("X-Anteroom-Record")
	sum, is := wanted[id]
	if !is {
		return "", "", false
	}
	body := message.Body
	switch strings.ToLower(message.Header.Get("Content-Transfer-Encoding")) {
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	}
	plain, err := io.ReadAll(body)
	// An introduction, the fields with the name of the agent, and the text, quoted.
	parts := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(plain), "\r\n", "\n")), "\n\n")
	if err != nil || len(parts) != 3 {
		return "", "", false
	}
	var lines []string
	for line := range strings.SplitSeq(parts[2], "\n") {
		if more, is := strings.CutPrefix(line, quote.More); is && len(lines) > 0 {
			lines[len(lines)-1] += more
			continue
		}
		lines = append(lines, strings.TrimPrefix(strings.TrimPrefix(line, ">"), " "))
	}
	text = strings.Join(lines, "\n")
	return id, text, matchesSum(text, sum)
}

var escaped = regexp.MustCompile(`<U\+([0-9A-F]{4,6})>`)

// matchesSum reports whether a text had this SHA-256 when it was sent: before its invisible
// characters and its line ends were changed for the mail.
func matchesSum(text, sum string) bool {
	raw := escaped.ReplaceAllStringFunc(text, func(mark string) string {
		code, _ := strconv.ParseInt(escaped.FindStringSubmatch(mark)[1], 16, 32)
		return string(rune(code))
	})
	for _, sent := range []string{text, raw} {
		for _, end := range []string{"\n", "\r\n", "\r"} {
			for _, rest := range []string{"", "\n", "\n\n"} {
				if assets.SumOf([]byte(strings.ReplaceAll(sent+rest, "\n", end))) == sum {
					return true
				}
			}
		}
	}
	return false
}
