package site

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"anteroom/generator/model"
	"anteroom/generator/tlog"
)

// RotateKey returns service.yaml with a new current receipt key from a date on. The previous one
// becomes the last of the retired keys. Comments between the keys are lost: git has them.
func RotateKey(service []byte, publicKey, date string) ([]byte, error) {
	const comment = "the public half of the signing key; without one, receipts are hash-committed only"
	return withBlock(service, publicKey, "receipt_keys:", comment, func(s *Service) any {
		keys := &s.ReceiptKeys
		if keys.Current != "" {
			keys.Retired = append(keys.Retired,
				model.RetiredKey{PublicKey: keys.Current, CurrentFrom: keys.CurrentFrom, RetiredOn: date})
		}
		keys.Current, keys.CurrentFrom = publicKey, date
		return keys
	})
}

func RotateLogKey(service []byte, key string) ([]byte, error) {
	return withBlock(service, key, "log:", "without a key there is no log", func(s *Service) any {
		s.Log.Key = key
		if s.Log.Witnesses == nil {
			s.Log.Witnesses = []tlog.Witness{} // like a decoded empty list
		}
		return &s.Log
	})
}

func withBlock(service []byte, key, name, comment string, change func(*Service) any) ([]byte, error) {
	want, faults := decodeService(service)
	if faults != nil {
		return nil, faults
	}
	if slices.Contains(want.Keys(), key) || want.Log.Key == key {
		return nil, errors.New("service.yaml lists this key already")
	}
	text, err := dumpYAML(change(&want))
	if err != nil {
		return nil, err
	}
	block := name + "\n"
	for line := range strings.Lines(strings.Replace(string(text), "\n", " # "+comment+"\n", 1)) {
		block += "  " + line
	}
	lines := slices.Collect(strings.Lines(string(service)))
	from := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, name) })
	if from < 0 {
		lines, from = append(lines, "\n"), len(lines)+1
	}
	to := min(from+1, len(lines))
	for i := to; i < len(lines) && strings.ContainsAny(lines[i][:1], "# \t\r\n"); i++ {
		if lines[i][0] != '#' && strings.TrimSpace(lines[i]) != "" {
			to = i + 1
		}
	}
	text = []byte(strings.Join(slices.Replace(lines, from, to, block), ""))
	if got, faults := decodeService(text); faults != nil || !reflect.DeepEqual(got, want) {
		return nil, errors.New("cannot edit " + name + " of service.yaml " +
			"(write " + name + " at the beginning of a line, and its members indented below)")
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
