/** Bounds of the HTTP server. Times in milliseconds, sizes in bytes. */
export type HttpLimits = {
  /** One request body. It is parsed before the password in it is known, and nothing else runs meanwhile: some 60 ms at worst. */
  readonly bodyBytes: number;
  /** All bodies being read at one time. */
  readonly totalBodyBytes: number;
  /** All answers that wait to be read by their clients, beyond which no large one is sent. */
  readonly totalReplyBytes: number;
  /** How long a client may read nothing of its answer: longer than a call takes, for nothing moves meanwhile either. */
  readonly unreadTimeoutMs: number;
  readonly headerBytes: number;
  /** One more than that, and one on which no answer is owed ends: the longest waiting of the address that has most. */
  readonly connections: number;
  /** From connecting to the last header. */
  readonly headersTimeoutMs: number;
  /** From connecting to the last byte of the body. */
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  /** How often slow connections are looked for. */
  readonly checkIntervalMs: number;
  /** How long a client that was told its connection ends may take to close its side. */
  readonly lingerMs: number;
  /** How long `close` lets running requests finish. */
  readonly closeGraceMs: number;
};

export const DEFAULT_LIMITS: HttpLimits = {
  bodyBytes: 1_048_576,
  totalBodyBytes: 32 * 1_048_576,
  totalReplyBytes: 256 * 1_048_576,
  unreadTimeoutMs: 90_000,
  headerBytes: 16_384,
  connections: 256,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 65_000,
  checkIntervalMs: 2_000,
  lingerMs: 1_000,
  closeGraceMs: 3_000,
};
