package site

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"anteroom/generator/tlog"
)

// RotateKey gives the text of service.yaml with another current receipt key, from a date on. The
// key that was current before becomes the last of the retired ones, on that date.
func RotateKey(service []byte, publicKey, date string) ([]byte, error) {
	want, faults := decodeService(service)
	if faults != nil {
		return nil, faults
	}
	keys := &want.ReceiptKeys
	if keys.Current != "" {
		keys.Retired = append(slices.Clone(keys.Retired), RetiredKey{PublicKey: keys.Current, CurrentFrom: keys.CurrentFrom, RetiredOn: date})
	}
	keys.Current, keys.CurrentFrom = publicKey, date

	block := fmt.Sprintf("receipt_keys:\n"+
		"  current: %q # the public half of the signing key; without one, receipts are hash-committed only\n"+
		"  current_from: %q\n", keys.Current, keys.CurrentFrom) + listHead("retired", len(keys.Retired))
	for _, key := range keys.Retired {
		block += fmt.Sprintf("    - public_key: %q\n", key.PublicKey)
		if key.CurrentFrom != "" {
			block += fmt.Sprintf("      current_from: %q\n", key.CurrentFrom)
		}
		block += fmt.Sprintf("      retired_on: %q\n", key.RetiredOn)
		if key.Revoked != "" {
			block += fmt.Sprintf("      revoked: %q\n", key.Revoked)
		}
	}
	return withBlock(service, block, &want)
}

// RotateLogKey gives the text of service.yaml with one more key of the log, which is the last.
func RotateLogKey(service []byte, key string) ([]byte, error) {
	want, faults := decodeService(service)
	if faults != nil {
		return nil, faults
	}
	log := &want.Log
	log.Keys = append(slices.Clone(log.Keys), key)
	if log.Witnesses == nil {
		log.Witnesses = []tlog.Witness{} // as an empty list is read
	}

	block := "log:\n  keys: # without a key there is no log\n"
	for _, key := range log.Keys {
		block += fmt.Sprintf("    - %q\n", key)
	}
	block += listHead("witnesses", len(log.Witnesses))
	for _, w := range log.Witnesses {
		block += fmt.Sprintf("    - key: %q\n      url: %q\n", w.Key, w.URL)
	}
	return withBlock(service, block, &want)
}

func listHead(name string, n int) string {
	if n == 0 {
		return "  " + name + ": []\n"
	}
	return "  " + name + ":\n"
}

// withBlock replaces a block of service.yaml, which begins with its name, and keeps every other
// line. The new text must be that of the wanted service.
func withBlock(service []byte, block string, want *Service) ([]byte, error) {
	name, _, _ := strings.Cut(block, "\n")
	lines := slices.Collect(strings.Lines(string(service)))
	from := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, name) })
	if from < 0 {
		lines, from = append(lines, "\n"), len(lines)+1
		lines[from-2] = strings.TrimRight(lines[from-2], "\r\n") + "\n"
	}
	to := min(from+1, len(lines))
	for i := to; i < len(lines) && strings.ContainsAny(lines[i][:1], " \t\r\n"); i++ {
		if strings.TrimSpace(lines[i]) != "" {
			to = i + 1
		}
	}
	if strings.Contains(string(service), "\r\n") {
		block = strings.ReplaceAll(block, "\n", "\r\n")
	}
	text := []byte(strings.Join(slices.Replace(lines, from, to, block), ""))
	if got, faults := decodeService(text); faults != nil || !reflect.DeepEqual(got, *want) {
		return nil, errors.New("cannot edit " + name + " of service.yaml, or it lists this key already " +
			"(write " + name + " at the beginning of a line, and what belongs to it indented below)")
	}
	return text, nil
}

func decodeService(text []byte) (s Service, err error) {
	d := newDocument("service.yaml")
	if d.decode(text, &s); d.decoded {
		checkService(d, &s)
		checkLogKeys(d, &s)
	}
	return s, d.faults.err()
}
