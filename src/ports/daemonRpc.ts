import type { Result } from "../core/util/result.ts";

/**
 * Why a daemon gave no answer to use.
 * - `rpc`: its own error object; `code` as in Bitcoin Core's `rpc/protocol.h`; `data`, unparsed, where the answer has it.
 * - `unreachable`: no connection, no answer in time, wrong credentials, or an answer that is not JSON-RPC; the
 *   request may have been carried out, but for `isUnsent`: it reached nobody who would.
 * - `busy`: it answers but cannot serve yet (warming up, work queue full), or our own queue to it is full; the
 *   request was not carried out.
 */
export type DaemonError =
  | { readonly kind: "rpc"; readonly code: number; readonly message: string; readonly data?: unknown }
  | { readonly kind: "unreachable"; readonly message: string; readonly isUnsent?: true }
  | { readonly kind: "busy"; readonly message: string };

export type DaemonCall = { readonly method: string; readonly params: readonly unknown[] };

export type DaemonCallOptions = {
  /** Stops the call; it then rejects with `Aborted`. */
  readonly signal?: AbortSignal;
  /** Deadline of this call; without it the implementation's own. */
  readonly timeoutMs?: number;
};

/**
 * JSON-RPC to one coin daemon. Safe integers arrive as `number`; any other number as `number` or, where a double
 * could change it, as its decimal text. Nothing else is promised about the values: callers parse them.
 */
export interface DaemonRpc {
  /** Rejects only with `Aborted` when the caller's signal fires. */
  call(method: string, params: readonly unknown[], options?: DaemonCallOptions): Promise<Result<unknown, DaemonError>>;
  /** Several calls in one request, answers in the order of `calls`. Absent where the transport has no batches. */
  callBatch?(calls: readonly DaemonCall[], options?: DaemonCallOptions): Promise<readonly Result<unknown, DaemonError>[]>;
}
