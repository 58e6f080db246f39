import { existsSync, statSync } from "node:fs";
import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import type { StorageError } from "../../ports/sql.ts";
import { openStore, refuseDamaged, type StoreNote } from "./openStore.ts";
import type { SqliteEngine } from "./sqliteEngine.ts";
import { toStorageError } from "./storageErrors.ts";
import type { WireError, WorkerReply, WorkerRequest, WorkerSetup } from "./workerProtocol.ts";

/** Batches in one transaction. More would only delay the first acknowledgement. */
const MAX_GROUP = 512;

const toWire = (error: StorageError): WireError => ({
  kind: error.kind,
  message: error.message,
  cause: error.cause instanceof Error ? error.cause.message : "",
});

/**
 * Group commit: takes everything that has arrived, stores all writes of it in one fsynced transaction, then answers
 * the reads. A read therefore sees each write issued before it.
 *
 * @param openEngine makes the engine; another one than the real one imitates a bad disk
 */
export function serveDatabase(port: MessagePort, setup: WorkerSetup, openEngine?: (path: string) => SqliteEngine): void {
  const reply = (message: WorkerReply): void => port.postMessage(message);
  let engine: SqliteEngine;
  let notes: readonly StoreNote[];
  try {
    ({ engine, notes } = openStore(setup.path, setup.schema, openEngine));
  } catch (error) {
    reply({ op: "failed", error: toWire(toStorageError(error, "cannot open the database")) });
    port.close();
    return;
  }

  /** A node whose disk was away for a moment would otherwise look on while its swaps run into their limits. */
  const recover = (): void => {
    if (engine.fault === null) return;
    const bytes = existsSync(setup.path) ? statSync(setup.path).size : 0;
    engine.recover((db) => refuseDamaged(db, setup.path, bytes));
  };
  const commit = (writes: readonly (WorkerRequest & { op: "write" })[]): void => {
    if (writes.length > 0) recover();
    for (let at = 0; at < writes.length; at += MAX_GROUP) {
      const group = writes.slice(at, at + MAX_GROUP);
      const outcomes = engine.writeGroup(group.map((w) => w.batch));
      group.forEach((w, i) => {
        const failure = outcomes[i];
        reply(failure ? { op: "error", id: w.id, error: toWire(failure) } : { op: "done", id: w.id, rows: [] });
      });
    }
  };
  const answer = (request: WorkerRequest & { op: "read" }): void => {
    try {
      reply({ op: "done", id: request.id, rows: engine.read(request.sql, request.params) });
    } catch (error) {
      reply({ op: "error", id: request.id, error: toWire(toStorageError(error, "cannot read")) });
    }
  };

  port.on("message", (first: WorkerRequest) => {
    const arrived: WorkerRequest[] = [first];
    while (arrived.length < MAX_GROUP) {
      const next = receiveMessageOnPort(port);
      if (next === undefined) break;
      arrived.push(next.message);
    }
    commit(arrived.filter((r) => r.op === "write"));
    for (const request of arrived) {
      if (request.op === "read") answer(request);
      if (request.op === "close") {
        engine.close();
        reply({ op: "done", id: request.id, rows: [] });
        port.close();
      }
    }
  });
  reply({ op: "ready", notes });
}
