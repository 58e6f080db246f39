import { Worker } from "node:worker_threads";
import { reasonOf } from "../../core/util/reasonOf.ts";
import { type SqlDatabase, type SqlRow, type SqlStatement, type SqlValue, StorageError, type WriteOptions } from "../../ports/sql.ts";
import type { ComponentSchema } from "./migrations.ts";
import type { StoreNote } from "./openStore.ts";
import type { WireError, WorkerReply, WorkerRequest, WorkerSetup } from "./workerProtocol.ts";

/** Requests handed to the worker and not answered yet. */
const MAX_IN_FLIGHT = 1_024;
/** Callers waiting for a place behind them; beyond this a call is refused instead of queued. */
const MAX_WAITING = 16_384;

const fromWire = (error: WireError): StorageError =>
  new StorageError(error.kind, error.message, error.cause === "" ? undefined : { cause: new Error(error.cause) });

type Pending = { readonly resolve: (rows: readonly SqlRow[]) => void; readonly reject: (error: StorageError) => void };
type Body =
  | { readonly op: "write"; readonly batch: readonly SqlStatement[]; readonly isNew: boolean }
  | { readonly op: "read"; readonly sql: string; readonly params: readonly SqlValue[] }
  | { readonly op: "close" };

class WorkerDatabase implements SqlDatabase {
  readonly #worker: Worker;
  readonly #inFlight = new Map<number, Pending>();
  /** In order of arrival; `#waitingFrom` is the first not yet sent. */
  #waiting: { readonly request: WorkerRequest; readonly pending: Pending }[] = [];
  #waitingFrom = 0;
  #nextId = 1;
  #closing: Promise<void> | null = null;
  #dead: StorageError | null = null;

  /** @param onDied told when the thread ends unasked: nothing is stored or read any more */
  constructor(worker: Worker, onDied: (error: StorageError) => void) {
    this.#worker = worker;
    const end = (error: StorageError): void => {
      const isNews = this.#dead === null && this.#closing === null;
      this.#die(error);
      if (isNews) onDied(error);
    };
    worker.on("message", (reply: WorkerReply) => this.#onReply(reply));
    worker.on("error", (error) => end(new StorageError("Io", "the thread that writes the database failed", { cause: error })));
    worker.on("exit", () => end(new StorageError("Closed", "the database is closed")));
  }

  async write(batch: readonly SqlStatement[], { isNew = false }: WriteOptions = {}): Promise<void> {
    await this.#call({ op: "write", batch, isNew });
  }

  read(sql: string, params: readonly SqlValue[] = []): Promise<readonly SqlRow[]> {
    return this.#call({ op: "read", sql, params });
  }

  /** Resolves when everything issued before is stored and the files are closed. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#dead !== null) return;
    const gone = new Promise<void>((resolve) => this.#worker.once("exit", () => resolve()));
    await this.#send({ op: "close" });
    await gone;
  }

  #call(body: Body): Promise<readonly SqlRow[]> {
    if (this.#closing !== null) return Promise.reject(new StorageError("Closed", "the database is closed"));
    return this.#send(body);
  }

  #send(body: Body): Promise<readonly SqlRow[]> {
    return new Promise((resolve, reject) => {
      if (this.#dead !== null) {
        reject(this.#dead);
        return;
      }
      const request: WorkerRequest = { ...body, id: this.#nextId++ };
      const pending = { resolve, reject };
      const waiting = this.#waiting.length - this.#waitingFrom;
      if (this.#inFlight.size < MAX_IN_FLIGHT && waiting === 0) this.#post(request, pending);
      else if (waiting < MAX_WAITING || body.op === "close") this.#waiting.push({ request, pending });
      else reject(new StorageError("Limit", `more than ${MAX_WAITING} requests wait for the database: the disk is too slow`));
    });
  }

  #post(request: WorkerRequest, pending: Pending): void {
    this.#inFlight.set(request.id, pending);
    this.#worker.postMessage(request);
  }

  #onReply(reply: WorkerReply): void {
    if (reply.op === "ready" || reply.op === "failed") return;
    const pending = this.#inFlight.get(reply.id);
    this.#inFlight.delete(reply.id);
    if (reply.op === "done") pending?.resolve(reply.rows);
    else pending?.reject(fromWire(reply.error));
    while (this.#inFlight.size < MAX_IN_FLIGHT && this.#waitingFrom < this.#waiting.length) {
      const next = this.#waiting[this.#waitingFrom++];
      if (next) this.#post(next.request, next.pending);
    }
    if (this.#waitingFrom === this.#waiting.length) {
      this.#waiting = [];
      this.#waitingFrom = 0;
    }
  }

  #die(error: StorageError): void {
    this.#dead ??= error;
    for (const pending of this.#inFlight.values()) pending.reject(this.#dead);
    for (const { pending } of this.#waiting.slice(this.#waitingFrom)) pending.reject(this.#dead);
    this.#inFlight.clear();
    this.#waiting = [];
    this.#waitingFrom = 0;
  }
}

/** The checkout runs .ts, the published package .js: the thread's file has the ending of this one. */
const PROGRAM = new URL(import.meta.url.endsWith(".ts") ? "./sqliteWorker.ts" : "./sqliteWorker.js", import.meta.url);

/**
 * The store of the product: SQLite in a thread of its own with group commit, so that waiting for the disk never
 * stops the event loop. Resolves when the tables are up to date; rejects with a `StorageError` that says why not.
 *
 * @param path the file; created with mode 0600
 * @param schema tables to bring up to date first
 * @param program what the thread runs; another one than the real one imitates a bad disk
 * @param onNote is told what the operator should know of how it was opened
 * @param onDied told when the thread ends unasked: nothing is stored or read any more
 * @param keepsRoom for what has begun, so that a full disk does not stop it; of a file
 */
export async function openWorkerDatabase(
  path: string,
  schema: readonly ComponentSchema[] = [],
  program: URL = PROGRAM,
  onNote: (note: StoreNote) => void = () => undefined,
  onDied: (error: StorageError) => void = () => undefined,
  keepsRoom = false,
): Promise<SqlDatabase> {
  const workerData: WorkerSetup = { path, schema, keepsRoom };
  const worker = new Worker(program, { workerData });
  await new Promise<void>((resolve, reject) => {
    worker.once("message", (reply: WorkerReply) => {
      if (reply.op === "ready") for (const note of reply.notes) onNote(note);
      if (reply.op === "failed") reject(fromWire(reply.error));
      else resolve();
    });
    worker.once("error", (cause) =>
      reject(new StorageError("Io", `the thread that writes the database did not start: ${reasonOf(cause)}`, { cause })),
    );
  });
  return new WorkerDatabase(worker, onDied);
}
