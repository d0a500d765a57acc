package logsource

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/jsondoc"
	"anteroom/generator/tlog"
)

// MaxFile is the largest answer, checkpoint or proof that is read, in bytes.
const MaxFile = 1 << 20

var recordIDs = regexp.MustCompile(`^[0-9a-f]{32}$`)

// RecordHash gives the hash by which the log names a record: from its digits, or from the answer in
// a file, on stdin if that is "-".
func RecordHash(stdin io.Reader, argument string) (string, error) {
	if hash, ok := tlog.ParseHash(argument); ok {
		return hash, nil
	}
	hash, err := readRecordHash(stdin, argument)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w (give its file, or a hash of 64 hexadecimal digits)", err)
	}
	if err != nil {
		return "", cli.Unusable("read the answer: %w", err)
	}
	return hash, nil
}

func readRecordHash(stdin io.Reader, name string) (string, error) {
	const whole = "give the whole answer of the registration or charter, as it was received"
	answer, err := cli.ReadObject(stdin, name, MaxFile, whole)
	if err != nil {
		return "", err
	}
	for _, wrapping := range []string{"result", "structuredContent"} { // of an MCP tool
		if inner := answer.Get(wrapping); inner.Kind == jsondoc.Object {
			answer = inner
		}
	}
	id, recorded := answer.Get("record_id").Text, answer.Get("recorded")
	payload, hashed := tlog.ParseHash(answer.Get("payload_sha256").Text)
	wrong := "has no payload_sha256 of 64 hexadecimal digits"
	switch {
	case answer.Get("receipt_spec").Kind == jsondoc.String:
		wrong = "is a receipt, which no verification counts"
	case recorded.Kind == jsondoc.Bool && !recorded.True:
		return "", fmt.Errorf("%s is the answer of a dry run: nothing was recorded (do it without dry_run, and %s)", name, whole)
	case !recordIDs.MatchString(id):
		wrong = "has no record_id of 32 hexadecimal digits"
	case hashed:
		return tlog.RecordHash(id, payload), nil
	case answer.Get("text_sha256").Kind == jsondoc.String: // a suggestion is named by its record_id alone
		return tlog.RecordHash(id, ""), nil
	}
	return "", fmt.Errorf("%s %s (%s)", name, wrong, whole)
}
