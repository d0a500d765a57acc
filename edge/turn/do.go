package turn

// Do returns the result of an effect. If ok is false, the host has yet to perform it: the handler
// returns nil, and the host calls again with the result in the journal. A handler that ignores ok
// gets no further result, and whatever it returns is dropped.
func (t *Turn) Do(effect Effect) (result Result, ok bool) {
	results, ok := t.DoAll(effect)
	if !ok {
		return Result{}, false
	}
	return results[0], true
}

// DoAll is Do for effects that do not depend on each other: the host performs them side by side.
func (t *Turn) DoAll(effects ...Effect) (results []Result, ok bool) {
	if t.asked != nil {
		return nil, false
	}
	for _, effect := range effects {
		exec, _ := effect.(Exec)
		t.Statements += len(exec.Statements)
	}
	end := t.read + len(effects)
	if end > len(t.Journal) {
		t.asked = effects
		return nil, false
	}
	results, t.read = t.Journal[t.read:end], end
	return results, true
}

// SignatureSize is how many bytes an Ed25519 signature has (RFC 8032, section 5.1.6).
const SignatureSize = 64
