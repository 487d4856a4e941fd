package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
)

const (
	// lineBytes is the longest line: 20 digits, a name of 32 characters, two numbers, three commas and a line break.
	lineBytes = 64
	megabyte  = 1_000_000
)

// keeper appends samples to a file. When the file has twice as many lines as it should, keeper drops the oldest ones.
type keeper struct {
	storage storage
	lines   int
}

func newKeeper(storage storage) (*keeper, error) {
	lines, err := readLines(storage.Path)
	return &keeper{storage: storage, lines: len(lines)}, err
}

func (k *keeper) keep(sample Sample) error {
	file, err := os.OpenFile(k.storage.Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "%d,%s,%.1f,%d\n", sample.Time.Unix(), sample.Cell, sample.PrbUsedPercent, sample.ActiveUEs)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	k.lines++
	if k.lines < 2*k.storage.Keep {
		return nil
	}
	return k.trim()
}

func (k *keeper) trim() error {
	lines, err := readLines(k.storage.Path)
	if err != nil {
		return err
	}
	lines = lines[max(0, len(lines)-k.storage.Keep):]
	fresh := k.storage.Path + ".new"
	file, err := os.Create(fresh)
	if err != nil {
		return err
	}
	writer := bufio.NewWriter(file)
	for _, line := range lines {
		fmt.Fprintln(writer, line)
	}
	if err := errors.Join(writer.Flush(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(fresh, k.storage.Path); err != nil {
		return err
	}
	k.lines = len(lines)
	slog.Info("dropped old samples", "kept", k.lines)
	return nil
}

func readLines(path string) ([]string, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var lines []string
	scanner := bufio.NewScanner(file)
	for scanner.Scan() {
		lines = append(lines, scanner.Text())
	}
	return lines, scanner.Err()
}

// check fails if the samples do not fit into their volume. It runs before an install, because the schema of a chart
// cannot express a rule about several values.
func check(arguments []string) error {
	flags := flag.NewFlagSet("check", flag.ExitOnError)
	keep := flags.Int("keep", 0, "`number` of stored samples")
	megabytes := flags.Int("megabytes", 0, "`size` of the volume")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	needed := *keep*2*lineBytes/megabyte + 1
	if needed > *megabytes {
		return fmt.Errorf("%d samples need %d MB, because they are stored twice while old ones are dropped, but the volume has %d MB: "+
			"store fewer samples, or increase storage.megabytes", *keep, needed, *megabytes)
	}
	slog.Info("samples fit", "keep", *keep, "neededMegabytes", needed, "megabytes", *megabytes)
	return nil
}
