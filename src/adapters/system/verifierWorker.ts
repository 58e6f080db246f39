import { parentPort } from "node:worker_threads";
import type { Log } from "../../ports/log.ts";
import { createNativeVerifier } from "./nativeVerifier.ts";
import { verifyChecks } from "./verifierBatch.ts";

// A thread that verifies signatures: batches in, one byte per check out, in order.

/** The main thread has loaded the same binding and logged what there is to say about it. */
const quiet: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined, child: () => quiet };

if (parentPort === null) throw new Error("verifierWorker runs only as a worker thread");
const port = parentPort;
const { verify } = createNativeVerifier(quiet);
port.on("message", (bytes: Uint8Array) => {
  const results = verifyChecks(bytes, verify);
  port.postMessage(results, [results.buffer]);
});
port.postMessage(null);
