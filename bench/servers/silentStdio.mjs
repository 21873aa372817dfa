// A server on stdio that reads everything and never responds. It exits at the end of its input.
process.stdin.resume()
