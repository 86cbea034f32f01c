"""What the operating system's sandbox lets a command do, whatever holds it to that: places, words, exceptions."""
