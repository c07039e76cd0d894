package main

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"sync"
	"time"
)

// Keys are the public keys of the accounts, read when they are needed.
type Keys struct {
	URL string

	mutex  sync.Mutex
	byID   map[string]any
	readAt time.Time
}

const (
	// Shorter than keys.cacheSeconds, so that a new key is known before it signs.
	cacheTime = 5 * time.Minute
	// Anybody can make up an unknown key, so it does not lead to a request each time.
	coolDown = 30 * time.Second
)

// Find returns the key of this name, which is nil if there is none. The only error is errNoAnswer.
func (keys *Keys) Find(id string) (any, error) {
	keys.mutex.Lock()
	defer keys.mutex.Unlock()
	age := time.Since(keys.readAt)
	if age > cacheTime || keys.byID[id] == nil && age > coolDown {
		if keys.read() != nil {
			return nil, errNoAnswer
		}
	}
	return keys.byID[id], nil
}

func (keys *Keys) read() error {
	answer, err := client.Get(keys.URL)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	var set struct {
		Keys []struct{ Kid, Kty, Crv, X, Y, N, E string }
	}
	if answer.StatusCode != http.StatusOK {
		return errNoAnswer
	}
	if err := json.NewDecoder(answer.Body).Decode(&set); err != nil {
		return err
	}
	keys.byID = map[string]any{}
	for _, jwk := range set.Keys {
		switch jwk.Kty + " " + jwk.Crv { // RFC 7518 section 6, RFC 8037 section 2
		case "OKP Ed25519":
			keys.byID[jwk.Kid] = ed25519.PublicKey(bytes(jwk.X))
		case "EC P-256":
			keys.byID[jwk.Kid] = &ecdsa.PublicKey{Curve: elliptic.P256(), X: number(jwk.X), Y: number(jwk.Y)}
		case "RSA ":
			keys.byID[jwk.Kid] = &rsa.PublicKey{N: number(jwk.N), E: int(number(jwk.E).Int64())}
		}
	}
	keys.readAt = time.Now()
	return nil
}

func bytes(text string) []byte {
	value, _ := base64.RawURLEncoding.DecodeString(text)
	return value
}

func number(text string) *big.Int {
	return new(big.Int).SetBytes(bytes(text))
}
