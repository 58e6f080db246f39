import type { Result } from "../core/util/result.ts";

/** An open connection to an Electrum server. */
export type ServerStream = {
  /** One line of JSON, without the newline. False: the connection is closed. */
  readonly send: (line: string) => boolean;
  readonly close: () => void;
  /**
   * To be called once the other side has greeted as a server of the coin: keeps what it showed of itself, durable when it resolves.
   * Null: kept; else why it is not the one that is known, the end of a sentence. Absent: nothing of it is kept.
   */
  readonly keep?: () => Promise<string | null>;
};
export type ServerStreamHandlers = {
  /** Bytes of lines that end in a newline, cut anywhere. */
  readonly onBytes: (bytes: Uint8Array) => void;
  /** Streams that pass on whole messages: how many bytes of the next one they keep now. */
  readonly onUnread: (bytes: number) => void;
  /** Once, also after `close`; with a few words on why. */
  readonly onClose: (why: string) => void;
};
/** Connects; rejects only with `Aborted`. Tests and the simulator bring their own. */
export type OpenServerStream = (
  handlers: ServerStreamHandlers,
  signal: AbortSignal,
) => Promise<Result<ServerStream, { readonly why: string }>>;

/** How a server is reached. `name`: what people and logs see, host and port. */
export type ElectrumEndpoint = {
  readonly name: string;
  /** Whose word it is: of those with the same voter one is connected at a time. Absent: a voter of its own. */
  readonly voter?: string;
  readonly open: OpenServerStream;
  /** Deadline of one call, ms; absent: the chain's own. */
  readonly timeoutMs?: number;
};

/** What one server of a coin, or one node of an account chain, was good for lately. */
export type ServerHealth = {
  readonly name: string;
  /**
   * `idle`: not needed now. `away`: it could not be reached or broke off, and is tried again. `dropped`: what it said is disproven,
   * or it serves another chain; it is left alone for long. `lagging`, of nodes: behind the others; what it says does not count.
   */
  readonly state: "idle" | "connecting" | "connected" | "lagging" | "away" | "dropped";
  /** Height of the last block it told of. */
  readonly height: number | null;
  /** Running mean of the time to an answer. */
  readonly latencyMs: number | null;
  /** How often it was found to say what is not so. */
  readonly contradictions: number;
  /** Calls it was asked since the start. */
  readonly calls: number;
  /** The last thing wrong with it, a sentence's end for people; null: nothing. */
  readonly trouble: string | null;
};

/** How many servers of a coin must be connected before anything is believed of it. */
export type ServerNeeds = {
  readonly minConnected: number;
  /** Why that is little; a sentence. Null: it is not. */
  readonly warning: string | null;
};

/** What a server showed the first time of its certificate, so that it must show the same later. */
export interface CertificatePins {
  get(server: string): Promise<string | null>;
  /** Durable when it resolves. */
  set(server: string, pin: string): Promise<void>;
}
