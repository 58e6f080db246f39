import { type FileHandle, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname } from "node:path";

/** A file that lines are added to, and that is now and then put anew. One call at a time. All reject with the system's error. */
export class CopyFile {
  readonly #path: string;
  #file: FileHandle | null = null;
  #bytes = 0;
  /** How many names the file has while it is there: one, where the file system counts them. */
  #links = 0;

  #keepsOld: boolean;
  #spent: readonly string[];
  readonly #onKept: (kept: string) => void;

  /**
   * @param keepsOld whether a file that is there stays beside the first new one, under another name (`keptPath`)
   * @param spent files that are of no use any more once the first new one is there
   * @param onKept told where one is that stays
   */
  constructor(path: string, keepsOld: boolean, spent: readonly string[], onKept: (kept: string) => void) {
    this.#path = path;
    this.#keepsOld = keepsOld;
    this.#spent = spent;
    this.#onKept = onKept;
  }

  /** Size of what is there, bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** On the disk when it resolves. Not before `replace` has been called once. */
  async add(text: string): Promise<void> {
    if (!this.#file) throw new Error("the file is not open");
    await this.#file.appendFile(text);
    await this.#file.datasync();
    const { nlink } = await this.#file.stat();
    if (nlink < this.#links) throw new Error("the file was removed");
    this.#bytes += Buffer.byteLength(text);
  }

  /**
   * Puts a new file, mode 0600, in the place of what is there, which stays until the new one is whole on the disk.
   * @param lacksSome asked once all parts have come: whether what is there has something they lack, and is kept beside the new one
   */
  async replace(parts: AsyncIterable<string>, lacksSome: () => boolean): Promise<void> {
    await this.close();
    await makeFolder(dirname(this.#path));
    const partial = `${this.#path}.partial`;
    await rm(partial, { force: true });
    const file = await open(partial, "ax", 0o600);
    try {
      this.#bytes = 0;
      for await (const part of parts) {
        await file.appendFile(part);
        this.#bytes += Buffer.byteLength(part);
      }
      await file.sync();
      if (this.#keepsOld || lacksSome()) await this.#keep();
      this.#keepsOld = false;
      await rename(partial, this.#path);
      await syncFolder(dirname(this.#path));
      await this.#removeSpent();
    } catch (cause) {
      await file.close().catch(() => undefined);
      throw cause;
    }
    this.#file = file;
    this.#links = (await file.stat()).nlink;
  }

  async #keep(): Promise<void> {
    const kept = await keep(this.#path);
    if (kept !== null) this.#onKept(kept);
  }

  /** One that stays is looked at again at the next start. */
  async #removeSpent(): Promise<void> {
    for (const path of this.#spent) await rm(path, { force: true }).catch(() => undefined);
    this.#spent = [];
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = null;
    await file?.close();
  }
}

/** Files kept at most; with more, somebody has to look at them. */
const MAX_KEPT = 100;

/** Where a copy is kept whose swaps the database may not have. */
const keptPath = (path: string, n: number): string => `${path}.kept-${n}`;

/** Copies that are there, by path: the one in use first, then those kept. Rejects with the system's error where the folder cannot be read. */
export async function copiesAt(path: string): Promise<readonly string[]> {
  const names: readonly string[] = await readdir(dirname(path)).catch(orNone);
  const all = [path, ...Array.from({ length: MAX_KEPT }, (_, i) => keptPath(path, i + 1))];
  return all.filter((one) => names.includes(basename(one)));
}

/** @returns where it is now; null: there is none */
async function keep(path: string): Promise<string | null> {
  const there = await copiesAt(path);
  if (!there.includes(path)) return null;
  for (let n = 1; n <= MAX_KEPT; n++) {
    const kept = keptPath(path, n);
    if (there.includes(kept)) continue;
    await rename(path, kept);
    return kept;
  }
  throw new Error(`${MAX_KEPT} copies are kept beside it already`);
}

function orNone(cause: unknown): [] {
  if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return [];
  throw cause;
}

/** Its name is on the disk when it resolves. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "EEXIST") return;
    throw cause;
  }
  await syncFolder(dirname(path));
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
