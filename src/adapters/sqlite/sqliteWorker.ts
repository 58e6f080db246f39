import { parentPort, workerData } from "node:worker_threads";
import { serveDatabase } from "./serveDatabase.ts";

// The thread that writes the database.

if (parentPort === null) throw new Error("sqliteWorker runs only as a worker thread");
serveDatabase(parentPort, workerData);
