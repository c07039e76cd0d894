package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

var (
	accounts = env("ACCOUNTS_URL", "http://localhost:3000")
	issuer   = env("ACCOUNTS_ISSUER", "") // the claim iss of JWTs; without it, /users/me decides on each request
	audience = "portcullis:auth"          // backends.<name>.strategy.audience

	client = &http.Client{Timeout: 2 * time.Second}
	keys   = &Keys{URL: accounts + "/.well-known/jwks.json"}
	parser = jwt.NewParser(
		jwt.WithValidMethods([]string{"EdDSA", "ES256", "RS256"}),
		jwt.WithIssuer(issuer),
		jwt.WithAudience(audience),
		jwt.WithExpirationRequired(),
	)

	errRefused  = errors.New("the token is not valid")
	errNoAnswer = errors.New("the accounts do not answer")
)

// ClaimsOf returns the claims of an access token (RFC 9068), by the public keys.
// The error is errNoAnswer if the keys cannot be read.
func ClaimsOf(token string) (jwt.MapClaims, error) {
	claims := jwt.MapClaims{}
	_, err := parser.ParseWithClaims(token, claims, func(token *jwt.Token) (any, error) {
		if token.Header["typ"] != "at+jwt" { // golang-jwt does not check it
			return nil, errRefused
		}
		id, _ := token.Header["kid"].(string)
		return keys.Find(id) // its type binds the algorithm
	})
	return claims, err
}

// A User who has logged in. By the public keys, only the ID is known.
type User struct {
	ID          string `json:"id"`
	Email       string `json:"email"`
	IsVerified  bool   `json:"is_verified"`
	IsSuperuser bool   `json:"is_superuser"`
}

// A Forbidden error says why a login is refused, as the accounts do.
type Forbidden string

func (detail Forbidden) Error() string { return string(detail) }

// userOf returns the user who makes a request, or nil. Where a right counts, /users/me decides.
func userOf(request *http.Request, need Need) (*User, error) {
	scheme, token, _ := strings.Cut(request.Header.Get("Authorization"), " ")
	if need.Verified || need.Superuser || issuer == "" || !strings.EqualFold(scheme, "bearer") || strings.Count(token, ".") != 2 {
		return userByQuestion(request, need.Level)
	}
	claims, err := ClaimsOf(strings.TrimLeft(token, " "))
	if errors.Is(err, errNoAnswer) {
		return nil, errNoAnswer
	}
	id, _ := claims["sub"].(string)
	if err != nil || id == "" {
		return nil, nil
	}
	if need.Level == 2 && claims["acr"] != "2" {
		return nil, Forbidden("SECOND_FACTOR_REQUIRED")
	}
	return &User{ID: id}, nil
}

// userByQuestion returns the user of any credential, as GET /users/me does.
func userByQuestion(request *http.Request, level int) (*User, error) {
	address := accounts + "/users/me"
	if level == 2 {
		address += "?level=2"
	}
	question, err := http.NewRequestWithContext(request.Context(), http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"Authorization", "Cookie"} {
		question.Header[name] = request.Header[name]
	}
	if request.Header["Authorization"] == nil && request.Header["Cookie"] == nil {
		return nil, nil
	}
	answer, err := client.Do(question)
	if err != nil {
		return nil, errNoAnswer
	}
	defer answer.Body.Close()
	user := &User{}
	switch {
	case answer.StatusCode == http.StatusUnauthorized:
		return nil, nil
	case answer.StatusCode == http.StatusForbidden:
		body := struct{ Detail Forbidden }{}
		if json.NewDecoder(answer.Body).Decode(&body) != nil {
			return nil, errNoAnswer
		}
		return nil, body.Detail
	case answer.StatusCode != http.StatusOK || json.NewDecoder(answer.Body).Decode(user) != nil:
		return nil, errNoAnswer
	}
	return user, nil
}

// Need says which users may make a request. With Optional, nobody may, too. With Level 2, the login needs two factors.
type Need struct {
	Verified, Superuser, Optional bool
	Level                         int
}

type userKey struct{}

// Require answers 401 or 403 to others. UserFrom returns the user in the handler. It panics for another level than 1 and 2, or none.
func Require(need Need, handler http.HandlerFunc) http.HandlerFunc {
	if need.Level < 0 || need.Level > 2 {
		panic("Need.Level must be 1 or 2")
	}
	return func(response http.ResponseWriter, request *http.Request) {
		user, err := userOf(request, need)
		if user != nil && (need.Verified && !user.IsVerified || need.Superuser && !user.IsSuperuser) {
			user, err = nil, Forbidden(http.StatusText(http.StatusForbidden))
		}
		forbidden := Forbidden("")
		isForbidden := errors.As(err, &forbidden)
		switch {
		case err != nil && !isForbidden:
			refuse(response, http.StatusServiceUnavailable)
			return
		case isForbidden && !need.Optional:
			answer(response, http.StatusForbidden, map[string]string{"detail": string(forbidden)})
			return
		case user == nil && !need.Optional:
			refuse(response, http.StatusUnauthorized)
			return
		}
		handler(response, request.WithContext(context.WithValue(request.Context(), userKey{}, user)))
	}
}

// UserFrom returns the user who makes a request. It is nil only if Need.Optional is set.
func UserFrom(request *http.Request) *User {
	user, _ := request.Context().Value(userKey{}).(*User)
	return user
}

func refuse(response http.ResponseWriter, status int) {
	answer(response, status, map[string]string{"detail": http.StatusText(status)})
}

func env(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}
