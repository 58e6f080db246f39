import { readSync } from "node:fs";

/** Longest password read, bytes. */
const MAX_PASSWORD = 1_024;
const CTRL_C = 0x03;
const BACKSPACES = [0x08, 0x7f];

/**
 * Asks on the terminal without showing what is typed; without a terminal, takes the first line of standard input.
 * Null when nothing was given or the person pressed Ctrl-C.
 */
export function readPassword(prompt: string): string | null {
  const terminal = process.stdin.isTTY;
  if (terminal) process.stderr.write(prompt);
  if (terminal) process.stdin.setRawMode(true);
  const bytes: number[] = [];
  const one = Buffer.alloc(1);
  try {
    while (bytes.length < MAX_PASSWORD) {
      if (!readByte(one)) break;
      const byte = one[0] ?? 0;
      if (byte === 0x0a || byte === 0x0d) break;
      if (terminal && byte === CTRL_C) return null;
      if (terminal && BACKSPACES.includes(byte)) bytes.pop();
      else bytes.push(byte);
    }
  } finally {
    if (terminal) {
      process.stdin.setRawMode(false);
      process.stderr.write("\n");
    }
  }
  const password = Buffer.from(bytes).toString("utf8");
  return password === "" ? null : password;
}

/** False at the end of the input. */
function readByte(into: Buffer): boolean {
  for (;;) {
    try {
      return readSync(0, into, 0, 1, null) === 1;
    } catch (error) {
      if (!(error instanceof Error) || !("code" in error)) throw error;
      if (error.code === "EOF") return false;
      if (error.code !== "EAGAIN") throw error;
    }
  }
}
