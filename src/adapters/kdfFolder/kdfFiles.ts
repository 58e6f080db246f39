import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Bytes of one file of a swap that are read. KDF's have some ten thousand. */
const MAX_FILE_BYTES = 1_000_000;
/** Of one of an order: it keeps every match it ever had, some 2.5 kB each. */
export const MAX_ORDER_BYTES = 25_000_000;
const UUID_FILE = /^([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\.json$/;

/** A file of KDF by its path below the wallet's folder: what it says, or why it cannot be read. */
export type KdfFile =
  | { readonly name: string; readonly uuid: string; readonly json: unknown; readonly fault: null }
  | { readonly name: string; readonly uuid: string | null; readonly fault: string };

/** A name for people, of a length to read. */
export const shownName = (name: string): string => (/^[\x20-\x7e]{1,120}$/.test(name) ? name : JSON.stringify(name.slice(0, 120)));

/** Names in a folder in order; none when there is no such folder. Throws the system's error on any other trouble. */
export function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    // One that must not be looked into is not one that is empty.
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}

/**
 * Reads a file without following a link to elsewhere and without waiting for anybody (a pipe); opened for reading, so nothing of it changes.
 * @returns its text, or why there is none
 */
export function readSmall(path: string, maxBytes = MAX_FILE_BYTES): { readonly text: string } | { readonly fault: string } {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    return { fault: code === "ELOOP" ? "it is a link" : `it cannot be opened (${code})` };
  }
  try {
    const found = fstatSync(file);
    if (!found.isFile()) return { fault: "it is no file" };
    const { size } = found;
    if (size > maxBytes) return { fault: `it has ${size} bytes, more than the ${maxBytes} that are read` };
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(file)) };
  } catch (error) {
    return { fault: error instanceof TypeError ? "it is not UTF-8" : "it cannot be read" };
  } finally {
    closeSync(file);
  }
}

/** The JSON files of one of KDF's folders, one at a time: there may be a hundred thousand. */
export function* kdfFiles(root: string, folder: string, maxBytes = MAX_FILE_BYTES): Generator<KdfFile> {
  for (const name of namesIn(join(root, folder))) {
    if (!name.endsWith(".json")) continue;
    const at = `${folder}/${shownName(name)}`;
    const [, uuid] = UUID_FILE.exec(name) ?? [];
    if (uuid === undefined) {
      yield { name: at, uuid: null, fault: "its name is not one KDF gives" };
      continue;
    }
    const read = readSmall(join(root, folder, name), maxBytes);
    yield "fault" in read ? { name: at, uuid, fault: read.fault } : parsed(at, uuid, read.text);
  }
}

function parsed(name: string, uuid: string, text: string): KdfFile {
  try {
    return { name, uuid, json: JSON.parse(text) as unknown, fault: null };
  } catch (cause) {
    if (cause instanceof SyntaxError) return { name, uuid, fault: "it is not JSON" };
    if (cause instanceof RangeError) return { name, uuid, fault: "it is nested too deep" };
    throw cause;
  }
}
