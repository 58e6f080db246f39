import type { NodeConfig } from "../config/nodeConfig.ts";
import type { Secret } from "../core/util/secret.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Rng } from "../ports/rng.ts";

/** What `startNode` (compose.ts) is given. */
export type NodeOptions = {
  readonly config: NodeConfig;
  /** From the configuration or the decrypted wallet; null = a node without keys. */
  readonly passphrase: Secret<string> | null;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly log: Log;
};

/** A node that answers its RPC. */
export type RunningNode = {
  /** `http://127.0.0.1:7783`, with the port really bound. */
  readonly rpcUrl: string;
  /** Stops in reverse order of the start; safe to call twice. */
  stop(): Promise<void>;
  /** Resolves when the node begins to stop, whoever asked for it. */
  readonly stopping: Promise<void>;
  /** Resolves when the node has stopped, by `stop()` or by the RPC method `stop`; rejects when it died. */
  readonly stopped: Promise<void>;
};

/**
 * A start that was refused for a reason the operator can mend: a port in use, another process in the data folder, an
 * unwritable folder. The message is one sentence and goes to standard error without a stack.
 */
export class StartRefused extends Error {
  override readonly name = "StartRefused";
}
