/** Codes of Bitcoin Core's JSON-RPC (`rpc/protocol.h` names beside each). */
export const RPC_CODE = {
  /** RPC_MISC_ERROR */
  misc: -1,
  /** RPC_TYPE_ERROR */
  type: -3,
  /** RPC_WALLET_ERROR */
  wallet: -4,
  /** RPC_INVALID_ADDRESS_OR_KEY */
  notFound: -5,
  /** RPC_INVALID_PARAMETER */
  parameter: -8,
  /** RPC_DATABASE_ERROR */
  database: -20,
  /** RPC_DESERIALIZATION_ERROR */
  deserialization: -22,
  /** RPC_VERIFY_ERROR, also for missing inputs */
  verify: -25,
  /** RPC_VERIFY_REJECTED */
  rejected: -26,
  /** RPC_VERIFY_ALREADY_IN_CHAIN */
  alreadyInChain: -27,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  parse: -32700,
} as const;

/** The answer of a method that refuses: a daemon's error code and sentence. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;

  constructor(code: number, message: string) {
    // An answer, not a defect: where it was made is of no use to anybody, and telling it costs more than the call.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
    this.code = code;
  }
}
