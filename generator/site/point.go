package site

import (
	"math/big"
	"slices"
)

// The curve of Ed25519 is -x² + y² = 1 + dx²y² over the integers modulo a prime.
var (
	fieldPrime = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	curveD     = new(big.Int).Mul(big.NewInt(-121665), new(big.Int).ModInverse(big.NewInt(121666), fieldPrime))
)

// validPoint reports whether an Ed25519 public key is a point of the curve (RFC 8032, 5.1.3)
// outside the eight of small order: under these, anyone can sign anything. A key that is no point
// has no valid signatures; a secret seed in its place is refused in half of all cases.
func validPoint(key []byte) bool {
	if len(key) != 32 {
		return false
	}
	key = slices.Clone(key)
	slices.Reverse(key)
	key[0] &= 0x7f // the sign of x
	y, one := new(big.Int).SetBytes(key), big.NewInt(1)
	square := new(big.Int).Mul(y, y)
	d := new(big.Int).Mul(square, curveD)
	u, v := new(big.Int).Sub(square, one), new(big.Int).Add(d, one)
	// x² is u/v, and such an x exists if u·v is a square. v is never 0.
	onCurve := y.Cmp(fieldPrime) < 0 && big.Jacobi(u.Mul(u, v).Mod(u, fieldPrime), fieldPrime) == 1
	// Of the points of small order two have x = 0 (then u·v is 0), two have y = 0, and four have dy⁴ +
	// 2y² = 1.
	eighth := d.Mul(d, square).Add(d, square.Lsh(square, 1)).Sub(d, one)
	return onCurve && y.Sign() > 0 && eighth.Mod(eighth, fieldPrime).Sign() != 0
}
