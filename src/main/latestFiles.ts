import { open, rename, rm } from "node:fs/promises";

/** What a file is to hold, worked out when its turn comes; null: no file. */
type Content = () => string | null;

type Done = { readonly promise: Promise<void>; readonly resolve: () => void; readonly reject: (error: unknown) => void };
type Job = { readonly content: Content; readonly durable: boolean; readonly done: Done };

/**
 * Files that show what a database holds: written one after the other beside the program's other work, and only the latest
 * content of each. Readers see a file whole or not at all. Waiting contents: as many as there are paths.
 */
export class LatestFiles {
  readonly #jobs = new Map<string, Job>();
  #running: Promise<void> | null = null;

  /**
   * @param durable also whole after a power cut
   * @returns settles when this content, or a later one of the same path, was written; rejects when it could not be
   */
  put(path: string, content: Content, durable = false): Promise<void> {
    const before = this.#jobs.get(path);
    const job = { content, durable: durable || before?.durable === true, done: before?.done ?? createDone() };
    this.#jobs.set(path, job);
    this.#running ??= this.#run();
    return job.done.promise;
  }

  /** Resolves when nothing waits any more. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running;
  }

  async #run(): Promise<void> {
    // Whoever comes in the same turn of the loop is served together.
    await Promise.resolve();
    for (const [path, job] of this.#jobs) {
      this.#jobs.delete(path);
      await replace(path, job).then(job.done.resolve, job.done.reject);
    }
    this.#running = null;
  }
}

function createDone(): Done {
  let settle: Pick<Done, "resolve" | "reject"> | null = null;
  const promise = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject };
  });
  if (!settle) throw new Error("a promise runs its executor at once");
  return { promise, ...(settle as Pick<Done, "resolve" | "reject">) };
}

async function replace(path: string, { content, durable }: Job): Promise<void> {
  const text = content();
  if (text === null) return rm(path, { force: true });
  const temporary = `${path}.tmp`;
  await rm(temporary, { force: true });
  const file = await open(temporary, "wx", 0o600);
  try {
    await file.writeFile(text);
    if (durable) await file.sync();
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}
