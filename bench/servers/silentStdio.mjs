// A server on stdio that takes everything and never says a word. It ends with its input, as a good server does.
process.stdin.resume()
