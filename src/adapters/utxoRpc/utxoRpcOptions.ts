/** How one chain is looked at. */
export type UtxoRpcOptions = {
  /** Time between looks at the daemon, ms. Default 1000, meant for a daemon on this machine. */
  readonly pollMs?: number;
  /** Deadline of one call, ms (four times as long for a block). Default 15 000. */
  readonly timeoutMs?: number;
  /** Chains up to this height are read whole for a script without birthday; longer ones are scanned by the daemon. Default 2000. */
  readonly readWholeUpTo?: number;
  /** Mempool transactions fetched per look. Default 500. */
  readonly mempoolPerRound?: number;
  /** Decimals of the coin in the daemon's JSON. Default 8. */
  readonly decimals?: number;
  /** Read a block at once to learn what it pays, instead of waiting for the next one. Default false. */
  readonly readsReward?: boolean;
  /** `estimate_fee_mode` of the coin's entry: `ECONOMICAL` or `CONSERVATIVE`. */
  readonly estimateFeeMode?: string;
};
