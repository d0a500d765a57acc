package mail

import (
	"context"
	"crypto/x509"
	"fmt"
	"time"
)

// Check connects to the mail server at an address that Open takes, and logs in as for a message,
// but sends none. Each step may take as long as patience. The error says which step failed, and
// how: ErrUnreachable where no connection could be made. It repeats neither a password nor words of
// the server.
func Check(ctx context.Context, address string, patience time.Duration) error {
	return check(ctx, address, nil, patience)
}

func check(ctx context.Context, address string, roots *x509.CertPool, patience time.Duration) error {
	u, err := parseSMTP(address)
	if err != nil {
		return err
	}
	r, err := newSMTP(u, roots, smtpTimes{command: patience})
	if err != nil {
		return err
	}
	conn, client, err := r.open(ctx)
	if err != nil {
		return fmt.Errorf("mail server %s: %w", r.address, err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(quitTimeout))
	client.Quit() // the server would have taken a message, whatever comes after
	return nil
}
