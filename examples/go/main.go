// Notes, which only their owners see. Users with a verified address write them, and superusers see all.
package main

import (
	"encoding/json"
	"log"
	"net/http"
	"sync"
)

type note struct {
	Text string `json:"text"`
	By   string `json:"by"`
}

// By user id, until the process ends.
var (
	notes = map[string][]note{}
	mutex sync.Mutex
)

func main() {
	http.HandleFunc("/", Require(Need{Optional: true}, home))
	http.HandleFunc("/notes", func(response http.ResponseWriter, request *http.Request) {
		switch request.Method {
		case http.MethodPost:
			Require(Need{Verified: true}, write)(response, request)
		case http.MethodDelete:
			Require(Need{Level: 2}, remove)(response, request)
		default:
			Require(Need{}, read)(response, request)
		}
	})
	http.HandleFunc("/all-notes", Require(Need{Superuser: true}, readAll))

	address := "localhost:" + env("PORT", "8000")
	log.Printf("The app listens on http://%s", address)
	log.Fatal(http.ListenAndServe(address, nil))
}

func home(response http.ResponseWriter, request *http.Request) {
	var id any
	if user := UserFrom(request); user != nil {
		id = user.ID
	}
	answer(response, http.StatusOK, map[string]any{"user": id})
}

func read(response http.ResponseWriter, request *http.Request) {
	mutex.Lock()
	defer mutex.Unlock()
	answer(response, http.StatusOK, append([]note{}, notes[UserFrom(request).ID]...))
}

func write(response http.ResponseWriter, request *http.Request) {
	user, added := UserFrom(request), note{}
	if err := json.NewDecoder(request.Body).Decode(&added); err != nil {
		refuse(response, http.StatusBadRequest)
		return
	}
	added.By = user.Email
	mutex.Lock()
	defer mutex.Unlock()
	notes[user.ID] = append(notes[user.ID], added)
	answer(response, http.StatusCreated, notes[user.ID])
}

func remove(response http.ResponseWriter, request *http.Request) {
	mutex.Lock()
	defer mutex.Unlock()
	delete(notes, UserFrom(request).ID)
	response.WriteHeader(http.StatusNoContent)
}

func readAll(response http.ResponseWriter, _ *http.Request) {
	mutex.Lock()
	defer mutex.Unlock()
	answer(response, http.StatusOK, notes)
}

func answer(response http.ResponseWriter, status int, body any) {
	response.Header().Set("Content-Type", "application/json")
	response.WriteHeader(status)
	_ = json.NewEncoder(response).Encode(body)
}
