import { reasonOf } from "../../../core/util/reasonOf.ts";
import { Aborted, type Clock, withDeadline } from "../../../ports/clock.ts";
import type { Log } from "../../../ports/log.ts";
import { StorageError } from "../../../ports/sql.ts";
import type { SwapStore } from "../../../ports/swapStore.ts";
import { eventToText } from "../storedEvent.ts";
import { CopyFile } from "./copyFile.ts";
import { COPY_HEADER, eventLine } from "./copyText.ts";

/** A write that has no answer by then has failed: a folder of another machine may never answer. */
const DEADLINE_MS = 10_000;
/** The same for the whole file: hundreds of megabytes at most. */
const WHOLE_DEADLINE_MS = 60_000;
/** What waits to be written at most, characters; beyond it the file is made anew when it can be written again. */
const MAX_WAITING = 8_000_000;
/** A file that has grown by as much as it had, and by this, bytes, is made anew without the swaps that are over. */
const GROWTH = 8 * 1024 * 1024;
/** Between two tries of what could not be written, while nothing else is to be. */
const LOOK_EVERY_MS = 10_000;
/** Between two lines of the log on the same trouble. */
const TELL_EVERY_MS = 60_000;

const KEPT =
  "it may have open swaps, or ends of their records, that this node does not know: start the node again, and they are taken up. Their deadlines do not wait";

type Waiting = { readonly text: string; readonly done: (failure: StorageError | null) => void };

export type SwapCopiesDeps = {
  /** The file. Its folder is made, the one above that must be there: a disk that is not mounted is no place for copies. */
  readonly path: string;
  /** Whether the database has what is in the file that is there. If not, that file is kept beside the new one. */
  readonly isTakenUp: boolean;
  /** Copies kept by former starts that the database has all of: they go once the new file is there. */
  readonly spent?: readonly string[];
  /** What was asked of the folder in vain: until it is answered nothing else is, for each such question holds a thread, and there are few. */
  readonly unanswered?: Promise<unknown> | null;
  /** Says what is open when the file is made anew. */
  readonly store: Pick<SwapStore, "unsettled" | "log">;
  readonly clock: Clock;
  readonly log: Log;
};

/**
 * The records of open swaps in a second place, a file of lines: all that waits is added at once. After a failure, and when it has grown, the
 * file is made anew from the database.
 */
export class SwapCopies {
  readonly #deps: SwapCopiesDeps;
  readonly #file: CopyFile;
  #waiting: Waiting[] = [];
  #waitingSize = 0;
  #running: Promise<void> | null = null;
  /** A write that is past its deadline goes on by itself; until it ends no other begins. */
  #hangs = false;
  /** The file lacks something, or has not been made yet. */
  #isStale = true;
  /** Counts what failed: a write that ends after its deadline makes good nothing that was told since. */
  #failures = 0;
  #madeBytes = 0;
  /** Swaps whose records cannot be read in the database, for which a file of before is kept. */
  readonly #unread = new Set<string>();
  /** Why nothing can be written now, as the last try said; null: it could. */
  #trouble: string | null = null;
  #lookedMs = Number.NEGATIVE_INFINITY;
  #toldMs = Number.NEGATIVE_INFINITY;

  constructor(deps: SwapCopiesDeps) {
    this.#deps = deps;
    this.#file = new CopyFile(deps.path, !deps.isTakenUp, deps.spent ?? [], (copy) =>
      deps.log.error("swap_copies_kept", { copy, hint: KEPT }),
    );
    if (!deps.unanswered) return;
    this.#hangs = true;
    const answered = (): void => {
      this.#hangs = false;
    };
    deps.unanswered.then(answered, answered);
  }

  /** Makes the file. Never rejects: what cannot be written is told, and tried again with the next event. */
  async open(): Promise<void> {
    await this.add("").catch(() => undefined);
  }

  /** Adds lines. Resolves when they, and all that were told before, are on the disk; rejects with `StorageError` `Io`. */
  add(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#enqueue(text, (failure) => (failure ? reject(failure) : resolve()));
    });
  }

  /** Adds lines some time. What fails is told, and made good by the next write that succeeds. */
  follow(text: string): void {
    this.#enqueue(text, () => undefined);
  }

  /** Why no swap can begin now; null: it may. Who asks has it tried again now and then, for without swaps nothing else is written. */
  obstacle(): string | null {
    const isDue = Math.abs(this.#deps.clock.nowMs() - this.#lookedMs) >= LOOK_EVERY_MS;
    if (this.#trouble !== null && isDue && !this.isUnanswered) this.follow("");
    return this.#trouble;
  }

  /** Whether something that was asked of the folder has no answer yet. */
  get isUnanswered(): boolean {
    return this.#hangs || this.#running !== null;
  }

  /** Waits for what is being written, no longer than for an answer of the folder. */
  async close(): Promise<void> {
    const running = this.#running ?? Promise.resolve();
    await withDeadline(this.#deps.clock, DEADLINE_MS, undefined, () => running).catch(() => undefined);
    if (!this.isUnanswered) await this.#file.close().catch(() => undefined);
  }

  #enqueue(text: string, done: Waiting["done"]): void {
    const isFull = this.#waitingSize + text.length > MAX_WAITING;
    if (this.#hangs || isFull) {
      done(this.#failed(isFull ? "too much waits to be written" : "the folder does not answer"));
      return;
    }
    this.#waiting.push({ text, done });
    this.#waitingSize += text.length;
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    // Whoever comes in the same turn of the loop is served together.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      this.#waitingSize = 0;
      const failure = await this.#write(batch.map((w) => w.text).join(""));
      const failed = failure === null ? this.#succeeded() : this.#failed(failure);
      for (const { done } of batch) done(failed);
      // What waits is in the file when that is made anew.
      if (this.#hangs) this.#dropWaiting(failed);
    }
    this.#running = null;
  }

  #dropWaiting(failure: StorageError | null): void {
    for (const { done } of this.#waiting.splice(0)) done(failure);
    this.#waitingSize = 0;
  }

  /** @returns what went wrong; null: nothing */
  async #within(work: Promise<void>, deadlineMs: number): Promise<string | null> {
    const ended = work.finally(() => {
      this.#hangs = false;
    });
    try {
      await withDeadline(this.#deps.clock, deadlineMs, undefined, () => ended);
      return null;
    } catch (cause) {
      this.#hangs = cause instanceof Aborted;
      return reasonOf(cause);
    }
  }

  /** @returns what went wrong; null: nothing */
  #write(text: string): Promise<string | null> {
    const isWhole = this.#isStale || this.#file.bytes >= 2 * this.#madeBytes + GROWTH;
    // Until it has succeeded: half a line may be there.
    this.#isStale = true;
    return isWhole ? this.#within(this.#makeAnew(text), WHOLE_DEADLINE_MS) : this.#within(this.#append(text), DEADLINE_MS);
  }

  async #append(text: string): Promise<void> {
    const failures = this.#failures;
    await this.#file.add(text);
    this.#isStale = failures !== this.#failures;
  }

  async #makeAnew(text: string): Promise<void> {
    const failures = this.#failures;
    const unread: string[] = [];
    // The file of before the start is kept if it has what the database lacks (`isTakenUp`).
    const lacksSome = (): boolean => this.#madeBytes > 0 && unread.some((uuid) => !this.#unread.has(uuid));
    await this.#file.replace(this.#openSwaps(text, unread), lacksSome);
    for (const uuid of unread) this.#unread.add(uuid);
    this.#madeBytes = this.#file.bytes;
    this.#isStale = failures !== this.#failures;
  }

  /**
   * @param text what is not in the database yet, perhaps
   * @param unread gets the swaps whose records cannot be read: the file that is there may have the last of them
   */
  async *#openSwaps(text: string, unread: string[]): AsyncGenerator<string> {
    const { store, log } = this.#deps;
    yield `${COPY_HEADER}\n`;
    for (const { uuid } of await store.unsettled()) {
      const record = await store.log(uuid).catch((cause: unknown) => {
        if (cause instanceof StorageError && cause.kind === "Corrupt") return [];
        throw cause;
      });
      if (record.length === 0) {
        log.warn("swap_not_copied", { swap: uuid });
        unread.push(uuid);
      }
      yield record.map((stored, seq) => eventLine(uuid, seq, eventToText(stored))).join("");
    }
    yield text;
  }

  #succeeded(): null {
    if (this.#trouble !== null) this.#deps.log.info("swap_copies_written_again", { path: this.#deps.path });
    this.#trouble = null;
    this.#toldMs = Number.NEGATIVE_INFINITY;
    return null;
  }

  #failed(why: string): StorageError {
    const { path, clock, log } = this.#deps;
    this.#isStale = true;
    this.#failures++;
    this.#trouble = `the copies of swaps in ${path} cannot be written (${why}): nothing new is paid until they can`;
    const error = new StorageError("Io", this.#trouble);
    const nowMs = clock.nowMs();
    this.#lookedMs = nowMs;
    if (Math.abs(nowMs - this.#toldMs) >= TELL_EVERY_MS) {
      this.#toldMs = nowMs;
      log.error("swap_copies_not_written", { error });
    }
    return error;
  }
}
