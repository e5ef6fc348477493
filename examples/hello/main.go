// Hello is the smallest program: shmrun -n 4 hello. No rank passes the barrier alone.
package main

import "context"
import "log"
import "github.com/symwin/symwin"

func main() {
	w, err := symwin.Join(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()
	log.Println("rank", w.Rank(), "of", w.Size(), "passed", w.Team().Barrier(context.Background()) == nil)
}
