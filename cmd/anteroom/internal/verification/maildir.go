package verification

import (
	"bytes"
	"io"
	"io/fs"
	"mime/quotedprintable"
	"net/mail"
	"os"
	"path/filepath"
	"strings"

	"anteroom/edge/quote"
	"anteroom/edge/store/records"
)

const maxMail = 1 << 20 // bytes; a suggestion is much shorter

// Texts returns the texts of suggestions, by their record identifiers, from the Maildir that serve
// writes mail or copies to. Invisible characters are shown as <U+...>.
func Texts(folder string, suggestions []records.Record) map[string]string {
	texts, wanted := map[string]string{}, map[string]bool{}
	for _, s := range suggestions {
		wanted[s.ID] = true
	}
	for _, part := range []string{"new", "cur"} {
		entries, _ := os.ReadDir(filepath.Join(folder, part))
		for _, entry := range entries {
			if id, text := suggestion(filepath.Join(folder, part), entry); wanted[id] && len(texts) < len(wanted) {
				texts[id] = text
			}
		}
	}
	return texts
}

// suggestion reads a mail about a suggestion: an introduction, the fields with the name of the
// agent, and the text, quoted.
func suggestion(folder string, entry fs.DirEntry) (id, text string) {
	if info, err := entry.Info(); err != nil || !info.Mode().IsRegular() || info.Size() > maxMail {
		return "", ""
	}
	data, _ := os.ReadFile(filepath.Join(folder, entry.Name()))
	message, err := mail.ReadMessage(bytes.NewReader(data))
	if err != nil {
		return "", ""
	}
	body := message.Body
	if message.Header.Get("Content-Transfer-Encoding") == "quoted-printable" {
		body = quotedprintable.NewReader(body)
	}
	plain, _ := io.ReadAll(body)
	parts := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(plain), "\r\n", "\n")), "\n\n")
	if len(parts) != 3 {
		return "", ""
	}
	var lines []string
	for line := range strings.SplitSeq(parts[2], "\n") {
		if more, is := strings.CutPrefix(line, quote.More); is && len(lines) > 0 {
			lines[len(lines)-1] += more
			continue
		}
		lines = append(lines, strings.TrimPrefix(strings.TrimPrefix(line, ">"), " "))
	}
	id, _, _ = strings.Cut(strings.TrimPrefix(message.Header.Get("Message-ID"), "<"), "@")
	return id, strings.Join(lines, "\n")
}
