package tui

import (
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// keyboard is where keys are read from when standard input is something else.
const keyboard = "CONIN$"

// endSignals are those that end a program.
var endSignals = []os.Signal{os.Interrupt}

// showSequences makes a console do what escape sequences say. It returns what undoes that.
func showSequences(out *os.File) (undo func(), err error) {
	console := windows.Handle(out.Fd())
	var was uint32
	if err := windows.GetConsoleMode(console, &was); err != nil {
		return nil, err
	}
	if err := windows.SetConsoleMode(console, was|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING); err != nil {
		return nil, err
	}
	return func() { windows.SetConsoleMode(console, was) }, nil
}

// watchSize tells now and then that the size of the terminal may have changed, as consoles do not say so. It goes on
// until the function it returns is called.
func watchSize(changed chan<- os.Signal) (stop func()) {
	ticker := time.NewTicker(500 * time.Millisecond)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ticker.C:
				select {
				case changed <- os.Interrupt: // which signal makes no difference
				default:
				}
			case <-done:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(done)
		<-ended
	}
}
