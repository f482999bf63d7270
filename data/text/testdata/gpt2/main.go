// Command gpt2 writes anew the tokens of the texts in gpt2.json, given on
// stdin, as another implementation of GPT-2's encoding makes them. To run it,
// copy it to a module of its own:
//
//	go mod init gpt2
//	go get github.com/pkoukk/tiktoken-go@v0.1.8 github.com/pkoukk/tiktoken-go-loader@v0.0.2
//	go run . < gpt2.json
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
)

type row struct {
	Text   string `json:"text"`
	Tokens []int  `json:"tokens"`
}

func main() {
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	encoding, err := tiktoken.GetEncoding("r50k_base")
	if err != nil {
		log.Fatal(err)
	}
	var rows []row
	if err := json.NewDecoder(os.Stdin).Decode(&rows); err != nil {
		log.Fatal(err)
	}
	fmt.Println("[")
	for i, r := range rows {
		r.Tokens = encoding.Encode(r.Text, nil, nil) // no special tokens
		b, err := json.Marshal(r)
		if err != nil {
			log.Fatal(err)
		}
		end := ","
		if i == len(rows)-1 {
			end = ""
		}
		fmt.Printf("  %s%s\n", b, end)
	}
	fmt.Println("]")
}
