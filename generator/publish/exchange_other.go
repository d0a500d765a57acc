//go:build !linux

package publish

import "errors"

// exchange swaps two folders in one step: not here.
func exchange(a, b string) error { return errors.ErrUnsupported }
