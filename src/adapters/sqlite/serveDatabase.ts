import { existsSync, statSync } from "node:fs";
import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import type { StorageError } from "../../ports/sql.ts";
import { DiskReserve } from "./diskReserve.ts";
import { openStore, refuseDamaged, type StoreNote } from "./openStore.ts";
import type { SqliteEngine } from "./sqliteEngine.ts";
import { fullDisk, toStorageError } from "./storageErrors.ts";
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

  let reserve: DiskReserve | null = null;
  const fillReserve = (): void => {
    if (setup.keepsRoom) reserve = new DiskReserve(engine, setup.path);
  };
  /** A node whose disk was away for a moment would otherwise look on while its swaps run into their limits. */
  const recover = (): void => {
    if (engine.fault === null) return;
    const bytes = existsSync(setup.path) ? statSync(setup.path).size : 0;
    // What it went through left SQLite's log short.
    if (engine.recover((db) => refuseDamaged(db, setup.path, bytes))) fillReserve();
  };
  const commit = (asked: readonly (WorkerRequest & { op: "write" })[]): void => {
    if (asked.length === 0) return;
    recover();
    const isLow = asked.some((w) => w.isNew) && engine.fault === null && reserve?.isLow() === true;
    const writes = isLow ? asked.filter((w) => !w.isNew) : asked;
    if (isLow) for (const { id, isNew } of asked) if (isNew) reply({ op: "error", id, error: toWire(fullDisk()) });
    for (let at = 0; at < writes.length; at += MAX_GROUP) {
      const group = writes.slice(at, at + MAX_GROUP);
      const outcomes = engine.writeGroup(group.map((w) => w.batch));
      group.forEach((w, i) => {
        const failure = outcomes[i];
        reply(failure ? { op: "error", id: w.id, error: toWire(failure) } : { op: "done", id: w.id, rows: [] });
      });
      reserve?.stored();
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
  fillReserve();
}
